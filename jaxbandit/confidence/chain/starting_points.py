"""Starting points of the search for the likeliest chain with a given mean: chains of about that mean near the estimate.

Where two or more states pay more than the mean there can be several local minima: one in which the arm goes to the best
paid state more often than was seen, one in which it goes to the second best, and so on. So there is one starting point
for each of these states, at most `MOST_GOALS`.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from jaxbandit.confidence.chain.interior_point import TINY, Box, Point, ahead, staying
from jaxbandit.confidence.row.arithmetic import MOST_LISTED, Row, alone, array_of, beside, dot, each, sum_of
from jaxbandit.confidence.row.stationary_mean import excursions
from jaxbandit.fast import larger, smaller

PRIOR = 0.5  # transitions of each kind that was never seen
_LEAST_PRIOR = 1e-7
_CORRECTIONS = 2  # of the number of transitions that are added
MOST_GOALS = 3


def next_goal(reward: Array, mean: Array, goal: Array) -> tuple[Array, Array]:
    """The best reward below `goal` that exceeds the mean, or `goal` if there is none; and whether there is one."""
    below = jnp.max(jnp.where(reward < goal[..., None], reward, -jnp.inf), -1)
    more = below > mean
    return jnp.where(more, below, goal), more


def starting_point(n: Row, paid: Array, mean: Array | None, goal: Array, high: Array | None) -> tuple[Point, Row]:
    """The starting point, and the transitions that were added to n so that its chain has about the mean asked for.

    For each move that was not seen, half a transition is added, or less if the mean becomes too large. If it is too
    small, transitions to the goal are added until the chain leaves every state more often by the same factor. Where
    `mean` is None the chain may have any mean, and `goal` is not used.
    """
    same = staying(n, paid)
    bottom = -most(-paid)
    there = [(a == goal)[None] for a in paid] if isinstance(n, list) else (paid == goal[None])[:, None]

    def odds(a: Array) -> Array:
        return larger(a - bottom, TINY) / larger(goal - a, 1e-7)

    def corrected(_: Array, before: tuple[Any, ...]) -> tuple[Any, ...]:
        """One turn: the chain for a factor, and the next factor."""
        factor = before[0]
        prior = beside(n, PRIOR * smaller(factor, 1.0)[None])
        first = each(lambda a: jnp.where(a > 0, a, prior), n)
        leaving = sum_of(each(lambda a, here: jnp.where(here, 0, a), first, same))
        more = leaving * beside(n, larger(factor, 1.0)[None] - 1)
        counts = each(lambda a, here: a + jnp.where(here, more, 0), first, there)
        q, now, value = chain_of(counts, paid)
        if mean is not None:
            # the odds of the mean between bottom and goal grow about in proportion to the factor
            factor = larger(smaller(factor * odds(mean) / odds(now), 1e9), _LEAST_PRIOR)
        return factor, counts, q, now, value

    # a loop, so that a turn is compiled once; what it begins with does not count but for the factor
    none = each(jnp.zeros_like, n)
    begin = jnp.ones_like(goal), none, none, jnp.zeros_like(goal), jnp.zeros_like(paid)
    turns = 1 if mean is None else 1 + _CORRECTIONS
    _, counts, q, now, value = jax.lax.fori_loop(0, turns, corrected, begin)
    mean = now if mean is None else mean
    whole = sum_of(counts)
    # with weights 0 every slack is the total, and q slack is the count: the first equation holds at the start
    slack = each(lambda a: a * 0 + whole, counts)
    nothing, box = jnp.zeros_like(paid), None
    if high is not None:
        lowest = -most(-value)
        span = larger(most(value) - lowest, TINY)
        # well inside the box, where the multipliers of both sides are moderate
        shrunk = smaller(0.8 * high / span, 1.0)
        value = smaller(0.1 * high, span)[None] + (value - lowest[None]) * shrunk[None]
        box = Box(high, PRIOR / value, PRIOR / (high[None] - value))
    point = Point(q, slack, each(jnp.zeros_like, n), nothing, alone(n, whole), value, mean, nothing, nothing, box)
    point = point._replace(moment=alone(n, dot(q, ahead(point, paid))))
    return point, each(lambda a, b: a - b, counts, n)


def chain_of(counts: Row, paid: Array) -> tuple[Row, Array, Array]:
    """The rows of a chain, all positive, its stationary mean and its relative values.

    The values are 0 in the state with the most departures: the digits that matter are those of differences between
    states that are often visited.
    """
    whole = sum_of(counts)
    q = each(lambda a: a / whole, counts)
    left = alone(counts, whole)  # [S, ...]
    home, often, last = jnp.zeros(left.shape[1:], jnp.int32), left[0], len(left) - 1
    for s in range(1, len(left)):
        home, often = jnp.where(left[s] > often, s, home), larger(left[s], often)
    transition = jnp.moveaxis(jnp.stack(q), (0, 1), (-1, -2))
    row, means, lengths, _ = excursions(transition, jnp.moveaxis(paid, 0, -1), home, jnp.zeros(home.shape))
    taken = each(lambda a, b: a * b, row, lengths)
    mean = alone(row, dot(taken, means) / sum_of(taken))
    lasting = jnp.moveaxis(array_of(lengths), -1, 0)
    gained = lasting * (jnp.moveaxis(array_of(means), -1, 0) - mean[None]) / lasting[-1:]
    gained = gained - gained[-1:]
    # `excursions` has swapped the entries of `home` and of the last state
    swapped = sum(jnp.where(home == s, gained[s], 0) for s in range(last))
    return q, mean, jnp.stack([*(jnp.where(home == s, 0, gained[s]) for s in range(last)), swapped])


def most(values: Array) -> Array:
    """The largest along the first axis."""
    return reduce(larger, values) if len(values) <= MOST_LISTED else jnp.max(values, 0)
