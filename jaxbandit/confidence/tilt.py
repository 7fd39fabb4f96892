"""How far, in KL divergence, a row must move for its weighted mean to reach a value."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxbandit.base import Array
from jaxbandit.confidence.bernoulli import logarithm_excess
from jaxbandit.confidence.sums import largest, total


class Tilt(NamedTuple):
    """The row q nearest to p, in KL(p || q), among those with sum over j of q_j x_j = 0."""

    divergence: Array  # [...], KL(p || q)
    slope: Array  # [...], its derivative by v where x_j = w_j (m_j - v)
    curvature: Array  # [...], its second derivative; 0 where q has mass that p has not
    multiplier: Array  # [...], tau
    row: Array  # [..., S], q
    settled: Array  # [...] bool, whether q sums to 1


def nearest(p: Array, weights: Array, x: Array, gain: Array, multiplier: Array, steps: int) -> Tilt:
    """Move the multiplier tau towards the maximum of G(tau) = sum of p_j log(1 - tau x_j), which is KL(p || q).

    The nearest row is q_j = p_j / (1 - tau x_j); what it lacks of 1 goes to the state with the largest x, where p is
    0 and tau at its bound. x has a positive entry and sum of p_j x_j = -gain <= 0. With P and N the sums of
    |p_j x_j / (1 - tau x_j)| over positive and negative x, G' = N - P. From the left of its zero a step takes N for a
    hyperbola and P for one pole; from the right it keeps the last pole and takes the rest of G' for linear. Work is in
    delta = 1 - tau max x: at small p the pole is approached to within p, which 1 - delta would not resolve.

    Args:
      p, weights, x: [..., S]; gain, multiplier: [...].
      steps: how often tau is moved.
    """
    info = np.finfo(p.dtype)
    tiny = float(info.tiny) * 1e10
    top = largest(x)
    scaled = jnp.maximum(x / top[..., None], -1e15)  # its square is finite in float32
    gaps = (top[..., None] - x) / top[..., None]
    last, below = x == top[..., None], x < 0
    last_p = total(jnp.where(last, p, 0))
    least = largest(jnp.where(below, 0, (p - gaps) / jnp.where(below, 1, scaled)))  # where 1 - tau x_j = p_j
    delta = jnp.clip(1 - multiplier * top, least, 1)

    def shrinking(delta: Array) -> Array:
        return jnp.where(below, 1 - (1 - delta)[..., None] * scaled, gaps + delta[..., None] * scaled)

    def moved(delta: Array) -> Array:
        terms = jnp.where(p > 0, scaled / jnp.where(p > 0, shrinking(delta), 1), 0)
        first, second = p * terms, p * terms * terms
        negative = jnp.maximum(total(jnp.where(below, -first, 0)), tiny)
        negative_slope = total(jnp.where(below, second, 0))
        middle = ~below & ~last
        positive, positive_slope = total(jnp.where(middle, first, 0)), total(jnp.where(middle, second, 0))
        distance = jnp.where(last_p > 0, delta, 1)
        pole = last_p / distance
        all_positive, all_slope = positive + pole, positive_slope + pole / distance
        ratio = negative / jnp.where(all_positive > 0, all_positive, 1)
        from_left = negative * (ratio - 1) / jnp.maximum(negative_slope + all_slope * ratio * ratio, tiny)
        from_left = jnp.where(all_positive > 0, from_left, 1)
        # (rest - bend d) (delta - d) = last_p, the smaller root
        rest, bend = negative - positive, jnp.maximum(negative_slope + positive_slope, tiny)
        half, end = rest + bend * delta, rest * delta - last_p
        root = jnp.sqrt(jnp.maximum(half * half - 4 * bend * end, 0))
        from_right = jnp.where(half > 0, 2 * end / (half + root), (half - root) / (2 * bend))
        return jnp.clip(delta - jnp.where(all_positive < negative, from_left, from_right), least, 1)

    for _ in range(steps):
        delta = moved(delta)
    tau = (1 - delta) / top
    stretch = -(1 - delta)[..., None] * scaled
    # near p the sum cancels down to squares, which this keeps
    small = tau * gain - total(p * logarithm_excess(jnp.clip(stretch, -0.5, 0.5)))
    plain = total(p * jnp.log1p(jnp.maximum(stretch, float(info.eps) / 2 - 1)))
    divergence = jnp.where(largest(jnp.abs(stretch)) < 0.5, small, plain)
    inverse = jnp.where(p > 0, 1 / jnp.where(p > 0, shrinking(delta), 1), 0)
    row = p * inverse
    mass = total(row)
    missing = jnp.maximum(1 - mass, 0)
    extra = missing * largest(jnp.where(last, weights, 0))
    second = row * inverse
    cross, square = total(second * weights), total(second * scaled * scaled)
    curvature = cross * cross / jnp.maximum(square, tiny) - total(second * weights * weights) * (1 - delta) ** 2
    ties = total(last.astype(p.dtype))
    return Tilt(
        divergence=divergence,
        slope=tau * (total(row * weights) + extra),
        curvature=jnp.where(missing > 1e-6, 0, curvature / top / top),
        multiplier=tau,
        row=row + jnp.where(last, (missing / ties)[..., None], 0),
        settled=(mass < 1.001) & ((mass > 0.999) | (delta <= least)),
    )
