"""How well counts of a chain with two states agree with a mean of at least some value.

n_ij counts the transitions from state i to state j; state 1 is the better paid one. Departures are N0 = n00 + n01 and
N1 = n10 + n11, estimates p = n01 / N0 and q = n10 / N1. A chain leaves state 0 with probability a and state 1 with
probability b; its mean, counted from the lower reward in units of their difference, is its share of state 1,
a / (a + b). Its log-likelihood is

    L(a, b) = n01 log a + n00 log(1 - a) + n10 log b + n11 log(1 - b).

The class of a gap g holds the chains with a + b >= g, and

    J(mu) = max of L over the class - max of L over the chains of the class with a / (a + b) >= mu.

Without a gap the first maximum is at (p, q). The second lies on the line b = a (1 - mu) / mu. With a multiplier nu

    a = (n01 + nu) / (N0 + nu),  b = (n10 - nu) / (N1 - nu),  0 <= nu <= n10:

nu departures from state 1 become departures from state 0. With a gap, a is at least g mu on that line, along which L is
concave; and where p + q < g the first maximum is on the line a + b = g, where `_likeliest_share` finds it.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp

from jaxbandit.base import Array
from jaxbandit.confidence.larger import larger, smaller
from jaxbandit.fast import log_and_excess

STEPS = 8
TINY = 1e-30


class Counts(NamedTuple):
    """Transitions of arms with two states, the better paid one second; floats of one shape."""

    n00: Array
    n01: Array
    n10: Array
    n11: Array


class Likeliest(NamedTuple):
    """The likeliest chain (A, B) of a class; of several as likely, one with the largest mean."""

    share: Array  # A / (A + B)
    inverses: tuple[Array, Array, Array]  # of N0, n01 and n10; 1 where these are 0
    in_class: InClass | None  # None without a gap


class InClass(NamedTuple):
    """What a class adds: its likeliest chain is that of the estimates, or lies on the line a + b = gap."""

    a: Array
    b: Array
    stay: Array  # 1 - b, with all its digits
    force: Array  # on the line, how much L grows for each unit by which a + b may fall; else 0


def likeliest(counts: Counts, gap: Array | None) -> Likeliest:
    """The likeliest chain in the class of a gap, or of all chains."""
    n00, n01, n10, n11 = counts
    inverses = 1 / larger(n00 + n01, 1), 1 / larger(n01, 1), 1 / larger(n10, 1)
    p = jnp.where(n00 + n01 > 0, n01 * inverses[0], 1)
    inverse = 1 / larger(n10 + n11, 1)
    q = n10 * inverse
    share = jnp.where(n10 > 0, p / larger(p + q, TINY), 1)
    if gap is None:
        return Likeliest(share, inverses, None)
    bound = p + q < gap
    w, rest = _likeliest_share(counts, gap)
    a, b = gap * w, gap * rest
    stay_0, stay_1 = 1 - gap + b, 1 - gap + a
    by_a = n00 / larger(stay_0, TINY) - n01 / larger(a, TINY)
    by_b = n11 / larger(stay_1, TINY) - n10 / larger(b, TINY)
    force = larger(jnp.where(w > 0.5, by_a, by_b), 0)  # the same but for rounding, and but for a = 0
    pairs = (a, p), (b, q), (stay_1, n11 * inverse), (force, 0)
    return Likeliest(
        jnp.where(bound, w, share), inverses, InClass(*(jnp.where(bound, own, free) for own, free in pairs))
    )


def _likeliest_share(counts: Counts, gap: Array) -> tuple[Array, Array]:
    """The w in [0, 1] that maximises L(gap w, gap (1 - w)), and 1 - w.

    The derivative by w is a sum of four terms with poles at 0, at 1, and beyond each. A step takes the terms of the two
    nearer poles as they are, adds the others' slopes to them, and takes the rest of the others for a constant.
    """
    n00, n01, n10, n11 = counts
    others = gap / (2 - gap)
    low, high = n01 + others * n11 + 0.5, n10 + others * n00 + 0.5
    w, rest = low / (low + high), high / (low + high)
    for _ in range(STEPS):
        above = 1 / larger(1 - gap + gap * w, 1e-9)
        below = 1 / larger(1 - gap + gap * rest, 1e-9)
        x, y = gap * w * above, gap * rest * below
        low, high = n01 + n11 * x * x, n10 + n00 * y * y
        push = gap * (1 - gap) * (n11 * above * above - n00 * below * below)
        w, rest = _balance(low, high, push)
    return w, rest


def _balance(low: Array, high: Array, push: Array) -> tuple[Array, Array]:
    """The root w of low / w - high / (1 - w) + push = 0 in [0, 1], and 1 - w; `low` and `high` are at least 0."""
    both = low + high
    down, up = both - push, both + push
    root = jnp.sqrt(larger(down * down + 4 * push * low, 0))
    inverse = 0.5 / jnp.where(push == 0, 1, push)
    w = jnp.where(down > 0, 2 * low / larger(down + root, TINY), (root - down) * inverse)
    rest = jnp.where(up > 0, 2 * high / larger(up + root, TINY), (up - root) * inverse)
    rest = smaller(rest, 1)
    return jnp.where(rest < 0.5, 1 - rest, w), rest


def likelihood_ratio(counts: Counts, chain: Likeliest, above: Array, below: Array, gap: Array | None) -> Array:
    """J(mu) for mu = above / (above + below), where that is larger than the share of `chain`.

    With x = (a - A) / (1 - a), y = (a - A) / A, z = (B - b) / b and w = (B - b) / (1 - B) it is

        L(A, B) - L(a, b) = n00 log(1 + x) - n01 log(1 + y) + n10 log(1 + z) - n11 log(1 + w).

    Where counts are large, these terms are much larger than their sum. So their linear parts, which cancel but for what
    the class adds, are left out of the logarithms: see `_row`.

    Args:
      above, below: positive.
    """
    n00, n01, n10, n11 = counts
    inverse_out, inverse_n01, inverse_n10 = chain.inverses
    odds = below / above
    nu = _departures_moved(counts, above, below)
    whole = 1 / larger(n00 + n01 + nu, TINY)
    a = (n01 + nu) * whole
    b = smaller(a * odds, 1)
    left = jnp.where(nu > 0.5 * n10, b * n11 / larger(1 - b, TINY), n10 - nu)
    stay = n00 * whole
    w = nu / larger(n11 + left, TINY)
    # where state 1 was always left, b stays 1 until all its departures have moved
    always = jnp.where(nu < (1 - 1e-6) * n10, 0, 1 - b)
    x, x_share, y = nu * inverse_out, nu * whole, nu * stay * inverse_n01
    z_share = jnp.where(n11 > 0, w * n11 * inverse_n10, always)
    z = jnp.where(n11 > 0, nu * n11, always) / larger(jnp.where(n11 > 0, (n10 + n11) * left, b), TINY)
    if gap is None or chain.in_class is None:
        rows = _row(n00, n01, x, x_share, y) + _row(n10, n11, z, z_share, w)
        return larger(rows + jnp.where(n01 > 0, 0, n00 * x_share) + jnp.where(n11 > 0, 0, n10 * z_share), 0)
    before = chain.in_class
    least = gap * (above / (above + below))
    pushed = a < least
    moved = pushed | (before.force > 0)
    over = larger(a - least, 0) * (1 + odds)
    a, stay = jnp.where(pushed, least, a), jnp.where(pushed, 1 - least, stay)
    up = jnp.where(moved, larger(a - before.a, 0), x_share * n00 * inverse_out)
    down = jnp.where(moved, larger(before.b - a * odds, 0), z_share * before.b)
    b = smaller(a * odds, 1)
    up_share = up / larger(1 - before.a, TINY)
    rows = _row(n00, n01, up / larger(stay, TINY), up_share, up / larger(before.a, TINY)) + _row(
        n10, n11, down / larger(b, TINY), down / larger(before.b, TINY), down / larger(before.stay, TINY)
    )
    linear = jnp.where(n01 > 0, 0, n00 * up_share - before.force * up) + jnp.where(n11 > 0, 0, n10 * down)
    return larger(rows + linear + before.force * over, 0)


def _row(shrinking: Array, growing: Array, fall: Array, share: Array, rise: Array) -> Array:
    """shrinking log(1 + fall) - growing log(1 + rise), but for the linear parts shrinking share and growing rise.

    One outcome of a row, seen `shrinking` times, becomes rarer, by a factor 1 + fall; share = fall / (1 + fall). The
    other, seen `growing` times, becomes more frequent by a factor 1 + rise.
    """
    logarithm, excess = log_and_excess(fall)
    lost = jnp.where(fall < 0.4, fall * share - excess, logarithm - share)
    return shrinking * lost + growing * log_and_excess(rise)[1]


def _departures_moved(counts: Counts, above: Array, below: Array) -> Array:
    """nu in [0, n10] of the chain on the line, a root of a nu^2 + b nu = c.

    Up to the factor above + below, a = 2 mu - 1, b = (1 - mu) (N1 - n01) + mu (N0 - n10) and
    c = mu n10 N0 - (1 - mu) n01 N1. The discriminant b^2 + 4 a c is written as
    ((1 - mu) n11 - mu n00 - a (n01 + n10))^2 + 4 mu (1 - mu) n00 n11, where little cancels.
    """
    n00, n01, n10, n11 = counts
    square = above - below
    upper, lower = above * n00, below * n11
    linear = lower + upper - square * (n10 - n01)
    constant = upper * n10 - lower * n01 + square * (n01 * n10)
    apart = lower - upper - square * (n01 + n10)
    root = jnp.sqrt(apart * apart + 4 * upper * lower)
    over = jnp.where(linear > 0, 2 * constant, root - linear)
    nu = over / jnp.where(linear > 0, linear + root, jnp.where(square == 0, 1, 2 * square))
    return smaller(larger(nu, 0), n10)
