"""The likelihood of a whole two-state chain, from its definition in plain float64, one arm at a time.

A chain leaves state 0 with probability a and state 1 with probability b. Of the counts ((n00, n01), (n10, n11)) it has
the log-likelihood n00 log(1 - a) + n01 log a + n10 log b + n11 log(1 - b), which is concave in (a, b). State 1 is the
better paid one; where it is not, the two states are exchanged first.
"""

import math
from functools import lru_cache

from reference_kl import kl
from scipy.optimize import brentq


def weighted_mean(r0, r1, w0, w1):
    """Return (r0 w0 + r1 w1) / (w0 + w1), exactly a reward where only that reward counts."""
    # Rounding r w / w would break ties between arms that have only ever paid the same reward.
    if w1 == 0 or r0 == r1:
        return r0
    if w0 == 0:
        return r1
    return (r0 * w0 + r1 * w1) / (w0 + w1)


def ordered(count, reward):
    """Return the counts and the rewards as tuples, with the better paid state last."""
    (n00, n01), (n10, n11) = count
    r0, r1 = reward
    if r1 >= r0:
        return ((n00, n01), (n10, n11)), (r0, r1)
    return ((n11, n10), (n01, n00)), (r1, r0)


def falling_root(slope, low, high):
    """Return where a falling function changes its sign between two ends, or the end where it comes nearest to that."""
    while low < (middle := 0.5 * (low + high)) < high:
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    return 0.5 * (low + high)


def divergence(count, a, b):
    """Return how much less likely (the logarithm) the counts are under (a, b) than under the estimates."""
    (n00, n01), (n10, n11) = count
    first = (n00 + n01) * kl(n01 / (n00 + n01), a) if n00 + n01 else 0.0
    return first + ((n10 + n11) * kl(n10 / (n10 + n11), b) if n10 + n11 else 0.0)


@lru_cache(maxsize=1 << 16)
def likeliest(count, gap):
    """Return the likeliest (a, b) with a + b >= gap, of several the one with the largest share of state 1."""
    (n00, n01), (n10, n11) = count
    if n00 + n01 == 0:
        return 1.0, n10 / (n10 + n11) if n10 + n11 else 0.0
    a = n01 / (n00 + n01)
    if n10 + n11 == 0:
        return a, max(0.0, gap - a)
    b = n10 / (n10 + n11)
    if a + b < gap:
        # The best of a concave function lies on the line a + b = gap where its maximum lies beyond that line.
        a = falling_root(lambda a: n01 / a - n00 / (1 - a) - n10 / (gap - a) + n11 / (1 - gap + a), 0.0, gap)
        b = gap - a
    return a, b


def stationary_mean(count, reward, gap=0.0):
    """Return the long-run mean reward of the likeliest chain."""
    count, reward = ordered(count, reward)
    a, b = likeliest(count, gap)
    # Without moves both ways every share of the two states is as likely, or nearly.
    return reward[1] if a == 0 and b == 0 else weighted_mean(*reward, b, a)


@lru_cache(maxsize=1 << 16)
def ratio_of_share(count, share, gap):
    """Return the likelihood ratio against the chains whose share of state 1 is the given one, in (0, 1]."""
    (n00, n01), (n10, n11) = count
    odds = (1 - share) / share  # b / a of these chains
    if odds == 0 and n10 > 0:
        return math.inf
    end = 1 / odds if odds > 0 else math.inf  # where b reaches 1
    high = min(1.0, end)
    a = falling_root(lambda a: (n01 + n10) / a - n00 / (1 - a) - n11 / (end - a), min(gap * share, high), high)
    return max(0.0, divergence(count, a, min(1.0, odds * a)) - divergence(count, *likeliest(count, gap)))


def likelihood_ratio(count, reward, mean, gap=0.0):
    """Return J: how much likelier (the logarithm) the likeliest chain is than those with at least this mean.

    Only chains with a + b >= gap count, on both sides. Where the likeliest has a smaller mean, the likeliest of the
    others has exactly this mean, as the likelihood is concave.
    """
    if stationary_mean(count, reward, gap) >= mean:
        return 0.0
    count, (r0, r1) = ordered(count, reward)
    return ratio_of_share(count, min(1.0, (mean - r0) / (r1 - r0)), gap) if mean <= r1 else math.inf


def upper_mean(count, reward, level):
    """Return the largest mean of a chain with a likelihood ratio of at most this level."""
    count, reward = ordered(count, reward)
    (n00, n01), (n10, n11) = count
    if n10 == 0 or level == math.inf:
        return reward[1]

    def chain(multiplier):
        """Return the (a, b) where the gradients of level and share are parallel, with this multiplier."""
        return (
            (n01 + multiplier) / (n00 + n01 + multiplier) if n00 + n01 + multiplier > 0 else 1.0,
            (n10 - multiplier) / (n10 + n11 - multiplier) if n11 > 0 else 1.0,
        )

    def excess(multiplier):
        return divergence(count, *chain(multiplier)) - level

    end = n10 if n11 == 0 else math.nextafter(n10, 0.0)
    if excess(end) <= 0:
        # The multiplier ends here: a stays, and b alone falls, at a cost of n10 log(1 / b).
        a, b = chain(end)
        b *= math.exp(excess(end) / n10)
    else:
        a, b = chain(brentq(excess, 0.0, end, xtol=1e-300, rtol=1e-15) if level > 0 else 0.0)
    return weighted_mean(*reward, b, a)
