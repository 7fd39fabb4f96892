"""Brute force for the likelihood ratio of a whole chain: a search over the chain's own rows, in float64.

J(m) is the least divergence D(Q) = sum over s of N_s KL(p_s || Q_s) among the chains Q of a class with a long-run mean
of at least m, less the least divergence in the class. N_s are the departures of state s and p_s their frequencies. The
class is all chains, or those with a gap (max r - min r) / (max u - min u) of at least g, where r are the rewards and u
the relative values with rewards paid on arrival: sum over j of Q_sj u_j = mean + u_s - r_s.
"""

import math
from itertools import combinations, permutations

import numpy as np
from scipy.optimize import linprog, minimize
from scipy.special import kl_div

GOLDEN = (math.sqrt(5) - 1) / 2
SMALLEST = 1e-14  # of the probabilities in the general search, whose variables are their logarithms


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
    item = kl_div(p, probability) + kl_div(kept, 1 - probability)
    return np.where(number > 0, number * np.where(number > 0, item, 0), 0)


def least_of_two_states(counts, share, gap):
    """Return the least divergence of chains (a, b) with a + b >= gap and a / (a + b) >= share, arrays of cases."""
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


def admitted(rows, reward, mean, gap):
    """Return whether a chain has this mean and this gap, and its mean."""
    try:
        result, _, u, _ = long_run(rows, reward)
    except np.linalg.LinAlgError:  # a chain in pieces
        return False, math.nan
    mixes = (max(u) - min(u)) * gap <= (max(reward) - min(reward)) * (1 + 1e-9)
    return mixes and result >= mean - 1e-10, result


def search(counts, reward, mean, gap, start):
    """Return a chain of least divergence near an admitted one, among those with at least this mean and this gap.

    The variables are logarithms of the entries of the rows, in which the divergence is convex. Where row s changes in a
    direction d, the mean changes by law_s d u, and u by column s of D times d u.
    """
    departures, number = counts.sum(1, keepdims=True), len(reward)
    p = counts / np.maximum(departures, 1)
    pairs = list(permutations(range(number), 2)) if gap > 0 else []
    span = (max(reward) - min(reward)) / gap if gap > 0 else math.inf
    unit = max(1e-3, divergence(counts, start))
    # By about so much a logarithm can change at the cost of the start: the unit of the search's variables.
    size = np.minimum(1, np.sqrt(unit / np.maximum(departures * start, unit)))

    def rows(x):
        logarithms = np.log(start) + size * x.reshape(number, number)
        weights = np.exp(logarithms - logarithms.max(1, keepdims=True))
        return weights / weights.sum(1, keepdims=True)

    def cost(x):
        return divergence(counts, rows(x)) / unit, (departures * (rows(x) - p) * size).ravel() / unit

    def margins(x):
        m, _, u, _ = long_run(rows(x), reward)
        return np.array([m - mean] + [1 - (u[i] - u[j]) / span for i, j in pairs])

    def slopes(x):
        q = rows(x)
        _, law, u, deviation = long_run(q, reward)
        inner = q * (u - (q @ u)[:, None]) * size
        columns = [law] + [(deviation[j] - deviation[i]) / span for i, j in pairs]
        return np.array([(column[:, None] * inner).ravel() for column in columns])

    limits = {"type": "ineq", "fun": margins, "jac": slopes}
    options = {"maxiter": 200, "ftol": 1e-12}
    try:
        x = minimize(cost, np.zeros(number**2), jac=True, constraints=limits, method="SLSQP", options=options).x
    except np.linalg.LinAlgError:
        return start
    q = np.maximum(rows(x), SMALLEST)
    return q / q.sum(1, keepdims=True)


def beginnings(counts, reward, mean, gap, number, rng):
    """Yield chains to search from: the estimate or random rows, moved to equal rows until they are admitted.

    Equal rows have the largest gap, 1, and these have a larger mean than is asked for. There are several minima, as a
    move never seen may be made from one state or from another; so each set of rows begins once without such moves.
    """
    departures = counts.sum(1, keepdims=True)
    states = len(reward)
    p = np.where(departures > 0, counts / np.maximum(departures, 1), 1 / states)
    best = np.eye(states)[np.argmax(reward)]
    for n in range(number):
        law = rng.dirichlet(np.ones(states))
        least = max(0, (mean - law @ reward) / (max(reward) - law @ reward))
        share = least + (1 - least) * rng.uniform(0.05, 0.95)
        equal = share * best + (1 - share) * law
        base = p if rng.random() < 0.5 else 0.5 * p + 0.5 * rng.dirichlet(np.ones(states), states)
        leaving = 10 ** rng.uniform(-3, 0, (states, 1)) if rng.random() < 0.5 else 1.0  # some stay long where they are
        base = leaving * (0.999 * base + 0.001 / states) + (1 - leaving) * np.eye(states)
        low, high = 0.0, 1.0
        for _ in range(30):
            weight = 0.5 * (low + high)
            enough = admitted((1 - weight) * base + weight * equal, reward, mean, gap)[0]
            low, high = (low, weight) if enough else (weight, high)
        rows = (1 - high) * base + high * equal
        without = (departures > 0) & ((n >> np.arange(states)[:, None]) % 2 == 1)
        yield np.where((counts == 0) & without, SMALLEST, rows)


