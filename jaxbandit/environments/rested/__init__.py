"""Rested Markov arms: seen, hidden, restarting, of one exponential family, and fitted to data.

Others may take `columns`, which reads tables.
"""

__all__: list[str] = []
