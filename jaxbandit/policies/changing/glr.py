"""GLR: change detection by the generalised likelihood ratio, exact with little memory.

For a split after s of n rewards let X be the sum of the first s of them and m the mean of all. The ratio
s d(X / s, m) + (n - s) d((n m - X) / (n - s), m), d the Bernoulli divergence, is convex in the point (s, X), as d is. A
convex function is largest at a corner of the convex hull of the points, so that no other split has to be kept. A new
point lies to the right of all others: of the corners of the hull's lower side, those up to the one with the steepest
slope to the new point remain.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.arguments import LARGEST_INTEGER, integer
from jaxbandit.base import Task, pytree, static
from jaxbandit.divergences import scaled
from jaxbandit.policies.changing.detectors import check_turns
from jaxbandit.policies.parts import checks
from jaxbandit.sums import TwoFloats, add_to_each

SIDES = np.array([[1.0], [-1.0]])  # the lower and the upper side of the hull


class Corners(NamedTuple):
    """The corners of the convex hull of points (s, X), from left to right.

    Fields:
      plays: [2, C], s of the corners of the lower and the upper side.
      sums: [2, C], X of the corners.
      number: [2], the number of corners of each side, as floats.
      stride: int32; points are added if s is a multiple of it.
    """

    plays: Array
    sums: Array
    number: Array
    stride: Array


class Rewards(NamedTuple):
    """State of GLR for an arm since its last restart.

    Fields:
      plays: int32.
      total: the sum of the rewards, in two floats.
      corners: the splits at which the likelihood ratio can be largest.
    """

    plays: Array
    total: TwoFloats
    corners: Corners


@pytree
class GLR:
    """GLR (generalised likelihood ratio) detector: alarm if two means explain the n rewards of an arm better than one.

    It raises an alarm if max over s of s d(mean of 1..s, mean of 1..n) + (n - s) d(mean of s+1..n, mean of 1..n) is at
    least log(n^1.5 / delta), d the Bernoulli divergence. Every `grid` plays of the arm this is tested on splits s that
    are multiples of `grid`. The maximum is exact, although only the corners of the sums' convex hull are kept: it is
    always at a corner, and their number grows like log n. So an arm takes a little more than 16 `corners` bytes.

    Args:
      delta: the probability of a false alarm, in (0, 1]; None for 1 / sqrt(horizon), as in the source's experiments.
      alpha: the fraction of rounds of forced exploration (round robin), in [0, 1]; None for sqrt(U K log n / n), n the
        horizon and U the changes, or without changes 0.1 sqrt(K log n / n).
      horizon: the number of rounds, positive; only if delta or alpha is None.
      changes: the number of changes, at least 1; only if alpha is None.
      grid: an integer of at least 1; 1 tests after every play and on every split.
      corners: the most that are kept on each side of the hull, an integer of at least 2; if there are more, every
        second one is dropped and the grid doubled, which can only delay an alarm. Only drifting rewards have many.

    Raises:
      ValueError: from `simulate` and `check_policy`: a number out of range, missing or not used, or rewards without a
        finite table that do not lie in [0, 1].

    Source: Besson, Kaufmann, Maillard and Seznec 2022; that the maximum is at a corner is our own remark: the ratio
    is convex in s and the sum of the first s rewards.

    >>> import jax
    >>> detector, alarms = GLR(delta=0.1, alpha=0.0, grid=1), []
    >>> state, watched = detector.init(), jax.jit(detector.watched)
    >>> for t in range(1, 21):
    ...     state, alarm = watched(state, float(t > 10), t, 2)
    ...     alarms.append(bool(alarm))
    >>> alarms.index(True)
    12
    """

    local: ClassVar = True

    delta: ArrayLike | None = None
    alpha: ArrayLike | None = None
    horizon: ArrayLike | None = None
    changes: ArrayLike | None = None
    grid: int = static(10)
    corners: int = static(32)

    def validate(self, task: Task) -> None:
        checks.suits(self, task, rewards=(0.0, 1.0))
        if self.delta is not None:
            checks.number(self, "delta", 0, 1, above=True)
        check_turns(self, task, {"delta": self.delta, "alpha": self.alpha}, needs_changes=False)
        integer("grid", self.grid, 1, LARGEST_INTEGER)
        integer("corners", self.corners, 2, 2**15)

    def init(self) -> Rewards:
        return Rewards(jnp.int32(0), TwoFloats(jnp.zeros(()), jnp.zeros(())), no_corners(self.corners, self.grid))

    def watched(self, state: Rewards, reward: Array, t: Array, arms: int) -> tuple[Rewards, Array]:
        plays, total = state.plays + 1, add_to_each(state.total, reward)
        due, n = plays % self.grid == 0, plays.astype(float)
        alarm = due & (largest_ratio(state.corners, n, total.high) >= self.threshold(n))
        return Rewards(plays, total, added(state.corners, plays, total.high)), alarm

    def threshold(self, n: Array) -> Array:
        """log(n^1.5 / delta), which the likelihood ratio of n rewards must reach."""
        if self.delta is None:
            return 1.5 * jnp.log(n) + 0.5 * jnp.log(jnp.asarray(self.horizon, float))
        return 1.5 * jnp.log(n) - jnp.log(jnp.asarray(self.delta, float))

    def share(self, arms: int) -> Array:
        if self.alpha is not None:
            return jnp.asarray(self.alpha, float)
        n = jnp.asarray(self.horizon, float)
        rate = jnp.sqrt(arms * jnp.log(n) / n)
        return 0.1 * rate if self.changes is None else jnp.sqrt(jnp.asarray(self.changes, float)) * rate


def no_corners(most: int, stride: int = 1) -> Corners:
    """The hull of no points, with room for `most` corners on each side."""
    return Corners(jnp.zeros((2, most)), jnp.zeros((2, most)), jnp.zeros(2), jnp.int32(stride))


def largest_ratio(corners: Corners, n: Array, total: Array) -> Array:
    """The largest likelihood ratio over all splits that were added, for n rewards that sum to `total`; 0 without a
    split.

    >>> import jax
    >>> corners = jax.jit(added)(no_corners(4), 1, 0.0)
    >>> round(float(jax.jit(largest_ratio)(corners, 2.0, 1.0)), 4)  # 2 log 2
    1.3863
    """
    before, after = corners.plays, n - corners.plays
    gained, missed = total / n, (n - total) / n
    more = corners.sums - before * gained  # sum of the first rewards minus its value if all had the same mean
    ratio = _part(more, before * gained) + _part(-more, before * missed)
    ratio += _part(-more, after * gained) + _part(more, after * missed)
    here = jnp.arange(before.shape[1], dtype=before.dtype)[None] < corners.number[:, None]
    return jnp.max(jnp.max(jnp.where(here, ratio, 0), axis=1))


def added(corners: Corners, s: Array, total: Array) -> Corners:
    """The hull with the point (s, total) if s, an int32, is a multiple of the stride; s is larger than all before.

    If there is no room for one more corner, every second one of that side is dropped and the stride doubled, so that
    the rest still covers all rewards. This can only lower the largest ratio.
    """
    most, wanted, right = corners.plays.shape[1], s % corners.stride == 0, s.astype(float)
    place = jnp.arange(most, dtype=corners.plays.dtype)[None]
    here = place < corners.number[:, None]
    steepness = SIDES * (total - corners.sums) / jnp.where(here, right - corners.plays, 1)
    steepest = jnp.max(jnp.where(here, steepness, -jnp.inf), axis=1)
    last = jnp.min(jnp.where(here & (steepness == steepest[:, None]), place, most), axis=1)
    left = jnp.where(corners.number == 0, 0, last + 1)
    full, half = left == most, (most + 1) // 2
    left = jnp.where(full, half, left)

    def following(values: Array, new: Array) -> Array:
        thinned = jnp.where(full[:, None], jnp.concatenate([values[:, ::2], values[:, half:]], axis=1), values)
        return jnp.where(wanted, jnp.where(place == left[:, None], new, thinned), values)

    return Corners(
        following(corners.plays, right),
        following(corners.sums, total),
        jnp.where(wanted, left + 1, corners.number),
        corners.stride * jnp.where(wanted & jnp.any(full), 2, 1),
    )


def _part(difference: Array, weight: Array) -> Array:
    """weight h(difference / weight) of `divergences.scaled`; 0 for weight 0, where only rounding makes a difference."""
    return jnp.where(weight > 0, scaled(difference, weight), 0)
