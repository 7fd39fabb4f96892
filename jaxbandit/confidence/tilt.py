"""How far, in KL divergence, a row must move for its weighted mean to reach a value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base import Array
from jaxbandit.confidence.larger import larger, largest, smaller
from jaxbandit.fast import computed_once, log

Row = Sequence[Array]  # S entries of any one shape: XLA vectorises these better than [..., S]


class Tilt(NamedTuple):
    """The row q nearest to p, in KL(p || q), among those with sum over j of q_j x_j = 0."""

    divergence: Array  # KL(p || q)
    slope: Array  # its derivative by v where x_j = w_j (m_j - v)
    curvature: Array  # its second derivative
    multiplier: Array  # tau
    row: list[Array]  # q


def dot(row: Row, other: Row) -> Array:
    """Sum of products over the entries, in their order."""
    return sum(a * b for a, b in zip(row, other, strict=True))


def chosen_sum(row: Row, chosen: Row) -> Array:
    """Sum of the entries chosen, in their order."""
    return sum(jnp.where(here, value, 0) for value, here in zip(row, chosen, strict=True))


def at_largest(row: Row, *others: Row) -> list[Array]:
    """The entry of each of the other rows where this one is largest, the first on ties."""
    top = largest(row)
    found = [other[-1] for other in others]
    for j in reversed(range(len(row) - 1)):
        found = [jnp.where(row[j] >= top, other[j], value) for other, value in zip(others, found, strict=True)]
    return found


def nearest(p: Row, weights: Row, below: Row, x: Row, gain: Array, multiplier: Array, moves: int) -> Tilt:
    """The row q_j = p_j / (1 - tau x_j) where tau makes KL(p || q) = sum of p_j log(1 - tau x_j) largest.

    Where p_t = 0 for the state t with the largest x, tau may stop at 1 / x_t; t then has what q lacks of 1. Derivatives
    are by the mean v in x_j = w_j (m_j - v): with r_j = x_j / x_t and z = tau x_t the divergence is a function of z and
    v whose row t is constant in v, dr_j / dv = -a_j / x_t for a_j = w_j w_t (m_t - m_j) / x_t, so that no large terms
    of t cancel.

    Args:
      p, weights, x: rows; x with a positive entry.
      below: any value less each m_j.
      gain: minus the sum of p_j x_j, positive.
      multiplier: where tau begins, with more than three states.
      moves: how often it is moved, with more than three states.
    """
    info = np.finfo(p[0].dtype)
    top = larger(largest(x), 1e-30)
    inverse_top = 1 / top
    r = [larger(a * inverse_top, -1e15) for a in x]  # their squares are finite in float32
    g = jnp.where(gain * inverse_top < 1e3, gain * inverse_top, -dot(p, r))  # each to full relative accuracy
    weight, lowered, held = at_largest(x, weights, below, p)
    z = _of_three(p, r, g) if len(p) == 3 else _moved(p, r, multiplier * top, moves)
    inside = (z < 1) & ((held > 0) | (z < 1 - 1e-6))  # for an unheld t, z is 1 only to rounding
    u = [-z * a for a in r]
    one = [larger(1 + a, float(info.eps) / 2) for a in u]  # 1 - tau x
    inverse = _inverses(one)
    # the logarithm of 1 + u, and what 1 + u loses of a small u
    logs = [log(a) + (b - (a - 1)) * c for a, b, c in zip(one, u, inverse, strict=True)]
    q = [a * b for a, b in zip(p, inverse, strict=True)]
    scale = weight * inverse_top
    a = [w * (value - lowered) for w, value in zip(weights, below, strict=True)]
    qa = [b * c for b, c in zip(q, a, strict=True)]
    first = sum(qa) * scale
    bent = [b * c for b, c in zip(qa, inverse, strict=True)]
    mixed = sum(bent) * scale * inverse_top
    second = sum(b * c * d * d for b, c, d in zip(q, inverse, r, strict=True))
    tau = z * inverse_top
    curvature = tau * (2 * scale * first - tau * (dot(bent, a) * scale * scale))
    return Tilt(
        divergence=dot(p, logs),
        slope=tau * first,
        curvature=curvature + jnp.where(inside, mixed * mixed / larger(second, float(info.tiny)), 0),
        multiplier=tau,
        row=q,
    )


def _inverses(row: list[Array]) -> list[Array]:
    """1 / a for every entry: three of them, at most 1e15 each, in one division."""
    if len(row) != 3:
        return [1 / a for a in row]
    a, b, c = row
    inverse = 1 / (a * b * c)
    return [inverse * (b * c), inverse * (a * c), inverse * (a * b)]


def _of_three(p: Row, r: Row, g: Array) -> Array:
    """z with sum of p_j r_j / (1 - z r_j) = 0, at most 1: times the three denominators that is quadratic.

    g = b z + r_0 r_1 r_2 z^2 with b = -sum over pairs of (p_i + p_j) r_i r_j and g = -sum of p_j r_j.
    """
    pairs = [r[1] * r[2], r[0] * r[2], r[0] * r[1]]
    inverse = 1 / larger(g, 1e-15)  # in b / g the squares stay finite in float32
    b = -dot([p[1] + p[2], p[0] + p[2], p[0] + p[1]], pairs) * inverse
    product = pairs[0] * r[0] * inverse
    either = jnp.abs(b) + jnp.sqrt(larger(b * b + 4 * product, 0))
    z = jnp.where(b > 0, 2, either) / jnp.where(b > 0, either, 2 * product)
    return jnp.where(z < 1, z, 1)


def _moved(p: Row, r: Row, z: Array, moves: int) -> Array:
    """The same z for any number of states, by steps from the one given.

    With P and N the sums of |p_j r_j / (1 - z r_j)| over positive and negative r, N = P there. From the left a step
    takes N for a hyperbola and P for one pole; from the right it keeps the last pole and takes the rest of N - P for
    linear. Work is in delta = 1 - z: at small p the pole is approached to within p, which 1 - delta would not resolve.
    """
    tiny = float(np.finfo(p[0].dtype).tiny) * 1e10
    gaps = [larger(1 - a, 0) for a in r]
    top = largest(r)
    last = [a >= top for a in r]
    last_p = computed_once(chosen_sum(p, last))
    middle = [(a > 0) & ~end for a, end in zip(r, last, strict=True)]

    def moved(delta: Array) -> Array:
        z = 1 - delta
        below = [jnp.where(a < 0, 1 - z * a, gap + delta * a) for a, gap in zip(r, gaps, strict=True)]
        terms = [a / larger(b, tiny) for a, b in zip(r, below, strict=True)]
        first = [mass * term for mass, term in zip(p, terms, strict=True)]
        second = [a * term for a, term in zip(first, terms, strict=True)]
        falling = [a < 0 for a in first]
        negative = larger(-chosen_sum(first, falling), tiny)
        negative_slope, middle_slope = chosen_sum(second, falling), chosen_sum(second, middle)
        positive = chosen_sum(first, middle)
        # from the left, P delta = whole and P' delta^2 = bend
        whole = positive * delta + last_p
        bend = middle_slope * delta * delta + last_p
        left = whole < negative * delta
        ratio = negative / larger(whole, tiny)
        above_left = negative * (ratio * delta - 1)
        below_left = negative_slope + ratio * (ratio * bend)
        # from the right, (rest - slope d) (delta - d) = last_p, the smaller root
        rest, slope = negative - positive, negative_slope + middle_slope
        half, end = rest + slope * delta, rest * delta - last_p
        root = jnp.sqrt(larger(half * half - 4 * slope * end, 0))
        up = half > 0
        above = jnp.where(left, above_left, jnp.where(up, 2 * end, half - root))
        under = jnp.where(left, below_left, jnp.where(up, half + root, 2 * slope))
        step = jnp.where(positive + last_p > 0, above / larger(under, tiny), 1)
        return computed_once(smaller(larger(delta - step, last_p), 1))

    delta = computed_once(smaller(larger(1 - z, last_p), 1))
    return 1 - jax.lax.fori_loop(0, moves, lambda _, delta: moved(delta), delta, unroll=moves < 8)
