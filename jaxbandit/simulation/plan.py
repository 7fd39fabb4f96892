"""How the work is cut: which runs a device plays at a time, how many rounds a compiled call has."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from jaxbandit.simulation.request import Request
from jaxbandit.simulation.rounds import luck, start

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
    shapes: dict[str, dict[str, Any]]  # label to name to shape and type of what a recorder makes of one run

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
    shapes = recorded_shapes(request)
    lanes, size = len(request.scenarios) * max(request.variants.values()), request.reward[0].size
    on_cpu = used[0].platform == "cpu"
    cached = max(250, 20_000 // size)  # runs that stay in a CPU's cache; fewer pay more for what a round costs anyhow
    full = VECTOR if on_cpu and tile is None else 1
    tiles, width = cut(request.runs, len(used), tile or (cached if on_cpu else max(1000, 100_000 // lanes)), full)
    # an axis carried along costs time, too: only while the runs are few
    together = min(lanes, max(1, cached * len(used) // (4 * width))) if on_cpu else lanes
    if chunk is None:
        arms, states = request.reward.shape[1:]
        chunk = usual_chunk(request.runs * lanes * len(request.policies), arms, states, used[0].platform)
        recorded = width * lanes * _bytes_recorded(request, shapes) * _most_recorded(request, first, chunk)
        chunk = max(1, int(chunk * min(1, RECORD_BYTES / recorded)))
    chunk = min(int(chunk), request.horizon)
    slots = 1 << (_most_recorded(request, first, chunk) - 1).bit_length()  # few sizes, so few recompilations
    return Plan(used, tiles, width, chunk, slots, together, request.backend == "kernel", shapes)


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


def _bytes_recorded(request: Request, shapes: dict[str, dict[str, Any]]) -> int:
    """Bytes that a run of one scenario and variant records at one time, of the label that records most."""
    most = [sum(math.prod(leaf.shape) * leaf.dtype.itemsize for leaf in each.values()) for each in shapes.values()]
    return int(4 * request.reward[0].size + max(most))


def recorded_shapes(request: Request) -> dict[str, dict[str, Any]]:
    """By label and name, shape and type of what the recorders make of one run.

    Raises:
      ValueError: a recorder cannot be traced, or returns something else than one array.
    """
    environment = jax.tree.map(lambda leaf: leaf[0], request.environment)
    key, run = request.key, jnp.zeros(1, jnp.int32)
    found: dict[str, dict[str, Any]] = {}
    for label, recorders in request.recorders.items():
        policy = jax.tree.map(lambda leaf: leaf[0], request.policies[label])
        found[label] = {}
        for name, recorder in recorders.items():

            def of_one(policy: Any = policy, recorder: Any = recorder) -> Any:
                carry = jax.tree.map(lambda leaf: leaf[..., 0], start(environment, policy, luck(key, run)))
                return recorder(carry.environment, carry.policy, jnp.int32(1), policy)

            try:
                shape = jax.eval_shape(of_one)
            except Exception as error:
                raise ValueError(f"record[{name!r}]: it fails on the state of {label!r}: {error}") from error
            if not isinstance(shape, jax.ShapeDtypeStruct):
                raise ValueError(f"record[{name!r}]: returns {type(shape).__name__} for {label!r}, not one array")
            found[label][name] = shape
    return found
