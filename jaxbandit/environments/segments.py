"""Segments: stretches of rounds in which arms pay the same on average, and what a play then loses."""

from __future__ import annotations

from dataclasses import field
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from jaxbandit.arguments import as_floats, integer
from jaxbandit.base import Task, pytree
from jaxbandit.sums import WholeSum, add_whole

DIGITS = 24  # binary digits of the largest gap that are kept
MOST_PLAYS = 255  # a round, so that what they lose together has 32 binary digits
MOST_LOSSES = 2**32  # of a run, so that their sum has 56 binary digits
LONGEST = 2**31 - 1
FEW = 100  # breaks that a result keeps


@pytree
class Segments:
    """Which of the segments a round is in, and the means of the arms in each.

    Fields:
      means: [L, K] float64, mean reward of a play in each segment.
      losses: [L, K] uint32, how much more the best arm of the segment pays, in units.
      unit: a power of two, 2^-24 of the least one that is no smaller than any gap.
      starts: [L] int32, the first round of each segment, the first of them 1; None where every round is a segment.
      horizon: for how many rounds the segments were made; None where the last one has no end.
    """

    means: np.ndarray | Array
    losses: np.ndarray | Array = field(repr=False)
    unit: np.float64 | Array = field(repr=False)
    starts: np.ndarray | Array | None = None
    horizon: int | Array | None = None

    def number(self, t: Array) -> Array:
        """The number of the segment, from 0, that round t is in; rounds beyond the last one are in the last one."""
        if self.starts is None:
            return jnp.minimum(t, self.means.shape[0]) - 1
        return jnp.sum((jnp.asarray(self.starts) <= t).astype(jnp.int32)) - 1

    def add_loss(self, lost: WholeSum, number: Array, arms: Array) -> WholeSum:
        """What was lost, in units, after `arms` [M] were played in the segment with this number."""
        losses = row(self.losses, number)
        least = jnp.sum(jnp.sort(losses)[: arms.shape[0]], dtype=jnp.uint32)  # the M best arms lose this
        return add_whole(lost, jnp.sum(losses[arms], dtype=jnp.uint32) - least)

    def means_at(self, t: int) -> np.ndarray:
        """Mean reward of a play of each arm in round t, [K] float64 on the host.

        Raises:
          ValueError: t is not a round.
        """
        means, t = np.asarray(self.means), integer("t", t, 1)
        if self.starts is None:
            return np.asarray(means[min(t, len(means)) - 1])
        return np.asarray(means[np.searchsorted(np.asarray(self.starts), t, side="right") - 1])

    def average(self) -> np.ndarray:
        """The means averaged over all rounds, [K]; those of the last segment where it has no end."""
        means = np.asarray(self.means)
        return np.asarray(means[-1] if self.horizon is None else self.lengths @ means / self.lengths.sum())

    @property
    def lengths(self) -> np.ndarray:
        """How many rounds each segment has, [L]; needs a horizon."""
        if self.starts is None:
            return np.ones(len(self.means))
        return np.diff(np.append(np.asarray(self.starts), np.asarray(self.horizon) + 1)).astype(float)

    def breaks(self, of: np.ndarray | Array) -> np.ndarray:
        """The rounds in which `of` [L, ...], a number or several of each segment, changes: [B] int64."""
        values = np.asarray(of).reshape(len(self.means), -1)
        changed = (np.diff(values, axis=0) != 0).any(1)
        starts = np.arange(1, len(self.means) + 1) if self.starts is None else np.asarray(self.starts)
        return np.asarray(starts[1:][changed], np.int64)

    @property
    def variation(self) -> float:
        """The sum over all changes of the largest change of a mean, which is what is spent of a variation budget."""
        return float(np.abs(np.diff(np.asarray(self.means), axis=0)).max(1).sum())


def check_horizon(task: Task, horizon: int | Array | None) -> None:
    """Refuse a task with another horizon than the one that arms were made for, or with too many plays a round.

    Raises:
      ValueError: what the task has.
    """
    if horizon is not None and int(horizon) != task.horizon:
        raise ValueError(
            f"horizon: the arms were made for {int(horizon):,} rounds, and {task.horizon:,} are asked for; make them "
            f"with horizon={task.horizon}"
        )
    if task.plays > MOST_PLAYS:
        raise ValueError(f"plays: {task.plays}; of arms that change at most {MOST_PLAYS} can be played a round")
    if task.plays * task.horizon > MOST_LOSSES:
        raise ValueError(
            f"plays: {task.plays} in each of {task.horizon:,} rounds; of arms that change at most 2^32 plays of a run "
            "can be counted; play fewer arms a round, or fewer rounds"
        )


class Losses(NamedTuple):
    """What plays lose, in whole units."""

    losses: np.ndarray  # uint32, in the shape of the gaps
    unit: np.float64


def in_whole_units(gaps: np.ndarray) -> Losses:
    """Gaps, not negative, as whole numbers of a unit of which the largest gap has at most 2^24.

    >>> losses, unit = in_whole_units(np.array([0.0, 0.5, 0.3]))
    >>> (losses * unit).round(7).tolist()
    [0.0, 0.5, 0.3]
    """
    largest = gaps.max()
    unit = np.float64(2.0 ** (np.ceil(np.log2(largest)) - DIGITS if largest > 0 else -DIGITS))
    return Losses(np.rint(gaps / unit).astype(np.uint32), unit)


def segments(means: np.ndarray, starts: np.ndarray | None, horizon: int | None) -> Segments:
    """Segments from the means [L, K] of the arms in each, and their first rounds [L]; None if each is one round."""
    losses, unit = in_whole_units(means.max(1, keepdims=True) - means)
    return Segments(means, losses, unit, starts, horizon)


def starts_of(breaks: ArrayLike, levels: str, count: int, horizon: int | None) -> tuple[np.ndarray, int | None]:
    """The first rounds of all segments, [B + 1] int32, from those of all but the first, and the horizon.

    Args:
      breaks: [B], increasing, from 2.
      levels: the name of the argument that has `count` entries, one for each segment.
      horizon: None or a number of rounds, beyond the last break.

    Raises:
      ValueError: what is wrong with them.
    """
    as_floats("breaks", breaks)
    given = np.asarray(breaks)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise ValueError(f"breaks: {breaks!r} is not a list of rounds, integers")
    starts = np.concatenate([[1], given.astype(np.int64)])
    if (np.diff(starts) <= 0).any() or starts[-1] > LONGEST:
        raise ValueError(f"breaks: {given.tolist()} do not increase from 2 on; each is the first round of a new level")
    if count != len(starts):
        raise ValueError(f"{levels}: {count} of them; {len(given)} breaks make {len(starts)} segments")
    if horizon is not None:
        horizon = integer("horizon", horizon, 1, LONGEST)
        if starts[-1] > horizon:
            raise ValueError(f"breaks: {starts[-1]} lies beyond horizon = {horizon}")
    return starts.astype(np.int32), horizon


def row(table: np.ndarray | Array, number: Array) -> Array:
    """`table[number]` for a number that all runs share."""
    found: Array = jax.lax.dynamic_index_in_dim(jnp.asarray(table), number, keepdims=False)
    return found


def told(breaks: np.ndarray, variation: float) -> dict[str, float | list[int]]:
    """What a result tells of arms that change: no more than the first hundred breaks."""
    return {"segments": len(breaks) + 1, "variation": variation, "breaks": breaks[:FEW].tolist()}
