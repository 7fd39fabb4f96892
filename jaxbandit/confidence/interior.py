"""The likeliest chain with a given stationary mean, by the steps of a primal-dual interior-point method.

For each state s, n_sj transitions to state j were seen. Sought are the rows q_s that maximise the sum of n_sj log q_sj
under three kinds of equations,

    sum of q_sj = 1,    sum of q_sj v_sj = 0,    v_sj = u_j - u_s - (m - r_s),

where the relative values u are unknowns too: the chain has the stationary mean m exactly where some u solves the
second one. With multipliers `total` and `weight` of the two equations, a chain is optimal where

    q_sj slack_sj = n_sj,    slack_sj = total_s - weight_s v_sj,    sum of weight_s q_sk = weight_k,

so that the weights are in proportion to the stationary law. A move that was never seen keeps the product of its q
and slack at a small positive number, which shrinks from step to step; this is what lets one program decide which of
these moves the likeliest chain needs. A class of chains that mix keeps u within [0, high] in the same way.

All steps are Newton's, shortened where a q or a slack would lose more than nine tenths. What an equation lacks is
carried from step to step and not computed anew: it is a small difference of large numbers, and in float32 the rows of
states that are nearly always left for one other state would drown in its rounding.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base import Array
from jaxbandit.confidence.larger import larger, smaller
from jaxbandit.confidence.rows import Row, alone, at_largest, beside, dot, each, largest, sum_of

_SHORTENED = 0.9  # the largest part of a q or of a slack that one step may take
TINY = 1e-30


class Box(NamedTuple):
    """The bounds 0 and `high` on the relative values, and their multipliers."""

    high: Array  # [...]
    below: Array  # [S, ...], multiplier of u >= 0
    above: Array  # [S, ...], multiplier of u <= high


class Point(NamedTuple):
    """Where the steps have arrived. The entries of a row over j are arrays [S, ...], one number for each state s."""

    q: Row
    slack: Row
    drift: Row  # total_s - weight_s v_sj - slack_sj, as far as not yet met
    weight: Array  # [S, ...]
    total: Array  # [S, ...]
    value: Array  # [S, ...], u
    mean: Array  # [...], m
    moment: Array  # [S, ...], sum of q_sj v_sj, as far as not yet 0
    lack: Array  # [S, ...], 1 - sum of q_sj
    box: Box | None


def ahead(point: Point, paid: Array) -> Row:
    """v_sj = u_j - u_s - (m - r_s)."""
    return _moves(point.q, point.value, point.mean[None] - paid)


def _moves(row: Row, value: Array, gain: Array) -> Row:
    """value_j - value_s - gain_s for every move from s to j."""
    return each(lambda a: a - beside(row, value) - beside(row, gain), _heads(row, value))


def _heads(row: Row, value: Array) -> Row:
    """value_j for every move from s to j."""
    return [a[None] for a in value] if isinstance(row, list) else value[:, None]


def staying(row: Row, like: Array) -> Row:
    """Whether j is s, in the shape of `row`."""
    states = len(like)
    here = jnp.arange(states).reshape(-1, *[1] * (like.ndim - 1))
    if isinstance(row, list):
        return [jnp.broadcast_to(here == j, like.shape) for j in range(states)]
    return jnp.broadcast_to(here[:, None] == here[None], (states, *like.shape))


def step(point: Point, target: Row, paid: Array, barrier: Array, push: Array | None) -> Point:
    """One step.

    Args:
      target: what q_sj slack_sj should be: n_sj, or a small number where that is 0.
      paid: r, [S, ...].
      barrier: what the products of the box's multipliers with the distances to its sides should be.
      push: None where the mean is given; else m is free, and `push` is the derivative of the objective by m.
    """
    q, slack, drift, y, total, u, m, moment, lack, box = point

    def by(number: Array) -> Array:
        return beside(q, number)

    same = staying(q, u)
    v = ahead(point, paid)
    inverse = each(lambda a, b: 1 / (a * b), q, slack)
    theta = each(lambda a, b: a * a * b, q, inverse)  # q / slack
    wrong = each(lambda a, n, i, t, d: a * (n * i - 1) - t * d, q, target, inverse, theta, drift)
    whole = sum_of(theta)
    centre = at_largest(theta, v)[0]  # so that the heaviest entry's distance from the mean keeps its digits
    apart = each(lambda a: a - centre, v)
    shift = dot(theta, apart) / whole
    apart = each(lambda a: a - shift, apart)
    stiff = 1 / larger(dot(each(lambda a, b: a * b, theta, apart), apart), TINY)
    common = (by(lack) - sum_of(wrong)) / whole
    short = by(moment) + by(lack) * (centre + shift) + dot(wrong, apart)
    # each row's equation for the change of its weight: stiff times -(short + slopes . changes)
    slopes = each(lambda a, t, d, here: jnp.where(here, 0, a + by(y) * t * d), q, theta, apart, same)
    leaving = sum_of(slopes)
    slopes = each(lambda a, here: jnp.where(here, -leaving, a), slopes, same)
    flow = each(lambda a, d, t, here: jnp.where(here, 0, by(y) * (a + d + t * common)), q, wrong, theta, same)
    out = sum_of(flow)
    flow = each(lambda a, here: jnp.where(here, -out, a), flow, same)
    pairs = by(y * y) / whole
    changes, more = _changes(slopes, flow, short[0], stiff[0], theta, pairs[0], y, box, barrier, u, push)
    rise = _moves(q, changes, jnp.broadcast_to(more[None], u.shape))
    dy = -(short + dot(slopes, _heads(q, changes)) - by(more[None])) * stiff
    level = at_largest(theta, rise)[0]
    bent = each(lambda a: a - level, rise)
    moved = dot(theta, bent) / whole
    bent = each(lambda a: a - moved, bent)
    dslack = each(lambda d, a, b: d - dy * a - by(y) * b - common, drift, apart, bent)
    dq = each(lambda w, t, s, d: w - t * (s - d), wrong, theta, dslack, drift)
    dtotal = at_largest(theta, each(lambda s, d, a, b: s - d + dy * a + by(y) * b, dslack, drift, v, rise))[0]
    fall = each(lambda s, a, i: -s * a * i, dslack, q, inverse)
    most = alone(q, largest(each(lambda f, a, b, i: larger(f, -a * b * i), fall, dq, slack, inverse)))
    if box is not None:
        sides = (u, box.high[None] - u)
        below = barrier / sides[0] - box.below * (1 + changes / sides[0])
        above = barrier / sides[1] - box.above * (1 - changes / sides[1])
        for ratio in (-changes / sides[0], changes / sides[1], -below / box.below, -above / box.above):
            most = larger(most, ratio)
    worst = most[0]
    for s in range(1, len(u)):
        worst = larger(worst, most[s])
    length = smaller(_SHORTENED / larger(worst, TINY), 1.0)
    sound = jnp.isfinite(length + more + sum(changes[s] + alone(q, dy)[s] for s in range(len(u))))
    length = jnp.where(sound, length, 0)[None]

    def kept(number: Array) -> Array:
        """0 where the step could not be computed, and the point stays."""
        return jnp.where(sound[None], number, 0)

    def kept_row(row: Row) -> Row:
        return each(lambda a: jnp.where(by(sound[None]), a, 0), row)

    along = by(length)
    least = 1 - 1.05 * _SHORTENED
    dy_alone = kept(alone(q, dy))
    bend = kept(alone(q, dot(dq, rise)))
    return Point(
        q=each(lambda a, b: larger(a + along * b, least * a), q, kept_row(dq)),
        slack=each(lambda a, b: larger(a + along * b, least * a), slack, kept_row(dslack)),
        drift=each(lambda a, b: (1 - along) * a - along * along * by(dy_alone) * b, drift, kept_row(rise)),
        weight=y + length * dy_alone,
        total=total + length * kept(alone(q, dtotal)),
        value=u + length * kept(changes),
        mean=m + length[0] * kept(more[None])[0],
        moment=(1 - length) * moment + length * length * bend,
        lack=(1 - length) * lack,
        box=None if box is None else Box(box.high, box.below + length * kept(below), box.above + length * kept(above)),
    )


def _changes(
    slopes: Array, flow: Array, short: Array, stiff: Array, theta: Array, pairs: Array, y: Array,
    box: Box | None, barrier: Array, u: Array, push: Array | None,
) -> tuple[Array, Array]:  # fmt: skip
    """The changes of the relative values, and that of the mean, which is 0 where the mean is given."""
    states = len(u)
    eye = jnp.eye(states).reshape(states, states, *[1] * (u.ndim - 1))

    def row(s: Array, matrix: Array) -> Array:
        f, t = (jax.lax.dynamic_slice_in_dim(a, s, 1, 1)[:, 0] for a in (slopes, theta))
        p, w = (jax.lax.dynamic_slice_in_dim(a, s, 1, 0) for a in (pairs, stiff))
        taken = p[None] * t[:, None] * t[None] * (1 - eye)
        return matrix + f[:, None] * f[None] * w[None] + taken - eye * jnp.sum(taken, 1)[:, None]

    matrix = jax.lax.fori_loop(0, states, row, jnp.zeros((states, *u.shape), u.dtype))
    right = jnp.sum(flow - slopes * (short * stiff)[None], 1)
    scale = jnp.sum(jnp.abs(matrix) * eye, (0, 1)) / states + TINY
    if box is None:
        matrix = matrix + scale[None, None]  # only differences of u count; this keeps their sum
    else:
        low, high = u, box.high[None] - u
        matrix = matrix + eye * (box.below / low + box.above / high)[:, None]
        right = right + barrier / low - barrier / high
    if push is None:
        changes = _solved(matrix, right[:, None], scale)[:, 0]
        return changes, jnp.zeros_like(scale)
    edge = -jnp.sum(slopes * stiff[None], 1)
    corner = jnp.sum(stiff, 0)
    last = push - jnp.sum(y, 0) + jnp.sum(short * stiff, 0)
    found = _solved(matrix, jnp.stack([right, edge], 1), scale)
    more = (last - jnp.sum(edge * found[:, 0], 0)) / larger(corner - jnp.sum(edge * found[:, 1], 0), TINY)
    return found[:, 0] - found[:, 1] * more[None], more


def _solved(matrix: Array, right: Array, scale: Array) -> Array:
    """matrix^-1 right for symmetric matrices [S, S, ...] and [S, many, ...]; pivots are made positive."""
    states = len(matrix)
    line = jnp.arange(states).reshape(-1, 1, *[1] * (matrix.ndim - 2))
    least = 10 * float(np.finfo(matrix.dtype).eps) * scale[None, None]

    def eliminate(k: Array, rows: Array) -> Array:
        row = jax.lax.dynamic_slice_in_dim(rows, k, 1, 0)
        row = row / larger(jnp.abs(jax.lax.dynamic_slice_in_dim(row, k, 1, 1)), least)
        return jnp.where(line == k, row, rows - jax.lax.dynamic_slice_in_dim(rows, k, 1, 1) * row)

    return jax.lax.fori_loop(0, states, eliminate, jnp.concatenate([matrix, right], 1))[:, states:]
