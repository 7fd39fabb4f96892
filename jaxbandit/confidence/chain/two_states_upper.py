"""The largest share of the better paid state among the chains with two states in a likelihood region.

Counts n_ij, departures N0 and N1, estimates p and q, and chains (a, b) are those of `two_states`. Among all chains

    U(level) = the largest a / (a + b) with N0 d(p, a) + N1 d(q, b) <= level.

The likeliest chains with larger and larger shares have nu departures moved from state 1 to state 0, 0 <= nu <= n10:

    a = (n01 + nu) / (N0 + nu),  b = (n10 - nu) / (N1 - nu),  x = log(a / b),
    G = N0 log(1 + nu/N0) - n01 log(1 + nu/n01) + n10 log(1 + nu/(n10 - nu)) - N1 log(1 + nu/(N1 - nu)),

and G is to be the level. As a function of x it is convex: dG/dx = nu and dnu/dx = 1 / w with

    w = n00 / ((n01 + nu) (N0 + nu)) + n11 / ((n10 - nu) (N1 - nu)).

Rounding: an error in G moves the root x by that error over nu. The terms of G are about as large as nu, so that x keeps
the precision of the floats, and so does the share. So the last step is made in x, and its result is not turned back
into a nu. Where state 1 was always left, b is 1 up to nu = n10, and from there on dG/dx stays n10.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.confidence.bernoulli import begin
from jaxbandit.confidence.chain.two_states import TINY, Counts, likeliest
from jaxbandit.fast import computed_once, exponential, larger, log_of_sum, smaller

MOST = 1e20  # of z = nu / (n10 - nu); from there on nu is n10 up to rounding


class Point(NamedTuple):
    """One of these chains, and how fast G grows there."""

    nu: Array
    left: Array  # n10 - nu, with all its digits
    lack: Array  # level - G
    slope: Array  # left w
    bend: Array  # left^2 dw/dnu


def share_upper(counts: Counts, level: Array | float) -> Array:
    """U(level), never below the share of the likeliest chain, and exactly that at level 0.

    Args:
      counts: of reachable counts: n01 and n10 differ by at most 1. Others give a slightly less exact share.
      level: broadcast against the counts, at least 0, inf too.

    >>> import jax
    >>> counts = Counts(*map(jnp.array, (60.0, 40.0, 40.0, 20.0)))
    >>> round(float(jax.jit(share_upper)(counts, 5.0)), 4)
    0.4948
    """
    n00, n01, _, n11 = counts
    z = _starting_z(counts, level)
    for _ in range(1 if np.finfo(counts.n10.dtype).bits == 32 else 3):
        z = _halley(_point(counts, z, level), z)
    point = _point(counts, z, level)
    x = _distance_to_root(counts, point)
    # a / b times exp(x) is the odds of the share; the side that loses is multiplied, so that nothing overflows
    kept = exponential(jnp.abs(x))[1]
    stayed = n00 > 0  # else a is 1 whatever the counts, and arms that differ in them alone keep equal shares
    up = jnp.where(stayed, n01 + point.nu, 1) * (n11 + point.left) * jnp.where(x < 0, kept, 1)
    down = jnp.where(stayed, n00 + n01 + point.nu, 1) * point.left * jnp.where(x < 0, 1, kept)
    own = likeliest(counts, None)[0]
    return jnp.where((level > 0) & (counts.n10 > 0), larger(up / larger(up + down, TINY), own), own)


def _starting_z(counts: Counts, level: Array | float) -> Array:
    """An approximation of the root's z, from the z at which each row alone would use up the level.

    `begin` gives these two within 0.7 %. The reciprocals of their squares are added, which is exact where both rows'
    parts of G grow with the square of z.
    """
    n00, _, n10, n11 = counts
    out, back = larger(n00 + counts.n01, 1), larger(n10 + n11, 1)
    p_stay, q = n00 / out, n10 / back
    moved_0, kept_0 = exponential(begin(larger(p_stay, TINY), 1 - p_stay, level / out)[1])
    moved_1, kept_1 = exponential(begin(larger(q, TINY), 1 - q, level / back)[1])
    # where stays in state 0 are rarer by exp(-y), nu = N0 (exp(y) - 1); where departures from state 1 are,
    # z = (exp(y) - 1) N1 / n11
    room = n10 * kept_0 - out * moved_0
    z_0 = jnp.where((room > 0) & (n00 > 0), out * moved_0 / larger(room, TINY), MOST)
    z_1 = back * moved_1 / larger(n11 * kept_1, TINY)
    low, high = smaller(smaller(z_0, z_1), MOST), larger(larger(z_0, z_1), TINY)
    ratio = low / high  # the smaller over the larger, whose square cannot overflow
    return low / jnp.sqrt(1 + ratio * ratio)


def _point(counts: Counts, z: Array, level: Array | float) -> Point:
    """The chain that belongs to z = nu / (n10 - nu)."""
    n00, n01, n10, n11 = counts
    out = n00 + n01
    left = n10 / (1 + z)  # from z and not as n10 - nu, which would cancel where nearly all departures have moved
    nu = left * z
    a_part, a_whole, b_whole = n01 + nu, out + nu, n11 + left
    row_0 = out * log_of_sum(nu / larger(out, 1)) - n01 * log_of_sum(nu / larger(n01, 1))
    row_1 = n10 * log_of_sum(z) - (n10 + n11) * log_of_sum(nu / larger(b_whole, TINY))
    # a row whose one outcome is certain costs nothing, where its two logarithms would leave a rounding error
    lack = level - jnp.where(n00 > 0, row_0, 0) - jnp.where(n11 > 0, row_1, 0)
    # w and dw/dnu have poles where nu is n10; times `left` and its square they stay finite
    inverse = left / larger(a_part * a_whole, TINY)
    stays = 1 / larger(b_whole, TINY)
    slope = n00 * inverse + n11 * stays
    bend = n11 * stays * (1 + left * stays) - n00 * inverse * inverse * (a_part + a_whole)
    return Point(nu, left, computed_once(lack), slope, bend)


def _halley(point: Point, z: Array) -> Array:
    """The z after Halley's step y in log(1 + z), in which G is nearly a parabola and then a line."""
    nu, left, lack, slope, bend = point
    first = nu * slope  # of the derivatives of G by log(1 + z)
    second = left * slope + nu * (bend - slope)
    y = lack * first / larger(first * first + 0.5 * lack * second, TINY)
    # y / (1 - y/2 + y^2/12) stands for exp(y) - 1: it needs no exponential, and is never below -0.93
    return smaller(larger(z + (1 + z) * y / (1 + y * (y * (1 / 12) - 0.5)), z * 0.125), MOST)


def _distance_to_root(counts: Counts, point: Point) -> Array:
    """How far x is from the root: Halley's step in x, and what the third derivative adds to it.

    As dG/dx grows with x up to n10, its mean over a step up is at most n10. Over a step down it is at least half of nu
    for a parabola; the third derivative is left out where that bound is near, or where state 1 was always left.
    """
    nu, left, lack, slope, bend = point
    over = 1 / larger(slope, TINY)
    second = left * over  # d2G/dx2 = dnu/dx = 1 / w
    mean = nu + lack * second / larger(2 * nu, TINY)  # of dG/dx over the step
    x = lack / larger(larger(smaller(mean, counts.n10), 0.5 * nu), TINY)
    third = second * over * over * bend  # minus d3G/dx3
    inside = (counts.n11 > 0) & (mean > 0.75 * nu) & (mean < counts.n10)
    return jnp.where(inside, x + third * x * x * x / larger(6 * (nu + second * x), TINY), x)
