"""The largest mean over a KL ball around a row, plain or weighted, by a fixed number of iterations.

The largest weighted mean over the rows q with KL(p || q) <= radius is the root v of K(v) = radius. `tilt` explains K
and the letters p_j (row), w_j (weights), x_j and tau, and finds K, its derivatives and the row for a given v.

The root is sought in y >= 0, with the scaling and the letters of `scaled_problem`. With two states, y is that of
`bernoulli.kl_bound`: the lower one's probability P shrinks to P exp(-y), and K = P y - Q log(1 + P (1 - exp(-y)) / Q),
Q = 1 - P, is increasing and convex. `best_target` gives a target and a lower bound of y, `within_reach` a gain to begin
from, `_halley` the root and `_row` the maximiser. One case may need another target: a state over a million times
heavier than the best one takes nearly all the weight after a small move towards it, so that K is nearly flat up to its
value and steep beyond. `_halley` evaluates K at that value first, and makes it the target if the root lies below it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import get_args

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.arguments import Numbers, accepts
from jaxbandit.confidence.bernoulli import RADIUS, SOLVERS, Solver
from jaxbandit.confidence.row.arithmetic import (
    Row,
    alone,
    array_of,
    at_largest,
    beside,
    chosen_sum,
    each,
    kept,
    largest,
    room,
    row_of,
    smallest,
    sum_of,
)
from jaxbandit.confidence.row.scaled_problem import FAR, Problem, Target, best_target, placed, scaled, within_reach
from jaxbandit.confidence.row.tilt import Tilt, nearest
from jaxbandit.fast import computed_once, exponential, larger, smaller

STEPS = 4  # Halley steps after the first one, in float32; three states take one fewer, more than 16 one more
_HEAVIER = 1e6  # a state this many times heavier than the best one has K evaluated at its value first


@accepts(p=Numbers("[..., S]", 0, 1, law=True), values=Numbers("[..., S]"), radius=RADIUS, solver=SOLVERS)
@partial(jax.jit, static_argnames="solver")
def kl_ball_max(p: ArrayLike, values: ArrayLike, radius: ArrayLike, solver: Solver = "halley") -> tuple[Array, Array]:
    """The largest sum of q_j values_j over rows q with KL(p || q) <= radius, and a row that reaches it.

    KL(p || q) = sum of p_j log(p_j / q_j), with 0 log 0 = 0. The row is q_j = p_j / (1 - tau (values_j - maximum));
    where these sum to less than 1, a state with the largest value has p_j = 0, and it takes the rest.

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
    centre = row_of(p)
    maximum, row = weighted_mean_max(centre, row_of(values), each(jnp.ones_like, centre), radius, solver)
    return maximum, array_of(row())


def weighted_mean_max(
    p: Row, values: Row, weights: Row, radius: Array, solver: Solver = "halley"
) -> tuple[Array, Callable[[], Row]]:
    """The largest v = sum of q_j w_j values_j / sum of q_j w_j over KL(p || q) <= radius, and a row that reaches it.

    Args:
      p, values, weights: S arrays [...] each, as is the row; the weights w_j positive, in any common unit.
      radius, solver: as in `kl_ball_max`.

    Returns:
      the mean, and a function that returns the row: what needs the mean alone does not compile the row.
    """
    if solver not in get_args(Solver):
        raise ValueError(f'solver: {solver!r} is unknown; use "halley" or "bisection"')
    lowest, highest = smallest(values), largest(values)
    difference = highest - lowest
    level = ~(difference > 0)
    span = jnp.where(difference > 0, difference, 1)
    inverse = 1 / span
    below = kept(each(lambda a: (highest - a) * inverse, values))
    p = each(lambda a: jnp.where(a < 1e-30, 0, a), p)
    short, row = _solve(scaled(p, below, weights, smaller(beside(p, radius), 1e4)), solver)
    return alone(p, jnp.where(level, highest, highest - span * short)), row


