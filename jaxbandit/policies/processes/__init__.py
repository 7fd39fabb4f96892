"""Policies for decision processes: optimism, posterior sampling, and the player who knows the process."""

__all__: list[str] = []
