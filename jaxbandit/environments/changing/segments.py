"""Segments: intervals of rounds in which the means of the arms are constant."""

from __future__ import annotations

from dataclasses import field

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from jaxbandit.arguments import LARGEST_INTEGER, as_floats, integer
from jaxbandit.base import Task, pytree
from jaxbandit.sums import TwoFloats

FEW = 100  # most breaks that a result keeps


@pytree
class Segments:
    """The segments of the rounds, and the means of the arms in each.

    Fields:
      means: [L, K] float64, mean reward of a play in each segment.
      rest: [L, K] float32, the means minus their values in single precision, so that differences between close means
        keep their digits.
      starts: [L] int32, the first round of each segment, the first of them 1; None where every round is a segment.
      horizon: the number of rounds for which the segments were made; None if the last one has no end.
    """

    means: np.ndarray | Array
    rest: np.ndarray | Array = field(repr=False)
    starts: np.ndarray | Array | None = None
    horizon: int | Array | None = None

    def number(self, t: Array) -> Array:
        """The number of the segment of round t, from 0; rounds after the horizon belong to the last one."""
        if self.starts is None:
            return jnp.minimum(t, self.means.shape[0]) - 1
        return jnp.sum((jnp.asarray(self.starts) <= t).astype(jnp.int32)) - 1

    def means_now(self, t: Array) -> TwoFloats:
        """Mean reward of a play of each arm in round t, [K], as sums of two floats."""
        number = self.number(t)
        single = row(self.means, number).astype(jnp.float32)
        return TwoFloats(single.astype(float), row(self.rest, number).astype(float))

    def average(self) -> np.ndarray:
        """The means averaged over all rounds, [K]; those of the last segment if it has no end."""
        means = np.asarray(self.means)
        return np.asarray(means[-1] if self.horizon is None else self.lengths @ means / self.lengths.sum())

    @property
    def lengths(self) -> np.ndarray:
        """The number of rounds of each segment, [L]; needs a horizon."""
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
        """The sum over rounds of the largest change of a mean: the part of a variation budget that is spent."""
        return float(np.abs(np.diff(np.asarray(self.means), axis=0)).max(1).sum())


def check_horizon(task: Task, horizon: int | Array | None) -> None:
    """Raise ValueError for a task whose horizon is not that of the arms."""
    if horizon is not None and int(horizon) != task.horizon:
        raise ValueError(
            f"horizon: the arms were made for {int(horizon):,} rounds, and {task.horizon:,} will be played; make them "
            f"with horizon={task.horizon}"
        )


def segments(means: np.ndarray, starts: np.ndarray | None, horizon: int | None) -> Segments:
    """Segments from the means [L, K] of the arms in each, and their first rounds [L]; None if each is one round."""
    return Segments(means, split(means).low, starts, horizon)


def split(numbers: np.ndarray) -> TwoFloats:
    """Numbers in float64 as two arrays of float32 (in NumPy), whose sum has 48 binary digits.

    >>> high, low = split(np.array([0.1]))
    >>> bool(abs(high.astype(float) + low - 0.1)[0] < 1e-15)
    True
    """
    high = numbers.astype(np.float32)
    return TwoFloats(high, (numbers - high).astype(np.float32))  # type: ignore[arg-type]


def starts_of(breaks: ArrayLike, levels: str, count: int, horizon: int | None) -> tuple[np.ndarray, int | None]:
    """The first rounds of all segments, [B + 1] int32, from those of all but the first, and the horizon.

    Args:
      breaks: [B], increasing, from 2.
      levels: the name of the argument that has `count` entries, one for each segment.
      horizon: None or a number of rounds, beyond the last break.
    """
    as_floats("breaks", breaks)
    rounds = np.asarray(breaks)
    if rounds.ndim != 1 or (rounds.size and rounds.dtype.kind not in "iu"):
        raise ValueError(f"breaks: {breaks!r} is not a list of rounds, integers")
    starts = np.concatenate([[1], rounds.astype(np.int64)])
    if (np.diff(starts) <= 0).any() or starts[-1] > LARGEST_INTEGER:
        raise ValueError(f"breaks: {rounds.tolist()} do not increase from 2 on; each is the first round of a new level")
    if count != len(starts):
        raise ValueError(f"{levels}: {count} of them; {len(rounds)} breaks make {len(starts)} segments")
    if horizon is not None:
        horizon = integer("horizon", horizon, 1, LARGEST_INTEGER)
        if starts[-1] > horizon:
            raise ValueError(f"breaks: {starts[-1]} lies beyond horizon = {horizon}")
    return starts.astype(np.int32), horizon


def row(table: np.ndarray | Array, number: Array) -> Array:
    """`table[number]` for a number that is the same in all runs."""
    return jax.lax.dynamic_index_in_dim(jnp.asarray(table), number, keepdims=False)


def facts(breaks: np.ndarray, variation: float) -> dict[str, float | list[int]]:
    """Numbers for the result of non-stationary arms, with at most the first hundred breaks."""
    return {"segments": len(breaks) + 1, "variation": variation, "breaks": breaks[:FEW].tolist()}
