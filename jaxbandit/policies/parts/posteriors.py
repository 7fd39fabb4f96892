"""Dirichlet, gamma and normal draws for posterior sampling, from a fixed number of random bits."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike, DTypeLike

from jaxbandit.base import total
from jaxbandit.fast import computed_once, cosine_and_sine, exponential, log, threefry


def dirichlet(key: Array, parameters: Array | np.ndarray) -> Array:
    """Independent draws from Dirichlet laws: rows [..., S] that sum to 1, from their parameters [..., S].

    >>> float(jax.jit(dirichlet)(jax.random.key(0), jnp.array([0.5, 2.0])).sum())
    1.0
    """
    return normalised(log_gamma(key, parameters))


def normalised(logs: Array) -> Array:
    """Rows [..., S] that sum to 1, from the logarithms of their weights.

    >>> normalised(jnp.log(jnp.array([1.0, 3.0]))).round(6).tolist()
    [0.25, 0.75]
    """
    weights = jnp.exp(logs - jnp.max(logs, axis=-1, keepdims=True))
    return computed_once(weights / total(weights)[..., None])


def log_gamma(key: Array, shape: Array | np.ndarray) -> Array:
    """Logarithms of independent draws from gamma laws of scale 1.

    A draw for shape + 3 comes from rejection sampling and is multiplied by u_0^(1 / shape) u_1^(1 / (shape + 1))
    u_2^(1 / (shape + 2)), u_n uniform, which gives a draw for `shape`. With d = shape + 8/3 and w = x / sqrt(9 d), x
    normal, the proposal is d (1 + w)^3; it is rejected with probability
    r(w) = 1 - exp(d (3 log(1 + w) - 3 w + 3 w^2 / 2 - w^3)), on average at most 0.0112 (0.008 from shape 1 on).
    There are four proposals. The draw is the first one that is accepted, or the last one if all are rejected, which
    changes no probability by more than 0.0112^4 = 2e-8. With a fixed number of proposals the program has no
    data-dependent loop.

    One uniform number u decides on all proposals: the first n are rejected if u < r(w_1) ... r(w_n), which has the
    same probability as with independent numbers.

    Args:
      key: a random key.
      shape: [...], positive; the logarithms returned are [...], too.

    Source: Marsaglia and Tsang 2000; the exponent is theirs, without the terms that cancel.

    >>> jax.jit(log_gamma)(jax.random.key(0), jnp.array([0.5, 2.0])).shape
    (2,)
    """
    words, number = jax.random.key_data(key), jnp.arange(shape.size, dtype=jnp.uint32).reshape(shape.shape)
    pairs = [threefry(words, number, jnp.uint32(block)) for block in range(4)]
    u, *others = (uniform(word, shape.dtype) for pair in pairs[2:] for word in pair)
    d = shape + 8 / 3
    scale = 1 / (3 * jnp.sqrt(d))
    base, rejected = jnp.zeros_like(shape), jnp.ones_like(shape)
    for x in (x for pair in pairs[:2] for x in normals(*pair, shape.dtype)):
        w = x * scale
        proposed = log(jnp.maximum(1 + w, 1e-30))  # where w <= -1, r(w) is 1
        base = jnp.where(u <= rejected, proposed, base)
        rejected = rejected * exponential(d * excess(w, proposed))[0]
    factors = sum(log(other) / (shape + n) for n, other in enumerate(others))
    return computed_once(log(d) + 3 * base + factors)


def of_rows(parameter: ArrayLike, axes: int = 2) -> ArrayLike:
    """A parameter of a prior law, one number or [K], in the shape in which it meets rows [K, ..] with more axes.

    >>> of_rows(1.0), of_rows(jnp.array([1.0, 2.0])).shape
    (1.0, (2, 1, 1))
    """
    of_each = jnp.stack(parameter) if isinstance(parameter, list | tuple) else parameter
    return jnp.reshape(of_each, (-1, *[1] * axes)) if jnp.ndim(of_each) else of_each


def excess(w: Array, logarithm: Array) -> Array:
    """w^3 - 3 w^2 / 2 + 3 w - 3 log(1 + w), from w and the logarithm of 1 + w: [...].

    Near w = 0 it is a series, because `log_gamma` multiplies it by d, which would amplify the rounding errors of the
    direct form.
    """
    series = w**4 * (3 / 4 + w * (-3 / 5 + w * (1 / 2 + w * (-3 / 7 + w * (3 / 8)))))
    return jnp.where(jnp.abs(w) < 0.1, series, w**3 - 3 * (logarithm - w + w * w / 2))


def uniform(word: Array, dtype: DTypeLike) -> Array:
    """A number between 2^-32 and 1, never 0, from the first 31 of 32 random bits."""
    return ((word >> 1).astype(jnp.int32).astype(dtype) + 0.5) * 2**-31


# `quantiles.normal` is accurate further out in the tails, but needs 64 bits for one draw; here they give two.
def normals(first: Array, second: Array, dtype: DTypeLike) -> tuple[Array, Array]:
    """Two independent normal numbers from two words of 32 random bits.

    They are the coordinates of a point in a uniform direction, at a distance r from 0 with r^2 / 2 = -log(u),
    u uniform. With 32 bits r is at most 6.6; the missing tail has the probability 2e-10.

    Source: Box and Muller 1958.
    """
    distance = jnp.sqrt(-2 * log(uniform(first, dtype)))
    quarters = jax.lax.bitcast_convert_type(second, jnp.int32).astype(dtype) * 2**-31
    cosine, sine = cosine_and_sine(quarters)  # from -1 to 1 quarter turns; the last bit turns half of them around
    return jnp.where((second & 1) == 0, distance, -distance) * cosine, distance * sine
