"""Distances between distributions: the Bernoulli KL divergence and the total variation between rows."""

from __future__ import annotations

import jax.numpy as jnp

from jaxbandit.base import Array


def bernoulli_kl(p: Array, q: Array) -> Array:
    """d(p, q) = p log(p/q) + (1-p) log((1-p)/(1-q)), with 0 log 0 = 0; inf where q is 0 or 1 and p is not.

    Written as q h((p-q)/q) + (1-q) h((q-p)/(1-q)) with h(e) = (1+e) log(1+e) - e, which is never negative and keeps
    its digits near p = q, where the plain form loses them all.

    Args:
      p, q: broadcast against each other, in [0, 1].

    >>> round(float(bernoulli_kl(0.5, 0.25)), 6)
    0.143841
    """
    p, q = jnp.asarray(p, float), jnp.asarray(q, float)
    return _scaled(p - q, q) + _scaled(q - p, 1 - q)


def _scaled(difference: Array, weight: Array) -> Array:
    """weight h(difference / weight), h(e) = (1+e) log(1+e) - e; 0 where both are 0, inf where only the weight is."""
    safe = jnp.where(weight > 0, weight, 1)
    e = difference / safe
    series = e * e * (1 / 2 - e * (1 / 6 - e * (1 / 12 - e * (1 / 20 - e * (1 / 30 - e / 42)))))
    left = jnp.maximum(1 + e, 0)
    direct = jnp.where(left > 0, left * jnp.log(jnp.where(left > 0, left, 1)), 0) - e
    small = 0.02 if e.dtype.itemsize == 4 else 1e-3
    value = safe * jnp.where(jnp.abs(e) < small, series, direct)
    return jnp.where(weight > 0, value, jnp.where(difference > 0, jnp.inf, 0))


def total_variation(p: Array, q: Array) -> Array:
    """Half the L1 distance of two rows: [..., S] and [..., S] to [...], in [0, 1].

    >>> float(total_variation(jnp.array([0.5, 0.5]), jnp.array([0.25, 0.75])))
    0.25
    """
    difference = jnp.abs(jnp.asarray(p, float) - q)
    return sum(difference[..., s] for s in range(difference.shape[-1])) / 2
