"""Tiles: the runs that the devices play at a time, and their compiled programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from jaxbandit.fast import Compiled, Kept
from jaxbandit.results.result import Result
from jaxbandit.simulation.asking.request import Request
from jaxbandit.simulation.asking.tracing import reading
from jaxbandit.simulation.chance import RunKeys, keys_of_scenarios
from jaxbandit.simulation.device_arrays import last_by_runs, of_usual_type, put, to_host
from jaxbandit.simulation.plan import Plan
from jaxbandit.simulation.rounds import Carry, initial_carry, play_chunk
from jaxbandit.simulation.stopping import Stopped


@dataclass(frozen=True)
class ProgramKey:
    """What the program of a chunk is made of, beside types and shapes."""

    mesh: Mesh
    scenarios: int
    variants: int
    together: int
    blocks: int  # equal parts of a device's runs, played one after the other
    plays: int
    recorded: tuple[tuple[str, Any], ...]  # name, and the number of axes of each of its arrays for one run
    code: tuple[str, ...] | None  # of `Traced.code`, which includes the recorders
    look_for_nan: bool
    until_stopped: bool  # whether a run ends when its policy stops
    independent: bool  # whether the keys have an axis of scenarios
    recorders: Mapping[str, Any] = field(compare=False)


@lru_cache(maxsize=500)
def _program(chunk: ProgramKey) -> Compiled:
    """What compiles and plays a chunk over scenarios, variants and devices; again for other types, shapes or code."""
    mesh, scenarios, variants, together = chunk.mesh, chunk.scenarios, chunk.variants, chunk.together
    on_cpu = mesh.devices.flat[0].platform == "cpu"
    by_runs = jax.tree.map(lambda axes: P(*[None] * (3 + axes), "runs"), (2, dict(chunk.recorded)))
    rounds = _over_blocks(partial(play_chunk, plays=chunk.plays, recorders=chunk.recorders), chunk.blocks)

    def over_lanes(function: Any, together: int, in_axes: tuple[int | None, ...]) -> Any:
        """A function of an environment, a policy, keys and further arguments, mapped over `in_axes`."""
        over_variants = _over_axis(function, variants, together, (None, 0, None, *in_axes))
        of_keys = 0 if chunk.independent else None
        return _over_axis(over_variants, scenarios, together // variants, (0, None, of_keys, *in_axes))

    initial_carries = partial(initial_carry, look_for_nan=chunk.look_for_nan, until_stopped=chunk.until_stopped)
    begin = over_lanes(initial_carries, scenarios * variants, ())
    chunks = over_lanes(rounds, together, (0, None, None, None))

    def of_device(leaf: Array) -> Any:
        """The shape of one device's runs, which are the last axis."""
        return jax.ShapeDtypeStruct((*leaf.shape[:-1], leaf.shape[-1] // mesh.size), leaf.dtype)

    def on_devices(body_of: Any) -> Any:
        def part(
            body: Any, environment: Any, policy: Any, keys: RunKeys, carry: Carry, first: Array, *rest: Array
        ) -> Any:
            # Every chunk computes the initial carry, and uses it only in the first chunk. That costs less than a round,
            # and saves the compilation of a separate program.
            initial = begin(environment, policy, keys)
            carry = jax.tree.map(lambda new, old: jnp.where(first == 1, new.astype(old.dtype), old), initial, carry)
            return body(environment, policy, keys, carry, first, *rest)

        def program(environment: Any, policy: Any, keys: RunKeys, carry: Carry, *rest: Array) -> Any:
            divided = jax.tree.map(last_by_runs, keys), jax.tree.map(last_by_runs, carry)
            body = body_of(environment, policy, *jax.tree.map(of_device, (keys, carry)), *rest)
            return jax.shard_map(
                partial(part, body),
                mesh=mesh,
                in_specs=(P(), P(), *divided, P(), P(), P()),
                out_specs=(divided[1], *by_runs),
                check_vma=False,
            )(environment, policy, keys, carry, *rest)

        return program

    return Compiled(chunks, on_devices, donated=3, on_cpu=on_cpu)


def _over_blocks(chunk: Any, blocks: int) -> Any:
    """`play_chunk` for one block of runs after the other, so that the carry stays in the cache."""

    def apart(leaf: Array) -> Array:
        return jnp.moveaxis(leaf.reshape(*leaf.shape[:-1], blocks, leaf.shape[-1] // blocks), -2, 0)

    def joined(leaf: Array) -> Array:
        return jnp.moveaxis(leaf, 0, -2).reshape(*leaf.shape[1:-1], blocks * leaf.shape[-1])

    def block_by_block(environment: Any, policy: Any, keys: RunKeys, carry: Carry, *rest: Array) -> Any:
        parts = jax.tree.map(apart, (keys, carry))
        return jax.tree.map(joined, jax.lax.map(lambda part: chunk(environment, policy, *part, *rest), parts))

    return chunk if blocks == 1 else block_by_block


def _over_axis(function: Any, size: int, together: int, in_axes: tuple[int | None, ...]) -> Any:
    """`jax.vmap` of `function`, but over at most `together` entries at a time: arrays larger than the cache are slow.

    An axis of size 1 is removed and restored, because a program with it is a fifth slower.

    Args:
      function: of the arguments without the axis.
      size: the length of the axis (scenarios or variants).
      together: the number of entries that may be computed at a time.
      in_axes: for each argument 0 if its first axis is mapped, or None if all entries share it.
    """
    if together >= size > 1:
        return jax.vmap(function, in_axes=in_axes, axis_size=size)

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


def _carry_of_one(request: Request, label: str) -> Carry:
    """The shapes and types of the carry of one run of a policy."""
    state = request.traced.environment.shapes.state
    visits: Any = jax.ShapeDtypeStruct(request.counted, jnp.int32)
    first_nan: Any = jax.ShapeDtypeStruct((), jnp.int32) if _looks_for_nan(request, label) else None
    number: Any = jax.ShapeDtypeStruct((), jnp.int32)
    stopped: Any = Stopped(number, number) if request.until_stopped else None
    shapes = request.traced.policies[label].shapes
    return Carry(state, shapes, visits, first_nan, request.traced.environment.shapes.dynamic, stopped)


def _looks_for_nan(request: Request, label: str) -> bool:
    """Whether to look for NaN among a policy's scores; tests show that the library's policies have none."""
    return not request.traced.policies[label].fixed


class Tile:
    """Some of the runs, on all devices: their keys, and the carry of every policy.

    Where runs end when their policy stops, a policy's tiles exchange runs (`simulation.regrouping`), so that the
    tile of a run, and its place in it, differ between policies.
    """

    def __init__(self, request: Request, plan: Plan, number: int, resume: Result | None) -> None:
        self.plan, self.request = plan, request
        columns = np.arange(number * plan.width, (number + 1) * plan.width, dtype=np.int32)
        self.columns = dict.fromkeys(request.policies, columns)  # the run of each place; after the last run, nobody's
        self.keys = dict.fromkeys(request.policies, self._keys_of(columns))
        once = {id(environment): environment for environment in request.seen.values()}  # which policies share
        *placed, self.policies = (
            put(plan.mesh, jax.tree.map(of_usual_type, part), divided=False)
            for part in (*once.values(), request.players)
        )
        self.environments = {
            label: dict(zip(once, placed))[id(environment)] for label, environment in request.seen.items()
        }
        self.carries = {}
        for label in request.policies:
            leaves, structure = jax.tree.flatten(_carry_of_one(request, label))
            if resume is not None and len(leaves) != len(resume.carry[label]):
                raise ValueError(f"resume: the state of {label!r} had another form in the version that made the result")
            if resume is None:  # the program makes the initial carry
                lanes = len(request.scenarios), request.variants[label]
                values = [np.zeros((*lanes, *leaf.shape, plan.width), leaf.dtype) for leaf in leaves]
            else:
                values = [leaf[..., np.minimum(columns, request.runs - 1)] for leaf in resume.carry[label]]
            self.carries[label] = self._on_devices(jax.tree.unflatten(structure, values))

    def _keys_of(self, columns: np.ndarray) -> RunKeys:
        request = self.request
        arms = request.counted[0] if request.shuffle else None
        names = None if request.random_numbers == "common" else request.scenarios
        keys: RunKeys = self._on_devices(keys_of_scenarios(request.key, request.first_run + columns, arms, names))
        return keys

    def _on_devices(self, tree: Any) -> Any:
        return put(self.plan.mesh, tree, divided=True)

    def place(self, label: str, columns: np.ndarray, carry: Carry) -> None:
        """Let these runs be those of a policy in this tile; `carry` is on the host."""
        self.columns[label], self.keys[label] = columns, self._keys_of(columns)
        self.carries[label] = self._on_devices(carry)

    def runs(self, label: str) -> tuple[slice | np.ndarray, slice | np.ndarray]:
        """The tile's runs as an index of their axis, and their places in the tile."""
        columns = self.columns[label]
        places = np.flatnonzero(columns < self.request.runs)
        runs = columns[places]
        if len(runs) and runs[-1] - runs[0] == len(runs) - 1 and (np.diff(runs) == 1).all():
            return slice(int(runs[0]), int(runs[-1]) + 1), slice(0, len(runs))
        return runs[:, None], places

    def size(self, label: str) -> int:
        """The number of runs."""
        return int(np.count_nonzero(self.columns[label] < self.request.runs))

    def compile(self, label: str) -> Callable[[], None]:
        """Trace and lower the program of a policy now; the function returned compiles it, in any thread."""
        with reading(self.request.traced.code(label)):
            arguments = self._arguments(label, 1, 1, [])
            return self._program(label).ahead(*arguments, kept=self._kept(label, arguments))

    def play(self, label: str, first: int, length: int, times: np.ndarray) -> tuple[Array, dict[str, Array]]:
        """Start a chunk on the devices; return the visits and the other records, perhaps not yet computed.

        Args:
          times: the rounds of the chunk that are recorded.
        """
        with reading(self.request.traced.code(label)):
            played = self._program(label)(*self._arguments(label, first, length, times))
        self.carries[label], visits, recorded = played
        return visits, recorded

    def first_nan(self, label: str) -> np.ndarray | None:
        """[C, V, runs], the first round with a NaN score, 0 for none; None if NaN is not looked for."""
        rounds = self.carries[label].first_nan
        return None if rounds is None else to_host(rounds)[..., self.columns[label] < self.request.runs]

    def _program(self, label: str) -> Compiled:
        return _program(self._key(label))

    def _kept(self, label: str, arguments: Any) -> Kept | None:
        """How the program of a policy is kept in a file; None unless all of its code is the package's."""
        traced, chunk = self.request.traced, self._key(label)
        names = traced.environment.name, traced.policies[label].name
        if not all(names) or traced.recorders[label] or chunk.mesh.devices.flat[0].platform != "cpu":
            return None
        numbers = [(name, value) for name, value in vars(chunk).items() if name not in ("mesh", "recorders")]
        devices = tuple(self.plan.mesh.devices.flat)
        text = repr((names, numbers, [device.id for device in devices]))
        return Kept(text, (arguments[3], 0, self.request.shapes[label]), devices)

    def _key(self, label: str) -> ProgramKey:
        request, plan = self.request, self.plan
        return ProgramKey(
            mesh=plan.mesh,
            scenarios=len(request.scenarios),
            variants=request.variants[label],
            together=min(plan.together, len(request.scenarios) * request.variants[label]),
            blocks=plan.blocks,
            plays=request.plays,
            recorded=tuple(
                (name, jax.tree.map(lambda leaf: len(leaf.shape), tree)) for name, tree in request.shapes[label].items()
            ),
            code=request.traced.code(label),
            look_for_nan=_looks_for_nan(request, label),
            until_stopped=request.until_stopped,
            independent=request.random_numbers == "independent",
            recorders=request.recorders[label],
        )

    def _arguments(self, label: str, first: int, length: int, times: Any) -> tuple[Any, ...]:
        due = np.zeros(self.plan.slots + 1, np.int32)  # the last zero stands for the rest of the chunk
        due[: len(times)] = times
        leading = self.environments[label], self.policies[label], self.keys[label], self.carries[label]
        return *leading, np.int32(first), due, np.int32(length)


def gather(tiles: list[Tile], label: str) -> list[np.ndarray]:
    """The leaves of a policy's carry in the order of the runs, [.., runs]."""
    columns = np.concatenate([tile.columns[label] for tile in tiles])
    places = np.argsort(columns, kind="stable")[: tiles[0].request.runs]
    pieces = [[to_host(leaf) for leaf in jax.tree.leaves(tile.carries[label])] for tile in tiles]
    return [np.concatenate(leaves, axis=-1)[..., places] for leaves in zip(*pieces, strict=True)]
