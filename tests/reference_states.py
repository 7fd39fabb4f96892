"""Rows of any number of states in plain float64: the best row in a KL ball, stationary means, estimates, distances."""

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from reference_kl import kl_part
from scipy.optimize import brentq

# Added to every probability of moving to the present state under the rows held fixed, so that none is absorbing.
EXTRA_MASS = 1e-12


def tilt(p, gaps, w):
    """Return the row q with q_j proportional to p_j / (w + gaps_j), and its divergence KL(p || q)."""
    seen = [j for j in range(len(p)) if p[j] > 0]
    away = {j: gaps[j] / (w + gaps[j]) for j in seen}
    mean_away = sum(p[j] * away[j] for j in seen)
    total = sum(p[j] * w / (w + gaps[j]) for j in seen)
    row = [0.0] * len(p)
    divergence = 0.0
    for j in seen:
        row[j] = p[j] * w / (w + gaps[j]) / total
        # As w / (w + gap) is 1 - away, this is q_j - p_j, and it keeps its digits where the row hardly moves.
        divergence += kl_part(p[j], row[j], p[j] * (mean_away - away[j]) / total)
    return row, divergence


def best_row(p, values, radius):
    """Return the maximum of <q, values> over rows q with KL(p || q) <= radius, and a row q which attains it."""

    def attained(row):
        return sum(mass * value for mass, value in zip(row, values) if mass > 0), row

    highest = max(range(len(p)), key=lambda j: values[j])
    if radius == math.inf:
        return attained([float(j == highest) for j in range(len(p))])
    if radius == 0:
        return attained(list(p))
    # With a Lagrange multiplier nu, at least every value, q_j is proportional to p_j / (nu - values_j) where p_j > 0.
    # The unknown is w = nu - base, base the highest value seen, so that nothing cancels; the divergence falls in it.
    base = max(value for mass, value in zip(p, values) if mass > 0)
    gaps = [base - value for value in values]
    excess = values[highest] - base
    if excess > 0:
        row, divergence = tilt(p, gaps, excess)
        if divergence <= radius:
            # The multiplier stops at the highest value, whose state, not seen so far, takes what the radius leaves.
            row = [mass * math.exp(divergence - radius) for mass in row]
            row[highest] = -math.expm1(divergence - radius)
            return attained(row)
    spread = max(gap for mass, gap in zip(p, gaps) if mass > 0)
    if spread == 0:
        return attained(list(p))
    # For small radii w is the standard deviation of the values over sqrt(2 radius); the search for ends starts nearby.
    low = high = spread / math.sqrt(8 * radius)
    while tilt(p, gaps, high)[1] > radius:
        low, high = high, 2 * high
    while tilt(p, gaps, low)[1] <= radius:
        low, high = low / 2, low
        if low < 1e-290 * spread:
            return attained(tilt(p, gaps, low)[0])
    # The ends are a factor 2 apart, and the root is found to a few floats.
    w = brentq(lambda w: tilt(p, gaps, w)[1] - radius, low, high, xtol=1e-300, rtol=4 * np.finfo(float).eps)
    return attained(tilt(p, gaps, w)[0])


def passage(transition, reward, state):
    """Return from every other state the expected reward and number of plays until the chain is next in a state."""
    rates, worth = np.array(transition), np.stack([reward, np.ones(len(reward))], -1)
    rates[:, state] += EXTRA_MASS
    remaining = [b for b in range(len(reward)) if b != state]
    eliminated = []
    # Grassmann, Taksar and Heyman: the mass leaving a state is the sum of the others in its row, so with rewards of
    # one sign nothing is ever subtracted. A play of b brings worth[b], reward and plays, then one of the states left.
    while remaining:
        b = remaining.pop()
        targets = [state, *remaining]
        leaving = rates[b, targets].sum()
        share = rates[remaining, b, None] / leaving
        worth[remaining] += share * worth[b]
        rates[np.ix_(remaining, targets)] += share * rates[b, targets]
        eliminated.append((b, targets, leaving))
    sums = np.zeros((len(reward), 2))
    for b, targets, leaving in reversed(eliminated):
        sums[b] = (worth[b] + rates[b, targets] @ sums[targets]) / leaving
    return sums.T.tolist()


@lru_cache(maxsize=1 << 18)
def optimum(transition, reward, state, radius):
    """Return the stationary mean upper bound of a row of states given as tuples."""
    # Rewards are counted from the largest one, so that they have one sign, and equal ones give exactly that reward.
    top = max(reward)
    below = [value - top for value in reward]
    h, g = passage(transition, below, state)

    def mean(row):
        numerator = below[state] + sum(mass * value for mass, value in zip(row, h))
        return numerator / (1 + sum(mass * value for mass, value in zip(row, g)))

    # Dinkelbach: a mean above v exists exactly if some row has <row, h - v g> above v - below[state].
    v = mean(transition[state])
    while True:
        _, row = best_row(transition[state], [one - v * other for one, other in zip(h, g)], radius)
        if not (increased := mean(row)) > v:
            return top + v
        v = increased


def stationary_mean_upper(transition, reward, state, radius):
    """Return the largest stationary mean over rows q in place of a state's, with KL(own row || q) <= radius."""
    rows = tuple(tuple(float(mass) for mass in row) for row in transition)
    return optimum(rows, tuple(float(value) for value in reward), state, float(radius))


def unit_rewards(reward):
    """Return the rewards of all arms, mapped affinely onto [0, 1] if any of them lies outside."""
    low = min(map(min, reward))
    high = max(map(max, reward))
    if low >= 0 and high <= 1:
        return reward
    return [[(value - low) / (high - low) if high > low else 0.0 for value in row] for row in reward]


@lru_cache(maxsize=1 << 16)
def mean_of_visits(visited, reward):
    """Return the mean reward of so many visits of each state, correctly rounded."""
    return float(sum(number * Fraction(value) for number, value in zip(visited, reward)) / sum(visited))


def estimated_rows(count, unvisited):
    """Return the estimated transition probabilities, where a row without a visit leaves with the given mass."""
    number = len(count)
    rows = []
    for state, row in enumerate(count):
        departures = sum(row)
        if departures:
            rows.append(tuple(moves / departures for moves in row))
        else:
            rows.append(tuple(1 - unvisited if j == state else unvisited / (number - 1) for j in range(number)))
    return tuple(rows)


def distance(p, q, name):
    """Return the distance of two rows in its plain form."""

    def divergence(one, other):
        pairs = zip(one, other, strict=True)
        return sum(0.0 if a == 0 else (math.inf if b == 0 else a * math.log(a / b)) for a, b in pairs)

    if name == "total_variation":
        return sum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2
    if name == "squared_hellinger":
        return sum((math.sqrt(a) - math.sqrt(b)) ** 2 for a, b in zip(p, q, strict=True)) / 2
    if name == "jensen_shannon":
        middle = [(a + b) / 2 for a, b in zip(p, q, strict=True)]
        return (divergence(p, middle) + divergence(q, middle)) / 2
    if name == "kl":
        return max(divergence(p, q), divergence(q, p))
    raise ValueError(f"unknown distance {name!r}")