@np.errstate(all="ignore")  # of searches that come to chains in pieces, which are not admitted
def nearest(counts, reward, mean, gap, starts, rng):
    """Return the least D that is found of chains on all states with this mean and gap, and the mean of that chain."""
    least = math.inf, math.nan
    for rows in beginnings(counts, reward, mean, gap, starts, rng):
        cost = math.inf
        for number in range(6):  # each search begins where the last one ended, with steps of a better size
            if number == 2:  # and half of them without moves that were never seen and have become rare
                rows = np.where((counts == 0) & (rows < 1e-4), SMALLEST, rows)
            rows = search(counts, reward, mean, gap, rows / rows.sum(1, keepdims=True))
            good, result = admitted(rows, reward, mean, gap)
            before, cost = cost, divergence(counts, rows)
            least = min(least, (cost, result)) if good else least
            if number > 2 and good and abs(cost - before) < 1e-8 * max(1, cost):
                break
    return least


def ratio(counts, reward, mean, gap=0.0, starts=8, seed=0):
    """Return J(mean) of counts [S, S] and rewards [S].

    Without a gap a chain near a reducible one may have nearly the mean of any of its closed classes. So the infimum is
    the least over all sets of states that no count leaves, each as a chain of its own.
    """
    counts, reward, rng = np.asarray(counts, float), np.asarray(reward, float), np.random.default_rng(seed)
    mean, gap = float(mean), float(gap)
    if mean > max(reward):
        return math.inf
    if gap > 0:
        with_mean, alone = (nearest(counts, reward, m, gap, starts, rng)[0] for m in (mean, min(reward)))
        return max(0.0, with_mean - alone)
    least = math.inf
    for size in range(1, len(reward) + 1):
        for states in map(list, combinations(range(len(reward)), size)):
            inside = counts[np.ix_(states, states)], reward[states]
            if least > 0 and counts[states].sum() == inside[0].sum() and max(inside[1]) >= mean:
                least = min(least, nearest(*inside, mean, 0.0, starts, rng)[0] if size > 1 else 0.0)
    return least


def likeliest_mean(counts, reward, gap=0.0, starts=8, seed=0):
    """Return the mean of the likeliest chain, of several the largest.

    Without a gap that is the estimate with any rows in place of those never seen. Its mean is found as the largest in
    a linear program of the long-run shares w_sj of moves from s to j.
    """
    counts, reward, rng = np.asarray(counts, float), np.asarray(reward, float), np.random.default_rng(seed)
    if gap > 0:
        return nearest(counts, reward, min(reward), gap, starts, rng)[1]
    states = np.arange(len(reward))
    before, after = (item.ravel() for item in np.meshgrid(states, states, indexing="ij"))
    flow = [(before == s) * 1.0 - (after == s) for s in states]
    departures = counts.sum(1)
    moves = [(s, j) for s, j in zip(before, after, strict=True) if departures[s] > 0]
    rows = [(before == s) * ((after == j) - counts[s, j] / departures[s]) for s, j in moves]
    equal = np.array([*flow, *rows, np.ones(before.size)])
    return -linprog(-reward[after], A_eq=equal, b_eq=np.eye(len(equal))[-1]).fun


def least_of_pair(counts, reward):
    """Return the least divergence of two chains of which the second has the larger mean, by sequential programming.

    `counts` are those of both chains, [2, S, S], or [2, 1, S] of independent arms, and `reward` is [2, S].
    """
    states = counts.shape[-1]
    departures = counts.sum(-1, keepdims=True)
    estimates = np.where(departures > 0, counts / np.where(departures > 0, departures, 1), 1 / states)

    def chains(x):
        return np.clip(x.reshape(counts.shape), 1e-12, None)

    def behind(x):
        first, second = (
            long_run(np.resize(rows, (states, states)), paid)[0] for rows, paid in zip(chains(x), reward, strict=True)
        )
        return second - first

    limits = [{"type": "eq", "fun": lambda x: x.reshape(-1, states).sum(1) - 1}, {"type": "ineq", "fun": behind}]
    middle = (estimates + estimates[::-1]).ravel() / 2
    asked = {"method": "SLSQP", "options": {"maxiter": 1000, "ftol": 1e-15}, "bounds": [(1e-9, 1)] * middle.size}
    told = lambda x: kl_div(counts, departures * chains(x)).sum()
    return minimize(told, middle, constraints=limits, **asked).fun
