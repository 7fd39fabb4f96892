"""A chunk of rounds as one GPU kernel: each thread plays one run and keeps the run's carry in registers.

`play_chunk_in_kernel` is the public function. Outside the kernel, what the runs carry is a tree of arrays with the runs
last; in memory it is one array [numbers, runs] for each type of number (`_rows`, `_leaves`); inside the kernel it is a
list of vectors over the runs of a block (`_read`, `_write`), put together as arrays of single numbers (`_gathered`,
`_sorted_by_kind`), the form that `unrolled` computes with. There is one array for each type, read and written in loops
over its rows, because Triton's compiler takes minutes where each number is an access of its own.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas
from jax.experimental.pallas import triton

from jaxbandit.base import Array, Environment, Policy
from jaxbandit.fast.gpu.unrolled import Key, Numbers, UnsupportedError, objects, repeat, unrolled

BLOCK = 128  # threads of a block; each thread plays one run


def play_chunk_in_kernel(
    play_round: Callable[..., Any],
    environment: Environment,
    policy: Policy,
    luck: Any,
    carry: Any,
    first: Array,
    times: Array,
    length: int | Array,
    plays: int = 1,
    interpret: bool = False,
) -> tuple[Any, Array, dict[str, Array]]:
    """`rounds.play_chunk` as one Pallas kernel, which wraps the same `play_round` and plays the same rounds.

    The loop in `rounds.play_chunk` starts several kernels a round, and each of them reads and writes what the runs
    carry. This kernel is started once a chunk. `play_round` is taken apart into operations on single numbers (see
    `unrolled`); their count grows with the numbers of arms and states, so this is for few arms with few states.

    Args:
      play_round: one round of one run, of (environment, policy, luck, carry, t, plays) to the carry, whose last leaf
        is the visits [K, S].
      environment, policy, luck, carry, first, times, length, plays: as in `rounds.play_chunk`.
      interpret: compute the kernel as ordinary JAX operations, on any device, to test it.

    Returns:
      The carry afterwards, the visits [N, K, S, R] at `times`, and nothing else that is recorded.

    Raises:
      ValueError: the policy or the environment uses an operation that cannot be taken apart.
    """
    shared = jax.tree.leaves((environment, policy))
    shapes = jax.tree.map(_shape, (environment, policy)) + jax.tree.map(_shape_of_one, (luck, carry))

    def one_of_one(t: Array, environment: Environment, policy: Policy, luck: Any, carry: Any) -> Any:
        return play_round(environment, policy, luck, carry, t, plays)

    play = unrolled(one_of_one, jax.ShapeDtypeStruct((), jnp.int32), *shapes)
    luck_shapes, carry_shapes = map(jax.tree.leaves, shapes[2:])
    # Rounds bounds[n] to bounds[n + 1] - 1 of the chunk are played, then the visits are recorded in slot n; the last
    # slot is the chunk's end. Rounds are counted from 0 at `first`, because the round after the largest horizon is no
    # int32. The last entry of bounds is `first` itself.
    begin, end = jnp.zeros(1, jnp.int32), jnp.full(1, length, jnp.int32)
    bounds = jnp.concatenate(
        [begin, jnp.where(times > 0, jnp.clip(times - first + 1, 0, length), length), end, first[None]]
    )
    slots = len(bounds) - 2
    fixed, moving = _rows(luck), _rows(carry)

    def kernel(stops: Any, numbers: Any, fixed: Any, moving: Any, moved: Any, record: Any) -> None:
        constant = [_scalars(reference, leaf) for reference, leaf in zip(numbers, jax.tree.leaves(shapes[:2]))]
        chance = _gathered(jax.tree.map(_read, fixed), luck_shapes)

        def one_round(n: Array, carry: list[Numbers]) -> list[Numbers]:
            return play([objects([stops[slots + 1] + n], ()), *constant, *chance, *carry])

        def one_slot(slot: Array, carry: list[Numbers]) -> list[Numbers]:
            carry = repeat(stops[slot], stops[slot + 1], one_round, carry, (BLOCK,))
            _write(record, carry[-1].ravel(), slot)
            return carry

        carry = _gathered(jax.tree.map(_read, moving), carry_shapes)
        carry = repeat(0, slots, one_slot, carry, (BLOCK,))
        for kind, vectors in _sorted_by_kind(carry, carry_shapes).items():
            _write(moved[kind], vectors)

    shape = carry.visits.shape[:-1]
    following = jax.tree.map(_shape, moving)
    record = jax.ShapeDtypeStruct((slots, math.prod(shape), moving["int32"].shape[1]), jnp.int32)
    call = pallas.pallas_call(
        kernel,
        grid=(record.shape[-1] // BLOCK,),
        in_specs=[pallas.BlockSpec(), [pallas.BlockSpec()] * len(shared), *jax.tree.map(_block, (fixed, moving))],
        out_specs=jax.tree.map(_block, (following, record)),
        out_shape=(following, record),
        interpret=interpret,
        compiler_params=triton.CompilerParams(num_warps=BLOCK // 32, num_stages=1),
    )
    try:
        rows, visits = call(bounds, [jnp.atleast_1d(leaf) for leaf in shared], fixed, moving)
    except UnsupportedError as error:
        pair = f"{type(policy).__name__} in {type(environment).__name__}"
        raise ValueError(f'backend: the kernel cannot play {pair}: {error}; use backend="scan"') from None
    runs = carry.visits.shape[-1]
    due = (times >= first) & (times - first < length)
    visits = jnp.where(due[:, None, None], visits[:-1, :, :runs], 0).reshape(len(times), *shape, runs)
    return _leaves(rows, carry), visits, {}


def _shape(leaf: Array) -> jax.ShapeDtypeStruct:
    """Shape and type of a leaf."""
    return jax.ShapeDtypeStruct(jnp.shape(leaf), jnp.result_type(leaf))


def _shape_of_one(leaf: Array) -> jax.ShapeDtypeStruct:
    """Shape and type of one run's part of a leaf, whose last axis is the runs."""
    return jax.ShapeDtypeStruct(leaf.shape[:-1], leaf.dtype)


