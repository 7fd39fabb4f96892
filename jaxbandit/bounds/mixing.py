"""The chain nearest to a given one among those whose reward gap is large enough: rewards that forget the state fast."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jaxbandit import chains
from jaxbandit.base import Array
from jaxbandit.bounds.nearest import nearest_row

STARTS = 20


class Nearest(NamedTuple):
    """A chain Q near to P = the given one."""

    mean: float  # of Q
    rate: float  # I(P || Q)


def nearest_mixing_chain(transition: Array, reward: Array, gap: float, target: float = -np.inf) -> Nearest:
    """The least I(transition || Q) found over chains Q whose `chains.reward_gap` is at least `gap`, and mean `target`.

    Q has the mean m and the relative values u where sum over s' of Q[s, s'] u_s' = m + u_s - reward_s for every s. For
    given m and u each row is one of `nearest_row`, whose inequality is met with equality. The search over m and u is
    local, from several starts, and u stays in a box: its largest value is at most (max reward - min reward) / gap above
    its smallest. Every m and u with a finite rate belong to a chain of the class, so a chain of this rate exists.

    Args:
      transition: [S, S], irreducible.
      reward: [S], not all equal.
      gap: in (0, 1].
      target: less than the largest reward.
    """
    from scipy.optimize import minimize  # half of the package's import time, needed here only

    transition, reward = np.asarray(transition, float), np.asarray(reward, float)
    law = chains.stationary(transition)
    if law @ reward >= target and chains.reward_gap(transition, reward) >= gap:
        return Nearest(float(law @ reward), 0.0)
    lowest, unit = reward.min(), np.ptp(reward)
    reward, target = (reward - lowest) / unit, max((target - lowest) / unit, 0.0)

    def rate(u: np.ndarray, mean: float) -> tuple[float, np.ndarray]:
        """The rate, and its slopes in u and in the mean."""
        values = u - u[:, None] + reward[:, None] - mean
        sign = np.where((transition * values).sum(-1) > 0, -1.0, 1.0)  # a row with a mean too large has to lose
        near = nearest_row(transition, sign[:, None] * values)
        if not np.isfinite(near.cost).all():
            return np.inf, np.zeros(len(u) + 1)
        weight = law * sign * near.price
        return float(law @ near.cost), np.append(weight - weight @ near.row, weight.sum())

    found = []
    for u, mean in _starts(chains.relative_values(transition, reward), reward, target, gap):
        # a chain that moves a thousandth as often has a thousand times the u and a thousandth of the rate
        size, first = u.max(), rate(u, mean)[0]

        def scaled(x: np.ndarray, size: float = size, first: float = first) -> tuple[float, np.ndarray]:
            value, slope = rate(x[:-1] * size, x[-1])
            return min(value / first, 1e6), slope * np.append(np.full(len(law), size), 1.0) / first

        box = [(0.0, 1 / gap / size)] * len(law) + [(target, 1.0)]
        x = np.append(u / size, mean)
        best = minimize(scaled, x, jac=True, method="L-BFGS-B", bounds=box, options={"gtol": 1e-10, "ftol": 1e-15})
        found.append(Nearest(float(lowest + unit * best.x[-1]), best.fun * first))
    return min(found, key=lambda chain: chain.rate)


def _starts(u: np.ndarray, reward: np.ndarray, target: float, gap: float) -> list[tuple[np.ndarray, float]]:
    """Relative values and means of chains of the class: from the given chain's, and from random ones.

    For some chain to have the values u and the mean, mean + u_s - reward_s has to lie between the least and the largest
    value for every s. This leaves the mean an interval, which is not empty near u = reward, the values of independent
    rewards; so values are moved towards these until it is wide enough.
    """
    generator = np.random.default_rng(0)
    span = min(1 / gap, np.ptp(u))
    starts = []
    for values in [u / np.ptp(u), *generator.random((STARTS - 1, len(u)))]:
        values = span * (values - values.min()) / np.ptp(values)
        low, high = 0.0, 1.0
        for _ in range(40):
            share = (low + high) / 2
            least, most = _means(share * reward + (1 - share) * values, reward, target)
            low, high = (low, share) if least < most else (share, high)
        share = high + (1 - high) * generator.random() / 2
        moved = share * reward + (1 - share) * values
        least, most = _means(moved, reward, target)
        starts.append((moved - moved.min(), least + (most - least) * generator.uniform(0.1, 0.9)))
    return starts


def _means(u: np.ndarray, reward: np.ndarray, target: float) -> tuple[float, float]:
    """Between which numbers from `target` on a chain with the relative values u can have its mean."""
    return max(target, (reward - u).max() + u.min()), (reward - u).min() + u.max()
