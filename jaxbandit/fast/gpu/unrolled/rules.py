"""What each operation on arrays becomes on arrays of single numbers.

`RULES` maps the name of a JAX primitive to a function of the output's shape and type (`out`), the primitive's
parameters, and its operands as arrays of objects. It returns the output in the same form, or a list of outputs.
Elementwise operations, reductions, calls and loops are in `functions`.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbandit.base import Array
from jaxbandit.fast.gpu.unrolled.numbers import Key, Numbers, UnsupportedError, constant, objects
from jaxbandit.fast.jaxprs import out_of_bounds, points
from jaxbandit.fast.random_bits import threefry


def fold(operation: Callable[[Array, Array], Array], value: Numbers, axes: Sequence[int]) -> Numbers:
    """`value` reduced over `axes` by an operation on two numbers, in the order of the entries."""
    kept = [axis for axis in range(value.ndim) if axis not in axes]
    rows = value.transpose(*kept, *axes).reshape(*(value.shape[axis] for axis in kept), -1)
    shape = rows.shape[:-1]
    return objects((functools.reduce(operation, rows[index]) for index in np.ndindex(shape)), shape)


def _argument(better: Callable[[Array, Array], Array]) -> Callable[..., Numbers]:
    """The rule of argmax or argmin: the index of the best entry along one axis, the first on ties.

    Args:
      better: of an entry and the best one before it, whether the entry replaces it.
    """

    def rule(out: Any, parameters: dict[str, Any], value: Numbers) -> Numbers:
        (axis,) = parameters["axes"]
        rows = np.moveaxis(value, axis, -1)

        def of(row: Numbers) -> Array:
            top, place = row[0], jnp.zeros((), out.dtype)
            for number, entry in enumerate(row[1:], 1):
                ahead = better(entry, top)
                top, place = jnp.where(ahead, entry, top), jnp.where(ahead, jnp.asarray(number, out.dtype), place)
            return place

        return objects((of(rows[index]) for index in np.ndindex(out.shape)), out.shape)

    return rule


def _broadcast(out: Any, parameters: dict[str, Any], value: Numbers) -> Numbers:
    shape = [1] * len(out.shape)
    for axis, size in zip(parameters["broadcast_dimensions"], value.shape, strict=True):
        shape[axis] = size
    return np.broadcast_to(value.reshape(shape), out.shape)


def _slice(out: Any, parameters: dict[str, Any], value: Numbers) -> Numbers:
    strides = parameters["strides"] or (1,) * value.ndim
    return value[tuple(map(slice, parameters["start_indices"], parameters["limit_indices"], strides))]


def _iota(out: Any, parameters: dict[str, Any]) -> Numbers:
    return constant(np.indices(out.shape)[parameters["dimension"]].astype(out.dtype))


def _gather(out: Any, parameters: dict[str, Any], value: Numbers, indices: Numbers) -> Numbers:
    numbers, sizes = parameters["dimension_numbers"], parameters["slice_sizes"]
    if numbers.operand_batching_dims:
        raise UnsupportedError("a gather with batching dimensions has no form on single numbers")
    offsets = [axis for axis in range(value.ndim) if axis not in numbers.collapsed_slice_dims]

    def read(place: tuple[int, ...]) -> Array:
        index = indices[tuple(p for axis, p in enumerate(place) if axis not in numbers.offset_dims)]
        inside = [0] * value.ndim
        for axis, output in zip(offsets, numbers.offset_dims, strict=True):
            inside[axis] = place[output]
        starts = dict(zip(numbers.start_index_map, index))
        if parameters["mode"] != lax.GatherScatterMode.FILL_OR_DROP:  # where JAX is promised bounds, XLA still clips
            return _read(value, inside, _clipped(starts, value, sizes), sizes)
        found = _read(value, inside, starts, sizes)
        last = {axis: value.shape[axis] - sizes[axis] for axis in starts}
        there = [(start >= 0) & (start <= last[axis]) for axis, start in starts.items()]
        fill = out_of_bounds(parameters["fill_value"], out.dtype)
        return jnp.where(functools.reduce(jnp.logical_and, there), found, fill)

    return objects((read(place) for place in np.ndindex(out.shape)), out.shape)


def _dynamic_slice(out: Any, parameters: dict[str, Any], value: Numbers, *starts: Numbers) -> Numbers:
    sizes = parameters["slice_sizes"]
    index = _clipped({axis: start[()] for axis, start in enumerate(starts)}, value, sizes)
    return objects((_read(value, list(place), index, sizes) for place in np.ndindex(out.shape)), out.shape)


def _clipped(index: dict[int, Array], value: Numbers, sizes: Sequence[int]) -> dict[int, Array]:
    """Where a slice of these sizes starts on each indexed axis, moved so far that the whole slice lies in `value`."""
    return {axis: jnp.clip(start, 0, value.shape[axis] - sizes[axis]) for axis, start in index.items()}


def _scatter(change: Callable[[Array, Array], Array]) -> Callable[..., Numbers]:
    """Single entries written: `change` makes the new number of the old one and the update."""

    def rule(out: Any, parameters: dict[str, Any], value: Numbers, indices: Numbers, updates: Numbers) -> Numbers:
        wanted = points("scatter", parameters, value.shape)
        if wanted is None or wanted.behind:
            raise UnsupportedError("a scatter of more than single entries has no form on single numbers")
        changed = value.copy()
        for place in np.ndindex(updates.shape):
            at = dict(zip(wanted.axes, indices[place]))
            if wanted.mode == lax.GatherScatterMode.CLIP:
                at = _clipped(at, value, (1,) * value.ndim)
            for entry in np.ndindex(value.shape):
                here = functools.reduce(jnp.logical_and, [at[axis] == n for axis, n in enumerate(entry)])
                changed[entry] = jnp.where(here, change(changed[entry], updates[place]), changed[entry])
        return changed

    return rule


def _read(value: Numbers, inside: list[int], index: dict[int, Array], sizes: Sequence[int]) -> Array:
    """The number at the place `inside` of the slice of these sizes that starts at `index`.

    The index is known only when the kernel runs, so the number is chosen by comparison among all those that it could
    mean.

    Args:
      value: the array that is read.
      inside: the place within the slice, one entry for each axis.
      index: the slice's start on each indexed axis; on the others the slice starts at 0.
      sizes: the slice's size on each axis.
    """
    axes = list(index)
    chosen = None
    for candidate in itertools.product(*[range(value.shape[axis] - sizes[axis] + 1) for axis in axes]):
        at = list(inside)
        for axis, start in zip(axes, candidate):
            at[axis] += start
        entry = value[tuple(at)]
        here = [index[axis] == start for axis, start in zip(axes, candidate)]
        chosen = entry if chosen is None else jnp.where(functools.reduce(jnp.logical_and, here), entry, chosen)
    return chosen


def _top_k(out: Any, parameters: dict[str, Any], value: Numbers) -> list[Numbers]:
    """The k largest numbers of a row and their places, lowest place first on ties.

    A number's rank is how many others are larger, or equal and further left; the m-th output is the number of rank m.
    """
    if value.ndim != 1:
        raise UnsupportedError("top_k of more than one axis has no form on single numbers")

    def ahead(i: int, k: int) -> Array:
        return value[i] >= value[k] if i < k else value[i] > value[k]

    arms = range(len(value))
    ranks = [functools.reduce(jnp.add, [ahead(i, k).astype(jnp.int32) for i in arms if i != k]) for k in arms]

    def at(rank: int, entries: Sequence[Any]) -> Array:
        return functools.reduce(lambda found, k: jnp.where(ranks[k] == rank, entries[k], found), arms, entries[0])

    numbers = list(np.arange(len(value), dtype=np.int32))
    many = range(parameters["k"])
    return [objects(at(m, value) for m in many), objects(at(m, numbers) for m in many)]


def _bits(out: Any, parameters: dict[str, Any], keys: Numbers) -> Numbers:
    """32 random bits for each number asked for, as JAX draws them: the two words of block n, one xor the other."""
    if parameters["bit_width"] != 32:
        raise UnsupportedError(f"random bits {parameters['bit_width']} at a time have no form on single numbers")

    def draw(key: Key) -> list[Array]:
        return [functools.reduce(jnp.bitwise_xor, _block(key, n)) for n in range(math.prod(parameters["shape"]))]

    return objects(itertools.chain.from_iterable(map(draw, keys.ravel())), out.shape)


def _split(out: Any, parameters: dict[str, Any], keys: Numbers) -> Numbers:
    """New keys from each key, as JAX splits it: the n-th is block n."""
    many = range(math.prod(parameters["shape"]))
    return objects((_block(key, n) for key in keys.ravel() for n in many), out.shape)


def _block(key: Key, number: Array) -> Key:
    """The two words of the threefry block with this number under the key."""
    first = jnp.zeros((), jnp.uint32)
    return Key(*threefry(key, first, jnp.asarray(number).astype(jnp.uint32)))


def _wrap(out: Any, parameters: dict[str, Any], bits: Numbers) -> Numbers:
    """Keys from arrays [..., 2] of their words."""
    return objects((Key(*pair) for pair in bits.reshape(-1, 2)), bits.shape[:-1])


def _unwrap(out: Any, parameters: dict[str, Any], keys: Numbers) -> Numbers:
    """The words of keys, as an array [..., 2]."""
    return objects(itertools.chain.from_iterable(keys.ravel()), (*keys.shape, 2))


def _unstack(out: Any, parameters: dict[str, Any], value: Numbers) -> list[Numbers]:
    """The slices along an axis, each an array, also where it holds one number only."""
    axis = parameters["axis"]
    return [part.reshape(out.shape) for part in np.split(value, value.shape[axis], axis)]


RULES: dict[str, Callable[..., Any]] = {
    "argmax": _argument(jnp.greater),
    "argmin": _argument(jnp.less),
    "broadcast_in_dim": _broadcast,
    "concatenate": lambda out, parameters, *values: np.concatenate(values, parameters["dimension"]),
    "dynamic_slice": _dynamic_slice,
    "gather": _gather,
    "iota": _iota,
    "random_bits": _bits,
    "random_fold_in": lambda out, parameters, keys, data: objects(map(_block, keys.ravel(), data.ravel()), out.shape),
    "random_split": _split,
    "random_unwrap": _unwrap,
    "random_wrap": _wrap,
    "reshard": lambda out, parameters, value: value,  # ends JAX's draws; runs are divided outside the kernel
    "reshape": lambda out, parameters, value: value.reshape(out.shape),
    "rev": lambda out, parameters, value: np.flip(value, parameters["dimensions"]),
    "scatter": _scatter(lambda old, new: new),
    "scatter-add": _scatter(jnp.add),
    "slice": _slice,
    "squeeze": lambda out, parameters, value: value.reshape(out.shape),
    "stack": lambda out, parameters, *values: np.stack(values, parameters["axis"]),
    "top_k": _top_k,
    "transpose": lambda out, parameters, value: value.transpose(parameters["permutation"]),
    "unstack": _unstack,
}
