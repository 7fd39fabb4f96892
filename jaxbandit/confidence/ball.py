"""The largest mean over a KL ball around a row, plain or weighted, by a fixed number of iterations.

The largest weighted mean over the rows q with KL(p || q) <= radius is the root v of K(v) = radius. `tilt` explains K
and the letters p_j (row), w_j (weights), x_j and tau, and finds K, its derivatives and the row for a given v.

Values are counted down from the best one in units of their range (`below`); weights are scaled so that their mean under
p is 1, hence "the mean" is sum of p_j w_j value_j. v moves from the mean towards a target, usually the best value:

    v = (mean + added target) / (1 + added),  gap = target - mean,  left = target - v = gap / (1 + added),
    gain = v - mean = added left,  added = w (exp(y) - 1),  w = the target's weight.

The root is sought in y >= 0. With two states, y is that of `bernoulli.kl_bound`: the lower one's probability P shrinks
to P exp(-y), and K = P y - Q log(1 + P (1 - exp(-y)) / Q), Q = 1 - P, is increasing and convex. `_best` gives a target
and a lower bound of y, `_reached` a gain to begin from, `_halley` the root and `_row` the maximiser. One case may need
another target: a state over a million times heavier than the best one takes nearly all the weight after a small move
towards it, so that K is nearly flat up to its value and steep beyond. `_halley` evaluates K at that value first, and
makes it the target if the root lies below it.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base import Array
from jaxbandit.confidence.bernoulli import Solver, begin
from jaxbandit.confidence.larger import larger, smaller
from jaxbandit.confidence.rows import (
    Row,
    alone,
    array_of,
    at_largest,
    beside,
    chosen_sum,
    dot,
    each,
    kept,
    largest,
    row_of,
    smallest,
    sum_of,
)
from jaxbandit.confidence.tilt import Tilt, nearest
from jaxbandit.fast import computed_once, exponential

STEPS = 4  # Halley steps after the first one, in float32; three states take one fewer, more than 16 one more
_FAR = 46.0  # a y at which v equals its target to rounding, whatever the weights of an estimated chain
_HEAVIER = 1e6  # a state this many times heavier than the best one has K evaluated at its value first


class Problem(NamedTuple):
    """What is maximised, in the units of the module's docstring."""

    p: Row
    weights: Row  # w_j, with sum of p_j w_j = 1
    below: Row  # best value less value_j, from 0 to 1
    at_p: Row  # x_j at v = mean: w_j (value_j - mean)
    gap: Array  # best value less the mean
    radius: Array  # at most 1e4


class Target(NamedTuple):
    """The value that v is moved towards: v = (mean + added target) / (1 + added) for added >= 0."""

    gap: Array  # target less the mean
    weight: Array  # w_j of the states with this value
    below: Array  # best value less the target
    low: Array  # a lower bound of `added` at the root


@partial(jax.jit, static_argnames="solver")
def kl_ball_max(p: Array, values: Array, radius: Array, solver: Solver = "halley") -> tuple[Array, Array]:
    """The largest sum of q_j values_j over rows q with KL(p || q) <= radius, and a row that reaches it.

    KL(p || q) = sum of p_j log(p_j / q_j), with 0 log 0 = 0. The row is q_j = p_j / (1 - tau (values_j - maximum));
    where that sums to less than 1, which takes a state with the largest value and p_j = 0, the state has the rest.

    Args:
      p: [..., S], each row sums to 1; entries may be 0.
      values: [..., S], finite.
      radius: [...], in [0, inf].
      solver: "halley" (default) or "bisection".

    Returns:
      maximum [...] and maximiser [..., S]; within 2e-6 times the range of the values in float32. Radius 0 gives p
      itself, inf the largest value; a unit vector p gives each other state at most 1 - exp(-radius).

    Raises:
      ValueError: the solver's name is unknown.

    Source: Filippi, Cappe and Garivier 2010, section 4, for the form of the maximiser; the solver is our own.

    >>> maximum, row = kl_ball_max(jnp.array([0.5, 0.5, 0.0]), jnp.array([0.0, 0.5, 1.0]), 0.5)
    >>> round(float(maximum), 4), [round(float(q), 3) for q in row]
    (0.5711, [0.214, 0.429, 0.357])
    """
    p, values, radius = (jnp.asarray(array, float) for array in (p, values, radius))
    shape = (*jnp.broadcast_shapes(p.shape[:-1], values.shape[:-1], radius.shape), p.shape[-1])
    p, values, radius = (
        jnp.broadcast_to(p, shape),
        jnp.broadcast_to(values, shape),
        jnp.broadcast_to(radius, shape[:-1]),
    )
    p = row_of(p)
    maximum, row = weighted_mean_max(p, row_of(values), each(jnp.ones_like, p), radius, solver)
    return maximum, array_of(row)


