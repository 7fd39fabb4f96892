"""Laws of i.i.d. rewards, one for each arm, as pytrees: a reward is the quantile function at 64 random bits."""

from __future__ import annotations

import math
from dataclasses import field
from typing import Any, Protocol

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit import families, quantiles
from jaxbandit.base import Family, Range, pytree
from jaxbandit.environments.independent.inverse_laws import ENTRIES, PIECES
from jaxbandit.fast import computed_once, exponential, look_up
from jaxbandit.reward_units import FAR, far_from_zero

Words = tuple[Array, Array]  # 64 random bits, two words [M] uint32


class Law(Protocol):
    """The laws of the K arms of an environment; the first field is [K]."""

    def means(self) -> np.ndarray:
        """[K] float64, on the host."""

    def range(self) -> Range:
        """The least and the largest reward of any arm, on the host."""

    def family(self) -> Family | None:
        """The one-parameter family of `jaxbandit.families` that the laws belong to, or None. On the host."""

    def draw(self, words: Words, arms: Array) -> Array:
        """The rewards [M] of the arms [M], from their bits. Traced."""


@pytree
class GaussianLaw:
    """Normal rewards with these means [K] and standard deviations [K]."""

    mean: np.ndarray | Array
    deviation: np.ndarray | Array

    def means(self) -> np.ndarray:
        return np.asarray(self.mean)

    def range(self) -> Range:
        return -math.inf, math.inf

    def family(self) -> Family | None:
        return families.Gaussian(np.asarray(self.deviation) ** 2)

    def offset(self) -> float:
        mean = np.asarray(self.mean)
        return float(mean.min()) if np.abs(mean).max() > FAR * np.min(self.deviation) else 0.0

    def shifted(self, offset: float) -> GaussianLaw:
        return GaussianLaw(np.asarray(self.mean) - offset, self.deviation)

    def draw(self, words: Words, arms: Array) -> Array:
        mean, deviation = _of(arms, self.mean, self.deviation)
        return mean + deviation * quantiles.normal(words, mean.dtype)


@pytree
class ExponentialLaw:
    """Exponential rewards with these means [K]."""

    mean: np.ndarray | Array

    def means(self) -> np.ndarray:
        return np.asarray(self.mean)

    def range(self) -> Range:
        return 0.0, math.inf

    def family(self) -> Family | None:
        return families.Exponential()

    def draw(self, words: Words, arms: Array) -> Array:
        (mean,) = _of(arms, self.mean)
        return mean * quantiles.exponential(words, mean.dtype)


@pytree
class UniformLaw:
    """Uniform rewards from `low` [K] to `high` [K]."""

    low: np.ndarray | Array
    high: np.ndarray | Array

    def means(self) -> np.ndarray:
        return np.asarray((np.asarray(self.low) + np.asarray(self.high)) / 2)

    def range(self) -> Range:
        return float(np.min(self.low)), float(np.max(self.high))

    def family(self) -> None:
        return None

    def offset(self) -> float:
        return far_from_zero(*self.range())

    def shifted(self, offset: float) -> UniformLaw:
        return UniformLaw(np.asarray(self.low) - offset, np.asarray(self.high) - offset)

    def draw(self, words: Words, arms: Array) -> Array:
        return quantiles.uniform(words, *_of(arms, self.low, self.high))


@pytree
class PoissonLaw:
    """Poisson rewards with these means [K], by thresholds of 64 bits (see `inverse_laws.poisson_thresholds`)."""

    mean: np.ndarray | Array
    least: np.ndarray | Array = field(repr=False)  # [K] int32
    thresholds: np.ndarray | Array = field(repr=False)  # [K, N, 2] uint32

    def means(self) -> np.ndarray:
        return np.asarray(self.mean)

    def range(self) -> Range:
        return 0.0, math.inf

    def family(self) -> Family | None:
        return families.Poisson()

    def draw(self, words: Words, arms: Array) -> Array:
        high, low = (jnp.asarray(self.thresholds)[..., word].reshape(-1) for word in range(2))
        words = _once(words[0]), _once(words[1])
        below = jnp.zeros_like(arms)  # a number of thresholds known not to exceed the bits
        step = (ENTRIES + 1) // 2
        while step:
            at = arms * ENTRIES + below + (step - 1)
            passed = (words[0] > high[at]) | ((words[0] == high[at]) & (words[1] >= low[at]))
            below, step = computed_once(jnp.where(passed, below + step, below)), step // 2
        return (look_up(jnp.asarray(self.least), arms) + below).astype(float)


@pytree
class BetaLaw:
    """Beta rewards with parameters `a` [K] and `b` [K], by tables of log-odds (see `inverse_laws.beta_log_odds`)."""

    a: np.ndarray | Array
    b: np.ndarray | Array
    table: np.ndarray | Array = field(repr=False)  # [K, 2, N, D + 1]

    def means(self) -> np.ndarray:
        return np.asarray(self.a / (np.asarray(self.a) + np.asarray(self.b)))

    def range(self) -> Range:
        return 0.0, 1.0

    def family(self) -> None:
        return None

    def draw(self, words: Words, arms: Array) -> Array:
        table = jnp.asarray(self.table, float)
        place = computed_once(2 * quantiles.log_odds(words, table.dtype))
        piece = jnp.minimum(jnp.floor(jnp.abs(place)), PIECES - 1)
        flat = computed_once((2 * arms + (place > 0)) * PIECES + piece.astype(jnp.int32))
        rows = table.reshape(-1, table.shape[-1])
        inside = jnp.abs(place) - piece - 0.5
        odds = jnp.zeros_like(inside)
        for power in reversed(range(table.shape[-1])):
            odds = odds * inside + rows[:, power][flat]
        _, share = exponential(jnp.abs(odds))
        smaller = share / (1 + share)
        return jnp.where(odds < 0, smaller, 1 - smaller)


def _once(word: Array) -> Array:
    """Return 32 random bits, computed once, not again for each look-up (`fast.computed_once` is for floats)."""
    high, low = (computed_once(half.astype(jnp.int32)).astype(jnp.uint32) for half in (word >> 16, word & 0xFFFF))
    return (high << 16) | low


def _of(arms: Array, *numbers: Any) -> tuple[Array, ...]:
    """The entries [M] of the arms in each of `numbers` [K]."""
    return tuple(look_up(jnp.asarray(value, float), arms) for value in numbers)
