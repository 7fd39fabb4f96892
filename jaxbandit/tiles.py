"""Tiles: how the runs are cut into pieces that fit a device, and the compiled programs that play them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from jaxbandit.arguments import Request
from jaxbandit.base import Array
from jaxbandit.compilation import in_one_piece, whole_or_parts
from jaxbandit.results import Result
from jaxbandit.rounds import Carry, Luck, luck, play_chunk, start

VECTOR = 16  # runs that a CPU computes at once; what is left over it computes one by one, each for the price of 16
RECORD_BYTES = 2**28  # what one call may record, where every round is asked for


@dataclass(frozen=True)
class Plan:
    """How the work is cut; nothing in it changes a count."""

    devices: tuple[jax.Device, ...]
    tiles: int
    width: int  # runs of a tile, all devices together
    chunk: int
    slots: int  # recorded rounds a chunk has room for
    together: int  # scenarios and variants a device plays at a time
    kernel: bool  # one kernel a chunk, not a scan over its rounds

    @property
    def mesh(self) -> Mesh:
        return Mesh(np.array(self.devices), ("runs",))


def make_plan(
    request: Request,
    first: int,
    chunk: int | None,
    tile: int | None,
    devices: Sequence[jax.Device] | None,
) -> Plan:
    """How to cut the work that is left from round `first` on.

    Raises:
      ValueError: chunk, tile or devices make no sense.
    """
    for name, value in (("chunk", chunk), ("tile", tile)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1):
            raise ValueError(f"{name}: {value!r}; give an integer of at least 1")
    if devices is not None and not (
        isinstance(devices, list | tuple) and all(isinstance(d, jax.Device) for d in devices)
    ):
        raise ValueError(f"devices: {devices!r} is not a list of devices, as jax.local_devices() is")
    used = tuple(jax.devices() if devices is None else devices)[: request.runs]
    if not used:
        raise ValueError("devices: an empty list; leave it out to use all")
    if request.backend == "kernel" and used[0].platform not in ("cpu", "gpu", "cuda"):
        raise ValueError(f"backend: the kernel is for NVIDIA GPUs, not for {used[0].platform}; leave it out")
    lanes, size = len(request.scenarios) * max(request.variants.values()), request.reward[0].size
    on_cpu = used[0].platform == "cpu"
    cached = max(250, 20_000 // size)  # runs that stay in a CPU's cache; fewer pay more for what a round costs anyhow
    full = 1
    if tile is None:
        tile = cached if on_cpu else max(1000, 100_000 // lanes)
        full = VECTOR if on_cpu and request.runs >= VECTOR * len(used) else 1
    tiles = math.ceil(request.runs / (tile * len(used)))
    width = math.ceil(request.runs / (tiles * len(used) * full)) * full * len(used)
    # an axis carried along costs time, too: only while the runs are few
    together = min(lanes, max(1, cached * len(used) // (4 * width))) if on_cpu else lanes
    if chunk is None:
        arms, states = request.reward.shape[1:]
        chunk = usual_chunk(request.runs * lanes * len(request.policies), arms, states, used[0].platform)
        recorded = 4 * width * lanes * size * _most_recorded(request, first, chunk)
        chunk = max(1, int(chunk * min(1, RECORD_BYTES / recorded)))
    chunk = min(int(chunk), request.horizon)
    slots = 1 << (_most_recorded(request, first, chunk) - 1).bit_length()  # few sizes, so few recompilations
    return Plan(used, tiles, width, chunk, slots, together, request.backend == "kernel")


def usual_chunk(lanes: int, arms: int, states: int, platform: str = "cpu") -> int:
    """How many rounds a chunk has unless the caller says: from 100 to 100,000.

    A chunk should last about a second: then Ctrl-C and the progress bar answer soon, and the fixed cost of calling a
    compiled program is small beside it.

    Args:
      lanes: number of runs, of all scenarios, variants and policies together.
      arms, states: K and S.
      platform: of the device, as JAX names it.
    """
    slow = 1 if states == 2 else 8 * states  # rough cost of an arm's index, in units of one with two states
    indices = 2.5e8 if platform == "cpu" else 5e9
    return int(np.clip(indices / (lanes * arms * slow), 100, 100_000))


def _most_recorded(request: Request, first: int, chunk: int) -> int:
    left = request.times[request.times >= first]
    return int(np.unique((left - first) // chunk, return_counts=True)[1].max(initial=1))


@cache
def _program(mesh: Mesh, scenarios: int, variants: int, together: int, length: int, plays: int, kernel: bool) -> Any:
    """The compiled chunk: over scenarios, variants and devices. Recompiled for another policy type or shape only."""
    on_cpu = mesh.devices.flat[0].platform == "cpu"
    chunk = partial(play_chunk, length=length, plays=plays)
    if kernel:
        from jaxbandit.kernel import play_chunk_in_kernel  # a tenth of a second, which few need

        chunk = partial(play_chunk_in_kernel, length=length, plays=plays, interpret=on_cpu)
    over_variants = _over_axis(chunk, variants, together, (None, 0, None, 0, None, None))
    over_scenarios = _over_axis(over_variants, scenarios, together // variants, (0, None, None, 0, None, None))

    def compiled(body: Any) -> Any:
        def program(environment: Any, policy: Any, luck: Luck, carry: Carry, first: Array, times: Array) -> Any:
            divided = (_by_runs(luck), _by_runs(carry))
            return jax.shard_map(
                body,
                mesh=mesh,
                in_specs=(P(), P(), *divided, P(), P()),
                out_specs=(divided[1], P(*[None] * 5, "runs")),
                check_vma=False,
            )(environment, policy, luck, carry, first, times)

        wide = {"xla_cpu_prefer_vector_width": 512} if on_cpu else None
        return jax.jit(program, donate_argnums=3, compiler_options=wide)

    if not on_cpu or kernel:
        return compiled(over_scenarios)
    return whole_or_parts(compiled(in_one_piece(over_scenarios)), compiled(over_scenarios))


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


@partial(jax.jit, static_argnums=0)
def _start(variants: int, environment: Any, policy: Any, luck: Luck) -> Carry:
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
            begin = partial(_start, request.variants[label], request.environment, policy, chance)
            if resume is None:
                carry = begin()
            else:
                structure = jax.tree.structure(jax.eval_shape(begin))
                leaves = [_padded(leaf[..., self.runs], plan.width) for leaf in resume.carry[label]]
                carry = jax.tree.unflatten(structure, leaves)
            self.carries[label] = put(carry, _by_runs(carry))

    def play(self, label: str, first: int, length: int, times: np.ndarray) -> Array:
        lanes = (len(self.request.scenarios), self.request.variants[label])
        program = _program(self.plan.mesh, *lanes, self.plan.together, length, self.request.plays, self.plan.kernel)
        self.carries[label], record = program(
            self.environment, self.policies[label], self.luck, self.carries[label], np.int32(first), times
        )
        return record


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
