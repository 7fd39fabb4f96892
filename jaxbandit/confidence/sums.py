"""Sums and maxima over the last axis in a fixed order: a reduction's order may change with the batch, and its bits."""

from __future__ import annotations

from functools import reduce

import jax.numpy as jnp

from jaxbandit.base import Array


def total(values: Array) -> Array:
    """Sum over the last axis: [..., S] to [...].

    >>> int(total(jnp.array([1, 2, 3])))
    6
    """
    return sum(values[..., i] for i in range(values.shape[-1]))


def largest(values: Array) -> Array:
    """Maximum over the last axis: [..., S] to [...].

    >>> int(largest(jnp.array([1, 3, 2])))
    3
    """
    return reduce(jnp.maximum, (values[..., i] for i in range(values.shape[-1])))
