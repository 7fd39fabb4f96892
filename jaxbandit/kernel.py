"""A chunk of rounds as one GPU kernel: each thread plays one run, with all that the run carries in registers."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas
from jax.experimental.pallas import triton

from jaxbandit.base import Array, Environment, Policy
from jaxbandit.rounds import Carry, Luck, play_round
from jaxbandit.unrolled import Key, Numbers, UnsupportedError, objects, repeat, unrolled

BLOCK = 128  # runs a block of threads plays, one a thread


def play_chunk_in_kernel(
    environment: Environment,
    policy: Policy,
    luck: Luck,
    carry: Carry,
    first: Array,
    times: Array,
    length: int,
    plays: int = 1,
    interpret: bool = False,
) -> tuple[Carry, Array]:
    """`rounds.play_chunk` as one Pallas kernel, which wraps the same `play_round`.

    The scan starts several kernels a round, each of which reads and writes what the runs carry; this one is started
    once a chunk. `play_round` is taken apart into operations on single numbers (`unrolled`), which is for few arms with
    few states.

    Args:
      environment, policy, luck, carry, first, times, length, plays: as in `rounds.play_chunk`.
      interpret: compute the kernel as ordinary JAX operations, on any device, to test it.

    Raises:
      ValueError: the policy or the environment uses an operation that cannot be taken apart.
    """
    arguments, structure = jax.tree.flatten((environment, policy, luck, carry))
    shared, carried = len(jax.tree.leaves((environment, policy))), len(jax.tree.leaves(carry))
    shapes = [_one(leaf, runs=n >= shared) for n, leaf in enumerate(arguments)]

    def next_carry(leaves: list[Array], t: Array) -> Carry:
        environment, policy, luck, carry = jax.tree.unflatten(structure, leaves)
        return play_round(environment, policy, luck, carry, t, plays)

    play = unrolled(next_carry, shapes, jax.ShapeDtypeStruct((), jnp.int32))
    # rounds bounds[n] to bounds[n + 1] - 1 are played before the visits are written to slot n; the last slot is the end
    bounds = jnp.concatenate([first[None], jnp.where(times > 0, times + 1, first + length), (first + length)[None]])
    bounds = jnp.clip(bounds, first, first + length)
    slots = len(bounds) - 1

    def kernel(*references: Any) -> None:
        stops, *inputs = references[: 1 + len(arguments)]
        *following, record = references[1 + len(arguments) :]
        values = [_read(reference, shape, n >= shared) for n, (reference, shape) in enumerate(zip(inputs, shapes))]
        constant, carry = values[:-carried], values[-carried:]

        def one_round(t: Array, carry: list[Numbers]) -> list[Numbers]:
            return play([*constant, *carry, objects([t], ())])

        def one_slot(slot: Array, carry: list[Numbers]) -> list[Numbers]:
            carry = repeat(stops[slot], stops[slot + 1], one_round, carry, (BLOCK,))
            for place, count in np.ndenumerate(carry[-1]):
                record[(slot, *place, slice(None))] = count
            return carry

        for reference, value in zip(following, repeat(0, slots, one_slot, carry, (BLOCK,))):
            _write(reference, value)

    numbers = [_stored(leaf, runs=n >= shared) for n, leaf in enumerate(arguments)]
    outputs = [jax.ShapeDtypeStruct(number.shape, number.dtype) for number in numbers[-carried:]]
    outputs.append(jax.ShapeDtypeStruct((slots, *outputs[-1].shape), jnp.int32))
    call = pallas.pallas_call(
        kernel,
        grid=(outputs[-1].shape[-1] // BLOCK,),
        in_specs=[pallas.BlockSpec()] * (1 + shared) + [_block(number) for number in numbers[shared:]],
        out_specs=[_block(output) for output in outputs],
        out_shape=outputs,
        interpret=interpret,
        compiler_params=triton.CompilerParams(num_warps=BLOCK // 32, num_stages=1),
    )
    try:
        *played, record = call(bounds, *numbers)
    except UnsupportedError as error:
        pair = f"{type(policy).__name__} in {type(environment).__name__}"
        raise ValueError(f'backend: the kernel cannot play {pair}: {error}; use backend="scan"') from None
    due = (times >= first) & (times < first + length)
    runs = carry.visits.shape[-1]
    record = jnp.where(due[:, None, None, None], record[:-1, ..., :runs], 0)
    leaves = [_restored(number, leaf) for number, leaf in zip(played, jax.tree.leaves(carry))]
    return jax.tree.unflatten(jax.tree.structure(carry), leaves), record


def _is_key(leaf: Any) -> bool:
    return bool(jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key))


def _one(leaf: Array, runs: bool) -> jax.ShapeDtypeStruct:
    """What `play_round` gets of an argument."""
    return jax.ShapeDtypeStruct(leaf.shape[:-1] if runs else jnp.shape(leaf), jnp.result_type(leaf))


def _stored(leaf: Array, runs: bool) -> Array:
    """An argument as the kernel reads it: no keys, no bools, and the runs filled up to whole blocks."""
    if not runs:
        return jnp.atleast_1d(leaf)
    if _is_key(leaf):
        leaf = jnp.moveaxis(jax.random.key_data(leaf), -1, -2)
    if leaf.dtype == bool:
        leaf = leaf.astype(jnp.int32)
    return jnp.pad(leaf, [(0, 0)] * (leaf.ndim - 1) + [(0, -leaf.shape[-1] % BLOCK)], mode="edge")


def _restored(number: Array, like: Array) -> Array:
    number = number[..., : like.shape[-1]]
    return jax.random.wrap_key_data(jnp.moveaxis(number, -2, -1)) if _is_key(like) else number.astype(like.dtype)


def _block(number: Any) -> pallas.BlockSpec:
    axes = len(number.shape) - 1
    return pallas.BlockSpec((*number.shape[:-1], BLOCK), lambda block: (0,) * axes + (block,))


def _read(reference: Any, shape: jax.ShapeDtypeStruct, runs: bool) -> Numbers:
    """An argument's numbers, as vectors over the block's runs or as scalars."""
    if not runs:
        return objects((reference[place or (0,)] for place in np.ndindex(shape.shape)), shape.shape)
    if _is_key(shape):
        halves = [[reference[(*place, half, slice(None))] for half in (0, 1)] for place in np.ndindex(shape.shape)]
        return objects((Key(*pair) for pair in halves), shape.shape)
    numbers = [reference[(*place, slice(None))] for place in np.ndindex(shape.shape)]
    return objects([number != 0 for number in numbers] if shape.dtype == bool else numbers, shape.shape)


def _write(reference: Any, value: Numbers) -> None:
    for place, number in np.ndenumerate(value):
        if isinstance(number, Key):
            for half in (0, 1):
                reference[(*place, half, slice(None))] = number[half]
        else:
            reference[(*place, slice(None))] = number.astype(reference.dtype)
