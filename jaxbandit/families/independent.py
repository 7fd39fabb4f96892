"""One-parameter exponential families of independent rewards, parametrised by the mean."""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.arguments import choice, number
from jaxbandit.base import pytree, static
from jaxbandit.confidence.bernoulli import SOLVERS, Solver, exponential_excess, kl_upper, shortfall
from jaxbandit.divergences import bernoulli_kl
from jaxbandit.fast import computed_once, exponential, larger, log_and_excess, smaller

FAR = 1e30  # a ratio of means from which on the smaller counts as 0


@pytree
class Bernoulli:
    """Rewards 0 and 1: D(m || n) = m log(m/n) + (1-m) log((1-m)/(1-n)), for means in [0, 1].

    Args:
      solver: of `confidence.kl_upper`.

    Source: Garivier and Cappe 2011; any rewards in [0, 1] are at least as concentrated.

    >>> round(float(Bernoulli().upper(0.5, 0.1)), 4)
    0.7129
    """

    solver: Solver = static("halley")

    @property
    def range(self) -> tuple[float, float]:
        return 0.0, 1.0

    def validate(self, reward: np.ndarray) -> None:
        choice("solver", self.solver, SOLVERS)
        _within(self, reward)

    def divergence(self, mean: ArrayLike, other: ArrayLike) -> Array:
        return bernoulli_kl(mean, other)

    def upper(self, mean: ArrayLike, radius: ArrayLike) -> Array:
        return kl_upper(mean, radius, self.solver)


@pytree
class Gaussian:
    """Normal rewards of a known variance: D(m || n) = (m - n)^2 / (2 variance).

    Args:
      variance: positive. Rewards may be of any law whose tails are no heavier: 1/4 does for rewards in [0, 1].

    Raises:
      ValueError: from `validate`, for a variance that is not positive.

    Source: Garivier and Cappe 2011, section 4; Lai and Robbins 1985, example 1.

    >>> float(Gaussian(variance=4.0).upper(1.0, 0.5))  # 1 + sqrt(2 * 4 * 0.5)
    3.0
    """

    variance: ArrayLike = 1.0

    @property
    def range(self) -> tuple[float, float]:
        return -math.inf, math.inf

    def validate(self, reward: np.ndarray) -> None:
        number("variance", self.variance, 0, above=True)

    def divergence(self, mean: ArrayLike, other: ArrayLike) -> Array:
        away = jnp.asarray(mean, float) - other
        return away * away / (2 * self.variance)

    def upper(self, mean: ArrayLike, radius: ArrayLike) -> Array:
        return mean + jnp.sqrt(2 * self.variance * jnp.asarray(radius, float))  # type: ignore[return-value]


@pytree
class Poisson:
    """Counts: D(m || n) = m log(m/n) - m + n, with 0 log 0 = 0, for means of at least 0.

    Source: Garivier and Cappe 2011, section 4.

    >>> from jaxbandit.confidence import family_upper
    >>> [round(float(family_upper(mean, 0.5, Poisson())), 4) for mean in (0.0, 2.0)]
    [0.5, 3.7654]
    """

    @property
    def range(self) -> tuple[float, float]:
        return 0.0, math.inf

    def validate(self, reward: np.ndarray) -> None:
        _within(self, reward)

    def divergence(self, mean: ArrayLike, other: ArrayLike) -> Array:
        """inf where n is 0 and m is not.

        With u = n/m - 1 it is m (u - log(1+u)) for n >= m, and with v = m/n - 1 it is n ((1+v) log(1+v) - v) for n < m:
        nothing cancels near m = n.
        """
        mean, other = jnp.broadcast_arrays(jnp.asarray(mean, float), jnp.asarray(other, float))
        least = larger(mean, larger(other / FAR, _tiny(mean)))
        above = least * log_and_excess(jnp.maximum(other - mean, 0) / least)[1]
        far = other * FAR <= mean
        v = jnp.where(far, 0, jnp.maximum(mean - other, 0) / larger(other, _tiny(mean)))
        logarithm, excess = log_and_excess(v)
        below = other * jnp.where(v < 0.5, v * logarithm - excess, (1 + v) * logarithm - v)
        apart = larger(mean, _tiny(mean)) * (jnp.log(mean) - jnp.log(other) - 1)  # inf where `other` is 0
        return jnp.where(other >= mean, above, jnp.where(far, apart, below))

    def upper(self, mean: ArrayLike, radius: ArrayLike) -> Array:
        """m (1 + u) at the root of u - log(1+u) = radius/m; upper(0, c) = c, upper(m, 0) = m, upper(m, inf) = inf."""
        mean, radius = jnp.broadcast_arrays(jnp.asarray(mean, float), jnp.asarray(radius, float))
        least = larger(mean, larger(radius / FAR, _tiny(mean)))
        goal = jnp.where(radius < jnp.inf, radius, 0) / least
        low, u, high = _begin(goal, 0.0)
        for _ in range(_steps(goal)):
            distance = computed_once(log_and_excess(u)[1] - goal)
            # Halley's step with f' = u / (1 + u) and f'' = 1 / (1 + u)^2, multiplied out to take one division
            u = _between(low, u - 2 * distance * u * (1 + u) / (2 * u * u - distance), high)
        return jnp.where(radius < jnp.inf, mean + least * u, jnp.inf)


