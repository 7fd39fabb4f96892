"""Brute force for the likelihood ratio of a whole chain: a search over the chain's own rows, in float64.

J(m) is the least divergence D(Q) = sum over s of N_s KL(p_s || Q_s) among the chains Q of a class with a long-run mean
of at least m, less the least divergence in the class. N_s are the departures of state s and p_s their frequencies. The
class is all chains, or those with a gap (max r - min r) / (max u - min u) of at least g, where r are the rewards and u
the relative values with rewards paid on arrival: sum over j of Q_sj u_j = mean + u_s - r_s.
"""

import math
from itertools import combinations, permutations, product

import numpy as np
from scipy.optimize import minimize
from scipy.special import kl_div

from jaxbandit import chains

GOLDEN = (math.sqrt(5) - 1) / 2
SMALLEST = 1e-12  # of the probabilities in the general search, so that every chain has one long-run mean


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


# --- any number of states ---


def long_run(rows, reward):
    """Return the mean, the stationary law and relative values u, and the matrix D with u = D reward."""
    number = len(rows)
    law = np.linalg.solve(np.vstack([(np.eye(number) - rows.T)[:-1], np.ones(number)]), np.eye(number)[-1])
    deviation = np.linalg.inv(np.eye(number) - rows + law) - law
    return law @ reward, law, deviation @ reward, deviation


def divergence(counts, rows):
    """Return D of a chain."""
    departures = counts.sum(1, keepdims=True)
    return float((departures * kl_div(counts / np.maximum(departures, 1), rows)).sum())


def search(counts, reward, mean, gap, start):
    """Return the rows of least divergence near a start, among those with at least this mean and this gap.

    Where row s changes in a direction d, the mean changes by law_s d u, and u by column s of D times d u.
    """
    number = len(reward)
    departures = np.maximum(counts.sum(1, keepdims=True), 1)
    p = counts / departures
    pairs = np.array(list(permutations(range(number), 2)) if gap > 0 else np.empty((0, 2)), int)
    span = (max(reward) - min(reward)) / gap if gap > 0 else math.inf
    unit = max(1.0, divergence(counts, start))
    # By about so much a probability can change at the cost of the start: the unit of the search's variables.
    size = np.minimum(1, np.sqrt(unit * np.maximum(p * (1 - p), unit / departures) / departures))

    def rows(x):
        return start + size * x.reshape(number, number)

    def cost(x):
        slope = counts.sum(1, keepdims=True) * (1 - p / rows(x))
        return divergence(counts, rows(x)) / unit, (slope * size).ravel() / unit

    def margins(x):
        m, _, u, _ = long_run(rows(x), reward)
        return np.array([m - mean] + [1 - (u[i] - u[j]) / span for i, j in pairs])

    def slopes(x):
        _, law, u, deviation = long_run(rows(x), reward)
        columns = [law] + [(deviation[j] - deviation[i]) / span for i, j in pairs]
        return np.array([(np.outer(column, u) * size).ravel() for column in columns])

    total = np.kron(np.eye(number), np.ones(number)) * size.ravel()
    constraints = [
        {"type": "eq", "fun": lambda x: total @ x, "jac": lambda x: total},
        {"type": "ineq", "fun": margins, "jac": slopes},
    ]
    ends = zip(((SMALLEST - start) / size).ravel(), ((1 - start) / size).ravel(), strict=True)
    options = {"maxiter": 500, "ftol": 1e-13}
    found = minimize(
        cost, np.zeros(number**2), jac=True, bounds=list(ends), constraints=constraints, method="SLSQP", options=options
    )
    q = np.clip(rows(found.x), SMALLEST, 1)
    return q / q.sum(1, keepdims=True)


def beginnings(counts, reward, number, rng):
    """Yield chains to start a search from: the estimate moved to the best state, to equal rows, or to random ones."""
    departures = counts.sum(1, keepdims=True)
    p = np.where(departures > 0, counts / np.maximum(departures, 1), 1 / len(reward))
    best = np.eye(len(reward))[np.argmax(reward)]
    for n in range(number):
        weight, share = rng.beta(0.5, 1), rng.uniform()
        equal = share * best + (1 - share) * p.mean(0)
        start = (1 - weight) * p + weight * (best, equal, rng.dirichlet(np.ones(len(best)), len(best)))[n % 3]
        start = np.maximum(start, 1e-6)
        yield start / start.sum(1, keepdims=True)


def nearest(counts, reward, mean, gap, starts, rng):
    """Return the least D that is found of chains on all states with this mean and gap, and their mean."""
    least = math.inf, math.nan
    for start in beginnings(counts, reward, starts, rng):
        try:
            q = search(counts, reward, mean, gap, start)
            m, _, u, _ = long_run(q, reward)
        except np.linalg.LinAlgError:  # it came to a chain in pieces
            continue
        mixes = (max(u) - min(u)) * gap <= (max(reward) - min(reward)) * (1 + 1e-9)
        if mixes and m >= mean - 1e-11:
            least = min(least, (divergence(counts, q), m))
    return least


def ratio(counts, reward, mean, gap=0.0, starts=9, seed=0):
    """Return J(mean) of counts [S, S] and rewards [S].

    Without a gap a chain near a reducible one may have nearly the mean of any of its closed classes. So the infimum is
    the least over all sets of states that no count leaves, each as a chain of its own.
    """
    counts, reward, rng = np.asarray(counts, float), np.asarray(reward, float), np.random.default_rng(seed)
    if mean > max(reward):
        return math.inf
    if gap > 0:
        with_mean, alone = (nearest(counts, reward, m, gap, starts, rng)[0] for m in (mean, min(reward)))
        return max(0.0, with_mean - alone)
    least = math.inf
    for size in range(1, len(reward) + 1):
        for states in map(list, combinations(range(len(reward)), size)):
            leaving = counts[states].sum() - counts[np.ix_(states, states)].sum()
            if leaving == 0 and max(reward[states]) >= mean:
                inside = counts[np.ix_(states, states)], reward[states]
                least = min(least, nearest(*inside, mean, 0.0, starts, rng)[0] if size > 1 else 0.0)
    return least


def likeliest_mean(counts, reward, gap=0.0, starts=9, seed=0):
    """Return the mean of the likeliest chain, of several the largest.

    Without a gap that is the estimate, and where rows were never seen one of the chains in which each of these leads
    to one state: as with the controls of a decision process, no other has a larger mean.
    """
    counts, reward, rng = np.asarray(counts, float), np.asarray(reward, float), np.random.default_rng(seed)
    if gap > 0:
        return nearest(counts, reward, min(reward), gap, starts, rng)[1]
    departures = counts.sum(1)
    free = np.flatnonzero(departures == 0)
    largest = -math.inf
    for targets in product(range(len(reward)), repeat=len(free)):
        rows = counts / np.maximum(departures, 1)[:, None]
        rows[free, targets] = 1
        for states in chains.recurrent_classes(rows):
            largest = max(largest, chains.stationary(rows[np.ix_(states, states)]) @ reward[states])
    return largest
