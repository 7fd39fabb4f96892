"""Slow float64 reference of the policies for arms with two or more states, written apart from that of two states."""

import math
from fractions import Fraction
from functools import lru_cache
from itertools import combinations

import numpy as np
from reference import DEFAULTS, distance, log_f
from reference_kl import kl_part, upper
from scipy.optimize import brentq

POLICIES = ("EmpiricalKLUCB", "KLUCB", "KLUCBMC", "TVKLUCB")
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
    number = len(reward)
    rates = [[float(mass) + EXTRA_MASS * (j == state) for j, mass in enumerate(row)] for row in transition]
    collected = [float(value) for value in reward]
    played = [1.0] * number
    remaining = [b for b in range(number) if b != state]
    eliminated = []
    # Grassmann, Taksar and Heyman: the mass leaving a state is the sum of the others in its row, so with rewards of
    # one sign nothing is ever subtracted. A play of b brings collected[b] and played[b], then one of the states left.
    while remaining:
        b = remaining.pop()
        targets = [state, *remaining]
        leaving = sum(rates[b][j] for j in targets)
        for i in remaining:
            share = rates[i][b] / leaving
            collected[i] += share * collected[b]
            played[i] += share * played[b]
            for j in targets:
                if j != i:
                    rates[i][j] += share * rates[b][j]
        eliminated.append((b, targets, leaving))
    h = [0.0] * number
    g = [0.0] * number
    for b, targets, leaving in reversed(eliminated):
        h[b] = (collected[b] + sum(rates[b][j] * h[j] for j in targets)) / leaving
        g[b] = (played[b] + sum(rates[b][j] * g[j] for j in targets)) / leaving
    return h, g


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
    """Return the largest stationary mean over rows q in place of a state's, with KL(transition[state] || q) <= radius.

    A cycle from the state back to itself collects reward[state] + <q, h> in 1 + <q, g> plays, and its mean is the
    quotient.
    """
    rows = tuple(tuple(float(mass) for mass in row) for row in transition)
    return optimum(rows, tuple(float(value) for value in reward), state, float(radius))


def stationary_mean_lower(transition, reward, state, radius):
    """Return the smallest stationary mean over the same rows."""
    return -stationary_mean_upper(transition, [-value for value in reward], state, radius)


def unit_rewards(reward):
    """Return the rewards of all arms, mapped affinely onto [0, 1] if any of them lies outside."""
    low = min(map(min, reward))
    high = max(map(max, reward))
    if low >= 0 and high <= 1:
        return reward
    return [[(value - low) / (high - low) if high > low else 0.0 for value in row] for row in reward]


def plays(count):
    """Return how many times an arm with these transition counts has been played."""
    return sum(map(sum, count))


def visits(count):
    """Return how many plays of an arm moved it to each state."""
    return tuple(map(sum, zip(*count)))


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


def row_distance(p, q, name):
    """Return the distance of two rows over all their states."""
    if name == "total_variation":
        return sum(abs(a - b) for a, b in zip(p, q)) / 2
    return distance(p, q, name)


def is_markovian(count, t, fields):
    """Return whether two estimated rows of an arm are too far apart for independent rewards."""
    if fields["clock"] not in ("round", "arm"):
        raise ValueError(f"clock is {fields['clock']!r}, neither 'round' nor 'arm'")
    clock = t - 1 if fields["clock"] == "round" else plays(count)
    rows = estimated_rows(count, fields["unvisited"])
    largest = max(row_distance(p, q, fields["distance"]) for p, q in combinations(rows, 2))
    return largest > fields["scale"] * clock ** -fields["exponent"] * (1 + 1e-5)


def mean_index(count, t, reward, fields):
    """Return the KL-UCB index of the sample mean of an arm that was played."""
    mean = mean_of_visits(visits(count), tuple(reward))
    return upper(mean, log_f(t, fields["exploration"]) / plays(count))


def transition_index(count, state, t, reward, fields):
    """Return the optimistic stationary mean of an arm whose present state's row is moved within its KL radius."""
    if fields["samples"] not in ("arm", "state"):
        raise ValueError(f"samples is {fields['samples']!r}, neither 'arm' nor 'state'")
    samples = plays(count) if fields["samples"] == "arm" else sum(count[state])
    radius = log_f(t, fields["exploration"]) / samples if samples else math.inf
    return stationary_mean_upper(estimated_rows(count, fields["unvisited"]), reward, state, radius)


def law_index(count, t, reward, fields):
    """Return the largest mean of a law near to the shares of the states moved to, and perhaps of one that pays 1."""
    number = plays(count)
    shares, values = [moves / number for moves in visits(count)], list(reward)
    if fields["top"]:
        shares, values = [*shares, 0.0], [*values, 1.0]
    return best_row(shares, values, log_f(t, fields["exploration"]) / number)[0]


def index(policy, count, state, t, reward, fields):
    """Return the index of one arm at round t."""
    if plays(count) == 0:
        return math.inf
    if policy == "EmpiricalKLUCB":
        return law_index(count, t, reward, fields)
    if policy == "KLUCBMC" or (policy == "TVKLUCB" and is_markovian(count, t, fields)):
        return transition_index(count, state, t, reward, fields)
    return mean_index(count, t, reward, fields)


def choose(policy, counts, states, t, reward, fields):
    """Return the arm a policy plays at round t, where counts[k][s][s'] are the transitions seen of arm k."""
    if policy not in POLICIES:
        raise ValueError(f"no reference of {policy} for arms with more than two states")
    if unknown := fields.keys() - DEFAULTS[policy].keys():
        raise ValueError(f"{policy} has no fields {sorted(unknown)}")
    fields = DEFAULTS[policy] | fields
    reward = unit_rewards(np.asarray(reward, dtype=np.float64).tolist())
    counts = np.asarray(counts).tolist()
    # Python's max returns the first of equal values, which is the lowest arm.
    return max(range(len(counts)), key=lambda k: index(policy, counts[k], states[k], t, reward[k], fields))


def start(reward, initial_state):
    """Return the zero counts and the first state of every arm."""
    arms, number = np.shape(reward)
    return np.zeros((arms, number, number), dtype=int).tolist(), np.broadcast_to(initial_state, arms).tolist()


def play(policy, draws, reward, initial_state, horizon, **fields):
    """Return the arms played in one run, where draws(k, n, s) is the state the n-th play of arm k moves to from s."""
    counts, states = start(reward, initial_state)
    chosen = []
    for t in range(1, horizon + 1):
        k = choose(policy, counts, states, t, reward, fields)
        state = int(draws(k, plays(counts[k]) + 1, states[k]))
        counts[k][states[k]][state] += 1
        states[k] = state
        chosen.append(k)
    return chosen


def exact_law(policy, transition, reward, initial_state, horizon, **fields):
    """Return the probability of every final count of visits: arm 0 to states 0, 1, ..., then arm 1 to 0, 1, ..."""
    transition = np.asarray(transition, dtype=np.float64).tolist()
    counts, states = start(reward, initial_state)
    law = {}

    def walk(t, probability):
        """Add every continuation from round t on to the law."""
        if t > horizon:
            key = tuple(number for count in counts for number in visits(count))
            law[key] = law.get(key, 0.0) + probability
            return
        k = choose(policy, counts, states, t, reward, fields)
        before = states[k]
        for after, chance in enumerate(transition[k][before]):
            if chance > 0:
                counts[k][before][after] += 1
                states[k] = after
                walk(t + 1, probability * chance)
                counts[k][before][after] -= 1
                states[k] = before

    walk(1, 1.0)
    return law
