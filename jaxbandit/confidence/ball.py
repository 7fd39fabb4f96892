"""The largest mean over a KL ball around a row, plain or weighted, by fixed iterations."""

from __future__ import annotations

from functools import partial, reduce
from typing import NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base import Array
from jaxbandit.confidence.bernoulli import Solver, begin
from jaxbandit.confidence.larger import larger, largest, smaller
from jaxbandit.confidence.tilt import Row, Tilt, at_largest, chosen_sum, dot, nearest
from jaxbandit.fast import computed_once, exponential

STEPS = 4  # of Halley, after the first; one fewer for three states
_FAR = 46.0  # y at which a mean is its target, whatever the weights of an estimate
_HEAVIER = 1e6  # than the best, in weight: states whose value K is asked at


class Problem(NamedTuple):
    """The row, its values counted down from the best, its weights scaled so that their mean is 1."""

    p: list[Array]
    weights: list[Array]
    below: list[Array]  # best value less each value
    at_p: list[Array]  # w_j (value_j - mean)
    gap: Array  # best value less the mean
    radius: Array


class Target(NamedTuple):
    """A value that the mean is moved towards: v = (mean + added target) / (1 + added) for added >= 0."""

    gap: Array  # target less the mean
    weight: Array  # of a state there
    below: Array  # best value less the target
    low: Array  # where `added` begins


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
    p, values = (jnp.asarray(array, float) for array in (p, values))
    radius = jnp.asarray(radius, float)
    shape = (*jnp.broadcast_shapes(p.shape[:-1], values.shape[:-1], radius.shape), p.shape[-1])
    p, values, radius = (
        jnp.broadcast_to(p, shape),
        jnp.broadcast_to(values, shape),
        jnp.broadcast_to(radius, shape[:-1]),
    )
    columns = [p[..., j] for j in range(p.shape[-1])]
    ones = [jnp.ones_like(column) for column in columns]
    maximum, row = weighted_mean_max(columns, [values[..., j] for j in range(len(ones))], ones, radius, solver)
    return maximum, jnp.stack(row, -1)


def weighted_mean_max(
    p: Row, values: Row, weights: Row, radius: Array, solver: Solver = "halley"
) -> tuple[Array, list[Array]]:
    """The largest v = sum of q_j w_j values_j / sum of q_j w_j over KL(p || q) <= radius, and a row that reaches it.

    The nearest row with mean v is that of `tilt.nearest` for x_j = w_j (values_j - v), at divergence K(v). K(v) =
    radius is solved by Halley's steps in y, where added = w_best (exp(y) - 1): with two states the best one then has
    1 - rest exp(-y), and K is their P y - Q log(1 + P (1 - exp(-y)) / Q). Growing by that much is one way to mean v,
    so that two states' y is at most the root; so is that of what lies above the mean against the rest (`_reached`),
    from which the steps begin.

    Where states a million times heavier than the best would hold all the weight after any little move towards them,
    K is nearly level up to their value and steep beyond: K is asked there first, and the target chosen.

    Args:
      p, values, weights: rows of one shape; weights positive.
      radius, solver: as in `kl_ball_max`.
    """
    if solver not in get_args(Solver):
        raise ValueError(f'solver: {solver!r} is unknown; use "halley" or "bisection"')
    lowest, highest = reduce(smaller, values), largest(values)
    level = ~(highest > lowest)
    span = jnp.where(level, 1, highest - lowest)
    inverse = 1 / span
    below = [(highest - a) * inverse for a in values]
    problem = _problem([jnp.where(a < 1e-30, 0, a) for a in p], below, weights, smaller(radius, 1e4))
    short, row = _solve(problem, solver)
    return jnp.where(level, highest, highest - span * short), row