def _solve(problem: Problem, solver: Solver) -> tuple[Array, Callable[[], Row]]:
    """The best value less the largest mean, and a row that reaches that mean; in closed form for a unit vector p."""
    p, gap, radius = problem.p, problem.gap, problem.radius
    target, (reached, singles) = best_target(problem), within_reach(problem)
    if solver == "bisection":
        added, multiplier = _bisected(problem, target)
    else:
        least = _HEAVIER * target.weight  # of the heavier states the best one decides where K gets steep
        heavy = each(lambda w, b: jnp.where(w > least, -b, -2), problem.weights, problem.below)
        # K is flat up to the value of a heavy state and steep beyond it; `_halley` finds on which side the root is
        near = at_largest(heavy, problem.below, problem.weights)
        target, added, multiplier = _halley(problem, target, reached, *near)
    unit = sum_of(each(lambda a: (a > 0).astype(gap.dtype), p)) == 1
    # of a unit vector the ball holds 1 - exp(-radius) of any other state, at most: no steps are needed
    short = jnp.where(unit, gap - larger(reached, 0), target.below + target.gap / (1 + added))
    moves = (gap > 0) & (radius > 0)  # else p itself is the answer, exactly

    def row() -> Row:
        x, gain, _, _ = placed(problem, target, added)
        usual = _row(problem, x, gain, multiplier)
        lost, kept = exponential(radius)
        single = each(lambda a, share: kept * a + lost * share, p, _ends(singles, p))
        return each(lambda a, b, c: jnp.where(moves, jnp.where(unit, a, b), c), single, usual, p)

    return jnp.where(moves, short, gap), row


def _start(gain: Array, target: Target) -> Array:
    """The `added` that belongs to v = mean + gain, where the steps begin; short of the target, where it is inf."""
    return _inside(gain / larger(target.gap - gain, 1e-3 * target.gap), target)


def _inside(added: Array, target: Target) -> Array:
    """`added` kept above its known lower bound, and below where v equals the target to rounding."""
    return larger(smaller(added, 1e10 * larger(target.weight, 1)), target.low)


def _halley(
    problem: Problem, best: Target, reached: Array, near_below: Array, near_weight: Array
) -> tuple[Target, Array, Array]:
    """The target, `added` at the root and tau there (`multiplier`), by Halley's steps in y on K - radius.

    `near_*` belong to the best of the heavy states, if there is any: the first step is at its value where that is above
    the mean (`asked`), and it becomes the target where the root lies below that value (`under`).
    """
    gap, radius = problem.gap, problem.radius
    tiny, three = float(np.finfo(gap.dtype).tiny), len(problem.p) == 3
    asked = (near_below > 0) & (near_weight > _HEAVIER * best.weight) & (gap > near_below)
    there = (gap - near_below) / larger(near_below, tiny)
    lowest = jnp.where(asked, larger(there, best.low), best.low)

    def aimed(under: Array) -> Target:
        shift = jnp.where(under, near_below, 0)
        return Target(gap - shift, jnp.where(under, near_weight, best.weight), shift, jnp.where(under, 0, lowest))

    def again(n: Array, carry: tuple[Array, ...]) -> tuple[Array, ...]:
        added, multiplier, under, *before = carry
        first = asked & (n == 0)
        target = aimed(under)
        x, gain, left, steep = placed(problem, target, added)
        tilt = nearest(problem.p, problem.weights, problem.below, x, gain, multiplier, 2)
        speed = left * steep  # dv / dy; `slope` and `bend` are the first two derivatives of K by y
        difference = computed_once(tilt.divergence - radius)
        slope = larger(tilt.slope * speed, 1e-18)
        bend = (tilt.curvature * speed - tilt.slope * (2 * steep - 1)) * speed
        square = slope * slope
        # Halley's step; its divisor may vanish where K bends downwards, and is kept above half of Newton's
        change = -2 * difference * slope / larger(2 * square - difference * bend, larger(square, tiny))
        change = smaller(change, 3.0)  # a longer step from where K is flat would land far beyond where it gets steep
        # exp(change) - 1; `added` is linear in exp(y)
        grown = larger(change * (1 + change * (1 / 2 + change / 6)), -0.5)
        proposal = added + (target.weight + added) * grown
        under = under | (first & (difference >= 0))
        target = aimed(under)
        if before:  # the last point and K - radius there, from which a secant is drawn
            last, off = before
            # where the best state is light and p has none of it, K bends both ways, and the steps may go to and fro
            astray = (difference * off < 0) & (2 * jnp.abs(difference) > jnp.abs(off))
            secant = (last * difference - added * off) / jnp.where(astray, difference - off, 1)
            proposal = jnp.where(astray, secant, proposal)
        following = jnp.where(first, _start(reached, target), _inside(proposal, target))
        if three:
            return following, computed_once(tilt.multiplier), under
        more = gap * (following - added) / ((1 + following) * (1 + added))  # by how much v grows, without cancellation
        multiplier = jnp.where(first, 0, tilt.following(more))
        return following, computed_once(multiplier), under, added, jnp.where(first, 0, difference)

    nothing = jnp.zeros_like(gap)
    begun = jnp.where(asked, there, _start(reached, best)), nothing, jnp.zeros_like(asked)
    carry = begun if three else (*begun, nothing, nothing)
    steps = 1 + STEPS - three + (len(problem.p) > 16) + (np.finfo(gap.dtype).bits > 32)
    added, multiplier, under, *_ = jax.lax.fori_loop(0, steps, again, carry)
    return aimed(under), added, multiplier