def weighted_mean_max(p: Row, values: Row, weights: Row, radius: Array, solver: Solver = "halley") -> tuple[Array, Row]:
    """The largest v = sum of q_j w_j values_j / sum of q_j w_j over KL(p || q) <= radius, and a row that reaches it.

    Args:
      p, values, weights: S arrays [...] each, as is the row returned; the weights w_j positive, in any one unit.
      radius, solver: as in `kl_ball_max`.
    """
    if solver not in get_args(Solver):
        raise ValueError(f'solver: {solver!r} is unknown; use "halley" or "bisection"')
    lowest, highest = smallest(values), largest(values)
    level = ~(highest > lowest)
    span = jnp.where(level, 1, highest - lowest)
    inverse = 1 / span
    below = kept(each(lambda a: (highest - a) * inverse, values))
    p = each(lambda a: jnp.where(a < 1e-30, 0, a), p)
    short, row = _solve(_problem(p, below, weights, smaller(beside(p, radius), 1e4)), solver)
    return alone(p, jnp.where(level, highest, highest - span * short)), row


def _problem(p: Row, below: Row, weights: Row, radius: Array) -> Problem:
    """The problem with its weights scaled to mean 1, and what follows from them; `below` is in units of the range."""
    inverse = 1 / dot(p, weights)
    weights = each(lambda w: w * inverse, weights)
    held = each(lambda a, w: a * w, p, weights)
    gap = dot(held, below)
    # by way of the state that holds most weight: the mean may be that state's to rounding, and gap - below_j cancel
    (base,) = at_largest(held, below)
    shift = dot(held, each(lambda b: base - b, below))
    at_p = each(lambda w, b: w * (base - b - shift), weights, below)
    return Problem(p, weights, below, at_p, gap, radius)


def _solve(problem: Problem, solver: Solver) -> tuple[Array, Row]:
    """Best value less the largest mean, and a row that reaches that mean; for a unit vector p, in closed form."""
    p, gap, radius = problem.p, problem.gap, problem.radius
    target, (reached, singles) = _best(problem), _reached(problem)
    if solver == "bisection":
        added, multiplier = _bisected(problem, target)
    else:
        near = at_largest(singles, problem.below, problem.weights)
        target, added, multiplier = _halley(problem, target, reached, *near)
    unit = sum_of(each(lambda a: (a > 0).astype(gap.dtype), p)) == 1
    short = jnp.where(unit, gap - larger(reached, 0), target.below + target.gap / (1 + added))
    x, gain, _, _ = _placed(problem, target, added)
    row = _row(problem, x, gain, multiplier)
    lost, kept = exponential(radius)
    single = each(lambda a, share: kept * a + lost * share, p, _ends(singles, p))
    moves = (gap > 0) & (radius > 0)
    row = each(lambda a, b, c: jnp.where(moves, jnp.where(unit, a, b), c), single, row, p)
    return jnp.where(moves, short, gap), row


def _best(problem: Problem) -> Target:
    """The best value as the target; several states with that value count as one, by their mean weight under p."""
    p, weights, below, _, gap, radius = problem
    tiny = float(np.finfo(gap.dtype).tiny)
    inside = each(lambda b: b == 0, below)
    share = chosen_sum(p, inside)
    rest = chosen_sum(p, each(lambda here: ~here, inside))
    held = chosen_sum(each(lambda a, w: a * w, p, weights), inside)
    heaviest = largest(each(lambda w, here: jnp.where(here, w, 0), weights, inside))
    weight = jnp.where(share > 0, held / jnp.where(share > 0, share, 1), heaviest)
    # to shrink all other states alike is one way to reach v, so y is at least what `bernoulli.kl_bound` has: max(a, s)
    ratio = radius / larger(rest, tiny)
    low = smaller(larger(ratio, jnp.sqrt(2 * ratio * share)), _FAR)
    lost, kept = exponential(low)
    return Target(gap, weight, jnp.zeros_like(gap), weight * (lost / kept))