@pytree
class Exponential:
    """Waiting times: D(m || n) = m/n - 1 - log(m/n), for positive means.

    A mean of 0 stands for the law that always pays 0, whose divergence from every other one of the family is infinite.

    Source: Garivier and Cappe 2011, section 4.

    >>> from jaxbandit.confidence import family_upper
    >>> [round(float(family_upper(mean, 0.5, Exponential())), 4) for mean in (0.0, 2.0)]
    [0.0, 6.6289]
    """

    @property
    def range(self) -> tuple[float, float]:
        return 0.0, math.inf

    def validate(self, reward: np.ndarray) -> None:
        _within(self, reward)

    def divergence(self, mean: ArrayLike, other: ArrayLike) -> Array:
        """inf where one of m, n is 0 and the other is not.

        With v, the larger mean through the smaller minus 1, it is log(1+v) - v/(1+v) for n > m and v - log(1+v) for
        n < m: nothing cancels near m = n.
        """
        mean, other = jnp.broadcast_arrays(jnp.asarray(mean, float), jnp.asarray(other, float))
        least, most = jnp.minimum(mean, other), jnp.maximum(mean, other)
        far = least * FAR <= most
        v = jnp.where(far, 0, (most - least) / larger(least, _tiny(mean)))
        logarithm, excess = log_and_excess(v)
        near = jnp.where(v < 0.5, (v * logarithm - excess) / (1 + v), logarithm - v / (1 + v))
        apart = jnp.log(most) - jnp.log(least)  # inf where `least` is 0
        up = jnp.where(far, apart - 1, near)
        down = jnp.where(far, most / larger(least, _tiny(mean)), excess)
        different = jnp.where(least == 0, jnp.inf, jnp.where(other > mean, up, down))
        return jnp.where(mean == other, 0, different)

    def upper(self, mean: ArrayLike, radius: ArrayLike) -> Array:
        """m exp(y) at the root of y - 1 + exp(-y) = radius; upper(0, c) = 0, upper(m, 0) = m, upper(m, inf) = inf.

        exp(y) is computed as exp(radius) exp(1 - exp(-y)), because a large y has too few digits after the point. It is
        inf where exp(radius) is beyond the floats.
        """
        mean, radius = jnp.broadcast_arrays(jnp.asarray(mean, float), jnp.asarray(radius, float))
        most = -math.log(float(_tiny(radius)))  # from here on exp(radius) is taken for infinite
        goal = smaller(radius, most)
        low, y, high = _begin(goal, 1.0)
        for _ in range(_steps(goal)):
            lost, kept = exponential(y)
            distance = computed_once(exponential_excess(y) - goal)
            # Halley's step with f' = 1 - exp(-y) and f'' = exp(-y), multiplied out to take one division
            y = _between(low, y - 2 * distance * lost / (2 * lost * lost - distance * kept), high)
        grown = mean / (exponential(goal)[1] * exponential(exponential(y)[0])[1])
        return jnp.where(radius < most, grown, jnp.where((mean > 0) | (radius == jnp.inf), jnp.inf, 0))


def _begin(goal: Array, growing: float) -> tuple[Array, Array, Array]:
    """A bracket of the root of f(x) = goal and an x within 0.7 % of it.

    f is a limit of the Bernoulli divergence of `confidence.kl_bound`, scaled so that it has no parameter: that of
    rare successes (`growing` 0), which is Poisson's x - log(1 + x), or of rare failures (`growing` 1), which is the
    exponential law's x - 1 + exp(-x).
    """
    spread = jnp.sqrt(2 * goal)
    high = goal + spread
    w = spread / larger(high, _tiny(goal))
    return larger(goal, spread), high * (1 - w * (1 - w) * shortfall(w, jnp.full_like(w, growing))), high


def _steps(values: Array) -> int:
    return 1 if values.dtype.itemsize == 4 else 2


def _between(low: Array, x: Array, high: Array) -> Array:
    """x within its bracket; `low` where x is NaN, as it is where the radius is 0."""
    return jnp.where(x > high, high, jnp.where(x >= low, x, low))


def _tiny(values: Array) -> float:
    return float(np.finfo(values.dtype).tiny)


def _within(family: Bernoulli | Poisson | Exponential, reward: np.ndarray) -> None:
    """Raise ValueError unless all rewards lie in the range of the family's means."""
    low, high = family.range
    values = np.asarray(reward, float)
    if values.size and (values.min() < low or values.max() > high):
        name = type(family).__name__
        raise ValueError(
            f"family: rewards from {values.min():g} to {values.max():g}; {name}'s means lie in [{low:g}, {high:g}]"
        )
