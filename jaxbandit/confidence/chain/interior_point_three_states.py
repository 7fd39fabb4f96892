"""The steps of `interior_point` for three states and a given mean, as plain numbers, which XLA vectorises best.

The names are those of `interior_point`, but q[s][j] is an array [...], as is every other number. The step solves
M du = right, where M is the sum over s of inverse_spread_s f_s f_s', f_s = slopes_s, less the rows' own curvature. The
inverse spreads of two rows may differ by more than float32 has digits. So the determinant and the solution are written
as sums over pairs of rows, from which the products of a row with itself, which cancel, are left out.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from jaxbandit.fast import larger

Matrix = list[list[Array]]
SHORTENED = 0.9  # the largest part of a q or of a slack that one step may take
TINY = 1e-30


class PointOfThree(NamedTuple):
    """An iterate: `interior_point.Point` without the fields that a class of chains needs."""

    q: Matrix
    slack: Matrix
    drift: Matrix
    weight: list[Array]
    total: list[Array]
    value: list[Array]
    moment: list[Array]


class _Row(NamedTuple):
    """What one state's row contributes to the equations of the relative values."""

    theta: list[Array]  # q / slack
    inverse: list[Array]  # 1 / (q slack)
    correction: list[Array]  # the change of q if u, the weights and the totals stayed
    centred: list[Array]  # v less its mean with the weights theta
    inverse_sum: Array  # 1 / the sum of theta
    offset: Array  # what the slacks lose so that the row keeps its sum
    residual: Array  # of the row's equation for dy
    inverse_spread: Array  # 1 / the sum of theta centred^2
    slopes: list[Array]
    flow: list[Array]


def step_of_three(point: PointOfThree, target: Matrix, gain: list[Array]) -> PointOfThree:
    """One Newton step; gain[s] is m - r_s, `target` as in `interior_point.step`, whose comments explain the parts."""
    q, slack, drift, y, total, u, moment = point
    rows = [_row(s, q[s], slack[s], drift[s], target[s], y[s], moment[s], u) for s in range(3)]
    du = _changes(rows, y)
    loss = jnp.full_like(u[0], SHORTENED)  # so that the length is at most 1
    moves = []
    for s, row in enumerate(rows):
        dv = [du[j] - du[s] for j in range(3)]
        dy = -(row.residual + sum(row.slopes[j] * dv[j] for j in range(3) if j != s)) * row.inverse_spread
        dv_centred = _centred(row.theta, row.inverse_sum, du)
        change = [-dy * row.centred[j] - y[s] * dv_centred[j] - row.offset for j in range(3)]
        dslack = [change[j] + drift[s][j] for j in range(3)]
        dq = [row.correction[j] - row.theta[j] * change[j] for j in range(3)]
        for j in range(3):  # -dslack / slack and -dq / q, with the inverse of the product that is there already
            loss = larger(loss, -dslack[j] * q[s][j] * row.inverse[j])
            loss = larger(loss, -dq[j] * slack[s][j] * row.inverse[j])
        dtotal = change[s] - dy * gain[s]
        moves.append((dy, dv, dslack, dq, dtotal))
    length = SHORTENED / loss
    sound = jnp.isfinite(length + du[1] + du[2])  # a sum is finite only where all its terms are
    length = jnp.where(sound, length, 0)

    def along(start: Array, change: Array) -> Array:
        """start + length change; where the step could not be computed, the point stays."""
        return start + jnp.where(sound, length * change, 0)

    least = 1 - 1.05 * SHORTENED  # a q or slack keeps this part at least, even where rounding errors exceed it
    places = range(3)
    return PointOfThree(
        q=[[larger(along(q[s][j], moves[s][3][j]), least * q[s][j]) for j in places] for s in places],
        slack=[[larger(along(slack[s][j], moves[s][2][j]), least * slack[s][j]) for j in places] for s in places],
        drift=[
            [along((1 - length) * drift[s][j], -length * moves[s][0] * moves[s][1][j]) for j in places] for s in places
        ],
        weight=[along(y[s], moves[s][0]) for s in places],
        total=[along(total[s], moves[s][4]) for s in places],
        value=[along(u[s], du[s]) for s in places],
        moment=[
            along((1 - length) * moment[s], length * sum(moves[s][3][j] * moves[s][1][j] for j in places))
            for s in places
        ],
    )


