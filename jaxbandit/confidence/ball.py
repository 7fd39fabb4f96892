"""The largest mean over a KL ball around a row, plain or weighted, by fixed iterations."""

from __future__ import annotations

from typing import NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base import Array
from jaxbandit.confidence.bernoulli import Solver
from jaxbandit.confidence.frame import Frame, either, frame
from jaxbandit.confidence.tilt import Row, Tilt, dot, largest, nearest
from jaxbandit.indexing import computed_once

STEPS = 5  # of Halley, after the first; with four, one random chain in 10,000 is off by up to 8e-5


class Bracket(NamedTuple):
    """Where the root lies."""

    low: Array
    high: Array
    lack: Array  # the radius less the divergence at `low`, or more


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
    radius is solved in the coordinate y of `frame`, by Halley's steps inside the bracket known so far. The row that
    defines v(y) is one with mean v, at a divergence of at most the two states' own: y is at least their root, whose
    left end `bernoulli.kl_bound` has.

    The target is the largest value. Where heavier states would hold all the weight after any little move towards
    them, K is nearly level up to the best of these and steep beyond: K is asked there first and the target chosen.

    Args:
      p, values, weights: rows of one shape; weights positive.
      radius, solver: as in `kl_ball_max`.
    """
    if solver not in get_args(Solver):
        raise ValueError(f'solver: {solver!r} is unknown; use "halley" or "bisection"')
    lowest, highest = -largest([-a for a in values]), largest(values)
    span = jnp.where(highest > lowest, highest - lowest, 1)
    unit = [(a - lowest) / span for a in values]
    maximum, row = _solve([jnp.where(a < 1e-30, 0, a) for a in p], unit, weights, jnp.minimum(radius, 1e4), solver)
    return jnp.where(highest > lowest, lowest + span * maximum, highest), row


def _solve(p: Row, values: Row, weights: Row, radius: Array, solver: Solver) -> tuple[Array, list[Array]]:
    info = np.finfo(p[0].dtype)
    tiny = float(info.tiny)
    whole = computed_once(dot(p, weights))
    weights = [w / whole for w in weights]
    held = [a * w for a, w in zip(p, weights, strict=True)]
    best = largest(values)
    # offsets from the mean, by way of the state that holds most weight: the mean may be that state's to rounding
    base = computed_once(_value_at(held, largest(held), values))
    shift = computed_once(sum(a * (value - base) for a, value in zip(held, values, strict=True)))
    gap = computed_once(sum(a * (best - value) for a, value in zip(held, values, strict=True)))
    at_p = [computed_once(w * (value - base - shift)) for w, value in zip(weights, values, strict=True)]
    spread = computed_once(sum(a * x * x for a, x in zip(p, at_p, strict=True)))
    # moving towards one state alone: never more than is possible, and all there is for a unit vector
    kept, lost = jnp.exp(-radius), -jnp.expm1(-radius)
    singles = [lost * x / (kept + lost * w) for x, w in zip(at_p, weights, strict=True)]
    furthest = computed_once(largest(singles))
    single = jnp.clip(furthest, 0, gap)
    near = computed_once(_value_at(singles, furthest, values))

    def place(y: Array, on: Frame) -> tuple[list[Array], Array, Array, Array]:
        left, gain, steep = on.place(y)
        x = [
            jnp.where(gain < left, a - w * gain, w * (left - (on.target - value)))
            for a, w, value in zip(at_p, weights, values, strict=True)
        ]
        return [computed_once(a) for a in x], gain, left * steep, steep

    def begin(on: Frame) -> tuple[Array, Array]:
        linear = radius / jnp.maximum(on.rest, tiny)
        low = jnp.minimum(jnp.maximum(linear, jnp.sqrt(2 * linear * on.share)), on.end)
        start = jnp.maximum(single, jnp.minimum(jnp.sqrt(2 * radius * spread), on.span / 2))
        return jnp.maximum(low, on.coordinate(start)), low

    near_frame = frame(p, held, values, weights, near, near - base - shift)
    best_frame = frame(p, held, values, weights, best, gap)
    asked = near < best
    y, low = begin(best_frame)
    x, gain, speed, steep = place(y, best_frame)
    x = [jnp.where(asked, w * (v - near), a) for w, v, a in zip(weights, values, x, strict=True)]
    gain = jnp.where(asked, near_frame.span, gain)
    tilt = nearest(p, weights, x, gain, jnp.zeros_like(gap), 2)
    below, beyond = asked & (tilt.divergence >= radius), asked & (tilt.divergence < radius)
    chosen = either(below, near_frame, best_frame)

    def narrow(
        y: Array, known: Bracket, level: Array | float, speed: Array, steep: Array, tilt: Tilt
    ) -> tuple[Array, Bracket]:
        difference = tilt.divergence - radius
        short = difference < 0
        sure = short & tilt.settled
        low, lack = jnp.where(sure, jnp.maximum(y, known.low), known.low), jnp.where(sure, -difference, known.lack)
        high = jnp.where(short, known.high, jnp.minimum(y, known.high))
        if solver == "bisection":
            return (low + high) / 2, Bracket(low, high, lack)
        slope = jnp.maximum(tilt.slope * speed, 1e-18)
        bend = jnp.where(tilt.curvature == 0, 0, (tilt.curvature * speed - tilt.slope * (2 * steep - 1)) * speed)
        square = slope * slope
        moved = y - 2 * difference * slope / jnp.maximum(2 * square - difference * bend, jnp.maximum(square, tiny))
        # towards the near target K levels off as exp(-y) does, where Halley's steps are too short
        levelling = y + jnp.log(1 - difference / level) / jnp.maximum(steep, 1)
        moved = jnp.where(short & (high >= chosen.end), jnp.maximum(moved, levelling), moved)
        above = jnp.minimum((y + high) / 2, 4 * y + 1)
        below = low + (y - low) * jnp.minimum(0.5, lack / (lack + difference))
        return jnp.where(moved > high, above, jnp.where(moved < low, below, moved)), Bracket(low, high, lack)

    fresh, fresh_low = begin(chosen)
    passed = jnp.where(beyond, jnp.maximum(fresh_low, chosen.coordinate(near_frame.span)), fresh_low)
    knee = jnp.maximum(passed, jnp.minimum(jnp.log(1 + chosen.rest_weight / chosen.weight) + 1, chosen.end))
    never = 1e30
    moved, known = narrow(y, Bracket(low, best_frame.end, radius), never, speed, steep, tilt)
    y = jnp.where(asked, jnp.where(beyond, knee, fresh), moved)
    level = jnp.where(below, jnp.maximum(tilt.divergence - radius, tiny), never)
    known = Bracket(
        jnp.where(asked, passed, known.low),
        jnp.where(asked, chosen.end, known.high),
        jnp.where(beyond, radius - tilt.divergence, known.lack),
    )

    def again(_: int, carry: tuple[Array, Bracket, Array]) -> tuple[Array, Bracket, Array]:
        y, known, multiplier = carry
        x, gain, speed, steep = place(y, chosen)
        tilt = nearest(p, weights, x, gain, multiplier, 2 if solver == "halley" else 6)
        y, known = narrow(y, known, level, computed_once(speed), steep, tilt)
        return computed_once(y), known, tilt.multiplier

    steps = STEPS if solver == "halley" else 40 if info.bits == 32 else 70
    multiplier = jnp.where(asked, 0, tilt.multiplier)
    y, _, multiplier = jax.lax.fori_loop(0, steps, again, (y, known, multiplier))
    left, gain, _ = chosen.place(y)
    unit = sum((a > 0).astype(gap.dtype) for a in p) == 1
    still = ~((gap > 0) & (radius > 0))
    maximum = jnp.where(gain < left, best - gap + gain, chosen.target - left)
    maximum = jnp.where(unit, best - gap + single, maximum)
    maximum = jnp.where(still, best - gap, jnp.minimum(maximum, best))
    x, gain, _, _ = place(y, chosen)
    row = nearest(p, weights, x, gain, multiplier, 2).row
    mass = sum(row)
    return maximum, [jnp.where(still, a, b / mass) for a, b in zip(p, row, strict=True)]


def _value_at(row: Row, value: Array, others: Row) -> Array:
    """The largest of `others`, each not negative, where the row has the value."""
    return largest([jnp.where(a == value, other, 0) for a, other in zip(row, others, strict=True)])
