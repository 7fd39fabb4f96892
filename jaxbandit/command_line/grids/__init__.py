"""Grids of policies: their variants, a sweep's TOML file, how the best is chosen, pictures over a grid.

Others may take `criterion`, `landscape`, `offered`, `policy_grid`, `searches` and `toml_file`.
"""

__all__: list[str] = []
