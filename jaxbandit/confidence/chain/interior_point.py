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

from functools import reduce
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.confidence.row.arithmetic import Row, at_largest, beside, dot, each, largest, sum_of
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
    row, u, gain = point.q, point.value, point.mean[None] - paid
    heads: Row = [a[None] for a in u] if isinstance(row, list) else u[:, None]
    return each(lambda a: a - beside(row, u) - beside(row, gain), heads)


def staying(row: Row, like: Array) -> Row:
    """Whether j is s, in the shape of `row`."""
    states = len(like)
    here = jnp.arange(states).reshape(-1, *[1] * (like.ndim - 1))
    if isinstance(row, list):
        return [jnp.broadcast_to(here == j, like.shape) for j in range(states)]
    return jnp.broadcast_to(here[:, None] == here[None], (states, *like.shape))


def step(
    point: Point, target: Row, paid: Array, barrier: Array, push: Array | None, moving: Array
) -> tuple[Point, Array]:
    """One Newton step, shortened so that all q, slacks and multipliers of the box stay positive.

    Its second result [...] is the largest part that the whole step takes of any of these; inf where there is no step.

    All unknowns but the relative values are eliminated within each row, so that one system of S equations is left.

    Args:
      point: where the step begins.
      target: the values that the products q_sj slack_sj are to have: n_sj, or a small number where that is 0.
      paid: r, [S, ...].
      barrier: the value that the products of the box's multipliers with the distances to its sides are to have.
      push: None where the mean is given; else m is free, and `push` is the derivative of the objective by m.
      moving: [...] bool, False for those that are to stay where they are.
    """
    rows: list[Array] = [point.q, point.slack, point.drift, target]  # type: ignore[list-item]  # never lists here
    (q, slack, drift, goal), (y, total, u, m, moment, lack, box) = rows, point[3:]
    numbers = jnp.arange(len(u)).reshape(-1, *[1] * (u.ndim - 1))
    same = jnp.broadcast_to(numbers[:, None] == numbers[None], q.shape)
    v = u[:, None] - u[None] - (m[None] - paid)[None]
    inverse = 1 / (q * slack)  # one division serves 1 / q, 1 / slack and q / slack
    theta = q * q * inverse  # q / slack
    # the change of q if u, the weights and the totals stayed; near the end the product q slack is the goal to
    # rounding, and the difference of their quotient from 1 costs q no more than a rounding
    correction = q * (goal * inverse - 1) - theta * drift
    theta_sum = sum_of(theta)
    # v less its mean under theta. A row that nearly always leads to one state has nearly all its weight there: from
    # differences to that entry, its distance to the mean is a small sum and not a rounded difference of large numbers
    heaviest = at_largest(theta, v)[0]
    centred = v - heaviest
    mean_less_heaviest = dot(theta, centred) / theta_sum
    centred = centred - mean_less_heaviest
    inverse_spread = 1 / larger(dot(theta * centred, centred), TINY)
    offset = (lack[None] - sum_of(correction)) / theta_sum
    residual = moment[None] + lack[None] * (heaviest + mean_less_heaviest) + dot(correction, centred)
    # each row's equation for the change of its weight: dy = -inverse_spread (residual + slopes . du - dm). The entry of
    # s itself is minus the sum of the others, so that a constant added to du changes nothing, whatever rounding does
    slopes = jnp.where(same, 0, q + y[None] * theta * centred)
    slopes = jnp.where(same, -sum_of(slopes), slopes)
    # how much weight the row sends to each state after the step, but for what du and dy add
    flow = jnp.where(same, 0, y[None] * (q + correction + theta * offset))
    flow = jnp.where(same, -sum_of(flow), flow)
    pair_scale = (y * y)[None] / theta_sum
    du, dm = _changes(slopes, flow, residual[0], inverse_spread[0], theta, pair_scale[0], y, box, barrier, u, push)
    dv = du[:, None] - du[None] - jnp.broadcast_to(dm[None], u.shape)[None]
    dy = -(residual + dot(slopes, du[:, None]) - dm[None][None]) * inverse_spread
    dv_centred = dv - at_largest(theta, dv)[0]
    dv_centred = dv_centred - dot(theta, dv_centred) / theta_sum
    dslack = drift - dy * centred - y[None] * dv_centred - offset
    dq = correction - theta * (dslack - drift)
    # every entry of a row gives the same change of the total; in the heaviest one the least has to cancel
    dtotal = at_largest(theta, dslack - drift + dy * v + y[None] * dv)[0]
    # the largest relative loss, -dslack / slack or -dq / q, decides how long the step may be
    loss = largest(larger(-dslack * q * inverse, -dq * slack * inverse))[0]
    if box is not None:
        sides = (u, box.high[None] - u)
        dbelow = barrier / sides[0] - box.below * (1 + du / sides[0])
        dabove = barrier / sides[1] - box.above * (1 - du / sides[1])
        for ratio in (-du / sides[0], du / sides[1], -dbelow / box.below, -dabove / box.above):
            loss = larger(loss, ratio)
    largest_loss = reduce(larger, loss)
    length = smaller(_SHORTENED / larger(largest_loss, TINY), 1.0)
    # a sum is finite only where all its terms are
    computed = jnp.isfinite(length + dm + sum(du[s] + dy[0][s] for s in range(len(u))))
    sound = computed & moving
    length = jnp.where(sound, length, 0)[None]

    def kept(change: Array) -> Array:
        """The change of states or of their rows; 0 where the step could not be computed, and the point stays."""
        return jnp.where(sound.reshape(*[1] * (change.ndim - sound.ndim), *sound.shape), change, 0)

    along = length[None]
    least = 1 - 1.05 * _SHORTENED  # a q or slack keeps this part at least, even where rounding errors exceed it
    dy_kept = kept(dy[0])
    # the equations are linear but for the products weight v and q v, so a step of this length changes their residuals
    # by exactly what stands below; computed anew they would be differences of much larger numbers
    moved = Point(
        q=larger(q + along * kept(dq), least * q),
        slack=larger(slack + along * kept(dslack), least * slack),
        drift=(1 - along) * drift - along * along * dy_kept[None] * kept(dv),
        weight=y + length * dy_kept,
        total=total + length * kept(dtotal[0]),
        value=u + length * kept(du),
        mean=m + length[0] * kept(dm),
        moment=(1 - length) * moment + length * length * kept(dot(dq, dv)[0]),
        lack=(1 - length) * lack,
        box=None
        if box is None
        else box._replace(below=box.below + length * kept(dbelow), above=box.above + length * kept(dabove)),
    )
    return moved, jnp.where(computed, largest_loss, jnp.inf)


def _changes(
    slopes: Array, flow: Array, residual: Array, inverse_spread: Array, theta: Array, pair_scale: Array, y: Array,
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