def _bisected(problem: Problem, target: Target) -> tuple[Array, Array]:
    """`added` at the root and tau there, by halving the interval of y from 0 to 46."""

    def added(y: Array) -> Array:
        lost, kept = exponential(y)
        return _inside(target.weight * (lost / kept), target)

    def at(y: Array) -> Tilt:
        x, gain, _, _ = placed(problem, target, added(y))
        # tau begins at 0 and not at the last y's tau, which may be so far off that 24 steps leave an error in K
        return nearest(problem.p, problem.weights, problem.below, x, gain, jnp.zeros_like(y), 24)

    def halve(_: int, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = ends
        middle = (low + high) / 2
        above = at(middle).divergence >= problem.radius
        return jnp.where(above, low, middle), jnp.where(above, middle, high)

    nothing = jnp.zeros_like(problem.gap)
    steps = 40 if np.finfo(nothing.dtype).bits == 32 else 70
    low, high = jax.lax.fori_loop(0, steps, halve, (nothing, jnp.full_like(nothing, FAR)))
    y = (low + high) / 2
    return added(y), at(y).multiplier


def _row(problem: Problem, x: Row, gain: Array, multiplier: Array) -> Row:
    """The row of `nearest`, with the entries of the largest x set so that the row sums to 1."""
    row = nearest(problem.p, problem.weights, problem.below, x, gain, multiplier, 2).row
    shares = _ends(x, problem.p)
    others = each(lambda share, a: jnp.where(share > 0, 0, a), shares, row)
    inverse = 1 / larger(sum_of(others), 1)  # the sum exceeds 1 where an entry's 1 - z r_j is near 0, with few digits
    others = each(lambda a: a * inverse, others)
    missing = larger(1 - sum_of(others), 0)  # what the largest x take: where p_t = 0 no formula gives it
    return each(lambda share, a: a + missing * share, shares, others)


def _ends(row: Row, p: Row) -> Row:
    """Shares that sum to 1 for the largest entries of `row`: in proportion to p, or equal where p holds none."""
    top = largest(row)  # entries within a few roundings of it count as equal, as `arithmetic` says
    least = top - room(row) * jnp.abs(top)
    last = each(lambda a: a >= least, row)
    held, ties = chosen_sum(p, last), sum_of(each(lambda here: here.astype(top.dtype), last))
    return each(
        lambda here, a: jnp.where(here, jnp.where(held > 0, a / jnp.where(held > 0, held, 1), 1 / ties), 0), last, p
    )
