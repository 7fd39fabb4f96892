"""Grids of policies: their variants, a sweep's TOML file, how the best is chosen, pictures over a grid."""

__all__: list[str] = []