def _problem(p: list[Array], below: list[Array], weights: Row, radius: Array) -> Problem:
    inverse = 1 / dot(p, weights)
    weights = [w * inverse for w in weights]
    held = [a * w for a, w in zip(p, weights, strict=True)]
    gap = dot(held, below)
    # offsets from the mean, by way of the state that holds most weight: the mean may be that state's to rounding
    (base,) = at_largest(held, below)
    shift = dot(held, [base - b for b in below])
    at_p = [w * (base - b - shift) for w, b in zip(weights, below, strict=True)]
    return Problem(p, weights, below, at_p, gap, radius)


def _solve(problem: Problem, solver: Solver) -> tuple[Array, list[Array]]:
    """How far the largest mean stays below the best value, and a row that reaches it."""
    p, gap, radius = problem.p, problem.gap, problem.radius
    target, (reached, singles) = _best(problem), _reached(problem)
    if solver == "bisection":
        added, multiplier = _bisected(problem, target)
    else:
        near = at_largest(singles, problem.below, problem.weights)
        target, added, multiplier = _halley(problem, target, reached, *near)
    unit = sum((a > 0).astype(gap.dtype) for a in p) == 1
    short = jnp.where(unit, gap - larger(reached, 0), target.below + target.gap / (1 + added))
    x, gain, _, _ = _placed(problem, target, added)
    row = _row(problem, x, gain, multiplier)
    lost, kept = exponential(radius)
    alone = [kept * a + lost * share for a, share in zip(p, _ends(singles, p), strict=True)]
    moves = (gap > 0) & (radius > 0)
    row = [jnp.where(moves, jnp.where(unit, a, b), c) for a, b, c in zip(alone, row, p, strict=True)]
    return jnp.where(moves, short, gap), row


def _best(problem: Problem) -> Target:
    p, weights, below, _, gap, radius = problem
    tiny = float(np.finfo(gap.dtype).tiny)
    inside = [b == 0 for b in below]
    share = chosen_sum(p, inside)
    rest = chosen_sum(p, [~here for here in inside])
    held = chosen_sum([a * w for a, w in zip(p, weights, strict=True)], inside)
    heaviest = largest([jnp.where(here, w, 0) for w, here in zip(weights, inside, strict=True)])
    weight = jnp.where(share > 0, held / jnp.where(share > 0, share, 1), heaviest)
    # the root of two states is at least radius / rest, and at least the root of the divergence's second-order form
    ratio = radius / larger(rest, tiny)
    low = smaller(larger(ratio, jnp.sqrt(2 * ratio * share)), _FAR)
    lost, kept = exponential(low)
    return Target(gap, weight, jnp.zeros_like(gap), weight * (lost / kept))


def _placed(problem: Problem, target: Target, added: Array) -> tuple[list[Array], Array, Array, Array]:
    """x, v less the mean, target less v, and minus the derivative of the latter's logarithm by y."""
    inverse = 1 / (1 + added)
    left = target.gap * inverse
    gain = added * left
    each = zip(problem.at_p, problem.weights, problem.below, strict=True)
    x = [jnp.where(gain < left, a - w * gain, w * (left - (b - target.below))) for a, w, b in each]
    return x, gain, left, (target.weight + added) * inverse


def _reached(problem: Problem) -> tuple[Array, list[Array]]:
    """A gain of the mean that is possible, and what moving as far towards each state alone would gain.

    Two states, what lies above the mean and the rest, each in the shares in which p holds it; where nothing above is
    held, the state that gains most. For a unit vector that is all there is.
    """
    p, weights, _, at_p, gap, radius = problem
    tiny = float(np.finfo(gap.dtype).tiny)
    above = [x > 0 for x in at_p]
    growing = chosen_sum(p, above)
    _, y, _ = begin(larger(chosen_sum(p, [~here for here in above]), tiny), growing, radius)
    lost, kept = exponential(smaller(y, 30.0))
    growth = lost / kept
    singles = [growth * x / (1 + growth * w) for x, w in zip(at_p, weights, strict=True)]
    moved, weight = (chosen_sum([a * b for a, b in zip(p, row, strict=True)], above) for row in (at_p, weights))
    together = growth * moved / larger(growing + growth * weight, tiny)
    return smaller(jnp.where(growing > 0, together, largest(singles)), gap), singles