def _placed(problem: Problem, target: Target, added: Array) -> tuple[Row, Array, Array, Array]:
    """x_j at v, `gain`, `left`, and minus the derivative of log(left) by y (called `steep`), for this `added`."""
    inverse = 1 / (1 + added)
    left = target.gap * inverse
    gain = added * left
    # from the nearer of mean and target, so that a small value_j - v keeps its digits
    x = each(
        lambda a, w, b: jnp.where(gain < left, a - w * gain, w * (left - (b - target.below))),
        problem.at_p,
        problem.weights,
        problem.below,
    )
    return kept(x), gain, left, (target.weight + added) * inverse


def _reached(problem: Problem) -> tuple[Array, Row]:
    """A gain of the mean that the radius allows (y to 0.7 %), and what as much growth of each state alone would gain.

    The states above the mean are taken as one state and the rest as another, each in the proportions that it has under
    p. Where p holds none of the states above, all goes to the one that gains most, which is exact for a unit vector.
    """
    p, weights, _, at_p, gap, radius = problem
    tiny = float(np.finfo(gap.dtype).tiny)
    above = each(lambda x: x > 0, at_p)
    growing = chosen_sum(p, above)
    _, y, _ = begin(larger(chosen_sum(p, each(lambda here: ~here, above)), tiny), growing, radius)
    lost, kept = exponential(smaller(y, 30.0))
    growth = lost / kept
    singles = each(lambda x, w: growth * x / (1 + growth * w), at_p, weights)
    moved, weight = (chosen_sum(each(lambda a, b: a * b, p, row), above) for row in (at_p, weights))
    together = growth * moved / larger(growing + growth * weight, tiny)
    return smaller(jnp.where(growing > 0, together, largest(singles)), gap), singles


def _start(gain: Array, target: Target) -> Array:
    """`added` at v = mean + gain, where the steps begin; kept clear of the target itself."""
    return _inside(gain / larger(target.gap - gain, 1e-3 * target.gap), target)


def _inside(added: Array, target: Target) -> Array:
    """`added` kept above its known lower bound, and below where v equals the target to rounding."""
    return larger(smaller(added, 1e10 * larger(target.weight, 1)), target.low)


