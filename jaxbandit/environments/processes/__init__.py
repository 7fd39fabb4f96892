"""Markov decision processes, whose actions are the arms."""

__all__: list[str] = []
