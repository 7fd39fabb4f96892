"""Policies for i.i.d. rewards: index policies on the sample mean, Thompson sampling, gradient bandit, baselines."""

__all__: list[str] = []
