"""Families of chains from the definition, in float64 and by 40 digits; policies on them as loops of plain numbers."""

import math
from functools import cache

import mpmath as mp
import numpy as np
from scipy.optimize import brentq

from jaxbandit import chains

G2 = ((0.9, 0.1), (0.2, 0.8))
G3 = ((0.5, 0.3, 0.2), (0.2, 0.6, 0.2), (0.1, 0.3, 0.6))
MIDDLE = ((0.5, 0.5, 0.0), (0.3, 0.4, 0.3), (0.0, 1.0, 0.0))  # the best way is by the middle state
LAST = ((0.7, 0.2, 0.1), (0.3, 0.4, 0.3), (0.0, 0.5, 0.5))
REWARD = {G2: (0.0, 1.0), G3: (0.0, 0.5, 1.0), MIDDLE: (0.0, 0.5, 1.0), LAST: (0.0, 0.35, 1.0)}


def law(theta, generator):
    """The tilted chain by its eigenvector, and log of the eigenvalue, from NumPy's general eigenvalue routine."""
    reward = np.array(REWARD[generator])
    weights = np.array(generator) * np.exp(theta * reward)
    values, vectors = np.linalg.eig(weights)
    largest = np.argmax(values.real)
    vector = np.abs(vectors[:, largest].real)
    return weights * vector / (vector[:, None] * values[largest].real), float(np.log(values[largest].real))


def mean(theta, generator):
    return float(chains.stationary(law(theta, generator)[0]) @ np.array(REWARD[generator]))


def root(increasing, start=0.0):
    """Where an increasing function of theta is 0, from brackets that widen about a start."""
    low, high = start - 0.5, start + 0.5
    while increasing(low) > 0:
        low -= 2 * (start - low)
    while increasing(high) < 0:
        high += 2 * (high - start)
    return brentq(increasing, low, high, xtol=1e-13)


@cache
def theta_of(value, generator):
    return root(lambda theta: mean(theta, generator) - value)


def divergence(value, other, generator):
    """The rate of the rows' divergences, in the stationary law of the first chain."""
    rows, others = (law(theta_of(x, generator), generator)[0] for x in (value, other))
    possible = rows > 0
    ratios = np.log(np.where(possible, rows, 1) / np.where(possible, others, 1))
    return float(chains.stationary(rows) @ (rows * ratios).sum(1))


@cache
def upper(value, radius, generator):
    """The root of A(eta) - A(theta) - (eta - theta) m = radius right of theta; D(0 || m) is -log P_m(0, 0)."""
    if radius == 0 or value == 1:
        return value
    if value == 0:
        return mean(root(lambda theta: -math.log(law(theta, generator)[0][0, 0]) - radius), generator)
    reward, rows = np.array(REWARD[generator]), np.array(generator)
    logarithm = lambda eta: math.log(max(np.linalg.eigvals(rows * np.exp(eta * reward)).real))
    theta = theta_of(value, generator)
    start = logarithm(theta)
    excess = lambda eta: logarithm(eta) - start - (eta - theta) * value - radius if eta > theta else -radius
    return mean(root(excess, theta), generator)


def exact_upper_of_two_states(share, radius, kappa):
    """By bisection in the other mean with 40 digits, from the rows' divergences; kappa as the family has it."""

    def chain(x):
        root = mp.sqrt((1 - 2 * x) ** 2 + 4 * x * (1 - x) / kappa)
        return 2 * x / (1 + root), 2 * (1 - x) / (1 + root)

    def d(p, q):
        return (p * mp.log(p / q) if p else 0) + ((1 - p) * mp.log((1 - p) / (1 - q)) if p < 1 else 0)

    def rate(y):
        (p, q), (p_of_y, q_of_y) = chain(share), chain(y)
        return (1 - share) * d(p, p_of_y) + share * d(q, q_of_y)

    low, high = mp.mpf(10) ** -12, mp.mpf(10) ** 20  # (y - x) / (1 - y)
    for _ in range(110):
        middle = mp.sqrt(low * high)
        y = (share + middle) / (1 + middle)
        low, high = (middle, high) if y < 1 and rate(y) <= radius else (low, middle)
    return (share + low) / (1 + low)


def play(generator, draws, arms, horizon, plays, exploration, delta):
    """The arms played in each round, in order, of RoundRobinKLUCB with a family, from the definition."""
    reward = REWARD[generator]
    visits, states, played = [[0] * len(reward) for _ in range(arms)], [0] * arms, []
    for t in range(1, horizon + 1):
        played.append(sorted(choose(generator, visits, t, plays, exploration, delta)))
        for k in played[-1]:
            states[k] = int(draws(k, sum(visits[k]) + 1, states[k]))
            visits[k][states[k]] += 1
    return played


def choose(generator, visits, t, plays, exploration, delta):
    reward, arms = REWARD[generator], range(len(visits))
    counts = [sum(seen) for seen in visits]
    means = [sum(n * r for n, r in zip(seen, reward)) / max(sum(seen), 1) for seen in visits]
    best = lambda many: sorted(many, key=lambda k: (-means[k], k))
    new = [k for k in arms if counts[k] == 0]
    if len(new) >= plays:
        return new[:plays]
    leaders = new + best([k for k in arms if counts[k] and counts[k] >= delta * t])
    leaders += best([k for k in arms if k not in leaders])
    leaders, candidate = leaders[:plays], t % len(visits)
    least = leaders[-1]
    if candidate in leaders or counts[least] == 0:
        return leaders
    log_f = max(0.0, math.log(t) + exploration * math.log(math.log(t)))
    index, value = upper(means[candidate], log_f / counts[candidate], generator), means[least]
    takes = index > value or (index == value and candidate < least)
    return [*leaders[:-1], candidate] if takes else leaders
