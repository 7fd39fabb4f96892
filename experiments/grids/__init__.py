"""Grids of a policy's fields live here: their variants, the TOML file of a sweep, and how the best is chosen and drawn.

`sweep` and `tune` take from it.
"""
