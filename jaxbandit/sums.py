"""Sums in two floats, exact over many rounds."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from jaxbandit.base import described


@described
class TwoFloats(NamedTuple):
    """A number as the sum of two floats; the second is at most half a unit in the last place of the first.

    Fields:
      high: [K], the sum as a float.
      low: [K], the rest of the sum.
    """

    high: Array
    low: Array


def no_sums(arms: int) -> TwoFloats:
    """Zeros, one for each arm."""
    return TwoFloats(jnp.zeros(arms), jnp.zeros(arms))


def add_rewards(sums: TwoFloats, arms: Array, rewards: Array) -> TwoFloats:
    """The sums [K] with the rewards [M] of the distinct arms [M] added.

    An addition is off by at most 2^-46 of the sum in single precision, so that 1e7 of them are exact to a float's own
    precision or better; a single float would stop growing once a reward is below 2^-24 of the sum.

    Source: Dekker 1971; Knuth's sum of two numbers, with its rounding error.

    >>> sums = add_rewards(no_sums(2), jnp.array([1]), jnp.array([2.0**24]))
    >>> [part.tolist() for part in add_rewards(sums, jnp.array([1]), jnp.array([1.0]))]
    [[0.0, 16777216.0], [0.0, 1.0]]
    """
    played = arms[:, None] == jnp.arange(sums.high.shape[0], dtype=arms.dtype)[None]
    return add_to_each(sums, jnp.sum(jnp.where(played, rewards[:, None], 0), axis=0))


def add_to_each(sums: TwoFloats, numbers: Array) -> TwoFloats:
    """The sums [K], each with its own number [K] added, as exactly as by `add_rewards`.

    >>> [part.tolist() for part in add_to_each(no_sums(2), jnp.array([1.0, 2.0]))]
    [[1.0, 2.0], [0.0, 0.0]]
    """
    high, lost = _sum_and_error(sums.high, numbers)
    lost = lost + sums.low
    whole = high + lost
    return TwoFloats(whole, lost - (whole - high))


def below_largest(sums: TwoFloats) -> Array:
    """The largest sum minus each of the sums [K], [K]: exact to a float's precision.

    >>> below_largest(TwoFloats(jnp.array([2.0**25, 2.0**25]), jnp.array([0.5, -0.25]))).tolist()
    [0.0, 0.75]
    """
    largest = jnp.max(sums.high)
    rest = jnp.max(jnp.where(sums.high == largest, sums.low, -jnp.inf))
    return (largest - sums.high) + (rest - sums.low)


def _sum_and_error(x: Array, y: Array) -> tuple[Array, Array]:
    """x + y as a float, and its rounding error."""
    whole = x + y
    part = whole - x
    return whole, (x - (whole - part)) + (y - part)
