"""Policies that learn the transition probabilities of rested Markov arms."""

__all__: list[str] = []
