"""The division of work: runs that a device plays at a time, and rounds of a compiled call."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import jax
import numpy as np
from jax.sharding import Mesh

from jaxbandit.arguments import LARGEST_INTEGER, excerpt, integer
from jaxbandit.simulation.asking.request import Request
from jaxbandit.simulation.delayed import own_state
from jaxbandit.simulation.telling.free_memory import bytes_recorded

VECTOR = 16  # runs that a CPU computes at once
# With more than three states LLVM unrolls a loop over fewer runs, which is slower.
MANY_STATES = 64
# A CPU plays all rounds of a chunk for this many runs, then for the next: their carry stays in its nearest cache.
RUNS_PER_BLOCK = 128
RUNS_PER_START = 25  # fixed cost of a round's operations on a CPU, in runs
CALL_BYTES = 2**22  # most bytes that one call on a CPU records, unless `FEW_SLOTS` need more
RECORD_BYTES = 2**28  # most bytes that all pending calls record
FEW_SLOTS, MOST_SLOTS = 16, 256


@dataclass(frozen=True)
class Plan:
    """The division of work, which has no effect on the counts."""

    devices: tuple[jax.Device, ...]
    tiles: int
    width: int  # runs of a tile, all devices together; places after the last run are played but not counted
    chunk: int  # most rounds of a call
    slots: int  # most rounds that a call records
    together: int  # scenarios and variants a device plays at a time
    blocks: int  # equal parts of its runs of a tile that a device plays one after the other

    @property
    def mesh(self) -> Mesh:
        return Mesh(np.array(self.devices), ("runs",))


def make_plan(
    request: Request,
    chunk: int | None,
    tile: int | None,
    devices: Sequence[jax.Device] | None,
) -> Plan:
    """The division of a request's work."""
    chunk = None if chunk is None else integer("chunk", chunk, 1, LARGEST_INTEGER)
    tile = None if tile is None else integer("tile", tile, 1, LARGEST_INTEGER)
    if devices is not None and not (
        isinstance(devices, list | tuple) and all(isinstance(d, jax.Device) for d in devices)
    ):
        raise ValueError(f"devices: {excerpt(devices)} is not a list of devices, as jax.local_devices() is")
    used = tuple(jax.devices() if devices is None else devices)[: request.runs]
    if not used:
        raise ValueError("devices: an empty list; leave it out to use all")
    lanes = len(request.scenarios) * max(request.variants.values())
    on_cpu, cached = used[0].platform == "cpu", _cached(request)
    if on_cpu and tile is None:
        least = VECTOR if request.counted[1] <= 3 else MANY_STATES
        width = few_widths(math.ceil(request.runs / len(used)), cached, least) * len(used)
        tiles, blocks = math.ceil(request.runs / width), max(1, width // len(used) // RUNS_PER_BLOCK)
    else:
        tiles, width = cut(request.runs, len(used), tile or max(1000, 100_000 // lanes))
        blocks = 1
    # a further axis costs time, so lanes are combined only if the runs are few
    together = min(lanes, max(1, cached * len(used) // (4 * width))) if on_cpu else lanes
    if chunk is None:
        arms, states = request.counted
        chunk = usual_chunk(request.runs * lanes * len(request.policies), arms, states, used[0].platform)
    call = width * lanes * max(bytes_recorded(request, label) for label in request.policies)
    room = max(FEW_SLOTS, min(MOST_SLOTS, CALL_BYTES // call if on_cpu else MOST_SLOTS))
    room = max(1, min(room, RECORD_BYTES // (call * tiles * len(request.policies))))
    slots = 1 << (room.bit_length() - 1)  # few sizes, so that few programs are compiled
    return Plan(used, tiles, width, int(chunk), slots, together, blocks)


def few_widths(runs: int, most: int, least: int = VECTOR) -> int:
    """The number of runs that a device plays at a time: 1, 16, 32, 64 .., so that few programs are compiled.

    It is the largest width from `least` to `most` whose time for `runs` runs is within 15 % of the shortest.

    >>> [few_widths(runs, most=2048) for runs in (1, 2, 16, 100, 113, 128, 600, 1000, 1024, 10_000)]
    [1, 16, 16, 128, 128, 128, 128, 1024, 1024, 2048]
    """
    if runs == 1:
        return 1
    widths = [least << n for n in range(most.bit_length()) if least << n <= most]
    times = [math.ceil(runs / width) * (width + RUNS_PER_START * max(1, width // RUNS_PER_BLOCK)) for width in widths]
    return max(width for width, time in zip(widths, times, strict=True) if time <= 1.15 * min(times))


def cut(runs: int, devices: int, tile: int) -> tuple[int, int]:
    """The number of tiles, and the number of runs of a tile on all devices together.

    Args:
      tile: runs that a device should play at a time.

    >>> cut(11_000, devices=2, tile=250)
    (22, 500)
    """
    tiles = math.ceil(runs / (tile * devices))
    width = math.ceil(runs / (tiles * devices)) * devices
    return math.ceil(runs / width), width


def _cached(request: Request) -> int:
    """The number of runs that fit into a CPU's cache; fewer would share the fixed cost of a round."""
    arms, states = request.counted
    runs: int = max(256, 20_480 // (arms * states))
    if states <= 3:
        return runs
    kept = [own_state(program.shapes) for program in request.traced.policies.values()]
    most: int = max(
        sum(math.prod(leaf.shape) * leaf.dtype.itemsize for leaf in jax.tree.leaves(state)) for state in kept
    )
    return min(runs, max(MANY_STATES, 2**18 // max(1, most)))


def usual_chunk(lanes: int, arms: int, states: int, platform: str = "cpu") -> int:
    """The default number of rounds of a chunk: from 100 to 100,000.

    A chunk should take about a second: then Ctrl-C and the progress bar respond soon, and the fixed cost of a call is
    small.

    Args:
      lanes: number of runs, of all scenarios, variants and policies together.
      arms, states: K and S.
      platform: of the device, as JAX names it.
    """
    slow = 1 if states <= 2 else 6 + states**2 / 6  # rough cost of an arm's index, in units of one with two states
    indices = 2.5e8 if platform == "cpu" else 5e9
    return int(np.clip(indices / (lanes * arms * slow), 100, 100_000))
