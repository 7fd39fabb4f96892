"""The KL divergence of a row from the nearest row whose weighted mean has a given value.

A row p gives each of S states a probability p_j. State j has a value m_j and a positive weight w_j (all 1 for a plain
mean; for a stationary mean the length of the cycle that begins with a step to j, see `stationary_mean`). The weighted
mean of a row q is sum of q_j w_j m_j / sum of q_j w_j. It equals v exactly where sum of q_j x_j = 0,
x_j = w_j (m_j - v). For v above the mean of p itself,

    K(v) = the smallest KL(p || q) = sum of p_j log(p_j / q_j) over rows q with sum of q_j x_j = 0

grows with v: it is the radius of the smallest KL ball around p in which the mean v is found. `ball` solves
K(v) = radius for v; `nearest`, here, gives K(v), its first two derivatives by v and the row q that reaches it.

The row is q_j = p_j / (1 - tau x_j), where the number tau >= 0 is the Lagrange multiplier of the constraint; it
maximises sum of p_j log(1 - tau x_j), and that maximum is K(v). Let t be the state with the largest x, which is
positive. tau lies between 0 and 1 / x_t, the pole of t, so the code works with the ratios

    r_j = x_j / x_t, at most 1,    z = tau x_t, from 0 to 1,    g = -sum of p_j r_j, positive.

Where p_t > 0, z is the root of sum of p_j r_j / (1 - z r_j) = 0, which makes the q_j sum to 1. With three states that
is a quadratic (`_of_three`); with more, `_root_from` takes steps from a given z. Where p_t = 0 the root may lie beyond
z = 1: then z = 1, the other q_j sum to less than 1, and q_t is what they lack.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.confidence.row.arithmetic import Row, at_largest, chosen_sum, dot, each, largest, room, sum_of
from jaxbandit.fast import computed_once, larger, log, smaller


class Tilt(NamedTuple):
    """The row q nearest to p, in KL(p || q), with sum of q_j x_j = 0, and how far it is; for a mean v."""

    divergence: Array  # K(v) = KL(p || q)
    slope: Array  # K'(v)
    curvature: Array  # K''(v)
    multiplier: Array  # tau
    following: Callable[[Array], Array]  # tau where v is larger by this much, to first order
    row: Row  # q_j = p_j / (1 - tau x_j); where p_t = 0 these may sum to less than 1


def nearest(p: Row, weights: Row, below: Row, x: Row, gain: Array, multiplier: Array, moves: int) -> Tilt:
    """K(v), its derivatives, tau and the row q_j = p_j / (1 - tau x_j), with the letters of the module's docstring.

    The derivatives by v are taken of sum of p_j log(1 - z r_j) as a function of z and v. Its term of state t does not
    depend on v, since r_t = 1; the others change by dr_j / dv = -a_j / x_t, a_j = w_j w_t (m_t - m_j) / x_t. So no
    large terms of t have to cancel. Where z is a root it follows v, which adds to the second derivative by v the square
    of the mixed derivative over minus the second derivative by z.

    Args:
      p: row of probabilities, which sum to 1.
      weights: w_j, positive, in any common unit.
      below: any one number less m_j, for each state; only differences count.
      x: w_j (m_j - v), with a positive entry.
      gain: minus the sum of p_j x_j, positive: v less the mean of p, where the weights have mean 1 under p.
      multiplier: the tau from which the steps begin; not used for three states.
      moves: number of steps; not used for three states.
    """
    info = np.finfo(gain.dtype)
    most = largest(x)
    top = larger(most, 1e-30)
    inverse_top = 1 / top
    r = each(lambda a: larger(a * inverse_top, -1e15), x)  # cut off, so that their squares are finite in float32
    # Both forms of g have full relative accuracy where they are used: a small sum would cancel, a large one cannot,
    # for no r_j exceeds 1.
    g = jnp.where(gain * inverse_top < 1e3, gain * inverse_top, -dot(p, r))
    if len(p) == 3:
        weight, lowered, held = at_largest(x, weights, below, p)
        z = _of_three(p, r, g)
    else:
        weight, lowered = at_largest(x, weights, below)
        held = computed_once(chosen_sum(p, each(lambda a: a >= 1 - room(r), r)))
        z = _root_from(p, r, multiplier * top, moves)
    inside = (z < 1) & ((held > 0) | (z < 1 - 1e-6))  # z is a root; where p_t = 0, the end z = 1 is met to rounding
    u = each(lambda a: -z * a, r)
    # a state at its own pole keeps half a rounding, so that its logarithm and inverse are finite
    one = each(lambda a: larger(1 + a, float(info.eps) / 2), u)  # 1 - tau x
    inverse = _inverses(one)
    # log(1 + u), corrected to first order by what the float 1 + u has lost of a small u
    logs = each(lambda a, b, c: log(a) + (b - (a - 1)) * c, one, u, inverse)
    q = each(lambda a, b: a * b, p, inverse)
    scale = weight * inverse_top
    a = each(lambda w, value: w * (value - lowered), weights, below)
    qa = each(lambda b, c: b * c, q, a)
    first = sum_of(qa) * scale
    bent = each(lambda b, c: b * c, qa, inverse)
    mixed = sum_of(bent) * scale * inverse_top
    second = sum_of(each(lambda b, c, d: b * c * d * d, q, inverse, r))
    tau = z * inverse_top
    second = larger(second, float(info.tiny))  # minus the second derivative by z

    def following(more: Array) -> Array:
        # the root follows v; the end z = 1 stays
        root = z + jnp.where(inside, mixed / second, 0) * more
        return larger(smaller(root, 1), 0) / larger(top - weight * more, 1e-30)

    curvature = tau * (2 * scale * first - tau * (dot(bent, a) * scale * scale))
    return Tilt(
        divergence=dot(p, logs),
        slope=tau * first,
        curvature=curvature + jnp.where(inside, mixed * mixed / second, 0),
        multiplier=tau,
        following=following,
        row=q,
    )


def _inverses(row: Row) -> Row:
    """1 / a for every entry a. Three entries, at most 1e15 each so that products are finite, take one division."""
    if len(row) != 3:
        return each(lambda a: 1 / a, row)
    a, b, c = row
    inverse = 1 / (a * b * c)
    return [inverse * (b * c), inverse * (a * c), inverse * (a * b)]


def _of_three(p: Row, r: Row, g: Array) -> Array:
    """The root z of sum of p_j r_j / (1 - z r_j) = 0 for three states, or 1 where there is none up to 1.

    Multiplied by its three denominators, the equation is the quadratic g = b z + r_0 r_1 r_2 z^2 with
    b = -sum over pairs of (p_i + p_j) r_i r_j and g = -sum of p_j r_j.
    """
    pairs = [r[1] * r[2], r[0] * r[2], r[0] * r[1]]
    inverse = 1 / larger(g, 1e-15)  # the equation is divided by g, so that the square of b / g is finite in float32
    b = -dot([p[1] + p[2], p[0] + p[2], p[0] + p[1]], pairs) * inverse
    product = pairs[0] * r[0] * inverse
    # of the two roots, by the form that has no difference in it
    either = jnp.abs(b) + jnp.sqrt(larger(b * b + 4 * product, 0))
    z = jnp.where(b > 0, 2, either) / jnp.where(b > 0, either, 2 * product)
    return jnp.where(z < 1, z, 1)


def _root_from(p: Row, r: Row, z: Array, moves: int) -> Array:
    """The root z that `_of_three` finds, for any number of states, by `moves` steps from the z given.

    Where p_t = 0, the first pole is not that of t, but that of the largest r_j with p_j > 0, which may lie close behind
    it. So this one is put at 1 here: all r_j are divided by the largest of these, and z is multiplied by it.

    Let P and N be the sums of |p_j r_j / (1 - z r_j)| over the positive and over the negative r_j. The root is where
    N = P; below it N > P. A step from below approximates N and P by one hyperbola each, so that 1 / N and 1 / P are
    linear in z. A step from above keeps the term of the last pole, p_t / (1 - z), as it is and takes the rest of N - P
    to be linear. The steps are made in delta = 1 - z, because the root may be as close to the pole z = 1 as p_t, which
    is less than z itself could resolve.
    """
    tiny = float(np.finfo(z.dtype).tiny) * 1e10
    first = largest(each(lambda mass, a: jnp.where(mass > 0, a, -1), p, r))
    unit = larger(first, 1e-15)
    inverse_unit = 1 / unit
    r = each(lambda mass, a: jnp.where(mass > 0, larger(a * inverse_unit, -1e15), 0), p, r)
    last = each(lambda a: a >= 1 - room(r), r)
    held = computed_once(chosen_sum(p, last))
    falling = each(lambda mass, a: mass * smaller(a, 0), p, r)
    middle = each(lambda mass, a, end: jnp.where(end, 0, mass * larger(a, 0)), p, r, last)

    def step(delta: Array) -> Array:
        z = 1 - delta
        # 1 - z r_j, and for a positive r_j the same with the digits of 1 - r_j
        poles = each(lambda a: larger(smaller(1 - a, 1), 0) + delta * larger(a, 0) - z * smaller(a, 0), r)
        inverse = each(lambda a: 1 / larger(a, tiny), poles)
        negative = larger(-dot(falling, inverse), tiny)
        positive = dot(middle, inverse)
        negative_slope, middle_slope = (
            sum_of(each(lambda mass, a, b: (mass * b) * a * b, masses, r, inverse)) for masses in (falling, middle)
        )
        # from below the root: whole is P delta, and bend is P' delta^2, which stay finite at the pole
        whole = positive * delta + held
        bend = middle_slope * delta * delta + held
        left = whole < negative * delta
        ratio = negative / larger(whole, tiny)
        above_left = negative * (ratio * delta - 1)
        below_left = negative_slope + ratio * (ratio * bend)
        # from above the root: the step d is the smaller root of (rest - slope d) (delta - d) = held
        rest, slope = negative - positive, negative_slope + middle_slope
        half, end = rest + slope * delta, rest * delta - held
        root = jnp.sqrt(larger(half * half - 4 * slope * end, 0))
        up = half > 0
        above = jnp.where(left, above_left, jnp.where(up, 2 * end, half - root))
        under = jnp.where(left, below_left, jnp.where(up, half + root, 2 * slope))
        change = jnp.where(positive + held > 0, above / larger(under, tiny), 1)
        return computed_once(smaller(larger(delta - change, held), 1))

    delta = computed_once(smaller(larger(1 - z * unit, held), 1))
    root: Array = 1 - jax.lax.fori_loop(0, moves, lambda _, delta: step(delta), delta)
    return jnp.where(root < unit, root * inverse_unit, 1)
