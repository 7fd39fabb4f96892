"""Brute force for the likelihood ratio of a whole chain: a search over the chain's own rows, in float64.

J(m) is the least divergence D(Q) = sum over s of N_s KL(p_s || Q_s) among the chains Q of a class with a long-run mean
of at least m, less the least divergence in the class. N_s are the departures of state s and p_s their frequencies. The
class is all chains, or those with a gap (max r - min r) / (max u - min u) of at least g, where r are the rewards and u
the relative values with rewards paid on arrival: sum over j of Q_sj u_j = mean + u_s - r_s.
"""

import math
from itertools import combinations, permutations

import numpy as np
from scipy.optimize import minimize
from scipy.special import kl_div

from jaxbandit import chains

GOLDEN = (math.sqrt(5) - 1) / 2


def golden_minimum(function, low, high, sections=120):
    """Return the least values of convex functions between two ends, by golden sections; all of it arrays of cases."""
    least = np.minimum(function(low), function(high))
    for _ in range(sections):
        left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        at_left, at_right = function(left), function(right)
        least = np.minimum(least, np.minimum(at_left, at_right))
        low, high = np.where(at_left <= at_right, low, left), np.where(at_left <= at_right, right, high)
    return least


def row_divergence(stays, leaves, probability):
    """Return N KL(p || probability) of a row that was left in `leaves` of its N departures."""
    number = stays + leaves
    p, kept = leaves / np.maximum(number, 1), stays / np.maximum(number, 1)
    each = kl_div(p, probability) + kl_div(kept, 1 - probability)
    return np.where(number > 0, number * np.where(number > 0, each, 0), 0)


def least_of_two_states(counts, share, gap):
    """Return the least divergence of chains (a, b) with a + b >= gap and a / (a + b) >= share, arrays of cases.

    For each a the best b of an interval is the frequency, moved to the nearer end where it lies outside.
    """
    (n00, n01), (n10, n11) = np.moveaxis(np.asarray(counts, float), (-2, -1), (0, 1))

    def divergence(a):
        with np.errstate(divide="ignore", invalid="ignore"):
            high = np.where(share > 0, np.minimum(1, a * (1 - share) / share), 1)
        low = np.minimum(np.maximum(0, gap - a), high)
        b = np.clip(n10 / np.maximum(n10 + n11, 1), low, high)
        return row_divergence(n00, n01, a) + row_divergence(n11, n10, b)

    return golden_minimum(divergence, gap * share, np.ones_like(share * gap))


def ratio_of_two_states(counts, share, gap=0.0):
    """Return J of counts [..., 2, 2] where state 1 pays 1 and state 0 pays 0; share is the mean, in [0, 1]."""
    share, gap = np.asarray(share, float), np.asarray(gap, float)
    return least_of_two_states(counts, share, gap) - least_of_two_states(counts, 0 * share, gap)
