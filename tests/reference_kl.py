"""The Bernoulli divergence and its bounds in plain float64, as oracles and as parts of the reference's policies."""

import math
from functools import lru_cache


def kl_part(a, b, difference):
    """Return a log(a/b) + b - a, which is never negative, given difference = b - a to full accuracy."""
    if a == 0:
        return b
    if b == 0:
        return math.inf
    if abs(difference) > 0.2 * a:
        # The smaller over the larger, because a quotient below 1 cannot overflow.
        return difference + a * (math.log(a / b) if a < b else -math.log(b / a))
    # With x = difference / a and z = x / (2 + x) this is a (x - log1p(x)) where log1p(x) = 2 (z + z^3/3 + z^5/5 + ...)
    # and x - 2 z = x z, so the leading terms, which cancel near b = a, never appear.
    x = difference / a
    z = x / (2 + x)
    square = z * z
    series = 0.0
    for odd in (19, 17, 15, 13, 11, 9, 7, 5, 3):
        series = series * square + 1 / odd
    return a * (x * z - 2 * z * square * series)


def kl(p, q):
    """Return the Kullback-Leibler divergence of Bernoulli(q) from Bernoulli(p), with 0 log 0 = 0."""
    if p == q:
        return 0.0
    # The linear terms of the two parts add up to 0, and as both parts are positive their sum loses no digits.
    return kl_part(p, q, q - p) + kl_part(1 - p, 1 - q, p - q)


@lru_cache(maxsize=1 << 16)
def upper(p, c):
    """Return the largest q in [p, 1] with kl(p, q) <= c, by bisection until no float lies between the ends."""
    if p == 1 or c == math.inf:
        return 1.0
    if c == 0:
        return p
    if p == 0:
        return -math.expm1(-c)
    low, high = p, 1.0
    while low < (middle := 0.5 * (low + high)) < high:
        low, high = (middle, high) if kl(p, middle) <= c else (low, middle)
    return low


@lru_cache(maxsize=1 << 16)
def lower(p, c):
    """Return the smallest q in [0, p] with kl(p, q) <= c, by bisection until no float lies between the ends."""
    if p == 0 or c == math.inf:
        return 0.0
    if c == 0:
        return p
    if p == 1:
        return math.exp(-c)
    low, high = 0.0, p
    while low < (middle := 0.5 * (low + high)) < high:
        low, high = (low, middle) if kl(p, middle) <= c else (middle, high)
    return high
