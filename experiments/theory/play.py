"""The policy of docs/optimality.md as a float64 loop over rounds, for two-state arms that start in state 0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from experiments.theory.two_states import Chain, Counts, likeliest_mean, likelihood_ratio


class Seen(NamedTuple):
    """What many runs showed; R runs, H horizons, K arms."""

    plays: np.ndarray  # [R, H, K]
    missed: np.ndarray  # [R, H], rounds t > K with best < mean
    excess_missed: float  # largest log(1 + c_j) - J_1(mean) - log(1 + c_1) where best < mean and arm j > 1 was played
    excess_bad: float  # largest J_k(mean) - log t where best >= mean and arm k was played


def play(chains: Sequence[Chain], mean: float, horizons: Sequence[int], runs: int, seed: int = 0) -> Seen:
    """Play the policy with all chains admitted and c = min(n01, n10); the first arm is the best one.

    Args:
      chains: of the arms, the best one first.
      mean: m of the lemmas, below the best arm's mean.
      horizons: rounds after which to look, rising.
      runs: independent repetitions.
      seed: of the chance.
    """
    generator = np.random.default_rng(seed)
    leave = np.array(chains)
    arms, every = len(chains), np.arange(runs)
    counts = np.zeros((2, 2, runs, arms))
    state = np.zeros((runs, arms), int)
    missed, excess_missed, excess_bad = np.zeros(runs, int), -np.inf, -np.inf
    plays, misses = [], []
    for t in range(1, horizons[-1] + 1):
        chosen = np.full(runs, t - 1)
        if t > arms:
            seen = Counts(*counts.reshape(4, runs, arms))
            best = likeliest_mean(seen).max(1)
            log_cycles = np.log1p(seen.cycles)
            chosen = np.argmin(likelihood_ratio(seen, best[:, None]) + log_cycles, axis=1)
            low = best < mean
            missed += low
            j = likelihood_ratio(seen, mean)
            other = low & (chosen > 0)
            if other.any():
                gaps = log_cycles[every, chosen] - j[:, 0] - log_cycles[:, 0]
                excess_missed = max(excess_missed, float(gaps[other].max()))
            if not low.all():
                excess_bad = max(excess_bad, float(j[every, chosen][~low].max() - np.log(t)))
        before = state[every, chosen]
        moves = generator.random(runs) < leave[chosen, before]
        state[every, chosen] = np.where(moves, 1 - before, before)
        counts[before, state[every, chosen], every, chosen] += 1
        if t in horizons:
            plays.append(counts.sum((0, 1)))
            misses.append(missed.copy())
    return Seen(np.stack(plays, 1), np.stack(misses, 1), excess_missed, excess_bad)
