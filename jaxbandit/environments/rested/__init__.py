"""Rested Markov arms: seen, hidden, restarting, of one exponential family, and fitted to data."""

__all__: list[str] = []