def _centred(theta: list[Array], inverse_sum: Array, values: list[Array]) -> list[Array]:
    """values less their mean with the weights theta, from differences alone."""
    return [sum(theta[k] * (values[j] - values[k]) for k in range(3) if k != j) * inverse_sum for j in range(3)]


def _row(
    s: int,
    q: list[Array],
    slack: list[Array],
    drift: list[Array],
    target: list[Array],
    y: Array,
    moment: Array,
    u: list[Array],
) -> _Row:
    inverse = [1 / (a * b) for a, b in zip(q, slack, strict=True)]  # the only three divisions by entries of the row
    theta = [a * a * b for a, b in zip(q, inverse, strict=True)]
    inverse_sum = 1 / (theta[0] + theta[1] + theta[2])
    correction = [q[j] * (target[j] * inverse[j] - 1) - theta[j] * drift[j] for j in range(3)]
    centred = _centred(theta, inverse_sum, u)
    spread = sum(theta[j] * theta[k] * (u[j] - u[k]) ** 2 for j, k in ((0, 1), (0, 2), (1, 2))) * inverse_sum
    offset = -(correction[0] + correction[1] + correction[2]) * inverse_sum
    residual = moment + sum(a * b for a, b in zip(correction, centred, strict=True))
    slopes = [q[j] + y * theta[j] * centred[j] for j in range(3)]
    flow = [y * (q[j] + correction[j] + theta[j] * offset) for j in range(3)]
    # the entry of s itself is minus the sum of the others: a constant added to du changes nothing
    for row in (slopes, flow):
        row[s] = -(row[s - 1] + row[s - 2])
    return _Row(
        theta, inverse, correction, centred, inverse_sum, offset, residual, 1 / larger(spread, TINY), slopes, flow
    )


def _changes(rows: list[_Row], y: list[Array]) -> list[Array]:
    """The changes of the relative values; the first one stays, as only differences count."""
    # in units of the largest inverse spread, which may be 1e30, so that products stay within float32
    inverse = 1 / larger(larger(rows[0].inverse_spread, rows[1].inverse_spread), rows[2].inverse_spread)
    pair_scale = [y[s] * y[s] * rows[s].inverse_sum * inverse for s in range(3)]
    a, b, c = (
        sum(pair_scale[s] * rows[s].theta[j] * rows[s].theta[k] for s in range(3)) for j, k in ((0, 1), (0, 2), (1, 2))
    )
    first, second = (sum(row.flow[j] for row in rows) * inverse for j in (1, 2))
    determinant = a * b + a * c + b * c
    x = -(b * first + c * (first + second))
    z = -(a * second + c * (first + second))
    cross_sum = jnp.zeros_like(x)
    relative = [row.inverse_spread * inverse for row in rows]
    for s, row in enumerate(rows):
        f, g = row.slopes[1], row.slopes[2]
        turn = g * first - f * second
        determinant = determinant - relative[s] * (a * g * g + b * f * f + c * (f + g) * (f + g))
        x = x + relative[s] * (g * turn + row.residual * (b * f + c * (f + g)))
        z = z + relative[s] * (row.residual * (a * g + c * (f + g)) - f * turn)
        # pairs of different rows only: the product of a row with itself is 0 and would be a large rounding error
        for t, other in enumerate(rows[:s]):
            cross = other.slopes[1] * g - other.slopes[2] * f
            both = relative[s] * relative[t] * cross
            cross_sum = cross_sum + both * cross
            x = x + both * (other.slopes[2] * row.residual - g * other.residual)
            z = z + both * (f * other.residual - other.slopes[1] * row.residual)
    # where the determinant is not positive the quadratic has no minimum, and a step by its size still leads downwards;
    # a determinant below 1e-6 of the sum of squares in it is a rounding error
    inverse = 1 / larger(jnp.abs(determinant + cross_sum), larger(1e-6 * cross_sum, 1e-37))
    return [jnp.zeros_like(x), x * inverse, z * inverse]
