"""Upper confidence bounds that are computed only for arms that could be played."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxbandit.base import Feedback
from jaxbandit.fast import larger, smaller, where_needed

GIVEN_AWAY = 0.6  # of the margin by which an arm is out, so that it stays out for longer
FARTHEST = 1.5  # an index is computed at most at this multiple of the radius at which it was known
ROUNDING = 1e-5  # more than the rounding errors of two indices of rewards in [0, 1]


class Uppers(NamedTuple):
    """What is known of the arms' indices.

    For an arm's counts as they are the index U(radius) grows with the radius. So U at a larger radius is at least the
    index, and an arm is out while even that is smaller than the index of another arm.

    Fields:
      radius, upper: [K], a radius and U there, computed since the arm's last play; -1 and -1 where there is none.
      last: int32, the arm that was played last.
      news: int32, how many plays the policy has learned of since the last round.
    """

    radius: Array
    upper: Array
    last: Array
    news: Array

    def after(self, feedback: Feedback) -> Uppers:
        """The same after a round."""
        arms = feedback.arms
        radius, upper = (number.at[arms].set(-1) for number in (self.radius, self.upper))
        return Uppers(radius, upper, arms[0], self.news + arms.shape[0])

    def forgotten(self, changed: Array) -> Uppers:
        """The same without the arms whose index became another function of the radius, `changed` [K] bool."""
        radius, upper = (jnp.where(changed, -1, number) for number in (self.radius, self.upper))
        return self._replace(radius=radius, upper=upper)


def no_uppers(arms: int) -> Uppers:
    """Before the first round."""
    return Uppers(jnp.full(arms, -1.0), jnp.full(arms, -1.0), jnp.int32(0), jnp.int32(0))


def largest_upper(
    uppers: Uppers,
    radius: Array,
    centre: Array,
    plays: Array,
    index_of: Callable[..., Array],
    arguments: tuple[Any, ...],
    together: int,
) -> tuple[Array, Uppers]:
    """Scores with which the arm is played that has the largest index, and what is known now.

    Three passes compute the index: for the arm that was played last; at a larger radius for arms that were out and
    whose bound holds no more, so that they mostly stay out for long; and for those that could still be the best. After
    a round with several plays, or none that became known, the first pass is of all arms. All go through one program, so
    that arms which tie have the same bits.

    Args:
      uppers: of functions `index_of` that have not changed, but for the arms played.
      radius: [K], of this round.
      centre: [K], U(0), for a guess at how fast U grows.
      plays: [K].
      index_of: of a radius and the arguments of one arm, U, in [0, 1].
      arguments: leaves [K, ...].
      together: of `where_needed`.

    Returns:
      [K]: the index where it is among the largest, elsewhere a number that is at least the index and smaller than
      those; inf for an arm not played.
    """
    last, one = uppers.last, uppers.news == 1
    played, first = plays > 0, (jnp.arange(len(plays)) == last) | ~one

    def following(n: Array, before: tuple[Array, Array]) -> tuple[Array, Array]:
        known, upper = before
        # after one play that arm's index is known, and another arm is played only if its index is larger
        least = jnp.where(one & (n > 0) & (plays[last] > 0), upper[last], -jnp.inf)  # of the largest index
        # U at a radius that is no smaller bounds the index, so an arm with a smaller bound needs no computation
        out = first | ((known >= radius) & (upper + ROUNDING < least))
        margin = least - upper
        # near the radius at which U reaches `least`: an arm computed there stays out until its own radius is that large
        grown = 1 + 2 * GIVEN_AWAY * margin / larger(upper - centre, 0.5 * margin + 1e-12)  # U - U(0) is about a root
        ahead = larger(known * smaller(grown, FARTHEST), radius)
        was_out = (known > 0) & (margin > ROUNDING)
        needed = jnp.where(n == 0, first, jnp.where(n == 1, was_out, True) & ~out) & played
        asked = jnp.where(n == 1, ahead, radius)
        return where_needed(needed, computed, (asked, arguments), before, together)

    def computed(radius: Array, arguments: Any) -> tuple[Array, Array]:
        return radius, index_of(radius, *arguments)

    known, upper = jax.lax.fori_loop(0, 3, following, (uppers.radius, uppers.upper))
    return jnp.where(played, upper, jnp.inf), Uppers(known, upper, last, jnp.zeros_like(uppers.news))
