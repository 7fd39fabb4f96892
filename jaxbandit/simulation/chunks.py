"""A chunk of rounds: its length, its start on the devices, and the transfer of its records to the host."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import numpy as np

from jaxbandit.simulation.asking.request import Request
from jaxbandit.simulation.asking.tracing import VISITS
from jaxbandit.simulation.device_arrays import to_host
from jaxbandit.simulation.plan import Plan
from jaxbandit.simulation.progress import Programs
from jaxbandit.simulation.regrouping import FIRST, GROWTH
from jaxbandit.simulation.tiles import Tile
from jaxbandit.sums import TwoFloats


class Recorded(NamedTuple):
    """The records of one policy in one tile and chunk, perhaps not yet computed."""

    label: str
    runs: slice | np.ndarray  # as indices of an axis of runs, [n, 1] where they are an array
    places: slice | np.ndarray  # of these runs in the tile
    slots: np.ndarray  # of the recorded times in the chunk
    arrays: dict[str, Any]  # by name, [scenario, variant, slot, .., run]; slots and runs may be padded at the end
    rounds: int  # of all runs, scenarios and variants together


def length_of(plan: Plan, request: Request, played: int, times: np.ndarray, going: bool = True) -> int:
    """The number of rounds of the next chunk, which ends with the last round that it has room to record.

    Args:
      going: whether any run goes on.
    """
    length = request.horizon - played
    if going:
        longest = max(FIRST, played // GROWTH) if request.until_stopped else length
        length = min(length, plan.chunk, longest)
    due = times[times > played][plan.slots - 1 : plan.slots]
    return min(length, int(due[0]) - played) if len(due) else length


def start_chunk(
    request: Request,
    tiles: list[Tile],
    first: int,
    length: int,
    times: np.ndarray,
    programs: Programs,
) -> list[Recorded]:
    """Start rounds first..first + length - 1 of every policy and tile on the devices."""
    slots = np.flatnonzero((times >= first) & (times < first + length))
    started = []
    for label in request.policies:
        programs.wait_for(label)
        for tile in tiles:
            visits, recorded = tile.play(label, first, length, times[slots])
            rounds = length * tile.size(label) * len(request.scenarios) * request.variants[label]
            started.append(Recorded(label, *tile.runs(label), slots, {VISITS: visits, **recorded}, rounds))
    return started


def finish_chunk(recorded: list[Recorded], kept: dict[str, dict[str, np.ndarray]], bar: Any) -> None:
    """Wait for a started chunk, and copy its records into `kept`, by label and name."""
    for piece in recorded:
        for name, values in piece.arrays.items():
            if len(piece.slots):
                parts = [np.moveaxis(to_host(leaf), -1, 2) for leaf in jax.tree.leaves(values)]  # runs behind variants
                array = sum((part.astype(float) for part in parts[1:]), parts[0])
                counted = array[:, :, piece.places, : len(piece.slots)]
                kept[piece.label][name][:, :, piece.runs, piece.slots] = counted
            else:
                jax.block_until_ready(values)
        bar.update(piece.rounds)


def allocate(request: Request, label: str, times: int) -> dict[str, np.ndarray]:
    """Arrays for the records of a policy, by name."""
    runs = (len(request.scenarios), request.variants[label], request.runs, times)
    room: dict[str, np.ndarray] = {VISITS: np.zeros(runs + request.counted, np.int32)}
    for name, one in request.shapes[label].items():
        shape, kind = (one.high.shape, float) if isinstance(one, TwoFloats) else (one.shape, one.dtype)
        room[name] = np.zeros(runs + shape, kind)
    return room
