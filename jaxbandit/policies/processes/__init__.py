"""Policies for Markov decision processes: optimism, posterior sampling, IMED-RL and the optimal policy."""

__all__: list[str] = []
