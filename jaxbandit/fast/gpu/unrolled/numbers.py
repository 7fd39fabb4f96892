"""Arrays of single numbers: NumPy arrays of objects, each of which is a scalar or a vector over runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base import Array

Numbers = Any  # a NumPy array of objects, each a scalar, a vector over runs, or a `Key`


class Key(NamedTuple):
    """A threefry key as its two uint32 words, each a scalar or a vector over runs."""

    high: Array
    low: Array


class UnsupportedError(ValueError):
    """A function uses an operation that has no form on single numbers."""


def objects(entries: Any, shape: tuple[int, ...] | None = None) -> Numbers:
    """A NumPy array of objects with this shape, from its entries in row-major order; without a shape, one axis."""
    entries = list(entries)
    array = np.empty(len(entries), object)
    for place, entry in enumerate(entries):  # one by one: np.array would make axes of vectors and of keys
        array[place] = entry
    return array if shape is None else array.reshape(shape)


def constant(value: Array) -> Numbers:
    """The numbers of a constant array as NumPy scalars: a kernel may contain those, but no constant arrays."""
    array = np.asarray(value)
    return objects((array.dtype.type(entry) for entry in array.ravel()), array.shape)


def bind(primitive: Any, parameters: dict[str, Any], *entries: Array) -> Array:
    """One elementwise operation on single numbers, each a scalar or a vector over runs.

    Operands that are all NumPy scalars are computed at once, while tracing, and give a NumPy scalar. Otherwise scalars
    are first spread over the runs, if another operand is a vector over them, because operands must agree in shape.
    """
    if all(isinstance(entry, np.generic) for entry in entries):
        with jax.ensure_compile_time_eval():
            value = np.asarray(primitive.bind(*entries, **parameters))
        return value.dtype.type(value)
    runs = runs_of(entries)
    return primitive.bind(
        *[entry if jnp.shape(entry) == runs else jnp.broadcast_to(entry, runs) for entry in entries], **parameters
    )


def runs_of(entries: Sequence[Array]) -> tuple[int, ...]:
    """The shape of the entries that are vectors over runs, () if all are scalars."""
    return next((jnp.shape(entry) for entry in entries if jnp.ndim(entry)), ())
