"""The family of chains of two states that tilts one chain along its reward, in closed form."""

from __future__ import annotations

import math
from functools import reduce

import jax.numpy as jnp
import numpy as np

from jaxbandit.base import Array, pytree, static
from jaxbandit.confidence.larger import larger, smaller
from jaxbandit.divergences import scaled
from jaxbandit.fast import computed_once, exponential, log_of_sum, polynomial

LEAST = 1e-20  # a share of plays that is as good as 0: the squares of smaller ones are beyond float32


@pytree
class TwoStateChains:
    """Chains of two states with p q / ((1-p) (1-q)) = kappa, where p and q are the probabilities to leave a state.

    A tilt along the reward keeps kappa, so that each mean belongs to one chain. With x the share of plays that pay
    more, R = sqrt((1-2x)^2 + 4 x (1-x) / kappa) and p out of the state that pays less,

        p = 2x / (1 + R),  q = 2 (1-x) / (1 + R),  D(x || y) = (1-x) d(p_x, p_y) + x d(q_x, q_y),

    d the divergence of `divergences.bernoulli_kl`. kappa = 1 is the Bernoulli family.

    Args:
      kappa: positive; above 1 where the two states change often. `chain_family` finds it from a chain.
      low, high: what the two states pay.
      steps: of Halley's kind, in `upper`, in float32; one more is taken in float64. 1 is enough for kappa up to 1, 2 up
        to 100, 3 up to 10^4, 4 up to 10^6.

    Raises:
      ValueError: from `validate`, for a kappa that is not positive, or arms whose states do not pay `low` and `high`.

    Source: Moulos and Anantharam 2019, section 2; the closed form is our own.

    >>> family = TwoStateChains(kappa=1 / 36)
    >>> [round(float(family.upper(mean, 0.01)), 4) for mean in (0.2, 0.9)]
    [0.3508, 0.9571]
    """

    kappa: Array
    low: Array = 0.0
    high: Array = 1.0
    steps: int = static(1)

    @property
    def range(self) -> tuple[Array, Array]:
        return self.low, self.high

    def validate(self, reward: Array) -> None:
        if not (np.ndim(self.kappa) == 0 and 0 < np.asarray(self.kappa, float) < math.inf):
            raise ValueError(f"kappa: {self.kappa!r} is no positive number")
        found, own = np.sort(np.asarray(reward, float), axis=1), np.array([self.low, self.high], float)
        if found.shape[1] != 2 or np.abs(found - own).max() > 1e-6 * np.ptp(own):
            raise ValueError(f"family: every arm's two states must pay {self.low:g} and {self.high:g}")

    def divergence(self, mean: Array, other: Array) -> Array:
        """Means that the family does not have count as the nearest that it has.

        The two chains' p and q differ by multiples of y - x, so that nothing cancels where y is near x.
        """
        (x, rest), (y, rest_of_y) = self._shares(mean), self._shares(other)
        root, *_ = self._chain(x, rest)
        root_of_y, p_of_y, stays_of_y, q_of_y, stays_better_of_y = self._chain(y, rest_of_y)
        apart = jnp.where(x > 0.5, rest - rest_of_y, y - x)
        bend = 4 * (1 / self.kappa - 1) * (1 - x - y) / ((1 + root) * (root + root_of_y))
        more = 2 * apart * (1 - x * bend) / (1 + root_of_y)  # p of y minus p of x
        less = 2 * apart * (1 + rest * bend) / (1 + root_of_y)  # q of x minus q of y
        leaving = scaled(-more, p_of_y) + scaled(more, stays_of_y)
        staying = scaled(less, q_of_y) + scaled(-less, stays_better_of_y)
        return jnp.where(rest > 0, rest * leaving, 0) + jnp.where(x > 0, x * staying, 0)

    def upper(self, mean: Array, radius: Array) -> Array:
        """In t = log((1 - p_x) / (1 - p_y)), with l = 1 - exp(-t), the divergence is increasing and convex:

            D(t) = (1-x) t - x log(1 + (1-x) l / (x n)),  n = exp(-t) + l (1-q)/p.

        Start: the root of t^2 / (t + b) = radius/(1-x), where b = 2x/R gives D its curvature at 0, is within 10 % for
        kappa up to 1. A polynomial in v = radius / ((1-x) t), p and q brings it within 1.3 %, and one of Halley's steps
        from there reaches float32.
        """
        x, rest = self._shares(mean)
        x, rest, radius = jnp.broadcast_arrays(x, rest, jnp.asarray(radius, float))
        info = np.finfo(radius.dtype)
        share, less = larger(x, LEAST), larger(rest, float(info.eps) / 8)
        root, p, stays, q, stays_better = self._chain(share, less)
        turns = 1 / jnp.asarray(self.kappa, float) - 1  # (1 - p - q) / (p q)
        most = 1 - math.log(float(info.smallest_subnormal))  # for any larger t, exp(-t) is 0
        pair = 1 / (share * less)
        goal = smaller(radius * pair * share, most)
        start = (goal + jnp.sqrt(goal * (goal + 8 * share / root))) / 2
        v = goal / larger(start, float(info.tiny))
        t = start * (1 + v * (1 - v) * _shortfall(v, p, q))
        odds, slow = less * less * pair, stays_better * (1 + root) * less * pair / 2
        for _ in range(self.steps if info.bits == 32 else self.steps + 1):
            lost, kept = exponential(t)
            n = kept + slow * lost
            arrives = p + stays * lost
            distance = computed_once(less * (t - goal) - share * log_of_sum(odds * lost / n))
            rise = lost * (stays + stays_better + stays * q * turns * lost)
            fall = distance * kept * p * (n + q * turns * kept * arrives)
            moved = t - 2 * distance * rise * arrives * n / (2 * less * rise * rise - fall)
            t = jnp.where(moved >= 0, smaller(moved, most), t)  # where the radius is 0, it is NaN here
        lost, kept = exponential(computed_once(t))
        arrives, stayed = p + stays * lost, self.kappa * stays * kept
        flow = arrives * (arrives + stayed)
        return self.low + (self.high - self.low) * jnp.maximum(flow / (flow + stayed), x)

    def _shares(self, mean: Array) -> tuple[Array, Array]:
        """The shares of plays that pay more and that pay less, from the mean."""
        mean = jnp.clip(jnp.asarray(mean, float), self.low, self.high)
        unit = 1 / (jnp.asarray(self.high, float) - self.low)  # one division, not one for each mean
        return (mean - self.low) * unit, (self.high - mean) * unit

    def _chain(self, x: Array, rest: Array) -> tuple[Array, Array, Array, Array, Array]:
        """R, p, 1 - p, q and 1 - q, each to full relative accuracy, from the shares x and 1 - x."""
        apart, mixed = rest - x, 4 * x * rest * (1 / jnp.asarray(self.kappa, float))  # one division for all arms
        root = jnp.sqrt(apart * apart + mixed)
        large = root + jnp.abs(apart)
        small = mixed / larger(large, LEAST)
        inverse = 1 / (1 + root)
        stays, stays_better = jnp.where(apart > 0, large, small), jnp.where(apart > 0, small, large)
        return root, 2 * x * inverse, stays * inverse, 2 * rest * inverse, stays_better * inverse


# The coefficients of (t / start - 1) / (v (1 - v)), t the root in `TwoStateChains.upper`, as a polynomial of degree 3.
# Table i belongs to v^i, its row j to p^j, column k to q^k. They were fitted to make the largest error of t smallest
# for kappa up to 1; it is 1.25 %.
_SHORTFALL = (
    ([-0.2147, 1.2947, -2.2795, 1.2815], [-0.1497, -0.2667, 1.2531], [0.2309, -0.3124], [-0.2698]),
    ([1.1238, -2.3335, 1.835], [0.9463, -0.7925], [-0.703]),
    ([-1.9717, 0.9364], [-0.8611]),
    ([1.1828],),
)


def _shortfall(v: Array, p: Array, q: Array) -> Array:
    """The polynomial of `_SHORTFALL`."""

    def of_rows(rows: tuple[list[float], ...]) -> Array:
        return reduce(lambda total, row: total * p + polynomial(q, row), reversed(rows[:-1]), polynomial(q, rows[-1]))

    return reduce(lambda total, rows: total * v + of_rows(rows), reversed(_SHORTFALL[:-1]), of_rows(_SHORTFALL[-1]))
