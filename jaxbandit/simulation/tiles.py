"""Tiles: the runs that the devices play at a time, and the compiled programs that play them."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from jaxbandit.base import Array
from jaxbandit.fast import compiled
from jaxbandit.results.result import Result
from jaxbandit.simulation.fingerprint import code_of
from jaxbandit.simulation.plan import Plan
from jaxbandit.simulation.request import Request
from jaxbandit.simulation.rounds import Carry, Luck, luck, play_chunk, play_round, start

Program = Any  # a compiled chunk


@lru_cache(maxsize=500)
def _program(
    mesh: Mesh,
    scenarios: int,
    variants: int,
    together: int,
    blocks: int,
    length: int,
    plays: int,
    kernel: bool,
    named: Any,
    code: Any,
) -> Program:
    """The compiled chunk: over scenarios, variants and devices. Recompiled for another policy type or shape only.

    Args:
      blocks: equal parts of a device's runs that it plays one after the other.
      named: name, function and number of axes of each recorder.
      code: of `code_of`; what has changed there is compiled anew.
    """
    on_cpu = mesh.devices.flat[0].platform == "cpu"
    recorders = {name: function for name, function, _ in named}
    by_runs = P(*[None] * 5, "runs"), {name: P(*[None] * (3 + axes), "runs") for name, _, axes in named}
    if kernel:
        from jaxbandit.fast.gpu import play_chunk_in_kernel  # a tenth of a second, which few need

        chunk = partial(play_chunk_in_kernel, play_round, length=length, plays=plays, interpret=on_cpu)
    else:
        chunk = _over_blocks(partial(play_chunk, length=length, plays=plays, recorders=recorders), blocks)
    over_variants = _over_axis(chunk, variants, together, (None, 0, None, 0, None, None))
    over_scenarios = _over_axis(over_variants, scenarios, together // variants, (0, None, None, 0, None, None))

    def on_devices(body: Any) -> Any:
        def program(environment: Any, policy: Any, luck: Luck, carry: Carry, first: Array, times: Array) -> Any:
            divided = (_by_runs(luck), _by_runs(carry))
            return jax.shard_map(
                body,
                mesh=mesh,
                in_specs=(P(), P(), *divided, P(), P()),
                out_specs=(divided[1], *by_runs),
                check_vma=False,
            )(environment, policy, luck, carry, first, times)

        return program

    return compiled(over_scenarios, on_devices, donated=3, on_cpu=on_cpu and not kernel)


def _over_blocks(chunk: Any, blocks: int) -> Any:
    """`play_chunk`, but all its rounds for one part of the runs, then for the next: what they carry stays cached."""

    def apart(leaf: Array) -> Array:
        return jnp.moveaxis(leaf.reshape(*leaf.shape[:-1], blocks, -1), -2, 0)

    def joined(leaf: Array) -> Array:
        return jnp.moveaxis(leaf, 0, -2).reshape(*leaf.shape[1:-1], -1)

    def each(environment: Any, policy: Any, luck: Luck, carry: Carry, first: Array, times: Array) -> Any:
        parts = jax.tree.map(apart, (luck, carry))
        return jax.tree.map(joined, jax.lax.map(lambda part: chunk(environment, policy, *part, first, times), parts))

    return chunk if blocks == 1 else each


def _over_axis(function: Any, size: int, together: int, in_axes: tuple[int | None, ...]) -> Any:
    """`jax.vmap` of `function`, but over at most `together` entries at a time: arrays larger than the cache are slow.

    An axis of size 1 is taken off and put back, because a program that carries it along loses a fifth of its speed.

    Args:
      function: of the arguments without the axis.
      size: the length of the axis (scenarios or variants).
      together: how many entries may be computed at a time.
      in_axes: for each argument 0, the axis that is mapped, or None, all entries share the argument.
    """
    if together >= size > 1:
        return jax.vmap(function, in_axes=in_axes)

    def some(*arguments: Any) -> Any:
        mapped = [argument for argument, axis in zip(arguments, in_axes, strict=True) if axis == 0]

        def one(mapped: Any) -> Any:
            rest = iter(mapped)
            return function(*[next(rest) if axis == 0 else a for a, axis in zip(arguments, in_axes, strict=True)])

        if size > 1:
            most = max(n for n in range(1, max(1, together) + 1) if size % n == 0)
            return jax.lax.map(one, mapped, batch_size=most if most > 1 else None)
        return jax.tree.map(lambda leaf: leaf[None], one(jax.tree.map(lambda leaf: leaf[0], mapped)))

    return some


@partial(jax.jit, static_argnums=(0, 1))
def _start(variants: int, methods: Any, environment: Any, policy: Any, luck: Luck) -> Carry:
    over_variants = jax.vmap(start, in_axes=(None, 0, None), axis_size=variants)
    carry: Carry = jax.vmap(over_variants, in_axes=(0, None, None))(environment, policy, luck)
    return carry


def _by_runs(tree: Any) -> Any:
    return jax.tree.map(lambda leaf: P(*[None] * (leaf.ndim - 1), "runs"), tree)


class Tile:
    """Some of the runs, on all devices: their luck, and the carry of every policy."""

    def __init__(self, request: Request, plan: Plan, number: int, resume: Result | None) -> None:
        self.plan, self.request = plan, request
        lowest = number * plan.width
        self.size = min(plan.width, request.runs - lowest)
        self.runs = slice(lowest, lowest + self.size)
        numbers = request.first_run + jnp.arange(lowest, lowest + plan.width, dtype=jnp.int32)
        arms = request.reward.shape[1] if request.shuffle else None
        mesh = plan.mesh
        put = partial(jax.tree.map, partial(_put, mesh))
        everywhere = partial(jax.tree.map, lambda leaf: _put(mesh, jnp.asarray(leaf), P()))
        chance = luck(request.key, numbers, arms)
        self.luck = put(chance, _by_runs(chance))
        self.environment, self.policies = everywhere(request.environment), everywhere(request.policies)
        self.carries = {}
        for label, policy in request.policies.items():
            methods = code_of(policy, request.environment)
            begin = partial(_start, request.variants[label], methods, request.environment, policy, chance)
            if resume is None:
                carry = begin()
            else:
                structure = jax.tree.structure(jax.eval_shape(begin))
                leaves = [_padded(leaf[..., self.runs], plan.width) for leaf in resume.carry[label]]
                carry = jax.tree.unflatten(structure, leaves)
            self.carries[label] = put(carry, _by_runs(carry))

    def play(self, label: str, first: int, length: int, times: np.ndarray) -> tuple[Array, dict[str, Array]]:
        """Let the devices play a chunk; the visits and what the recorders made, perhaps not yet computed."""
        request, plan = self.request, self.plan
        lanes = (len(request.scenarios), request.variants[label])
        shapes, recorders = request.shapes[label], request.recorders[label]
        named = tuple((name, recorder, len(shapes[name].shape)) for name, recorder in recorders.items())
        code = code_of(request.policies[label], request.environment, *recorders.values())
        program = _program(
            plan.mesh, *lanes, plan.together, plan.blocks, length, request.plays, plan.kernel, named, code
        )
        self.carries[label], visits, recorded = program(
            self.environment, self.policies[label], self.luck, self.carries[label], np.int32(first), times
        )
        return visits, recorded


def _put(mesh: Mesh, leaf: Array, spec: P) -> Array:
    """The leaf, divided over the mesh's devices as `spec` says.

    Where the mesh has devices of several processes, each process holds the whole leaf and gives its own devices their
    part.
    """
    sharding = NamedSharding(mesh, spec)
    if sharding.is_fully_addressable:
        return jax.device_put(leaf, sharding)
    return _put_from_host(leaf, sharding)


def _put_from_host(leaf: Array, sharding: NamedSharding) -> Array:
    """`_put` for a mesh with devices of several processes; keys travel as their uint32 words, which NumPy can hold."""
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        bits = jax.random.key_data(leaf)
        spec = P(*sharding.spec, *[None] * (bits.ndim - leaf.ndim))
        whole = _put_from_host(bits, NamedSharding(sharding.mesh, spec))
        return jax.random.wrap_key_data(whole, impl=jax.random.key_impl(leaf))
    whole = np.asarray(leaf)
    return jax.make_array_from_callback(whole.shape, sharding, lambda part: whole[part])


def to_host(values: Array) -> np.ndarray:
    """The values on every process, also those on other processes' devices."""
    if values.is_fully_addressable:
        return np.asarray(values)
    return np.asarray(multihost_utils.process_allgather(values, tiled=True))


def _padded(leaf: np.ndarray, width: int) -> np.ndarray:
    return np.pad(leaf, [(0, 0)] * (leaf.ndim - 1) + [(0, width - leaf.shape[-1])], mode="edge")


def gather(carries: list[Carry], runs: int) -> list[np.ndarray]:
    """The leaves of one policy's carries, one carry for each tile, joined along the runs; the first `runs` runs."""
    pieces = [[to_host(leaf) for leaf in jax.tree.leaves(carry)] for carry in carries]
    return [np.concatenate(leaves, axis=-1)[..., :runs] for leaves in zip(*pieces, strict=True)]
