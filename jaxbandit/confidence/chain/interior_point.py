"""The likeliest chain with a given stationary mean, by the steps of a primal-dual interior-point method.

For each state s, n_sj transitions to state j were seen. Sought are the rows q_s that maximise the sum of n_sj log q_sj
subject to

    sum of q_sj = 1,    sum of q_sj v_sj = 0,    v_sj = u_j - u_s - (m - r_s),

where the relative values u are unknowns too: the chain has the stationary mean m exactly where some u solves the
second equation. With multipliers `total` and `weight` of the two equations, a chain is optimal where

    q_sj slack_sj = n_sj,    slack_sj = total_s - weight_s v_sj,    sum over s of weight_s q_sk = weight_k,

so that the weights are proportional to the stationary law. For a move that was never seen, the product of its q and
slack is a small positive number instead of n_sj = 0. It shrinks from step to step, so that the steps find which of
these moves the likeliest chain needs. A class of chains with a gap keeps u within [0, high] in the same way.

All steps are Newton's, shortened where a q or a slack would lose more than nine tenths; the site's page "How is the
likeliest chain with a given mean found?" derives them in the letters of this file. The residuals of the equations are
carried from step to step and not computed anew: they are small differences of large numbers, and in float32 the rows
of states that are nearly always left for one other state would drown in rounding errors.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.confidence.row.arithmetic import Row, alone, at_largest, beside, dot, each, largest, sum_of
from jaxbandit.fast import larger, smaller

_SHORTENED = 0.9  # the largest part of a q or of a slack that one step may take
TINY = 1e-30


class Box(NamedTuple):
    """The bounds 0 and `high` on the relative values, and their multipliers."""

    high: Array  # [...]
    below: Array  # [S, ...], multiplier of u >= 0
    above: Array  # [S, ...], multiplier of u <= high


class Point(NamedTuple):
    """An iterate of the method. The entries of a row over j are arrays [S, ...], one number for each state s."""

    q: Row
    slack: Row
    drift: Row  # the residual total_s - weight_s v_sj - slack_sj
    weight: Array  # [S, ...], y in `step`
    total: Array  # [S, ...]
    value: Array  # [S, ...], u
    mean: Array  # [...], m
    moment: Array  # [S, ...], the residual sum of q_sj v_sj
    lack: Array  # [S, ...], the residual 1 - sum of q_sj
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
    """One Newton step, shortened so that all q, slacks and multipliers of the box stay positive.

    All unknowns but the relative values are eliminated within each row, so that one system of S equations is left.

    Args:
      point: where the step begins.
      target: the values that the products q_sj slack_sj are to have: n_sj, or a small number where that is 0.
      paid: r, [S, ...].
      barrier: the value that the products of the box's multipliers with the distances to its sides are to have.
      push: None where the mean is given; else m is free, and `push` is the derivative of the objective by m.
    """
    q, slack, drift, y, total, u, m, moment, lack, box = point

    def by(number: Array) -> Array:
        return beside(q, number)

    same = staying(q, u)
    v = ahead(point, paid)
    inverse = each(lambda a, b: 1 / (a * b), q, slack)  # one division serves 1 / q, 1 / slack and q / slack
    theta = each(lambda a, b: a * a * b, q, inverse)  # q / slack
    # the change of q if u, the weights and the totals stayed; near the end the product q slack is the target to
    # rounding, and the difference of their quotient from 1 costs q no more than a rounding
    correction = each(lambda a, n, i, t, d: a * (n * i - 1) - t * d, q, target, inverse, theta, drift)
    theta_sum = sum_of(theta)
    # v less its mean under theta. A row that nearly always leads to one state has nearly all its weight there: from
    # differences to that entry, its distance to the mean is a small sum and not a rounded difference of large numbers
    heaviest = at_largest(theta, v)[0]
    centred = each(lambda a: a - heaviest, v)
    mean_less_heaviest = dot(theta, centred) / theta_sum
    centred = each(lambda a: a - mean_less_heaviest, centred)
    inverse_spread = 1 / larger(dot(each(lambda a, b: a * b, theta, centred), centred), TINY)
    offset = (by(lack) - sum_of(correction)) / theta_sum
    residual = by(moment) + by(lack) * (heaviest + mean_less_heaviest) + dot(correction, centred)
    # each row's equation for the change of its weight: dy = -inverse_spread (residual + slopes . du - dm). The entry of
    # s itself is minus the sum of the others, so that a constant added to du changes nothing, whatever rounding does
    slopes = each(lambda a, t, d, here: jnp.where(here, 0, a + by(y) * t * d), q, theta, centred, same)
    leaving = sum_of(slopes)
    slopes = each(lambda a, here: jnp.where(here, -leaving, a), slopes, same)
    # how much weight the row sends to each state after the step, but for what du and dy add
    flow = each(lambda a, d, t, here: jnp.where(here, 0, by(y) * (a + d + t * offset)), q, correction, theta, same)
    out = sum_of(flow)
    flow = each(lambda a, here: jnp.where(here, -out, a), flow, same)
    pair_scale = by(y * y) / theta_sum
    du, dm = _changes(slopes, flow, residual[0], inverse_spread[0], theta, pair_scale[0], y, box, barrier, u, push)
    dv = _moves(q, du, jnp.broadcast_to(dm[None], u.shape))
    dy = -(residual + dot(slopes, _heads(q, du)) - by(dm[None])) * inverse_spread
    heaviest_dv = at_largest(theta, dv)[0]
    dv_centred = each(lambda a: a - heaviest_dv, dv)
    mean_dv_less_heaviest = dot(theta, dv_centred) / theta_sum
    dv_centred = each(lambda a: a - mean_dv_less_heaviest, dv_centred)
    dslack = each(lambda d, a, b: d - dy * a - by(y) * b - offset, drift, centred, dv_centred)
    dq = each(lambda c, t, s, d: c - t * (s - d), correction, theta, dslack, drift)
    # every entry of a row gives the same change of the total; in the heaviest one the least has to cancel
    dtotal = at_largest(theta, each(lambda s, d, a, b: s - d + dy * a + by(y) * b, dslack, drift, v, dv))[0]
    slack_loss = each(lambda s, a, i: -s * a * i, dslack, q, inverse)  # -dslack / slack
    # the largest relative loss decides how long the step may be
    loss = alone(q, largest(each(lambda f, a, b, i: larger(f, -a * b * i), slack_loss, dq, slack, inverse)))
    if box is not None:
        sides = (u, box.high[None] - u)
        dbelow = barrier / sides[0] - box.below * (1 + du / sides[0])
        dabove = barrier / sides[1] - box.above * (1 - du / sides[1])
        for ratio in (-du / sides[0], du / sides[1], -dbelow / box.below, -dabove / box.above):
            loss = larger(loss, ratio)
    largest_loss = loss[0]
    for s in range(1, len(u)):
        largest_loss = larger(largest_loss, loss[s])
    length = smaller(_SHORTENED / larger(largest_loss, TINY), 1.0)
    # a sum is finite only where all its terms are
    sound = jnp.isfinite(length + dm + sum(du[s] + alone(q, dy)[s] for s in range(len(u))))
    length = jnp.where(sound, length, 0)[None]

    def kept(number: Array) -> Array:
        """0 where the step could not be computed, and the point stays."""
        return jnp.where(sound[None], number, 0)

    def kept_row(row: Row) -> Row:
        return each(lambda a: jnp.where(by(sound[None]), a, 0), row)

    along = by(length)
    least = 1 - 1.05 * _SHORTENED  # a q or slack keeps this part at least, even where rounding errors exceed it
    dy_alone = kept(alone(q, dy))
    second_order = kept(alone(q, dot(dq, dv)))
    # the equations are linear but for the products weight v and q v, so a step of this length changes their residuals
    # by exactly what stands below; computed anew they would be differences of much larger numbers
    return Point(
        q=each(lambda a, b: larger(a + along * b, least * a), q, kept_row(dq)),
        slack=each(lambda a, b: larger(a + along * b, least * a), slack, kept_row(dslack)),
        drift=each(lambda a, b: (1 - along) * a - along * along * by(dy_alone) * b, drift, kept_row(dv)),
        weight=y + length * dy_alone,
        total=total + length * kept(alone(q, dtotal)),
        value=u + length * kept(du),
        mean=m + length[0] * kept(dm[None])[0],
        moment=(1 - length) * moment + length * length * second_order,
        lack=(1 - length) * lack,
        box=None
        if box is None
        else Box(box.high, box.below + length * kept(dbelow), box.above + length * kept(dabove)),
    )


def _changes(
    slopes: Any, flow: Any, residual: Array, inverse_spread: Array, theta: Any, pair_scale: Array, y: Array,
    box: Box | None, barrier: Array, u: Array, push: Array | None,
) -> tuple[Array, Array]:  # fmt: skip
    """du and dm, the changes of the relative values and of the mean; dm is 0 where the mean is given."""
    states = len(u)
    eye = jnp.eye(states).reshape(states, states, *[1] * (u.ndim - 1))

    # the sum over s of inverse_spread_s f_s f_s', less the rows' own curvature, a sum over pairs of states; row by row,
    # so that no array has S^3 entries and the program does not grow with S
    def row(s: Array, matrix: Array) -> Array:
        f, t = (jax.lax.dynamic_slice_in_dim(a, s, 1, 1)[:, 0] for a in (slopes, theta))
        p, w = (jax.lax.dynamic_slice_in_dim(a, s, 1, 0) for a in (pair_scale, inverse_spread))
        pairs = p[None] * t[:, None] * t[None] * (1 - eye)
        return matrix + f[:, None] * f[None] * w[None] + pairs - eye * jnp.sum(pairs, 1)[:, None]

    matrix = jax.lax.fori_loop(0, states, row, jnp.zeros((states, *u.shape), u.dtype))
    right = jnp.sum(flow - slopes * (residual * inverse_spread)[None], 1)
    scale = jnp.sum(jnp.abs(matrix) * eye, (0, 1)) / states + TINY
    if box is None:
        # only differences of u count, and the matrix maps constants to 0; so adding one number to all its entries
        # changes no difference, and picks the solution whose sum is 0
        matrix = matrix + scale[None, None]
    else:  # the sides of the box fix the constant; their multipliers are eliminated
        low, high = u, box.high[None] - u
        matrix = matrix + eye * (box.below / low + box.above / high)[:, None]
        right = right + barrier / low - barrier / high
    if push is None:
        du = _solved(matrix, right[:, None], scale)[:, 0]
        return du, jnp.zeros_like(scale)
    # a free mean is one more unknown and one more equation around the same matrix
    border = -jnp.sum(slopes * inverse_spread[None], 1)
    corner = jnp.sum(inverse_spread, 0)
    mean_right = push - jnp.sum(y, 0) + jnp.sum(residual * inverse_spread, 0)
    solution = _solved(matrix, jnp.stack([right, border], 1), scale)
    dm = (mean_right - jnp.sum(border * solution[:, 0], 0)) / larger(corner - jnp.sum(border * solution[:, 1], 0), TINY)
    return solution[:, 0] - solution[:, 1] * dm[None], dm


def _solved(matrix: Array, right: Array, scale: Array) -> Array:
    """matrix^-1 right for symmetric matrices [S, S, ...] and [S, many, ...]; negative pivots count as positive.

    Where the matrix is not positive definite the quadratic has no minimum. To count a pivot as positive is to add to
    the diagonal, as a modified Cholesky factorisation does, and the step still leads downwards.
    """
    states = len(matrix)
    line = jnp.arange(states).reshape(-1, 1, *[1] * (matrix.ndim - 2))
    least = 10 * float(np.finfo(matrix.dtype).eps) * scale[None, None]  # a smaller pivot is a rounding error

    def eliminate(k: Array, rows: Array) -> Array:
        row = jax.lax.dynamic_slice_in_dim(rows, k, 1, 0)
        row = row / larger(jnp.abs(jax.lax.dynamic_slice_in_dim(row, k, 1, 1)), least)
        return jnp.where(line == k, row, rows - jax.lax.dynamic_slice_in_dim(rows, k, 1, 1) * row)

    return jax.lax.fori_loop(0, states, eliminate, jnp.concatenate([matrix, right], 1))[:, states:]
