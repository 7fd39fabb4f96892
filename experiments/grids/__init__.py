"""Grids of policies live here: their variants, a sweep's TOML file, how the best is chosen, pictures over a grid.

`sweep` and `tune` take all of it.
"""
