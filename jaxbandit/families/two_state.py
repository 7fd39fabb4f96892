"""The exponential family of a chain with two states, in closed form."""

from __future__ import annotations

import math
from functools import reduce

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.arguments import integer, number
from jaxbandit.base import pytree, static
from jaxbandit.divergences import scaled
from jaxbandit.fast import computed_once, exponential, larger, log_of_sum, polynomial, smaller

LEAST = 1e-20  # a share of plays that counts as 0: the squares of smaller ones are beyond float32
MOST = 100.0  # kappa beyond which the formulas lose more than a digit


@pytree
class TwoStateChains:
    """Chains of two states with p q / ((1-p) (1-q)) = kappa, where p and q are the probabilities to leave a state.

    A tilt along the reward keeps kappa, so that each mean belongs to one chain. With x the share of plays that pay
    more, R = sqrt((1-2x)^2 + 4 x (1-x) / kappa) and p out of the state that pays less,

        p = 2x / (1 + R),  q = 2 (1-x) / (1 + R),  D(x || y) = (1-x) d(p_x, p_y) + x d(q_x, q_y),

    d the divergence of `divergences.bernoulli_kl`. With e = 1/kappa - 1 these have 1 - p = q (1 + p e), 1 - q =
    p (1 + q e) and 1 - p - q = p q e. kappa = 1 is the Bernoulli family. A mean outside the family's range is
    replaced by the nearest mean in it.

    Args:
      kappa: in (0, 100]; above 1 where the two states change often. `chain_family` finds it from a chain.
      low, high: what the two states pay.
      steps: number of Halley's steps in `upper`, in float32; float64 takes one more. 1 is enough for kappa up to 1,
        2 for kappa up to 100.

    Raises:
      ValueError: from `validate`, for a kappa outside (0, 100], or arms whose states do not pay `low` and `high`.

    Source: Moulos and Anantharam 2019, section 2; the closed form is our own.

    >>> family = TwoStateChains(kappa=1 / 36)
    >>> from jaxbandit.confidence import family_upper
    >>> [round(float(family_upper(mean, 0.01, family)), 4) for mean in (0.2, 0.9)]
    [0.3508, 0.9571]
    """

    kappa: Array | float
    low: Array | float = 0.0
    high: Array | float = 1.0
    steps: int = static(1)

    @property
    def range(self) -> tuple[Array | float, Array | float]:
        return self.low, self.high

    def validate(self, reward: np.ndarray) -> None:
        number("kappa", self.kappa, 0, MOST, above=True)
        low, high = number("low", self.low), number("high", self.high)
        if not low < high:
            raise ValueError(f"low: {low:g} is not below high = {high:g}")
        integer("steps", self.steps, 1, 100)
        pays, own = np.sort(np.asarray(reward, float), axis=1), np.array([low, high])
        if pays.shape[1] != 2 or np.abs(pays - own).max() > 1e-6 * np.ptp(own):
            raise ValueError(f"family: every arm's two states must pay {low:g} and {high:g}")

    def divergence(self, mean: ArrayLike, other: ArrayLike) -> Array:
        """The two chains' p and q differ by multiples of y - x, so that nothing cancels where y is near x."""
        (x, rest), (y, rest_of_y) = self._shares(mean), self._shares(other)
        turns = self._turns()
        root, _, _ = self._chain(x, rest)
        root_of_y, p, q = self._chain(y, rest_of_y)
        apart = jnp.where(x > 0.5, rest - rest_of_y, y - x)
        bend = 4 * turns * (1 - x - y) / ((1 + root) * (root + root_of_y))
        more = 2 * apart * (1 - x * bend) / (1 + root_of_y)  # p of y minus p of x
        less = 2 * apart * (1 + rest * bend) / (1 + root_of_y)  # q of x minus q of y
        leaving = scaled(-more, p) + scaled(more, q * (1 + p * turns))
        staying = scaled(less, q) + scaled(-less, p * (1 + q * turns))
        return jnp.where(rest > 0, rest * leaving, 0) + jnp.where(x > 0, x * staying, 0)

    def upper(self, mean: ArrayLike, radius: ArrayLike) -> Array:
        """In t = log((1 - p_x) / (1 - p_y)), with l = 1 - exp(-t), the divergence is increasing and convex:

            D(t) = (1-x) t - x log(1 + (1-x) l / (x n)),  n = 1 + q e l,  p_y = p + (1-p) l.

        Start: the root of t^2 / (t + b) = radius/(1-x), where b = 2x/R gives D its curvature at 0, is within 10 % for
        kappa up to 1. A polynomial in v = radius / ((1-x) t), p and q brings it within 1.3 %, and one of Halley's steps
        from there reaches float32.
        """
        x, rest = self._shares(mean)
        x, rest, radius = jnp.broadcast_arrays(x, rest, jnp.asarray(radius, float))
        info = np.finfo(radius.dtype)
        most = 1 - math.log(float(info.smallest_subnormal))  # for any larger t, exp(-t) is 0
        share, less = larger(x, LEAST), larger(rest, float(info.eps) / 8)
        turns = self._turns()
        root, p, q = self._chain(share, less)
        stays, curl = q * (1 + p * turns), q * turns
        inverse = 1 / (share * less * root)  # one division for three reciprocals
        goal = smaller(radius * (inverse * share * root), most)
        start = (goal + jnp.sqrt(goal * (goal + 8 * share * share * less * inverse))) / 2
        v = goal / larger(start, float(info.tiny))
        t = start * (1 + v * (1 - v) * _shortfall(v, p, q))
        odds = less * less * root * inverse
        for _ in range(self.steps if info.bits == 32 else self.steps + 1):
            lost, kept = exponential(t)
            n, arrives = 1 + curl * lost, p + stays * lost
            distance = computed_once(less * (t - goal) - share * log_of_sum(odds * lost / n))
            # D' = (1-x) rise / (n p_y), D'' = (1-x) fall / (n p_y)^2, and Halley's step multiplied out
            rise = lost * (2 - p - q + stays * curl * lost)
            fall = kept * p * (n + curl * kept * arrives)
            proposal = t - 2 * distance * rise * arrives * n / (2 * less * rise * rise - distance * fall)
            t = jnp.where(proposal >= 0, smaller(proposal, most), t)  # where the radius is 0, it is NaN here
        lost, kept = exponential(computed_once(t))
        arrives, stayed = p + stays * lost, self.kappa * stays * kept
        flow = arrives * (arrives + stayed)
        return self.low + (self.high - self.low) * jnp.maximum(flow / (flow + stayed), x)

    def _shares(self, mean: ArrayLike) -> tuple[Array, Array]:
        """The shares of plays that pay more and that pay less, from the mean."""
        unit = 1 / (jnp.asarray(self.high, float) - self.low)  # one division, not one for each mean
        mean = jnp.clip(jnp.asarray(mean, float), self.low, self.high)
        return (mean - self.low) * unit, (self.high - mean) * unit

    def _turns(self) -> Array:
        """e = 1/kappa - 1 = (1 - p - q) / (p q), the same for all chains of the family."""
        return 1 / jnp.asarray(self.kappa, float) - 1

    def _chain(self, x: Array, rest: Array) -> tuple[Array, Array, Array]:
        """R, p and q from the shares x and 1 - x."""
        apart = rest - x
        root = jnp.sqrt(apart * apart + 4 * (x * rest) * (1 + self._turns()))
        twice = 2 / (1 + root)
        return root, x * twice, rest * twice


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

    def in_p(rows: tuple[list[float], ...]) -> Array:
        return reduce(lambda total, row: total * p + polynomial(q, row), rows[-2::-1], polynomial(q, rows[-1]))

    return reduce(lambda total, rows: total * v + in_p(rows), _SHORTFALL[-2::-1], in_p(_SHORTFALL[-1]))
