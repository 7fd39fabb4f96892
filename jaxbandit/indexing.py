"""Reads and writes at an index by comparison with all indices.

On a CPU, XLA gathers and scatters one element at a time, but vectorises comparisons and selections over the runs. The
functions are written for one run, with M the number of plays in a round.
"""

from __future__ import annotations

import jax.numpy as jnp

from jaxbandit.base import Array


def computed_once(values: Array) -> Array:
    """`values` unchanged, but computed once instead of again in each operation that uses them.

    XLA's CPU compiler fuses a cheap operation into every operation that uses its result, and so repeats it there: the
    choice of the arm would be made again for each count that it changes. It takes a float division for expensive and
    never repeats one. So the values are divided by 1, written as 1 + min(|value|, 0), which the compiler does not
    recognise as 1.

    Args:
      values: any shape; floats, or integers below 2^24 in absolute value, which a float32 holds exactly.

    >>> computed_once(jnp.array([3, 0, -2])).tolist()
    [3, 0, -2]
    """
    value = values.astype(float)
    return (value / (1 + jnp.minimum(jnp.abs(value), 0))).astype(values.dtype)


def is_at(index: Array, size: int) -> Array:
    """[M, size] bool: entry [m, k] is true where k = index[m]; index is [M], integer, from 0 to size - 1."""
    return index[:, None] == jnp.arange(size, dtype=index.dtype)[None]


def pick(values: Array, arms: Array) -> Array:
    """values[arms]: from values [K] and arms [M] to [M].

    >>> pick(jnp.array([5, 6, 7]), jnp.array([2, 0])).tolist()
    [7, 5]
    """
    return jnp.sum(jnp.where(is_at(arms, values.shape[0]), values[None], 0), axis=1, dtype=values.dtype)


def put(values: Array, arms: Array, new: Array) -> Array:
    """values [K] with new[m] written at arms[m] for every m: arms [M], distinct; new [M].

    >>> put(jnp.array([5, 6, 7]), jnp.array([2, 0]), jnp.array([1, 2])).tolist()
    [2, 6, 1]
    """
    here = is_at(arms, values.shape[0])
    written = jnp.sum(jnp.where(here, new[:, None], 0), axis=0, dtype=values.dtype)
    return jnp.where(jnp.any(here, axis=0), written, values)


def add_one(counts: Array, *index: Array) -> Array:
    """counts with 1 added at counts[index[0][m], index[1][m], ...] for every m: one index [M] for each axis of counts.

    >>> add_one(jnp.zeros((2, 2), int), jnp.array([1]), jnp.array([0])).tolist()
    [[0, 0], [1, 0]]
    """
    flat = jnp.zeros_like(index[0])
    for size, at in zip(counts.shape, index, strict=True):
        flat = flat * size + at
    here = is_at(computed_once(flat) if counts.size < 2**24 else flat, counts.size)
    return counts + jnp.sum(here, axis=0, dtype=counts.dtype).reshape(counts.shape)
