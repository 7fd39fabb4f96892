"""The log-likelihood ratio of transitions between two states, for a mean of at least some value.

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
from jax import Array

from jaxbandit.fast import larger, log_and_excess, smaller

PAIRS = 2  # of steps
TINY = 1e-30


class Counts(NamedTuple):
    """Transitions of arms with two states, the better paid one second; floats of one shape."""

    n00: Array
    n01: Array
    n10: Array
    n11: Array


class Estimates(NamedTuple):
    """What likelihood ratios need of the likeliest of all chains."""

    inverses: tuple[Array, Array, Array]  # of N0, n01 and n10; 1 where these are 0


class InClass(NamedTuple):
    """The likeliest chain (A, B) of a class: the estimated chain, or one on the line a + b = gap."""

    a: Array
    b: Array
    stay: Array  # 1 - B, with all its digits
    inverses: tuple[Array, Array, Array, Array]  # of A, 1 - A, B and 1 - B
    force: Array  # on the line, how much L grows for each unit by which a + b may fall; else 0


Likeliest = Estimates | InClass


def likeliest(counts: Counts, gap: Array | float | None) -> tuple[Array, Likeliest]:
    """The likeliest chain in the class of a gap, or of all chains, and its share of state 1: A / (A + B).

    Of several equally likely ones, it is one with the largest share.
    """
    n00, n01, n10, n11 = counts
    of_out, of_back = 1 / _or_one(n00 + n01), 1 / _or_one(n10 + n11)
    p, q = jnp.where(n00 + n01 > 0, n01 * of_out, 1), n10 * of_back
    share = jnp.where(n10 > 0, p / larger(p + q, TINY), 1)
    if gap is None:
        return share, Estimates((of_out, 1 / _or_one(n01), 1 / _or_one(n10)))
    bound = p + q < gap
    w, rest = _likeliest_share(counts, gap)
    a, b = jnp.where(bound, gap * w, p), jnp.where(bound, gap * rest, q)
    stays = jnp.where(bound, 1 - gap + b, n00 * of_out), jnp.where(bound, 1 - gap + a, n11 * of_back)
    of_a, of_stay_0 = _inverses(a, stays[0])
    of_b, of_stay_1 = _inverses(b, stays[1])
    force = jnp.where(w > 0.5, n00 * of_stay_0 - n01 * of_a, n11 * of_stay_1 - n10 * of_b)  # equal but where a = 0
    force = jnp.where(bound, larger(force, 0), 0)
    return jnp.where(bound, w, share), InClass(a, b, stays[1], (of_a, of_stay_0, of_b, of_stay_1), force)


def _or_one(number: Array) -> Array:
    """A count as a divisor, 1 where it is 0; discounted counts may lie between 0 and 1."""
    return jnp.where(number > 0, number, 1)


def _inverses(first: Array, second: Array) -> tuple[Array, Array]:
    """1 / first and 1 / second, by one division, which takes as long as many multiplications."""
    first, second = larger(first, 1e-15), larger(second, 1e-15)
    both = 1 / (first * second)
    return second * both, first * both


def _likeliest_share(counts: Counts, gap: Array | float) -> tuple[Array, Array]:
    """The w in [0, 1] that maximises L(gap w, gap (1 - w)), and 1 - w.

    The derivative by w is a sum of four terms with poles at 0, at 1, and beyond each. Two kinds of steps take turns.
    One takes the terms of the two nearer poles as they are, adds the others' slopes to them, and takes the rest of the
    others for a constant: it converges wherever it starts. The other is Newton's for the inverses of what pushes up and
    of what pushes down, which are nearly straight: it is slow where both poles of one side count, but not next to them.
    """
    n00, n01, n10, n11 = counts
    others, slack = gap / (2 - gap), gap * (1 - gap)
    low, high = n01 + others * n11 + 0.5, n10 + others * n00 + 0.5
    w, rest = low / (low + high), high / (low + high)
    for _ in range(PAIRS):
        w, rest = _newton(counts, gap, w, rest)
        above, below = _inverses(1 - gap + gap * w, 1 - gap + gap * rest)
        x, y = gap * w * above, gap * rest * below
        push = slack * (n11 * above * above - n00 * below * below)
        w, rest = _balance(n01 + n11 * x * x, n10 + n00 * y * y, push)
    return _newton(counts, gap, w, rest)


def _newton(counts: Counts, gap: Array | float, w: Array, rest: Array) -> tuple[Array, Array]:
    """A step towards the w where up = n01 / w + n11 gap / (1 - gap + gap w) equals `down`, the same for 1 - w."""
    n00, n01, n10, n11 = counts
    w, rest = larger(w, 1e-9), larger(rest, 1e-9)
    of_w, above = _inverses(w, 1 - gap + gap * w)
    of_rest, below = _inverses(rest, 1 - gap + gap * rest)
    near_0, far_0, near_1, far_1 = n01 * of_w, n11 * gap * above, n10 * of_rest, n00 * gap * below
    of_up, of_down = _inverses(near_0 + far_0, near_1 + far_1)
    slope = (near_0 * of_w + far_0 * gap * above) * of_up * of_up + (
        near_1 * of_rest + far_1 * gap * below
    ) * of_down * of_down
    step = (of_down - of_up) / slope
    w, rest = smaller(larger(w + step, 0), 1), smaller(larger(rest - step, 0), 1)
    return jnp.where(w < 0.5, w, 1 - rest), jnp.where(w < 0.5, 1 - w, rest)


def _balance(low: Array, high: Array, push: Array) -> tuple[Array, Array]:
    """The root w of low / w - high / (1 - w) + push = 0 in [0, 1], and 1 - w; `low` and `high` are at least 0."""
    both = low + high
    down, up = both - push, both + push
    root = jnp.sqrt(larger(down * down + 4 * push * low, 0))
    left = low - high + 0.5 * push < 0  # the root is below 1/2, and computed; else 1 - w is
    near, sign = jnp.where(left, down, up), jnp.where(left, push, -push)
    ahead = near > 0
    over = jnp.where(ahead, 2 * jnp.where(left, low, high), root - near)
    part = smaller(over / larger(jnp.where(ahead, near + root, 2 * sign), TINY), 0.5)
    return jnp.where(left, part, 1 - part), jnp.where(left, 1 - part, part)


def likelihood_ratio(counts: Counts, chain: Likeliest, above: Array, below: Array, gap: Array | float | None) -> Array:
    """J(mu) for mu = above / (above + below), where that is larger than the share of `chain`.

    With x = (a - A) / (1 - a), y = (a - A) / A, z = (B - b) / b and w = (B - b) / (1 - B) it is

        L(A, B) - L(a, b) = n00 log(1 + x) - n01 log(1 + y) + n10 log(1 + z) - n11 log(1 + w).

    Where counts are large, these terms are much larger than their sum. So their linear parts, which cancel except
    for what the class adds, are left out of the logarithms: see `_row`.

    Args:
      above, below: positive.
    """
    if isinstance(chain, Estimates):
        return _ratio_to_all(counts, chain, above, below)
    return _ratio_to_class(counts, chain, above, below, gap)  # type: ignore[arg-type]  # `InClass` has a gap


def _ratio_to_all(counts: Counts, chain: Estimates, above: Array, below: Array) -> Array:
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
    rows = _row(n00, n01, x, x_share, y) + _row(n10, n11, z, z_share, w)
    return larger(rows + jnp.where(n01 > 0, 0, n00 * x_share) + jnp.where(n11 > 0, 0, n10 * z_share), 0)


def _ratio_to_class(counts: Counts, chain: InClass, above: Array, below: Array, gap: Array | float) -> Array:
    n00, n01, n10, n11 = counts
    of_a, of_stay_0, of_b, of_stay_1 = chain.inverses
    odds = below / above
    nu = _departures_moved(counts, above, below)
    out, far = n00 + n01, nu > 0.5 * n10  # far: where n10 - nu would cancel
    whole = 1 / larger(out + nu, TINY)
    free = (n01 + nu) * whole  # a without the class
    least = gap * (above / (above + below))
    pushed = free < least
    bound = pushed | (chain.force > 0)
    a = larger(free, least)
    b = smaller(a * odds, 1)
    x_share = nu * whole
    w = nu * jnp.where(far, 1 - b, 1) / larger(jnp.where(far, n11, n10 + n11 - nu), TINY)
    # where state 1 was always left, b stays 1 until all its departures have moved
    always = jnp.where(nu < (1 - 1e-6) * n10, 0, 1 - b)
    up, down = larger(a - chain.a, 0), larger(chain.b - b, 0)
    # two chains on the line differ by as much in a as in b; the smaller of these has more digits
    along = pushed & (chain.force > 0)
    up, down = jnp.where(along & (above > below), down, up), jnp.where(along & (above < below), up, down)
    up = jnp.where(bound, up, x_share * (1 - chain.a))
    down = jnp.where(bound, down, jnp.where(n11 > 0, w * chain.stay, always))
    stay = jnp.where(pushed, 1 - least, n00 * whole)
    stay, b = larger(jnp.where(bound, stay, out), 1e-9), larger(b, 1e-25)
    inverse = 1 / (stay * b)
    fall_0, fall_1 = jnp.where(bound, up, nu) * b * inverse, down * stay * inverse
    share_0 = jnp.where(bound, up * of_stay_0, x_share)
    rise_1 = jnp.where(bound, down * of_stay_1, w)
    rows = _row(n00, n01, fall_0, share_0, up * of_a) + _row(n10, n11, fall_1, down * of_b, rise_1)
    linear = jnp.where(n01 > 0, 0, n00 * share_0 - chain.force * up) + jnp.where(n11 > 0, 0, n10 * down)
    over = larger(free - least, 0) * (1 + odds)  # how much a + b exceeds the gap
    return larger(rows + linear + chain.force * over, 0)


def _row(shrinking: Array, growing: Array, fall: Array, share: Array, rise: Array) -> Array:
    """shrinking log(1 + fall) - growing log(1 + rise), without the linear parts shrinking share and growing rise.

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
