"""The largest mean over a KL ball around a row, plain or weighted, by fixed iterations."""

from __future__ import annotations

from typing import NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base import Array
from jaxbandit.confidence.bernoulli import Solver
from jaxbandit.confidence.tilt import Row, Tilt, dot, largest, nearest, pick
from jaxbandit.indexing import computed_once

STEPS = 6


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
    >>> round(float(maximum), 4), row.round(3).tolist()
    (0.6098, [0.196, 0.388, 0.416])
    """
    p, values = (jnp.asarray(array, float) for array in (p, values))
    radius = jnp.asarray(radius, float)
    shape = (*jnp.broadcast_shapes(p.shape[:-1], values.shape[:-1], radius.shape), p.shape[-1])
    p, values, radius = jnp.broadcast_to(p, shape), jnp.broadcast_to(values, shape), jnp.broadcast_to(radius, shape[:-1])
    columns = [p[..., j] for j in range(p.shape[-1])]
    ones = [jnp.ones_like(column) for column in columns]
    maximum, row = weighted_mean_max(columns, [values[..., j] for j in range(len(ones))], ones, radius, solver)
    return maximum, jnp.stack(row, -1)


def weighted_mean_max(
    p: Row, values: Row, weights: Row, radius: Array, solver: Solver = "halley"
) -> tuple[Array, list[Array]]:
    """The largest v = (sum of q_j w_j values_j) / (sum of q_j w_j) over KL(p || q) <= radius, and a row that reaches it.

    A mean v is reached by the row of `tilt.nearest` for x_j = w_j (values_j - v), at divergence K(v), and K(v) = radius
    is solved in a coordinate y >= 0 in which arms with two states have the equation of `kl_bound`: v(y) is the mean
    when the states with the target mean grow to 1 - (1 - p_t) exp(-y), the rest keeping its shape. As that row is one
    of those that reach v, y >= radius / (1 - p_t). The steps are Halley's inside the bracket known so far.

    The target is the largest value. Where heavier states would hold all the weight after any little move towards
    them, K is nearly level up to the best of these and steep beyond: K is asked there first and the target chosen.

    Args:
      p, values: as in `kl_ball_max`, of one shape.
      weights: [..., S], positive.
      radius, solver: as in `kl_ball_max`.
    """
    if solver not in get_args(Solver):
        raise ValueError(f'solver: {solver!r} is unknown; use "halley" or "bisection"')
    lowest, highest = -largest([-a for a in values]), largest(values)
    span = jnp.where(highest > lowest, highest - lowest, 1)
    unit = [(a - lowest) / span for a in values]
    maximum, row = _solve([jnp.where(a < 1e-30, 0, a) for a in p], unit, weights, jnp.minimum(radius, 1e4), solver)
    return jnp.where(highest > lowest, lowest + span * maximum, highest), row


class Frame(NamedTuple):
    """The coordinate y of v: as if there were two states, those whose mean is the target and the rest."""

    target: Array  # their mean
    share: Array  # their probability
    rest: Array  # 1 - share
    weight: Array  # their weight
    rest_weight: Array  # weight of the rest, times `rest`
    span: Array  # target less the mean under p, positive
    end: Array  # y from which v is the target, to rounding

    def place(self, y: Array) -> tuple[Array, Array, Array]:
        """Of v(y): target - v, v less the mean under p, and minus d log(target - v) / dy."""
        kept, lost = jnp.exp(-y), -jnp.expm1(-y)
        whole = kept * self.rest_weight + (self.share + self.rest * lost) * self.weight
        steep = self.weight / whole
        return kept * self.span / whole, lost * self.span * steep, steep

    def coordinate(self, gain: Array) -> Array:
        """y from v less the mean under p."""
        lost = gain / (self.weight * (self.span - gain * self.rest) + gain * self.rest_weight)
        return jnp.minimum(-jnp.log1p(-jnp.clip(lost, 0, 1 - jnp.finfo(gain.dtype).eps / 2)), self.end)


def _frame(p: Row, held: Row, values: Row, weights: Row, target: Array, span: Array) -> Frame:
    info = np.finfo(target.dtype)
    inside = [a == target for a in values]
    outside = [~a for a in inside]
    share, rest = pick(p, inside), pick(p, outside)
    heavy = pick(held, inside) / jnp.where(share > 0, share, 1)
    lightest = largest([jnp.where(here, w, 0) for w, here in zip(weights, inside, strict=True)])
    weight = computed_once(jnp.where(share > 0, heavy, lightest))
    rest_weight = pick(held, outside)
    end = (25.0 if info.bits == 32 else 45.0) + jnp.log1p(rest_weight / weight)
    return Frame(target, share, rest, weight, rest_weight, jnp.maximum(span, float(info.eps)), end)


def _solve(p: Row, values: Row, weights: Row, radius: Array, solver: Solver) -> tuple[Array, list[Array]]:
    info = np.finfo(p[0].dtype)
    tiny = float(info.tiny)
    whole = computed_once(dot(p, weights))
    weights = [w / whole for w in weights]
    held = [a * w for a, w in zip(p, weights, strict=True)]
    best = largest(values)
    # offsets from the mean, by way of the state that holds most weight: the mean may be that state's to rounding
    heaviest = largest(held)
    base = largest([jnp.where(a == heaviest, value, 0) for a, value in zip(held, values, strict=True)])
    shift = computed_once(sum(a * (value - base) for a, value in zip(held, values, strict=True)))
    gap = computed_once(sum(a * (best - value) for a, value in zip(held, values, strict=True)))
    at_p = [computed_once(w * (value - base - shift)) for w, value in zip(weights, values, strict=True)]
    spread = computed_once(sum(a * x * x for a, x in zip(p, at_p, strict=True)))
    # moving towards one state alone: never more than is possible, and all there is for a unit vector
    kept, lost = jnp.exp(-radius), -jnp.expm1(-radius)
    singles = [lost * x / (kept + lost * w) for x, w in zip(at_p, weights, strict=True)]
    furthest = largest(singles)
    single = jnp.clip(furthest, 0, gap)
    near = largest([jnp.where(a == furthest, value, 0) for a, value in zip(singles, values, strict=True)])

    def place(y: Array, frame: Frame) -> tuple[list[Array], Array, Array, Array]:
        left, gain, steep = frame.place(y)
        x = [
            jnp.where(gain < left, a - w * gain, w * (left - (frame.target - value)))
            for a, w, value in zip(at_p, weights, values, strict=True)
        ]
        return [computed_once(a) for a in x], gain, left * steep, steep

    def begin(frame: Frame) -> tuple[Array, Array]:
        linear = radius / jnp.maximum(frame.rest, tiny)
        low = jnp.minimum(jnp.maximum(linear, jnp.sqrt(2 * linear * frame.share)), frame.end)
        start = jnp.maximum(single, jnp.minimum(jnp.sqrt(2 * radius * spread), frame.span / 2))
        return jnp.maximum(low, frame.coordinate(start)), low

    near_frame = _frame(p, held, values, weights, near, near - base - shift)
    best_frame = _frame(p, held, values, weights, best, gap)
    asked = near < best
    y, low = begin(best_frame)
    x, gain, speed, steep = place(y, best_frame)
    x = [jnp.where(asked, w * (v - near), a) for w, v, a in zip(weights, values, x, strict=True)]
    gain = jnp.where(asked, near_frame.span, gain)
    tilt = nearest(p, weights, x, gain, jnp.zeros_like(gap), 4)
    below, beyond = asked & (tilt.divergence >= radius), asked & (tilt.divergence < radius)
    frame = Frame(*(computed_once(jnp.where(below, a, b)) for a, b in zip(near_frame, best_frame, strict=True)))

    def narrow(
        y: Array, low: Array, high: Array, speed: Array, steep: Array, tilt: Tilt
    ) -> tuple[Array, Array, Array]:
        difference = tilt.divergence - radius
        low = jnp.where((difference < 0) & tilt.settled, jnp.maximum(y, low), low)
        high = jnp.where(difference < 0, high, jnp.minimum(y, high))
        if solver == "bisection":
            return (low + high) / 2, low, high
        slope = jnp.maximum(tilt.slope * speed, 1e-18)
        bend = jnp.where(tilt.curvature == 0, 0, (tilt.curvature * speed - tilt.slope * (2 * steep - 1)) * speed)
        square = slope * slope
        moved = y - 2 * difference * slope / jnp.maximum(2 * square - difference * bend, jnp.maximum(square, tiny))
        above = jnp.minimum((y + high) / 2, 4 * y + 1)
        return jnp.where(moved > high, above, jnp.where(moved < low, (y + low) / 2, moved)), low, high

    fresh, fresh_low = begin(frame)
    passed = jnp.where(beyond, jnp.maximum(fresh_low, frame.coordinate(near_frame.span)), fresh_low)
    knee = jnp.maximum(passed, jnp.minimum(jnp.log1p(frame.rest_weight / frame.weight) + 1, frame.end))
    moved, low, high = narrow(y, low, best_frame.end, speed, steep, tilt)
    y = jnp.where(asked, jnp.where(beyond, knee, fresh), moved)
    low, high = jnp.where(asked, passed, low), jnp.where(asked, frame.end, high)

    def again(_: int, carry: tuple[Array, ...]) -> tuple[Array, ...]:
        y, low, high, multiplier = carry
        x, gain, speed, steep = place(y, frame)
        tilt = nearest(p, weights, x, gain, multiplier, 2 if solver == "halley" else 6)
        return *narrow(y, low, high, speed, steep, tilt), tilt.multiplier

    steps = STEPS if solver == "halley" else 40 if info.bits == 32 else 70
    multiplier = jnp.where(asked, 0, tilt.multiplier)
    y, _, _, multiplier = jax.lax.fori_loop(0, steps, again, (y, low, high, multiplier))
    left, gain, _ = frame.place(y)
    unit = sum((a > 0).astype(gap.dtype) for a in p) == 1
    still = ~((gap > 0) & (radius > 0))
    maximum = jnp.where(gain < left, best - gap + gain, frame.target - left)
    maximum = jnp.where(unit, best - gap + single, maximum)
    maximum = jnp.where(still, best - gap, jnp.minimum(maximum, best))
    x, gain, _, _ = place(y, frame)
    row = nearest(p, weights, x, gain, multiplier, 2).row
    mass = sum(row)
    return maximum, [jnp.where(still, a, b / mass) for a, b in zip(p, row, strict=True)]