def _halley(
    problem: Problem, best: Target, reached: Array, near_below: Array, near_weight: Array
) -> tuple[Target, Array, Array]:
    """The target, `added` at the root and tau there (`multiplier`), by Halley's steps in y on K - radius.

    `near_*` belong to the state towards which a move gains most: the first step is at its value where it is heavy and
    above the mean (`asked`), and it becomes the target where the root lies below that value (`under`).
    """
    gap, radius = problem.gap, problem.radius
    tiny = float(np.finfo(gap.dtype).tiny)

    def step(target: Target, added: Array, multiplier: Array) -> tuple[Tilt, Array]:
        x, gain, left, steep = _placed(problem, target, added)
        found = nearest(problem.p, problem.weights, problem.below, x, gain, multiplier, 2)
        if target is best:
            found = found._replace(divergence=computed_once(found.divergence))  # read below, too
        speed = left * steep  # dv / dy; `slope` and `bend` are the first two derivatives of K by y
        difference = found.divergence - radius
        slope = larger(found.slope * speed, 1e-18)
        bend = (found.curvature * speed - found.slope * (2 * steep - 1)) * speed
        square = slope * slope
        moved = -2 * difference * slope / larger(2 * square - difference * bend, larger(square, tiny))
        moved = smaller(moved, 3.0)  # a longer step from where K is flat would land far beyond where it gets steep
        grown = larger(moved * (1 + moved * (1 / 2 + moved / 6)), -0.5)  # exp(moved) - 1; `added` is linear in exp(y)
        return found, added + (target.weight + added) * grown

    asked = (near_below > 0) & (near_weight > _HEAVIER * best.weight) & (gap > near_below)
    there = (gap - near_below) / larger(near_below, tiny)
    added = jnp.where(asked, there, _start(reached, best))
    found, moved = step(best, added, jnp.zeros_like(gap))
    under = asked & (found.divergence >= radius)
    shift = jnp.where(under, near_below, 0)
    low = jnp.where(under, 0, jnp.where(asked, larger(there, best.low), best.low))
    weight = jnp.where(under, near_weight, best.weight)
    target = Target(gap - shift, weight, shift, low)
    began, off = added, jnp.where(asked, 0, found.divergence - radius)
    added = jnp.where(asked, _start(reached, target), _inside(moved, target))
    more = gap * (added - began) / ((1 + added) * (1 + began))
    multiplier = jnp.where(asked, 0, found.multiplier if len(problem.p) == 3 else found.following(more))

    def again(_: int, carry: tuple[Array, ...]) -> tuple[Array, ...]:
        added, multiplier, *before = carry
        found, moved = step(target, added, multiplier)
        if three:
            return _inside(moved, target), computed_once(found.multiplier)
        last, off = before
        difference = computed_once(found.divergence - radius)
        astray = (difference * off < 0) & (2 * jnp.abs(difference) > jnp.abs(off))
        moved = jnp.where(astray, (last * difference - added * off) / jnp.where(astray, difference - off, 1), moved)
        moved = _inside(moved, target)
        more = gap * (moved - added) / ((1 + moved) * (1 + added))
        return moved, computed_once(found.following(more)), added, difference

    three = len(problem.p) == 3
    carry = (added, multiplier) if three else (added, multiplier, began, off)
    steps = STEPS - three + (len(problem.p) > 16) + (np.finfo(gap.dtype).bits > 32)
    added, multiplier = jax.lax.fori_loop(0, steps, again, carry, unroll=three)[:2]
    return target, added, multiplier


def _bisected(problem: Problem, target: Target) -> tuple[Array, Array]:
    """`added` at the root and tau there, by halving the interval of y from 0 to 46."""

    def added(y: Array) -> Array:
        lost, kept = exponential(y)
        return _inside(target.weight * (lost / kept), target)

    def at(y: Array) -> Tilt:
        x, gain, _, _ = _placed(problem, target, added(y))
        # tau begins at 0 and not at the last y's tau, which may be so far off that 24 steps leave an error in K
        return nearest(problem.p, problem.weights, problem.below, x, gain, jnp.zeros_like(y), 24)

    def halve(_: int, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = ends
        middle = (low + high) / 2
        above = at(middle).divergence >= problem.radius
        return jnp.where(above, low, middle), jnp.where(above, middle, high)

    nothing = jnp.zeros_like(problem.gap)
    steps = 40 if np.finfo(nothing.dtype).bits == 32 else 70
    low, high = jax.lax.fori_loop(0, steps, halve, (nothing, jnp.full_like(nothing, _FAR)))
    y = (low + high) / 2
    return added(y), at(y).multiplier


def _row(problem: Problem, x: Row, gain: Array, multiplier: Array) -> Row:
    """The row of `nearest`, with the entries of the largest x set to what the others lack of 1."""
    found = nearest(problem.p, problem.weights, problem.below, x, gain, multiplier, 2).row
    shares = _ends(x, problem.p)
    others = each(lambda share, a: jnp.where(share > 0, 0, a), shares, found)
    inverse = 1 / larger(sum_of(others), 1)  # the sum exceeds 1 where an entry's 1 - z r_j is near 0 and has few digits
    others = each(lambda a: a * inverse, others)
    missing = larger(1 - sum_of(others), 0)
    return each(lambda share, a: a + missing * share, shares, others)


def _ends(row: Row, p: Row) -> Row:
    """Shares that sum to 1 for the largest entries of `row`: in proportion to p, or equal where p holds none."""
    top = largest(row)
    last = each(lambda a: a >= top, row)
    held, ties = chosen_sum(p, last), sum_of(each(lambda here: here.astype(top.dtype), last))
    return each(
        lambda here, a: jnp.where(here, jnp.where(held > 0, a / jnp.where(held > 0, held, 1), 1 / ties), 0), last, p
    )
