"""Where a sequence of rewards is best told as two stretches: the generalised likelihood ratio, exact from few numbers.

For a split after s of n rewards let X be the sum of the first s of them and m the mean of all. The ratio
s d(X / s, m) + (n - s) d((n m - X) / (n - s), m), d the Bernoulli divergence, is convex in the point (s, X), as d is. A
convex function is largest over points at a corner of their convex hull, so that no other split has to be remembered. A
new point lies to the right of all others: on the hull's lower side it leaves those corners that stand left of the one
from which the slope to it is steepest, and that one.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.divergences import scaled

SIDES = np.array([[1.0], [-1.0]])  # the lower and the upper side of the hull


class Corners(NamedTuple):
    """The corners of the convex hull of points (s, X), from left to right.

    Fields:
      plays: [2, C], their s, of the lower and the upper side.
      sums: [2, C], their X.
      number: [2], how many there are of each side, as floats.
    """

    plays: Array
    sums: Array
    number: Array


def no_corners(most: int) -> Corners:
    """The hull of no points, with room for so many corners on each side."""
    return Corners(jnp.zeros((2, most)), jnp.zeros((2, most)), jnp.zeros(2))


def largest_ratio(corners: Corners, n: Array, total: Array) -> Array:
    """The largest likelihood ratio over all splits that were added, for n rewards that sum to `total`; 0 for none.

    >>> round(float(largest_ratio(added(no_corners(4), jnp.array(1.0), jnp.array(0.0)), 2.0, 1.0)), 4)  # 2 log 2
    1.3863
    """
    before, after = corners.plays, n - corners.plays
    gained, missed = total / n, (n - total) / n
    more = corners.sums - before * gained  # of the first rewards' sum, than if all had the same mean
    ratio = _part(more, before * gained) + _part(-more, before * missed)
    ratio += _part(-more, after * gained) + _part(more, after * missed)
    here = jnp.arange(before.shape[1], dtype=before.dtype)[None] < corners.number[:, None]
    return jnp.max(jnp.max(jnp.where(here, ratio, 0), axis=1))


def added(corners: Corners, s: Array, total: Array, wanted: Array | bool = True) -> Corners:
    """The hull with the point (s, total) where `wanted` is true; s is larger than those of all other points.

    Where there is no room for one more corner, every second one of that side is dropped first, so that those that are
    left stand over all rewards. That can only lower the largest ratio.
    """
    most = corners.plays.shape[1]
    place = jnp.arange(most, dtype=corners.plays.dtype)[None]
    here = place < corners.number[:, None]
    steepness = SIDES * (total - corners.sums) / jnp.where(here, s - corners.plays, 1)
    steepest = jnp.max(jnp.where(here, steepness, -jnp.inf), axis=1)
    last = jnp.min(jnp.where(here & (steepness == steepest[:, None]), place, most), axis=1)
    number = jnp.where(corners.number == 0, 0, last + 1)
    full, half = (number == most)[:, None], (most + 1) // 2
    number = jnp.where(number == most, half, number)
    at = place == number[:, None]

    def following(values: Array, new: Array) -> Array:
        moved = jnp.where(full, jnp.concatenate([values[:, ::2], values[:, half:]], axis=1), values)
        return jnp.where(wanted, jnp.where(at, new, moved), values)

    number = jnp.where(wanted, number + 1, corners.number)
    return Corners(following(corners.plays, s), following(corners.sums, total), number)


def _part(difference: Array, weight: Array) -> Array:
    """weight h(difference / weight) of `divergences.scaled`; 0 for weight 0, where only rounding makes a difference."""
    return jnp.where(weight > 0, scaled(difference, weight), 0)
