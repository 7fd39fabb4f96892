"""The steps of `interior` for three states and a given mean, as plain numbers, which XLA vectorises best.

The letters are those of `interior`. Here q[s][j] is an array [...], and so is everything else. The matrix of the step
is sum over s of stiff_s f_s f_s', f_s = slopes_s, less what the rows' own curvature takes away. One row may be
stiffer than another by more than float32 has digits; so the determinant and the solution are sums over pairs of rows,
in which the product of a row with itself has cancelled exactly.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp

from jaxbandit.base import Array
from jaxbandit.confidence.larger import larger

Matrix = list[list[Array]]
SHORTENED = 0.9  # the largest part of a q or of a slack that one step may take
TINY = 1e-30


class PointOfThree(NamedTuple):
    """Where the steps have arrived; as `interior.Point`, without what a class of chains needs."""

    q: Matrix
    slack: Matrix
    drift: Matrix
    weight: list[Array]
    total: list[Array]
    value: list[Array]
    moment: list[Array]


class _Row(NamedTuple):
    """What one state's row says about the changes of the relative values."""

    theta: list[Array]  # q / slack
    inverse: list[Array]  # 1 / (q slack)
    wrong: list[Array]  # what q lacks of target / slack
    apart: list[Array]  # v less its mean with the weights theta
    share: Array  # 1 / the sum of theta
    common: Array
    short: Array
    stiff: Array
    slopes: list[Array]
    flow: list[Array]


def step_of_three(point: PointOfThree, target: Matrix, gain: list[Array]) -> PointOfThree:
    """One step; gain[s] is m - r_s, `target` as in `interior.step`."""
    q, slack, drift, y, total, u, moment = point
    rows = [_row(s, q[s], slack[s], drift[s], target[s], y[s], moment[s], u) for s in range(3)]
    du = _changes(rows, y)
    most = jnp.full_like(u[0], SHORTENED)
    moves = []
    for s, row in enumerate(rows):
        rise = [du[j] - du[s] for j in range(3)]
        dy = -(row.short + sum(row.slopes[j] * rise[j] for j in range(3) if j != s)) * row.stiff
        bent = _centred(row.theta, row.share, du)
        change = [-dy * row.apart[j] - y[s] * bent[j] - row.common for j in range(3)]
        dslack = [change[j] + drift[s][j] for j in range(3)]
        dq = [row.wrong[j] - row.theta[j] * change[j] for j in range(3)]
        for j in range(3):
            most = larger(most, -dslack[j] * q[s][j] * row.inverse[j])
            most = larger(most, -dq[j] * slack[s][j] * row.inverse[j])
        dtotal = change[s] - dy * gain[s]
        moves.append((dy, rise, dslack, dq, dtotal))
    length = SHORTENED / most
    sound = jnp.isfinite(length + du[1] + du[2])
    length = jnp.where(sound, length, 0)

    def along(start: Array, change: Array) -> Array:
        """start + length change; where the step could not be computed, the point stays."""
        return start + jnp.where(sound, length * change, 0)

    least = 1 - 1.05 * SHORTENED
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


def _centred(theta: list[Array], share: Array, values: list[Array]) -> list[Array]:
    """values less their mean with the weights theta, from differences alone."""
    return [sum(theta[k] * (values[j] - values[k]) for k in range(3) if k != j) * share for j in range(3)]


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
    inverse = [1 / (a * b) for a, b in zip(q, slack, strict=True)]
    theta = [a * a * b for a, b in zip(q, inverse, strict=True)]
    share = 1 / (theta[0] + theta[1] + theta[2])
    wrong = [q[j] * (target[j] * inverse[j] - 1) - theta[j] * drift[j] for j in range(3)]
    apart = _centred(theta, share, u)
    spread = sum(theta[j] * theta[k] * (u[j] - u[k]) ** 2 for j, k in ((0, 1), (0, 2), (1, 2))) * share
    common = -(wrong[0] + wrong[1] + wrong[2]) * share
    short = moment + sum(a * b for a, b in zip(wrong, apart, strict=True))
    slopes = [q[j] + y * theta[j] * apart[j] for j in range(3)]
    flow = [y * (q[j] + wrong[j] + theta[j] * common) for j in range(3)]
    for row in (slopes, flow):
        row[s] = -(row[s - 1] + row[s - 2])
    return _Row(theta, inverse, wrong, apart, share, common, short, 1 / larger(spread, TINY), slopes, flow)


def _changes(rows: list[_Row], y: list[Array]) -> list[Array]:
    """The changes of the relative values; the first one stays, as only differences count."""
    inverse = 1 / larger(larger(rows[0].stiff, rows[1].stiff), rows[2].stiff)
    taken = [y[s] * y[s] * rows[s].share * inverse for s in range(3)]
    a, b, c = (
        sum(taken[s] * rows[s].theta[j] * rows[s].theta[k] for s in range(3)) for j, k in ((0, 1), (0, 2), (1, 2))
    )
    first, second = (sum(row.flow[j] for row in rows) * inverse for j in (1, 2))
    determinant = a * b + a * c + b * c
    x = -(b * first + c * (first + second))
    z = -(a * second + c * (first + second))
    grown = jnp.zeros_like(x)
    stiff = [row.stiff * inverse for row in rows]
    for s, row in enumerate(rows):
        f, g = row.slopes[1], row.slopes[2]
        turn = g * first - f * second
        determinant = determinant - stiff[s] * (a * g * g + b * f * f + c * (f + g) * (f + g))
        x = x + stiff[s] * (g * turn + row.short * (b * f + c * (f + g)))
        z = z + stiff[s] * (row.short * (a * g + c * (f + g)) - f * turn)
        for t, other in enumerate(rows[:s]):
            cross = other.slopes[1] * g - other.slopes[2] * f
            both = stiff[s] * stiff[t] * cross
            grown = grown + both * cross
            x = x + both * (other.slopes[2] * row.short - g * other.short)
            z = z + both * (f * other.short - other.slopes[1] * row.short)
    # where the sum is not positive there is no minimum of the quadratic; its size still gives a step downwards
    inverse = 1 / larger(jnp.abs(determinant + grown), larger(1e-6 * grown, 1e-37))
    return [jnp.zeros_like(x), x * inverse, z * inverse]
