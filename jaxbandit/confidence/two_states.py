"""How well counts of a chain with two states agree with a mean of at least some value.

n_ij counts the transitions from state i to state j, state 1 being the better paid one. Departures are N0 = n00 + n01 and
N1 = n10 + n11, estimates p = n01 / N0 and q = n10 / N1. A chain leaves state 0 with probability a and state 1 with
probability b; its mean, counted from the lower reward in units of their difference, is its share of state 1,
a / (a + b). Its log-likelihood is

    L(a, b) = n01 log a + n00 log(1 - a) + n10 log b + n11 log(1 - b).

The class of a gap g holds the chains with a + b >= g, and

    J(mu) = max of L over the class - max of L over the chains of the class with a / (a + b) >= mu.

Without a gap the first maximum is at (p, q). The second lies on the line b = a (1 - mu) / mu, where with a multiplier nu

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

STEPS = 8  # of `_likeliest_share`
NEVER = 1e30  # J where no chain is good enough
TINY = 1e-30


class Counts(NamedTuple):
    """Transitions of arms with two states, the better paid one second; floats of one shape."""

    n00: Array
    n01: Array
    n10: Array
    n11: Array


class Likeliest(NamedTuple):
    """The likeliest chain of a class; of several as likely, one with the largest mean."""

    share: Array  # a / (a + b)
    a: Array
    b: Array
    stay: Array  # 1 - b, with all its digits
    force: Array  # how much L grows for each unit by which the class would let a + b fall; 0 without a gap


def likeliest(counts: Counts, gap: Array | None) -> Likeliest:
    """The likeliest chain in the class of a gap, or of all chains."""
    n00, n01, n10, n11 = counts
    out, back = n00 + n01, n10 + n11
    p = jnp.where(out > 0, n01 / larger(out, 1), 1)
    q = n10 / larger(back, 1)
    share = jnp.where(n10 > 0, p / larger(p + q, TINY), 1)
    if gap is None:
        return Likeliest(share, p, q, n11 / larger(back, 1), jnp.zeros_like(p))
    bound = p + q < gap
    w, rest = _likeliest_share(counts, gap)
    a, b = gap * w, gap * rest
    stay_0, stay_1 = 1 - gap + b, 1 - gap + a
    by_a = n00 / larger(stay_0, TINY) - n01 / larger(a, TINY)
    by_b = n11 / larger(stay_1, TINY) - n10 / larger(b, TINY)
    force = larger(jnp.where(w > 0.5, by_a, by_b), 0)  # the same but for rounding, and but for a = 0
    pairs = (w, share), (a, p), (b, q), (stay_1, n11 / larger(back, 1)), (force, 0)
    return Likeliest(*(jnp.where(bound, x, y) for x, y in pairs))


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
    return smaller(w, 1), smaller(rest, 1)


def likelihood_ratio(counts: Counts, chain: Likeliest, mu: Array, gap: Array | None) -> Array:
    """J(mu): exactly 0 where mu is at most the share of `chain`, and 1e30 where it is at least 1 and above that share.

    With (A, B) the likeliest chain, x = (a - A) / (1 - a), y = (a - A) / A, z = (B - b) / b and w = (B - b) / (1 - B),

        L(A, B) - L(a, b) = n00 log(1 + x) - n01 log(1 + y) + n10 log(1 + z) - n11 log(1 + w).

    Where counts are large these terms are much larger than their sum. So their linear parts, which cancel but for what
    the class adds (`force` for each unit by which a + b exceeds the gap), are left out of the logarithms.
    """
    n00, n01, n10, n11 = counts
    out, back = n00 + n01, n10 + n11
    most = 1 - float(jnp.finfo(mu.dtype).eps)
    inside = larger(smaller(mu, most), TINY)
    odds = (1 - inside) / inside
    nu = _departures_moved(counts, inside)
    whole = 1 / larger(out + nu, TINY)
    a = jnp.where(out > 0, (n01 + nu) * whole, 1)
    b = smaller(a * odds, 1)
    left = jnp.where(nu > 0.5 * n10, b * n11 / larger(1 - b, TINY), n10 - nu)
    stay = n00 * whole
    up = stay * (nu / larger(out, 1))
    # where state 1 was always left, b stays 1 until all its departures have moved
    down = jnp.where(n11 > 0, nu * n11 / larger(back * (n11 + left), TINY), jnp.where(nu < n10, 0, 1 - b))
    over: Array | float = 0.0
    if gap is not None:
        a_free, bound = a, chain.force > 0
        a = larger(a, gap * inside)
        b = jnp.where(a > a_free, a * odds, b)
        up, down = (
            jnp.where(bound | (a > a_free), smaller(larger(moved, 0), 1), free)
            for moved, free in ((a - chain.a, up), (chain.b - b, down))
        )
        stay = jnp.where(a > a_free, 1 - a, stay)
        over = larger(a_free - gap * inside, 0) / inside
    rows = (
        _row(n00, n01, up, stay, chain.a)
        + _row(n10, n11, down, b, chain.stay)
        + jnp.where(n01 > 0, 0, (n00 / larger(1 - chain.a, TINY) - chain.force) * up)
        + jnp.where(n11 > 0, 0, n10 * down)
        + chain.force * over
    )
    return jnp.where(chain.share >= mu, 0, jnp.where(mu >= 1, NEVER, larger(rows, 0)))


def _row(shrinking: Array, growing: Array, moved: Array, left: Array, before: Array) -> Array:
    """shrinking log(1 + moved / left) - growing log(1 + moved / before), both without their linear parts.

    One outcome of a row, seen `shrinking` times, falls by `moved` to the probability `left`, the other, seen `growing`
    times, rises from `before`. The linear parts are shrinking moved / (left + moved) and growing moved / before.
    """
    fall = moved / larger(left, TINY)
    share = moved / larger(left + moved, TINY)
    logarithm, excess = log_and_excess(fall)
    lost = jnp.where(fall < 0.4, fall * share - excess, logarithm - share)
    return shrinking * lost + growing * log_and_excess(moved / larger(before, TINY))[1]


def _departures_moved(counts: Counts, mu: Array) -> Array:
    """nu in [0, n10], the root of A nu^2 + B nu = C with the mean of its chain at mu.

    A = 2 mu - 1, B = (1 - mu) (N1 - n01) + mu (N0 - n10) and C = mu n10 N0 - (1 - mu) n01 N1. The discriminant
    B^2 + 4 A C is written as ((1 - mu) (N1 + n01) - mu (N0 + n10))^2 + 4 mu (1 - mu) n00 n11, where nothing cancels.
    """
    n00, n01, n10, n11 = counts
    out, back, rest = n00 + n01, n10 + n11, 1 - mu
    square = mu - rest
    linear = rest * (back - n01) + mu * (out - n10)
    constant = mu * n10 * out - rest * n01 * back
    apart = rest * (back + n01) - mu * (out + n10)
    root = jnp.sqrt(apart * apart + 4 * mu * rest * n00 * n11)
    above = jnp.where(linear > 0, 2 * constant, root - linear)
    nu = above / jnp.where(linear > 0, linear + root, jnp.where(square == 0, 1, 2 * square))
    # where state 1 was always left, one root is n10, and the other one needs no root
    other = jnp.where(square < 0, (mu * out - rest * n01) / jnp.where(square < 0, -square, 1), n10)
    return smaller(larger(jnp.where(n11 > 0, nu, other), 0), n10)
