"""Arrays of single numbers, each a scalar or a vector over runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base import Array

Numbers = Any  # a NumPy array of objects; each is a scalar, a vector over runs, or a `Key`


class Key(NamedTuple):
    """A threefry key."""

    high: Array
    low: Array


class UnsupportedError(ValueError):
    """An operation has no form on single numbers."""


def objects(entries: Any, shape: tuple[int, ...] | None = None) -> Numbers:
    """A NumPy array of objects of a shape, one axis by default, from its entries in order."""
    entries = list(entries)
    array = np.empty(len(entries), object)
    for place, entry in enumerate(entries):  # one by one, else NumPy takes vectors and keys apart
        array[place] = entry
    return array if shape is None else array.reshape(shape)


def constant(value: Array) -> Numbers:
    """A constant's numbers as NumPy scalars, which a kernel may hold where it may not hold an array."""
    array = np.asarray(value)
    return objects((array.dtype.type(entry) for entry in array.ravel()), array.shape)


def bind(primitive: Any, parameters: dict[str, Any], *entries: Array) -> Array:
    """One elementwise operation; scalars are spread over the runs where another operand has them."""
    if all(isinstance(entry, np.generic) for entry in entries):
        with jax.ensure_compile_time_eval():
            value = np.asarray(primitive.bind(*entries, **parameters))
        return value.dtype.type(value)
    runs = runs_of(entries)
    return primitive.bind(
        *[entry if jnp.shape(entry) == runs else jnp.broadcast_to(entry, runs) for entry in entries], **parameters
    )


def runs_of(entries: Sequence[Array]) -> tuple[int, ...]:
    """The shape of those entries that are not scalars."""
    return next((jnp.shape(entry) for entry in entries if jnp.ndim(entry)), ())