def _is_key(leaf: Any) -> bool:
    return bool(jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key))


def _kind(leaf: Any) -> str:
    """The type that a leaf is stored as: keys as their two uint32 words, bools as int32, numbers as they are."""
    return "uint32" if _is_key(leaf) else "int32" if leaf.dtype == bool else str(leaf.dtype)


def _rows(tree: Any) -> dict[str, Array]:
    """All leaves of a tree with the runs last, as one array [numbers, runs] for each type of number.

    The runs are filled up to whole blocks with copies of the last run, which are played and thrown away.
    """
    rows: dict[str, list[Array]] = {}
    for leaf in jax.tree.leaves(tree):
        bits = jnp.moveaxis(jax.random.key_data(leaf), -1, -2) if _is_key(leaf) else leaf.astype(_kind(leaf))
        rows.setdefault(_kind(leaf), []).append(bits.reshape(-1, leaf.shape[-1]))
    joined = {kind: jnp.concatenate(parts) for kind, parts in rows.items()}
    return {kind: jnp.pad(part, ((0, 0), (0, -part.shape[1] % BLOCK)), mode="edge") for kind, part in joined.items()}


def _leaves(rows: dict[str, Array], like: Any) -> Any:
    """The inverse of `_rows`: the arrays [numbers, runs] as a tree with the structure, shapes and types of `like`."""
    used = dict.fromkeys(rows, 0)

    def restored(leaf: Array) -> Array:
        kind, shape = _kind(leaf), (*leaf.shape[:-1], *(2,) * _is_key(leaf))
        first, used[kind] = used[kind], used[kind] + math.prod(shape)
        part = rows[kind][first : used[kind], : leaf.shape[-1]].reshape(*shape, leaf.shape[-1])
        return jax.random.wrap_key_data(jnp.moveaxis(part, -2, -1)) if _is_key(leaf) else part.astype(leaf.dtype)

    return jax.tree.map(restored, like)


def _block(rows: Any) -> pallas.BlockSpec:
    """What one block of threads sees of an array [..., runs]: its own runs, and all of the other axes."""
    axes = len(rows.shape) - 1
    return pallas.BlockSpec((*rows.shape[:-1], BLOCK), lambda block: (0,) * axes + (block,))


def _scalars(reference: Any, shape: jax.ShapeDtypeStruct) -> Numbers:
    """The numbers of an array that all runs share (of the environment or the policy), read one by one as scalars."""
    return objects((reference[place or (0,)] for place in np.ndindex(shape.shape)), shape.shape)


def _read(reference: Any) -> list[Array]:
    """The rows of one array [numbers, BLOCK], each a vector over the block's runs; read in a loop, see the module."""

    def one(n: Array, rows: list[Array]) -> list[Array]:
        row = reference[n, :]
        return [jnp.where(n == k, row, other) for k, other in enumerate(rows)]

    nothing = jnp.zeros((BLOCK,), reference.dtype)
    rows: list[Array] = jax.lax.fori_loop(0, reference.shape[0], one, [nothing] * reference.shape[0])
    return rows


def _write(reference: Any, rows: Sequence[Array], *slot: Array) -> None:
    """The inverse of `_read`: writes the vectors to an array [numbers, BLOCK], or to one slot of [slots, ...]."""

    def one(n: Array, done: Array) -> Array:
        chosen = functools.reduce(lambda found, k: jnp.where(n == k, rows[k], found), range(1, len(rows)), rows[0])
        reference[(*slot, n, slice(None))] = chosen
        return done

    jax.lax.fori_loop(0, len(rows), one, jnp.int32(0))


def _gathered(rows: dict[str, list[Array]], shapes: Sequence[jax.ShapeDtypeStruct]) -> list[Numbers]:
    """The vectors of each type, put together as one array of single numbers for each of these shapes, in order."""
    left = {kind: iter(vectors) for kind, vectors in rows.items()}

    def number(shape: jax.ShapeDtypeStruct) -> Any:
        vector = next(left[_kind(shape)])
        if _is_key(shape):
            return Key(vector, next(left["uint32"]))
        return vector != 0 if shape.dtype == bool else vector

    return [objects((number(shape) for _ in np.ndindex(shape.shape)), shape.shape) for shape in shapes]


def _sorted_by_kind(values: Sequence[Numbers], shapes: Sequence[jax.ShapeDtypeStruct]) -> dict[str, list[Array]]:
    """The inverse of `_gathered`: all numbers of the values, as a list of vectors for each type that is stored."""
    rows: dict[str, list[Array]] = {}
    for value, shape in zip(values, shapes):
        for number in value.ravel():
            vectors = number if _is_key(shape) else [number.astype(_kind(shape))]
            rows.setdefault(_kind(shape), []).extend(vectors)
    return rows
