"""How the work is cut: which runs a device plays at a time, how many rounds a compiled call has."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import jax
import numpy as np
from jax.sharding import Mesh

from jaxbandit.simulation.request import Request

VECTOR = 16  # runs that a CPU computes at once; each that is left over takes it as long as 16 do
BLOCK = 128  # about as many runs a CPU plays all of a chunk's rounds of at a time: they stay in its nearest cache
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
    blocks: int  # equal parts of its runs of a tile that a device plays one after the other
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
    most, full, blocks = tile or (cached if on_cpu else max(1000, 100_000 // lanes)), 1, 1
    if on_cpu and tile is None:
        _, width = cut(request.runs, len(used), most)
        if request.backend != "kernel":
            blocks = max(1, round(width / len(used) / BLOCK))
        full = VECTOR * blocks
    tiles, width = cut(request.runs, len(used), most, full)
    # an axis carried along costs time, too: only while the runs are few
    together = min(lanes, max(1, cached * len(used) // (4 * width))) if on_cpu else lanes
    if chunk is None:
        arms, states = request.reward.shape[1:]
        chunk = usual_chunk(request.runs * lanes * len(request.policies), arms, states, used[0].platform)
        recorded = width * lanes * _bytes_recorded(request) * _most_recorded(request, first, chunk)
        chunk = max(1, int(chunk * min(1, RECORD_BYTES / recorded)))
    chunk = min(int(chunk), request.horizon)
    slots = 1 << (_most_recorded(request, first, chunk) - 1).bit_length()  # few sizes, so few recompilations
    return Plan(used, tiles, width, chunk, slots, together, blocks, request.backend == "kernel")


def cut(runs: int, devices: int, tile: int, full: int = 1) -> tuple[int, int]:
    """How many tiles the runs make, and how many runs a tile has, all devices together.

    Args:
      tile: runs that a device should play at a time.
      full: runs of a device are a multiple of this, unless there are fewer for each device.

    >>> cut(11_000, devices=1, tile=250, full=16)  # 44 tiles of 250 runs would leave 4 of 256 without a run
    (43, 256)
    """
    full = full if runs >= full * devices else 1
    tiles = math.ceil(runs / (tile * devices))
    width = math.ceil(runs / (tiles * devices * full)) * full * devices
    return math.ceil(runs / width), width


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


def _bytes_recorded(request: Request) -> int:
    """Bytes that a run of one scenario and variant records at one time, of the label that records most."""
    most = [
        sum(math.prod(leaf.shape) * leaf.dtype.itemsize for leaf in each.values()) for each in request.shapes.values()
    ]
    return int(4 * request.reward[0].size + max(most))
