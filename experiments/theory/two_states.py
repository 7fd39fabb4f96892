"""Two-state chains that pay 0 and 1, in float64: likelihood ratios from the definition, and the law of all counts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, xlogy


class Counts(NamedTuple):
    """How often each move was made: whole numbers, or the shares that they tend to."""

    n00: np.ndarray
    n01: np.ndarray
    n10: np.ndarray
    n11: np.ndarray

    @property
    def cycles(self) -> np.ndarray:
        """min(n01, n10)."""
        return np.asarray(np.minimum(self.n01, self.n10))


class Chain(NamedTuple):
    """p01 and p10, the probabilities of leaving each state."""

    p01: float
    p10: float

    @property
    def mean(self) -> float:
        """The stationary probability of state 1."""
        return self.p01 / (self.p01 + self.p10)

    @property
    def moves(self) -> tuple[float, float, float, float]:
        """The probabilities of the moves 00, 01, 10 and 11."""
        return 1 - self.p01, self.p01, self.p10, 1 - self.p10

    @property
    def flow(self) -> Counts:
        """The share of plays that make each move in the long run."""
        law = (1 - self.mean, 1 - self.mean, self.mean, self.mean)
        return Counts(*(np.asarray(share * p) for share, p in zip(law, self.moves, strict=True)))


def log_likelihood(counts: Counts, p01: np.ndarray, p10: np.ndarray) -> np.ndarray:
    """L(Q) = sum over s, j of n_sj log Q_sj, where 0 log 0 = 0."""
    value = xlogy(counts.n00, 1 - p01) + xlogy(counts.n01, p01) + xlogy(counts.n10, p10) + xlogy(counts.n11, 1 - p10)
    return np.asarray(value)


def likeliest(counts: Counts) -> tuple[np.ndarray, np.ndarray]:
    """p01 and p10 of the likeliest chain; of several, of the one with the largest mean."""
    left0, left1 = counts.n00 + counts.n01, counts.n10 + counts.n11
    p01 = np.divide(counts.n01, left0, out=np.ones_like(left0, float), where=left0 > 0)
    p10 = np.divide(counts.n10, left1, out=np.zeros_like(left1, float), where=left1 > 0)
    return p01, p10


def likeliest_mean(counts: Counts) -> np.ndarray:
    """The largest mean of a likeliest chain; 1 where the better state was never left.

    >>> float(likeliest_mean(Counts(*np.array([60, 40, 40, 20]))))
    0.375
    """
    p01, p10 = likeliest(counts)
    return np.where(counts.n10 > 0, p01 / np.where(p01 + p10 > 0, p01 + p10, 1), 1.0)


def likelihood_ratio(counts: Counts, mean: float | np.ndarray) -> np.ndarray:
    """J(mean) = max of L - max of L over the chains whose mean is at least `mean`, in (0, 1]; all chains are admitted.

    L is concave and the chains that are good enough are p01 (1 - mean) >= p10 mean. So where the likeliest chain is not
    one of them, the maximum is on the line p10 = rho p01, rho = (1 - mean)/mean, where the slope of L is 0: this is a
    quadratic equation, rho T p01^2 - B p01 + n01 + n10 = 0 with B = (n01 + n10)(1 + rho) + n00 + rho n11.

    >>> float(likelihood_ratio(Counts(*np.array([60, 40, 40, 20])), 0.5).round(6))
    5.411532
    """
    rho = (1 - mean) / np.asarray(mean)
    moves = counts.n01 + counts.n10
    b = moves * (1 + rho) + counts.n00 + rho * counts.n11
    root = np.sqrt(np.maximum(b * b - 4 * rho * sum(counts) * moves, 0))
    p01 = 2 * moves / np.where(b + root > 0, b + root, 1)
    best = log_likelihood(counts, *likeliest(counts))
    good = log_likelihood(counts, np.minimum(p01, 1), np.minimum(rho * p01, 1))
    return np.where(likeliest_mean(counts) >= mean, 0.0, np.maximum(best - good, 0))


def divergence(counts: Counts, chain: Chain) -> np.ndarray:
    """D = max of L - L(chain)."""
    return np.asarray(log_likelihood(counts, *likeliest(counts)) - log_likelihood(counts, *map(np.asarray, chain)))


def types(plays: int) -> Counts:
    """Every type of this many plays from state 0."""
    n01, back, n00 = np.meshgrid(np.arange((plays + 1) // 2 + 1), (0, 1), np.arange(plays + 1), indexing="ij")
    n10 = n01 - back  # the arm stands in state 1 where it has left 0 once more than it has come back
    n11 = plays - n00 - n01 - n10
    possible = (n10 >= 0) & (n11 >= 0) & ((n01 > 0) | (n11 == 0))
    return Counts(n00[possible], n01[possible], n10[possible], n11[possible])


def log_probability(counts: Counts, chain: Chain) -> np.ndarray:
    """log of the probability that an arm which starts in state 0 has these counts (a type of `types`).

    Trajectories with the same counts have the same probability. There are as many as ways to share out the n00 and n11
    plays that stay among the stretches in state 0 (n10 + 1) and in state 1 (n01).
    """
    ways = _log_ways(counts.n00, counts.n10 + 1) + _log_ways(counts.n11, counts.n01)
    return np.asarray(ways + log_likelihood(counts, *map(np.asarray, chain)))


def _log_ways(plays: np.ndarray, stretches: np.ndarray) -> np.ndarray:
    """log of the number of ways to share out plays among stretches; 0 of no stretch, which has no plays."""
    few = np.maximum(stretches, 1)
    return np.asarray(gammaln(plays + few) - gammaln(plays + 1.0) - gammaln(few))
