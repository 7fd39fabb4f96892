"""The largest mean over a KL ball around a row, plain or weighted, by fixed iterations."""

from __future__ import annotations

from typing import NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base import Array
from jaxbandit.confidence.bernoulli import Solver
from jaxbandit.confidence.sums import largest, total
from jaxbandit.confidence.tilt import nearest


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
    return weighted_mean_max(p, values, jnp.ones_like(p), radius, solver)


def weighted_mean_max(
    p: Array, values: Array, weights: Array, radius: Array, solver: Solver = "halley"
) -> tuple[Array, Array]:
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
    lowest = -largest(-values)
    span = largest(values) - lowest
    unit = (values - lowest[..., None]) / jnp.where(span > 0, span, 1)[..., None]
    maximum, row = _solve(jnp.where(p < 1e-30, 0, p), unit, weights, jnp.minimum(radius, 1e4), solver)
    return lowest + span * maximum, row


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
        """Of v(y): target - v, v less the mean under p, and d log(target - v) / dy with the other sign."""
        kept, lost = jnp.exp(-y), -jnp.expm1(-y)
        whole = kept * self.rest_weight + (self.share + self.rest * lost) * self.weight
        return kept * self.span / whole, lost * self.span * self.weight / whole, self.weight / whole

    def coordinate(self, gain: Array) -> Array:
        """y from v less the mean under p."""
        lost = gain / (self.weight * (self.span - gain * self.rest) + gain * self.rest_weight)
        return jnp.minimum(-jnp.log1p(-jnp.clip(lost, 0, 1 - jnp.finfo(gain.dtype).eps / 2)), self.end)


def _frame(p: Array, values: Array, weights: Array, target: Array, span: Array) -> Frame:
    info = np.finfo(p.dtype)
    inside = values == target[..., None]
    share, rest = total(jnp.where(inside, p, 0)), total(jnp.where(inside, 0, p))
    heavy = total(jnp.where(inside, p * weights, 0)) / jnp.where(share > 0, share, 1)
    weight = jnp.where(share > 0, heavy, largest(jnp.where(inside, weights, 0)))
    rest_weight = total(jnp.where(inside, 0, p * weights))
    end = (25.0 if info.bits == 32 else 45.0) + jnp.log1p(rest_weight / weight)
    return Frame(target, share, rest, weight, rest_weight, jnp.maximum(span, float(info.eps)), end)


def _solve(p: Array, values: Array, weights: Array, radius: Array, solver: Solver) -> tuple[Array, Array]:
    info = np.finfo(p.dtype)
    tiny = float(info.tiny)
    weights = weights / total(p * weights)[..., None]
    best = largest(values)
    # offsets from the mean, by way of the state that holds most weight: the mean may be that state's to rounding
    held = p * weights
    base = largest(jnp.where(held == largest(held)[..., None], values, 0))
    shift = total(held * (values - base[..., None]))
    offsets = values - base[..., None] - shift[..., None]
    gap = total(held * (best[..., None] - values))
    at_p = weights * offsets
    spread = total(p * at_p * at_p)
    # moving towards one state alone: never less than is possible, and all there is for a unit vector
    kept, lost = jnp.exp(-radius), -jnp.expm1(-radius)
    singles = lost[..., None] * at_p / (kept[..., None] + lost[..., None] * weights)
    single = jnp.clip(largest(singles), 0, gap)
    near = largest(jnp.where(singles == largest(singles)[..., None], values, 0))

    def excess(y: Array, frame: Frame, x_from_target: Array) -> tuple[Array, Array, Array]:
        left, gain, steep = frame.place(y)
        from_mean = at_p - weights * gain[..., None]
        from_target = weights * (left[..., None] - x_from_target)
        return jnp.where((gain < left)[..., None], from_mean, from_target), gain, left * steep

    near_frame = _frame(p, values, weights, near, near - base - shift)
    asked = (near < best)[..., None]
    x = jnp.where(asked, weights * (values - near[..., None]), at_p)
    reached = nearest(p, weights, x, jnp.where(asked[..., 0], near_frame.span, 0), jnp.zeros_like(gap), 4).divergence
    below, beyond = asked[..., 0] & (reached >= radius), asked[..., 0] & (reached < radius)
    frames = zip(near_frame, _frame(p, values, weights, best, gap), strict=True)
    frame = Frame(*(jnp.where(below, one, other) for one, other in frames))
    behind = frame.target[..., None] - values

    linear = radius / jnp.maximum(frame.rest, tiny)
    low = jnp.minimum(jnp.maximum(linear, jnp.sqrt(2 * linear * frame.share)), frame.end)
    normal = jnp.sqrt(2 * radius * spread)
    start = jnp.maximum(single, jnp.minimum(normal, frame.span / 2))
    y = jnp.maximum(low, frame.coordinate(start))
    passed = frame.coordinate(jnp.where(beyond, near_frame.span, 0))
    low = jnp.where(beyond, jnp.maximum(low, passed), low)
    knee = jnp.log1p(frame.rest_weight / frame.weight) + 1
    y = jnp.where(beyond, jnp.maximum(low, knee), y)

    def narrow(carry: tuple[Array, ...], steps: int) -> tuple[Array, ...]:
        y, multiplier, low, high = carry
        x, gain, speed = excess(y, frame, behind)
        tilt = nearest(p, weights, x, gain, multiplier, steps)
        difference = tilt.divergence - radius
        low = jnp.where((difference < 0) & tilt.settled, jnp.maximum(y, low), low)
        high = jnp.where(difference < 0, high, jnp.minimum(y, high))
        _, _, steep = frame.place(y)
        slope = jnp.maximum(tilt.slope * speed, tiny)
        bend = tilt.curvature * speed * speed - tilt.slope * speed * (2 * steep - 1)
        bend = jnp.where(tilt.curvature == 0, 0, bend)
        step = 2 * difference / jnp.maximum(2 * slope - difference * bend / slope, slope)
        if solver == "bisection":
            moved = (low + high) / 2
        else:
            moved = y - step
            above = jnp.minimum((y + high) / 2, 4 * y + 1)
            moved = jnp.where(moved > high, above, jnp.where(moved < low, (y + low) / 2, moved))
        return moved, tilt.multiplier, low, high

    carry = narrow((y, jnp.zeros_like(y), low, frame.end), 3)
    if solver == "bisection":
        carry = jax.lax.fori_loop(0, 40 if info.bits == 32 else 70, lambda _, carry: narrow(carry, 6), carry)
    else:
        carry = jax.lax.fori_loop(0, 7, lambda _, carry: narrow(carry, 2), carry)
    y = carry[0]
    left, gain, _ = frame.place(y)
    unit = total((p > 0).astype(p.dtype)) == 1
    maximum = jnp.where(gain < left, best - gap + gain, frame.target - left)
    maximum = jnp.where(unit, best - gap + single, maximum)
    maximum = jnp.where((gap > 0) & (radius > 0), jnp.minimum(maximum, best), best - gap)
    x, gain, _ = excess(y, frame, behind)
    row = nearest(p, weights, x, gain, carry[1], 2).row
    row = row / total(row)[..., None]
    row = jnp.where(((gap > 0) & (radius > 0))[..., None], row, p)
    return maximum, row