def _start(gain: Array, target: Target) -> Array:
    """`added` where the mean has grown by `gain`; short of the target."""
    return _inside(gain / larger(target.gap - gain, 1e-3 * target.gap), target)


def _inside(added: Array, target: Target) -> Array:
    """Not below what is known, and not where the target is reached to rounding."""
    return larger(smaller(added, 1e10 * larger(target.weight, 1)), target.low)


def _halley(
    problem: Problem, best: Target, reached: Array, near_below: Array, near_weight: Array
) -> tuple[Target, Array, Array]:
    """The target, `added` at the root, and the multiplier there."""
    gap, radius = problem.gap, problem.radius
    tiny = float(np.finfo(gap.dtype).tiny)

    def step(target: Target, added: Array, multiplier: Array) -> tuple[Tilt, Array]:
        x, gain, left, steep = _placed(problem, target, added)
        found = nearest(problem.p, problem.weights, problem.below, x, gain, multiplier, 2)
        if target is best:
            found = found._replace(divergence=computed_once(found.divergence))  # it chooses the target, too
        speed = left * steep
        difference = found.divergence - radius
        slope = larger(found.slope * speed, 1e-18)
        bend = (found.curvature * speed - found.slope * (2 * steep - 1)) * speed
        square = slope * slope
        moved = -2 * difference * slope / larger(2 * square - difference * bend, larger(square, tiny))
        moved = smaller(moved, 3.0)  # further, from where K is level, lands far beyond where it is steep
        grown = larger(moved * (1 + moved * (1 / 2 + moved / 6)), -0.5)  # exp(moved) - 1, in which added is linear
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
    added = jnp.where(asked, _start(reached, target), _inside(moved, target))
    multiplier = jnp.where(asked, 0, found.multiplier)

    def again(_: int, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        found, moved = step(target, *carry)
        return _inside(moved, target), computed_once(found.multiplier)

    three = len(problem.p) == 3
    steps = STEPS - three + (np.finfo(gap.dtype).bits > 32)
    added, multiplier = jax.lax.fori_loop(0, steps, again, (added, multiplier), unroll=three)
    return target, added, multiplier


def _bisected(problem: Problem, target: Target) -> tuple[Array, Array]:
    """`added` at the root and the multiplier there, by halving y."""

    def added(y: Array) -> Array:
        lost, kept = exponential(y)
        return _inside(target.weight * (lost / kept), target)

    def at(y: Array) -> Tilt:
        x, gain, _, _ = _placed(problem, target, added(y))
        # from 0, and not from the last y's: the next may be far, and what is left of it would pass for the divergence
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


def _row(problem: Problem, x: list[Array], gain: Array, multiplier: Array) -> list[Array]:
    """The nearest row; its entries with the largest x have what the others lack of 1."""
    found = nearest(problem.p, problem.weights, problem.below, x, gain, multiplier, 2).row
    shares = _ends(x, problem.p)
    others = [jnp.where(share > 0, 0, a) for share, a in zip(shares, found, strict=True)]
    inverse = 1 / larger(sum(others), 1)  # more than 1 where an entry is close to a pole, to which z has few digits
    others = [a * inverse for a in others]
    missing = larger(1 - sum(others), 0)
    return [a + missing * share for share, a in zip(shares, others, strict=True)]


def _ends(row: list[Array], p: Row) -> list[Array]:
    """1 for the largest entry; several share it as p has them, or alike."""
    top = largest(row)
    last = [a >= top for a in row]
    held, ties = chosen_sum(p, last), sum(here.astype(top.dtype) for here in last)
    each = zip(last, p, strict=True)
    return [jnp.where(here, jnp.where(held > 0, a / jnp.where(held > 0, held, 1), 1 / ties), 0) for here, a in each]
