"""Runs that end before the others: the tiles of a policy exchange runs, so that those that go on are together.

A block of runs that have all stopped is left at once (`rounds.play_chunk`). A block with one run that goes on plays all
of its runs, of which the others stand still. So the runs that go on are put side by side from time to time.
"""

from __future__ import annotations

import jax
import numpy as np

from jaxbandit.simulation.device_arrays import to_host
from jaxbandit.simulation.tiles import Tile

FIRST = 64  # rounds of the first chunk
GROWTH = 4  # a chunk is at most a quarter of the rounds before it, or the first one


def regrouped(tiles: list[Tile], label: str) -> bool:
    """Put the runs of a policy that go on side by side, if that halves the blocks with such runs; whether any goes on.

    A run of several scenarios and variants goes on while it does in one of them.
    """
    stopped = [to_host(tile.carries[label].stopped.round) for tile in tiles]
    counted = [tile.columns[label] < tile.request.runs for tile in tiles]
    going = np.concatenate([(rounds == 0).any((0, 1)) & real for rounds, real in zip(stopped, counted, strict=True)])
    plan = tiles[0].plan
    size = plan.width // (plan.blocks * len(plan.devices))  # runs of a block
    busy, needed = going.reshape(-1, size).any(1).sum(), -(-going.sum() // size)
    if busy > 1 and 2 * needed <= busy:
        _exchange(tiles, label, going)
    return bool(going.any())


def _exchange(tiles: list[Tile], label: str, going: np.ndarray) -> None:
    """Put the runs that go on first, on all devices alike."""
    plan = tiles[0].plan
    first = np.argsort(~going, kind="stable").reshape(len(tiles), -1, len(plan.devices))
    order = first.swapaxes(1, 2).reshape(len(tiles), -1)  # neighbours on different devices
    columns = np.concatenate([tile.columns[label] for tile in tiles])
    structure = jax.tree.structure(tiles[0].carries[label])
    leaves = [
        np.concatenate([to_host(leaf) for leaf in same], axis=-1)
        for same in zip(*[jax.tree.leaves(tile.carries[label]) for tile in tiles], strict=True)
    ]
    carry = jax.tree.unflatten(structure, leaves)
    nobody = columns >= tiles[0].request.runs  # places after the last run need not go on
    carry = carry._replace(stopped=carry.stopped._replace(round=np.where(nobody, np.int32(1), carry.stopped.round)))
    for tile, places in zip(tiles, order, strict=True):
        tile.place(label, columns[places], jax.tree.map(lambda leaf, places=places: leaf[..., places], carry))
