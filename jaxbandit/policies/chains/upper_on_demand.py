"""Upper confidence bounds that are computed only for arms that could be played."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jax import Array

from jaxbandit.base import Feedback
from jaxbandit.fast import larger, smaller

GIVEN_AWAY = 0.6  # part of an arm's margin below the largest index that the larger radius uses up
FARTHEST = 1.5  # largest ratio of the radius of a new bound to that of the last one
Known = TypeVar("Known")
ROUNDING = 1e-5  # more than the rounding errors of two indices of rewards in [0, 1]


class Uppers(NamedTuple):
    """Upper bounds on the arms' indices.

    For given counts the index U(radius) grows with the radius. So U at a larger radius bounds the index, and an arm
    is not played while this bound is smaller than the index of another arm.

    Fields:
      radius, upper: [K], a radius and U(radius), computed since the arm's last play; -1 and -1 otherwise.
      last: int32, the arm that was played last.
      news: int32, the number of plays with feedback since the last round.
    """

    radius: Array
    upper: Array
    last: Array
    news: Array

    def after(self, feedback: Feedback) -> Uppers:
        """The bounds after a round."""
        arms = feedback.arms
        radius, upper = (number.at[arms].set(-1) for number in (self.radius, self.upper))
        return Uppers(radius, upper, arms[0], self.news + arms.shape[0])

    def forgotten(self, changed: Array) -> Uppers:
        """The bounds without those of arms whose index became another function of the radius, `changed` [K] bool."""
        radius, upper = (jnp.where(changed, -1, number) for number in (self.radius, self.upper))
        return self._replace(radius=radius, upper=upper)


def no_uppers(arms: int) -> Uppers:
    """The bounds before the first round."""
    none = -jnp.ones(arms)
    return Uppers(none, none, jnp.int32(0), jnp.int32(0))


def largest_upper(
    uppers: Uppers,
    radius: Array,
    centre: Array,
    plays: Array,
    lower: Array | None,
    compute: Callable[[Array, Array, Known, Array], tuple[Known, Array]],
    known: Known,
) -> tuple[Array, Known, Uppers]:
    """Scores whose maximum is at the arm with the largest index, and updated bounds.

    Nothing is computed where the lower bound of the arm played last exceeds the upper bounds of all others. Else three
    passes compute indices: of the arm played last; at a larger radius, of arms whose bound no longer excludes
    them, so that most are excluded for long; and of arms that could still be the best. After a round with several
    plays, or without feedback, the first pass is of all arms. All passes share one program, so that ties have the
    same bits.

    Args:
      uppers: bounds on the indices U in [0, 1], which changed only for the arms played.
      radius: [K], of this round.
      centre: [K], U(0), to estimate the slope of U.
      plays: [K].
      lower: [K], lower bounds on U at any radius; -inf or NaN if unknown; None if none is known.
      compute: U(radius) of the arms with a flag; from flags, radii, `known` and the bounds so far, [K] each.
      known: what `compute` keeps.

    Returns:
      [K]: the index of an arm that could be the best, elsewhere an upper bound on the index that is smaller than the
      largest score, or the lower bound of the arm played last if that decides; inf for an arm not played.
    """
    last, one = uppers.last, uppers.news == 1
    played, mine = plays > 0, jnp.arange(len(plays)) == last
    first, upper, decided = mine | ~one, uppers.upper, jnp.asarray(False)
    if lower is not None:
        others = jnp.where(mine, -jnp.inf, jnp.where(uppers.radius >= radius, upper, jnp.inf))
        decided = one & (jnp.max(others) + ROUNDING < lower[last])
        upper = jnp.where(mine & decided, lower, upper)  # its radius is -1, so that it is no upper bound

    def following(n: Array, before: tuple[Array, Array, Known]) -> tuple[Array, Array, Known]:
        of_radius, upper, known = before
        # after one play the index of that arm is computed, and another arm is played only if its index is larger
        least = jnp.where(one & (n > 0) & (plays[last] > 0), upper[last], -jnp.inf)  # bounds the largest
        # U at an equal or larger radius bounds the index, so that an arm whose bound is below `least` is skipped
        out = first | ((of_radius >= radius) & (upper + ROUNDING < least))
        margin = least - upper
        # near the radius at which U reaches `least`: an arm computed there is excluded until its radius is that large
        # as if U - U(0) grew in proportion to the radius, which is mostly more than it does
        grown = 1 + GIVEN_AWAY * margin / larger(upper - centre, 0.5 * margin + 1e-12)
        ahead = larger(of_radius * smaller(grown, FARTHEST), radius)
        was_out = (of_radius > 0) & (margin > ROUNDING)
        needed = jnp.where(n == 0, first, jnp.where(n == 1, was_out, True) & ~out) & played & ~decided
        asked = jnp.where(n == 1, ahead, radius)
        known, upper = compute(needed, asked, known, upper)
        return jnp.where(needed, asked, of_radius), upper, known

    of_radius, upper, known = jax.lax.fori_loop(0, 3, following, (uppers.radius, upper, known))
    return jnp.where(played, upper, jnp.inf), known, Uppers(of_radius, upper, last, jnp.zeros_like(uppers.news))
