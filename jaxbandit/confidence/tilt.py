"""How far, in KL divergence, a row must move for its weighted mean to reach a value."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxbandit.base import Array
from jaxbandit.confidence.bernoulli import short_logarithm_excess
from jaxbandit.indexing import computed_once

Row = Sequence[Array]  # S entries of any one shape: XLA vectorises these better than [..., S]


class Tilt(NamedTuple):
    """The row q nearest to p, in KL(p || q), among those with sum over j of q_j x_j = 0."""

    divergence: Array  # KL(p || q)
    slope: Array  # its derivative by v where x_j = w_j (m_j - v)
    curvature: Array  # its second derivative; 0 where q has mass that p has not
    multiplier: Array  # tau
    row: list[Array]  # q
    settled: Array  # bool, whether q sums to 1


def largest(row: Row) -> Array:
    """Maximum over the entries."""
    return reduce(jnp.maximum, row)


def dot(row: Row, other: Row) -> Array:
    """Sum of products over the entries, in their order."""
    return sum(a * b for a, b in zip(row, other, strict=True))


def pick(row: Row, chosen: Row) -> Array:
    """Sum of the entries chosen, in their order."""
    return sum(jnp.where(here, value, 0) for value, here in zip(row, chosen, strict=True))


def nearest(p: Row, weights: Row, x: Row, gain: Array, multiplier: Array, steps: int) -> Tilt:
    """Move the multiplier tau towards the maximum of G(tau) = sum of p_j log(1 - tau x_j), which is KL(p || q).

    The nearest row is q_j = p_j / (1 - tau x_j); what it lacks of 1 goes to the state with the largest x, where p is
    0 and tau at its bound. x has a positive entry and sum of p_j x_j = -gain <= 0. With P and N the sums of
    |p_j x_j / (1 - tau x_j)| over positive and negative x, G' = N - P. From the left of its zero a step takes N for a
    hyperbola and P for one pole; from the right it keeps the last pole and takes the rest of G' for linear. Work is in
    delta = 1 - tau max x: at small p the pole is approached to within p, which 1 - delta would not resolve.

    Args:
      p, weights, x: rows; gain, multiplier: of the shape of an entry.
      steps: how often tau is moved.
    """
    info = np.finfo(p[0].dtype)
    tiny = float(info.tiny) * 1e10
    top = largest(x)
    scaled = [computed_once(jnp.maximum(a / top, -1e15)) for a in x]  # their squares are finite in float32
    gaps = [jnp.maximum(1 - a, 0) for a in scaled]
    last = [a == top for a in x]
    last_p = computed_once(pick(p, last))
    middle = [(a > 0) & ~end for a, end in zip(scaled, last, strict=True)]
    delta = computed_once(jnp.clip(1 - multiplier * top, last_p, 1))

    def denominators(delta: Array) -> list[Array]:
        tau = 1 - delta
        both = zip(scaled, gaps, strict=True)
        return [jnp.maximum(jnp.where(a < 0, 1 - tau * a, gap + delta * a), tiny) for a, gap in both]

    def moved(delta: Array) -> Array:
        terms = [a / below for a, below in zip(scaled, denominators(delta), strict=True)]
        first = [mass * term for mass, term in zip(p, terms, strict=True)]
        second = [a * term for a, term in zip(first, terms, strict=True)]
        falling = [a < 0 for a in first]
        negative = jnp.maximum(-pick(first, falling), tiny)
        negative_slope, middle_slope = pick(second, falling), pick(second, middle)
        positive = pick(first, middle)
        # from the left, P delta = whole and P' delta^2 = bend
        whole = positive * delta + last_p
        bend = middle_slope * delta * delta + last_p
        left = whole < negative * delta
        ratio = negative / jnp.maximum(whole, tiny)
        above_left = negative * (ratio * delta - 1)
        below_left = negative_slope + ratio * (ratio * bend)
        # from the right, (rest - slope d) (delta - d) = last_p, the smaller root
        rest, slope = negative - positive, negative_slope + middle_slope
        half, end = rest + slope * delta, rest * delta - last_p
        root = jnp.sqrt(jnp.maximum(half * half - 4 * slope * end, 0))
        up = half > 0
        above = jnp.where(left, above_left, jnp.where(up, 2 * end, half - root))
        below = jnp.where(left, below_left, jnp.where(up, half + root, 2 * slope))
        step = jnp.where(positive + last_p > 0, above / jnp.maximum(below, tiny), 1)
        return computed_once(jnp.clip(delta - step, last_p, 1))

    for _ in range(steps):
        delta = moved(delta)
    inverse_top = 1 / top
    tau = (1 - delta) * inverse_top
    stretch = [(delta - 1) * a for a in scaled]
    excess = [short_logarithm_excess(jnp.clip(a, -0.25, 0.25), 0.5) for a in stretch]
    near = [jnp.abs(a) < 0.25 for a in stretch]
    logs = [
        jnp.where(here, a - b, jnp.log(jnp.maximum(1 + a, float(info.eps) / 2)))
        for a, b, here in zip(stretch, excess, near, strict=True)
    ]
    # near p the sum cancels down to squares, which the first form keeps
    divergence = jnp.where(reduce(jnp.logical_and, near), tau * gain - dot(p, excess), dot(p, logs))
    inverse = [1 / below for below in denominators(delta)]
    row = [mass * a for mass, a in zip(p, inverse, strict=True)]
    mass = computed_once(sum(row))
    missing = jnp.maximum(1 - mass, 0)
    extra = missing * largest([jnp.where(here, w, 0) for w, here in zip(weights, last, strict=True)])
    second = [a * b for a, b in zip(row, inverse, strict=True)]
    weighted = [a * w for a, w in zip(second, weights, strict=True)]
    cross, square = sum(weighted), dot([a * b for a, b in zip(second, scaled, strict=True)], scaled)
    curvature = cross * cross / jnp.maximum(square, tiny) - dot(weighted, weights) * (1 - delta) ** 2
    ties = sum(here.astype(mass.dtype) for here in last)
    return Tilt(
        divergence=computed_once(divergence),
        slope=computed_once(tau * (dot(row, weights) + extra)),
        curvature=computed_once(jnp.where(missing > 1e-6, 0, curvature * inverse_top * inverse_top)),
        multiplier=tau,
        row=[a + jnp.where(here, missing / ties, 0) for a, here in zip(row, last, strict=True)],
        settled=(mass < 1.001) & ((mass > 0.999) | (delta <= last_p)),
    )
