"""Inverse distribution functions: a reward from 64 random bits, as accurate in both tails as in the middle.

A float keeps the digits of a small probability and loses those of one close to 1. So the 64 bits are read as the side
on which a draw lies, and the probability of a draw further out on that side.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import DTypeLike

from jaxbandit.arguments import LARGEST_INTEGER
from jaxbandit.fast import log, log_of_sum, polynomial

# Coefficients, from power 0 up, of numerators and denominators: of z / q in 0.180625 - q^2 for q up to 0.425 (the form
# is that of algorithm AS 241), and of z in sqrt(-log p) beyond it, for p from 2^-64 on. They were fitted to make the
# largest relative error smallest: it is 5e-8 and 2e-9.
_MIDDLE = [3.38713278, 50.4999241, 159.805251, 59.4474661], [1.0, 17.9145576, 78.9673797, 67.5059597]
_TAIL = (
    [-2.97165597, -6.19422745, 5.74570186, 6.48110263, 0.846333981],
    [1.0, 5.38266016, 4.59636391, 0.598264389],
)


class Tail(NamedTuple):
    """Where a uniform number u lies, in floats that keep its digits on both sides; p <= 1/2."""

    above: Array  # bool, whether u > 1/2
    p: Array  # u, or 1 - u above; from 2^-64
    q: Array  # 1/2 - p


def tail(words: tuple[Array, Array], dtype: DTypeLike) -> Tail:
    """The uniform number that two words of 32 random bits stand for, one of 2^63.

    >>> tail((jnp.uint32(2**31), jnp.uint32(0)), float)
    Tail(above=Array(True, dtype=bool), p=Array(5.421011e-20, dtype=float32), q=Array(0.5, dtype=float32))
    """
    first, second = (jax.lax.bitcast_convert_type(word, jnp.int32) for word in (words[0], words[1] >> 1))
    most = jnp.int32(LARGEST_INTEGER)
    p, q = (
        (high.astype(dtype) * 2.0**31 + (low.astype(dtype) + 0.5)) * 2.0**-63
        for high, low in ((first & most, second), (~first & most, most - second))
    )
    return Tail(first < 0, p, q)


def normal(words: tuple[Array, Array], dtype: DTypeLike) -> Array:
    """The standard normal quantile of 64 random bits, between -9.08 and 9.08, with a relative error of at most 5e-7.

    >>> float(normal((jnp.uint32(2**31), jnp.uint32(0)), float).round(3))
    9.081
    """
    above, p, q = tail(words, dtype)
    far = jnp.sqrt(-log(p))
    inside = 0.180625 - q * q
    middle = q < 0.425
    upper = jnp.where(middle, q * polynomial(inside, _MIDDLE[0]), polynomial(far, _TAIL[0]))
    lower = jnp.where(middle, polynomial(inside, _MIDDLE[1]), polynomial(far, _TAIL[1]))
    return jnp.where(above, upper, -upper) / lower


def exponential(words: tuple[Array, Array], dtype: DTypeLike) -> Array:
    """The quantile of the exponential law with mean 1, between 2^-64 and 44.4, with a relative error of at most 5e-7.

    -log(1 - u) is log(1 + p / (1 - p)) for a small u = p, and log(1 + (1 - p) / p) for a small 1 - u = p.

    >>> float(exponential((jnp.uint32(2**31), jnp.uint32(0)), float).round(3))
    44.361
    """
    above, p, _ = tail(words, dtype)
    rest = 1 - p
    return log_of_sum(jnp.where(above, rest, p) / jnp.where(above, p, rest))


def uniform(words: tuple[Array, Array], low: Array, high: Array) -> Array:
    """A number between low and high, as close to either as a float can be.

    >>> float(uniform((jnp.uint32(0), jnp.uint32(0)), jnp.float32(0.0), jnp.float32(1.0)))
    5.421010862427522e-20
    """
    above, p, _ = tail(words, low.dtype)
    inwards = (high - low) * p
    return jnp.where(above, high - inwards, low + inwards)


def log_odds(words: tuple[Array, Array], dtype: DTypeLike) -> Array:
    """log(u / (1 - u)) of a uniform number u, between -44.4 and 44.4, with a relative error of at most 5e-7.

    >>> float(log_odds((jnp.uint32(2**31), jnp.uint32(0)), float).round(3))
    44.361
    """
    above, p, q = tail(words, dtype)
    size = log_of_sum(2 * q / p)  # (1 - p) / p is 1 + 2 q / p
    return jnp.where(above, size, -size)
