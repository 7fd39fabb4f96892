"""The likeliest chain with a given stationary mean, searched for from several starting points.

`interior_point` takes the steps. The relative values u at which they arrive, and the multipliers x_s = weight_s /
total_s, give the log-likelihood ratio

    J(m) = sum over s and j of n_sj log(1 - x_s v_sj),    v_sj = u_j - u_s - (m - r_s).

At the optimum its derivatives by u and by x are 0, so that small errors of u and x change J to second order only.

Of three states there is a second number: the likeliest chain with the relative values u, exactly, by one quadratic for
each row. It is never below the least J, wherever the search has arrived, and it ranks the searches.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from jaxbandit.base import total
from jaxbandit.confidence.chain.interior_point import Point, ahead, step
from jaxbandit.confidence.chain.interior_point_three_states import Matrix, PointOfThree, step_of_three
from jaxbandit.confidence.chain.row_divergence_three_states import divergence, log_and_rest
from jaxbandit.confidence.chain.starting_points import MOST_GOALS, PRIOR, next_goal, starting_point
from jaxbandit.confidence.row.arithmetic import MOST_LISTED, Row, alone, beside, dot, each, some
from jaxbandit.fast import larger, smaller

STEPS_OF_THREE, STEPS = 24, 40
INFINITE = 1e30  # in place of an infinite J, where no chain is good enough
_LAST_PRIOR = 1e-6  # transitions of each kind that was never seen, in the last steps
_TIE = 1e-4  # slope of a term in the mean, by which the largest mean of several likeliest chains is chosen
_LAST = 3  # steps at the end without the transitions that were added to those seen
# A search has arrived when a step takes no more than this part of any q or slack, as the error of J is of the order of
# its square; but not in the first steps, in which what was added to the transitions seen becomes small.
_ARRIVED, _FIRST = 1e-7, 8


def _rows(counts: Array, listed: bool) -> Row:
    """n_sj as a row over j, whose entries are arrays [S, ...] over s; a list for three states without a gap."""
    n = jnp.moveaxis(counts, -2, 0).astype(float)
    return [n[..., j] for j in range(MOST_LISTED)] if listed else jnp.moveaxis(n, -1, 0)


def class_likeliest(counts: Array, reward: Array, gap: Array) -> tuple[Array, Array]:
    """The mean [...] of the likeliest chain of a class, and how much less likely than the estimate it is: J."""
    n, paid = _rows(counts, listed=False), jnp.moveaxis(reward, -1, 0)
    point = _local_maximum(n, paid, None, jnp.max(reward, -1), _span(reward, gap, counts.shape[:-2]))
    mean = larger(smaller(point.mean, jnp.max(reward, -1)), jnp.min(reward, -1))
    return mean, _ratio(n, point, paid)


def least(
    counts: Array, reward: Array, mean: Array, gap: Array | None, steps: int = STEPS_OF_THREE
) -> tuple[Array, Array]:
    """The least J that the searches from several starting points find, and its derivative by the mean.

    `steps` are made where there are three states and no gap, else `STEPS`.
    """

    # one search after the other, by one compiled program, for as many as there are goals
    def unfinished(carry: tuple[Any, ...]) -> Array:
        more: Array = carry[1]
        return more

    def searched(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        number, _, goal, best, ratio, slope = carry
        most, *others = _from_one(counts, reward, mean, goal, gap, steps)
        better = most < best
        ratio, slope = (jnp.where(better, new, old) for new, old in zip(others, (ratio, slope), strict=True))
        following, more = next_goal(reward, mean, goal)
        return number + 1, some(more) & (number + 1 < MOST_GOALS), following, smaller(most, best), ratio, slope

    infinite = jnp.full_like(mean, jnp.inf)
    begin = jnp.zeros((), jnp.int32), jnp.ones((), bool), jnp.broadcast_to(jnp.max(reward, -1), mean.shape)
    start: tuple[Any, ...] = (*begin, infinite, infinite, infinite)
    ratio, slope = jax.lax.while_loop(unfinished, searched, start)[-2:]
    return ratio, slope


def _from_one(
    counts: Array, reward: Array, mean: Array, goal: Array, gap: Array | None, steps: int
) -> tuple[Array, Array, Array]:
    """What the search from the starting point of one goal finds: the number that ranks it, J and its derivative."""
    n, paid = _rows(counts, counts.shape[-1] == MOST_LISTED and gap is None), jnp.moveaxis(reward, -1, 0)
    point = _local_maximum(n, paid, mean, goal, None if gap is None else _span(reward, gap, mean.shape), steps)
    ratio, slope = _ratio(n, point, paid), jnp.sum(point.weight, 0)
    if isinstance(n, list):
        # where both agree the search has arrived, and `ratio` is more exact; else `most`, which is never too small
        most = _ratio_at(point.value, n, paid, mean)
        return most, jnp.where(jnp.abs(most - ratio) < 0.05 + 0.05 * most, larger(ratio, 0), most), slope
    # at the end the weights are a multiple of a stationary law: one that is clearly negative is of a search that failed
    rounding = 0.01 * (1 + jnp.max(point.weight, 0))
    arrived = jnp.all(point.weight >= -rounding[None], 0)
    ratio = jnp.where(ratio < INFINITE, larger(ratio, 0), INFINITE)  # infinite where it is NaN
    return jnp.where(arrived, ratio, INFINITE), ratio, slope


def _span(reward: Array, gap: Array, shape: tuple[int, ...]) -> Array:
    """The largest difference of relative values that the class of chains allows."""
    gap = larger(jnp.broadcast_to(jnp.asarray(gap, float), shape), 1e-12)
    return larger(jnp.max(reward, -1) - jnp.min(reward, -1), 1e-12) / gap


def _local_maximum(
    n: Row, paid: Array, mean: Array | None, goal: Array, high: Array | None, steps: int = STEPS_OF_THREE
) -> Point:
    """A chain that is the likeliest of those near it with this mean, or of any mean."""
    start, extra = starting_point(n, paid, mean, goal, high)
    if isinstance(n, list):
        return _local_maximum_of_three(n, paid, start, extra, steps)
    push = jnp.full_like(goal, _TIE) if mean is None else None

    def unfinished(carry: tuple[Any, ...]) -> Array:
        number, moving = carry[:2]
        return (number < STEPS) & some(moving)

    def again(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        number, moving, point, share = carry
        seen = jnp.where(number < STEPS - _LAST, share, 0)
        # what was added shrinks tenfold a step; moves that were never seen keep a little of it, as a barrier at 0
        target = each(lambda a, b: jnp.where(a > 0, a + seen * b, larger(share * b, _LAST_PRIOR)), n, extra)
        barrier = larger(PRIOR * share, _LAST_PRIOR)
        point, change = step(point, target, paid, barrier, push, moving)
        return number + 1, moving & ~((number >= _FIRST) & (change < _ARRIVED)), point, share * 0.1

    begin: tuple[Any, ...] = jnp.zeros((), jnp.int32), jnp.ones(goal.shape, bool), start, jnp.ones((), goal.dtype)
    point: Point = jax.lax.while_loop(unfinished, again, begin)[2]
    return point


def _local_maximum_of_three(n: Row, paid: Array, start: Point, extra: Row, steps: int) -> Point:
    """The same for three states and a given mean."""
    places = range(3)

    def turned(row: Row) -> Matrix:
        """A row over j of arrays over s, as numbers [s][j]."""
        return [[row[j][s] for j in places] for s in places]

    seen, more, gain = turned(n), turned(extra), [start.mean - paid[s] for s in places]

    def again(i: Array, carry: tuple[PointOfThree, Array]) -> tuple[PointOfThree, Array]:
        point, share = carry
        kept = jnp.where(i < steps - _LAST, share, 0)
        target = [
            [jnp.where(a > 0, a + kept * b, larger(share * b, _LAST_PRIOR)) for a, b in zip(row, added, strict=True)]
            for row, added in zip(seen, more, strict=True)
        ]
        return step_of_three(point, target, gain), share * 0.1

    of_rows = [list(numbers) for numbers in (start.weight, start.total, start.value, start.moment)]
    point = PointOfThree(turned(start.q), turned(start.slack), turned(start.drift), *of_rows)
    share = jnp.ones((), start.mean.dtype)
    point, _ = jax.lax.fori_loop(0, steps, again, (point, share))
    slack, drift = ([jnp.stack([row[j] for row in rows]) for j in places] for rows in (point.slack, point.drift))
    weight, total, value = (jnp.stack(numbers) for numbers in (point.weight, point.total, point.value))
    return start._replace(slack=slack, drift=drift, weight=weight, total=total, value=value)


def _ratio_at(value: Array, n: list[Array], paid: Array, mean: Array) -> Array:
    """J of the likeliest chain with these relative values, whatever they are: never below the least J."""
    v = [value[j][None] - value - (mean[None] - paid) for j in range(3)]  # each an array over s
    apart = [(value[j] - value[k])[None] for j, k in ((0, 1), (0, 2), (1, 2))]
    parts = divergence(n, v, apart)
    ratio = parts[0] + parts[1] + parts[2]
    return jnp.where(ratio < INFINITE, larger(ratio, 0), INFINITE)


def _ratio(n: Row, point: Point, paid: Array) -> Array:
    """The sum over s of N_s sum over j of p_sj log(1 - x_s v_sj), x_s = weight_s / total_s.

    The first orders of the logarithms are summed apart, as x times minus the sum of n v: they cancel almost, and the
    rest, a sum of terms of one sign, would lose its digits beside them.
    """
    v = ahead(point, paid)
    x = beside(n, point.weight / point.total)
    inverse = 1 / point.total

    def excess(v: Array, slack: Array, drift: Array) -> Array:
        return log_and_rest(x * v, larger((slack + drift) * beside(n, inverse), 1e-12))

    # 1 - x v is slack + drift over the total, without the rounding of a difference
    parts = dot(n, each(excess, v, point.slack, point.drift)) - x * dot(n, v)
    return total(jnp.moveaxis(alone(n, parts), 0, -1))
