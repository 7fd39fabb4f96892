"""Reads, writes and sums at an index, made by comparing it with every place of the array.

XLA on a CPU gathers and scatters one element at a time, but compares whole vectors of runs at once. Arrays here have
the runs as their last axis. `batching.over_runs` replaces a program's `x[i]`, `x.at[i].set(y)` and
`x.at[i].add(y)`, which are the plain forms, by these functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.custom_batching import custom_vmap

from jaxbandit.fast.slow_paths import PLAIN
from jaxbandit.fast.target import for_cpu

# The limits up to which entries are read and written by comparing; beyond them XLA's own operations are used.
MOST_COMPARED = 2**8  # places of an array to which one is added on a CPU
MOST_PLACES = 2**15  # places of an array, times the number of entries to which one is added
MOST_READ = 2**9  # places of a run's own array, times the number of entries that are read
MOST_ENTRIES = 8  # of each row's own table, likewise
MOST_ROWS = 64  # of a table that all runs share; a larger one is read by XLA's own operation


def computed_once(values: Array) -> Array:
    """`values` unchanged (floats, or integers below 2^24), but computed once and not again in each of their consumers.

    XLA's CPU compiler fuses cheap operations into everything that consumes them and so repeats them: the choice of the
    arm would be made again for each count that it changes. It takes a floating-point division for expensive and never
    repeats it, so we divide by a 1 that it cannot recognise.

    >>> computed_once(jnp.array([3, 0, -2])).tolist()
    [3, 0, -2]
    """
    if PLAIN:
        return values
    value = values.astype(float)
    return (value / (1 + jnp.minimum(jnp.abs(value), 0))).astype(values.dtype)


def add_one(counts: Array, *index: Array) -> Array:
    """`counts.at[index].add(1)` for one run, index within bounds: an array [M] for each axis of the counts.

    It relies on indices that are not negative, which the plain form cannot tell XLA. UCB-SM saves a fifth of a round.

    >>> add_one(jnp.zeros((2, 2), int), jnp.array([1]), jnp.array([0])).tolist()
    [[0, 0], [1, 0]]
    """
    if PLAIN:
        return counts.at[index].add(1)
    if counts.size > MOST_COMPARED and for_cpu():
        return _add_in_place(counts, _number(index, counts.shape))
    if counts.size * jnp.size(index[0]) > MOST_PLACES:
        return counts.at[index].add(1)
    flat = computed_once(_number(index, counts.shape))
    here = flat[:, None] == jnp.arange(counts.size, dtype=flat.dtype)[None]
    return counts + jnp.sum(here, axis=0, dtype=counts.dtype).reshape(counts.shape)


def _add_in_place(counts: Array, places: Array) -> Array:
    """`add_one` at places [M] of the flattened counts: in a batch of runs one number after the other, where it is."""
    asked = custom_vmap(lambda counts, places: counts.reshape(-1).at[places].add(1).reshape(counts.shape))

    @asked.def_vmap
    def of_all(size: int, batched: Any, counts: Array, places: Array) -> Any:
        axes = tuple(0 if there else None for there in batched)
        return jax.vmap(asked.fun, in_axes=axes, axis_size=size)(counts, places), True

    def runs_last(flat: list[Array]) -> list[Array]:
        counts, places = flat[-2:]
        runs = counts.shape[-1]

        def turn(n: Array, table: Array) -> Array:
            run = n % runs
            at = places[n // runs, run], run
            return jax.lax.dynamic_update_slice(table, jax.lax.dynamic_slice(table, at, (1, 1)) + 1, at)

        table = jax.lax.fori_loop(0, places.size, turn, counts.reshape(-1, runs))
        return [table.reshape(counts.shape)]

    of_all.runs_last = runs_last  # type: ignore[attr-defined]
    return asked(counts, places)


def exchange_row(table: Array, row: Array, new: Array) -> tuple[Array, Array]:
    """`table[row]` and `table.at[row].set(new)` for one run, row within bounds: [N, ..], a number and [..].

    In a loop XLA writes to a table in its place only if it sees that everything has been read before; else it copies
    the whole table in every turn. So the row is read once, and what is written depends on what was read, by a 0 that
    XLA cannot recognise. Where all runs have the same row, they read and write one block of memory.

    >>> old, table = exchange_row(jnp.array([[1, 2], [3, 4]]), jnp.int32(1), jnp.array([5, 6]))
    >>> old.tolist(), table.tolist()
    ([3, 4], [[1, 2], [5, 6]])
    """
    old = computed_once(jax.lax.dynamic_index_in_dim(table, row, keepdims=False))
    if not PLAIN:
        new = new + jnp.minimum(jnp.abs(old), 0)
    return old, jax.lax.dynamic_update_index_in_dim(table, new, row, 0)


def look_up(table: Array | np.ndarray, *index: Array) -> Array:
    """`table[index]` for one run, index within bounds: an array [M] for each of the table's first axes.

    For a table that all runs share. XLA itself reads it for one run at a time, and this keeps a processor
    without masked vectors from computing anything around it for several runs at once.

    >>> look_up(jnp.array([[[1, 2], [3, 4]], [[5, 6], [7, 8]]]), jnp.array([1]), jnp.array([0])).tolist()
    [[5, 6]]
    """
    sizes, row = table.shape[: len(index)], table.shape[len(index) :]
    if PLAIN or math.prod(sizes) > MOST_ROWS:
        return table[index]
    rows, flat = table.reshape(-1, *row), _number(index, sizes).reshape(-1, *[1] * len(row))
    entries = jnp.broadcast_to(rows[0], (len(flat), *row))
    for n in range(1, len(rows)):
        entries = jnp.where(flat == n, rows[n][None], entries)
    return entries


def look_up_each(table: Array, index: Array) -> Array:
    """`table[k, index[k]]` for every k, of one run, index within bounds: [K, N, ..] and [K] to [K, ..].

    Each row has a table of its own, so that it is compared with N entries instead of all K N, as in `look_up`.

    >>> look_up_each(jnp.array([[[1], [2]], [[3], [4]]]), jnp.array([1, 0])).tolist()
    [[2], [3]]
    """
    if PLAIN or table.shape[1] > MOST_ENTRIES:
        return table[jnp.arange(len(index)), index]
    at = index.reshape(-1, *[1] * (table.ndim - 2))
    entries = table[:, 0]
    for n in range(1, table.shape[1]):
        entries = jnp.where(at == n, table[:, n], entries)
    return entries


def _number(index: Sequence[Array], shape: Sequence[int]) -> Array:
    """The number of each indexed place in an array of this shape, counted row by row."""
    flat = jnp.zeros_like(index[0])
    for size, at in zip(shape, index, strict=True):
        flat = flat * size + at
    return flat


def place(index: Sequence[Array], shape: Sequence[int]) -> Array:
    """The number of each indexed place in an array of this shape, counted row by row; out of bounds -1 or -2.

    Args:
      index: an integer array [..., runs] for each axis of the shape.

    Returns:
      [..., runs]; -1 where an index is negative, -2 where one is too large.

    >>> place([jnp.array([[0, 1, 2]]), jnp.array([[1, 2, 0]])], (2, 3)).tolist()
    [[1, 5, -2]]
    """
    flat = _number(index, shape)
    for size, at in zip(shape, index, strict=True):
        flat = jnp.where(at < 0, -1, jnp.where(at >= size, -2, flat))
    return computed_once(flat)


def read(values: Array, places: Array, clamped: bool = False) -> Array:
    """The values [*shape, runs] at `places` [*many, runs], each of a run in the same run: [*many, runs].

    Args:
      places: as from `place`.
      clamped: whether the first value is read at -1 and the last at -2, not 0.

    >>> read(jnp.array([[5, 6], [7, 8]]), jnp.array([[1, 0]])).tolist()
    [[7, 6]]
    """
    flat = values.reshape(-1, values.shape[-1])
    here = _is_at(places, len(flat))
    masked = jnp.where(here, flat.reshape(*[1] * (here.ndim - 2), *flat.shape), 0)
    entries = jnp.any(masked, axis=-2) if values.dtype == bool else add_up(masked, -2)
    if not clamped:
        return entries
    first, last = (flat[end].reshape(*[1] * (places.ndim - 1), -1) for end in (0, -1))
    return jnp.where(places < 0, jnp.where(places == -1, first, last), entries)


def read_whole(values: Array, places: Array) -> Array:
    """The slices values[place] of `values` [N, ..., runs] at `places` [*many, runs] of 0 to N - 1: [*many, ..., runs].

    >>> read_whole(jnp.array([[[5], [6]], [[7], [8]]]), jnp.array([[1]])).tolist()
    [[[7], [8]]]
    """
    rest = values.shape[1:]
    many = places.reshape(*places.shape[:-1], *[1] * (len(rest) - 1), places.shape[-1])
    slices = jnp.broadcast_to(values[0], (*places.shape[:-1], *rest))
    for number in range(1, len(values)):
        slices = jnp.where(many == number, jnp.broadcast_to(values[number], slices.shape), slices)
    return slices


def write(values: Array, places: Array, new: Array) -> Array:
    """The values [*shape, ..., runs] with `new` [many, ..., runs] at `places` [many, runs].

    Where places are equal, the last one counts.

    >>> write(jnp.array([[5], [6]]), jnp.array([[1]]), jnp.array([[9]])).tolist()
    [[5], [9]]
    """
    flat = values.reshape(-1, *new.shape[1:])
    for here, value in zip(_is_at(places, len(flat)), new, strict=True):
        flat = jnp.where(_before(here, new), value[None], flat)
    return flat.reshape(values.shape)


def add(values: Array, places: Array, more: Array) -> Array:
    """The values [*shape, ..., runs] with `more` [many, ..., runs] added at `places` [many, runs].

    >>> add(jnp.array([[5], [6]]), jnp.array([[1], [1]]), jnp.array([[2], [3]])).tolist()
    [[5], [11]]
    """
    flat = values.reshape(-1, *more.shape[1:])
    added = jnp.where(_before(_is_at(places, len(flat)), more), more[:, None], 0)
    return (flat + add_up(added, 0).astype(flat.dtype)).reshape(values.shape)


def _before(here: Array, new: Array) -> Array:
    """Comparisons [..., runs] in the shape in which they meet slices [many, ..., runs]."""
    return here.reshape(*here.shape[:-1], *[1] * (new.ndim - 2), here.shape[-1])


def add_up(values: Array, axis: int) -> Array:
    """The sum over an axis, in its order where it is short: XLA does not vectorise its own sums of few entries.

    >>> add_up(jnp.ones((3, 2), int), 0).tolist()
    [3, 3]
    """
    if not is_short(values, [axis]):
        return jnp.sum(values, axis=axis, dtype=values.dtype)
    return fold(jnp.add, values, [axis])


def any_of(flags: Array) -> Array:
    """Whether any of the flags [R] is set; of few flags without a reduction, at which XLA cuts a program in pieces.

    One half is joined with the other until one flag is left. A chain of all flags, one by one, makes XLA simplify the
    whole program again for every link.

    >>> any_of(jnp.array([False, False, True])).tolist()
    True
    """
    if len(flags) > MOST_ROWS:
        return jnp.any(flags)
    while len(flags) > 1:
        half = (len(flags) + 1) // 2
        flags = flags[:half] | flags[-half:]  # of an odd number, the flag in the middle twice
    return flags[0]


def is_short(array: Array, axes: Sequence[int]) -> bool:
    """Whether an array's reduction over these axes is better written out: up to 32 floats, up to 8 integers."""
    size: int = math.prod(array.shape[axis] for axis in axes)
    return 0 < size <= (32 if _is_float(array) else 8)


def fold(operation: Callable[[Array, Array], Array], array: Array, axes: Sequence[int]) -> Array:
    """A reduction over the axes, entry after entry in their order."""
    entries = jnp.moveaxis(array, axes, range(len(axes)))
    result = reduce(operation, (entries[index] for index in np.ndindex(entries.shape[: len(axes)])))
    return computed_once(result) if _is_float(array) else result


def _is_at(places: Array, size: int) -> Array:
    """[*many, size, runs], true where a place has that number."""
    numbers = jnp.arange(size, dtype=places.dtype).reshape(*[1] * (places.ndim - 1), size, 1)
    return places[..., None, :] == numbers


def _is_float(array: Array) -> bool:
    return bool(jnp.issubdtype(array.dtype, jnp.floating))
