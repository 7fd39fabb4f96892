"""Slow float64 reference of the policies, in plain loops, as an oracle for the compiled ones.

Arms have two states; those of `ON_UNIT_REWARDS` have any number.
"""

import math
from itertools import combinations

import numpy as np
from reference_chain import likelihood_ratio, stationary_mean, upper_mean, weighted_mean
from reference_kl import kl, lower, upper
from reference_states import best_row, distance, estimated_rows, mean_of_visits, stationary_mean_upper, unit_rewards

BY_CHANCE = ("Boltzmann", "EpsilonGreedy")
ON_UNIT_REWARDS = ("EmpiricalKLUCB", "KLUCB", "KLUCBMC", "TVKLUCB")

DEFAULTS = {
    "UCBSM": {"L": 343.0},
    "UCB1": {"bonus": 2.0},
    "UCB1Normal": {},
    "UCB1Tuned": {},
    "UCBV": {"zeta": 1.0, "c": 1.0},
    "ExploreThenCommit": {"m": None},
    "EpsilonGreedy": {"epsilon": None, "c": None, "d": None},
    "Boltzmann": {"temperature": None},
    "IMED": {},
    "IMEDMC": {"exponent": None, "gap": None},
    "JointKLUCB": {"exploration": None, "clock": "round"},
    "KLUCB": {"exploration": None, "horizon": None, "clock": "round"},
    "MOSS": {"horizon": None},
    "EmpiricalKLUCB": {"exploration": 1.0, "top": False},
    "RoundRobinKLUCB": {"exploration": None, "delta": 0.0},
    "KLUCBMC": {"exploration": None, "unvisited": 1.0, "samples": "arm"},
    "PlugInGittins": {"discount": 0.99, "prior": 1.0},
    "TVKLUCB": {"exploration": None, "unvisited": 1.0, "samples": "arm", "exponent": 0.25, "scale": 1.0}
    | {"clock": "round", "distance": "total_variation", "test": "distance"},
}


def plays(count):
    """Return how many times an arm with these transition counts has been played."""
    return sum(map(sum, count))


def visits(count):
    """Return how many plays of an arm moved it to each state."""
    return tuple(map(sum, zip(*count)))


def sample_mean(count, reward):
    """Return the mean reward of an arm's plays, those of the states moved to."""
    return mean_of_visits(visits(count), tuple(reward))


def leaving(count, state, unvisited):
    """Return the estimated probability of leaving one of two states."""
    departures = count[state][0] + count[state][1]
    return count[state][1 - state] / departures if departures else unvisited


def log_f(t, exploration):
    """Return the logarithm of the exploration function at round t."""
    if exploration is None:
        return math.log1p(t * math.log(t) ** 2)
    if t == 1:
        return 0.0
    return max(0.0, math.log(t) + exploration * math.log(math.log(t)))


def level(count, t, fields):
    """Return what T d(mean, q) may be for an arm that was played, with the round or the arm's share of it as clock."""
    if fields.get("horizon") is not None:
        y = fields["horizon"] / (fields["arms"] * plays(count))
        return max(0.0, math.log(y * (1 + max(0.0, math.log(y)) ** 2)))
    clock = fields.get("clock", "round")
    return log_f(t if clock == "round" else t / plays(count), fields["exploration"])


def mean_index(count, t, reward, fields):
    """Return the KL-UCB index of the sample mean of an arm that was played."""
    return upper(sample_mean(count, reward), log_f(t, fields["exploration"]) / plays(count))


def law_index(count, t, reward, fields):
    """Return the largest mean of a law near to the shares of the states moved to, and perhaps of one that pays 1."""
    number = plays(count)
    shares, values = [moves / number for moves in visits(count)], list(reward)
    if fields["top"]:
        shares, values = [*shares, 0.0], [*values, 1.0]
    return best_row(shares, values, log_f(t, fields["exploration"]) / number)[0]


def transition_index(count, state, t, reward, fields):
    """Return the optimistic stationary mean of an arm whose present state's row is moved within its KL radius."""
    samples = plays(count) if fields["samples"] == "arm" else sum(count[state])
    radius = log_f(t, fields["exploration"]) / samples if samples else math.inf
    if len(count) > 2:
        return stationary_mean_upper(estimated_rows(count, fields["unvisited"]), reward, state, radius)
    r0, r1 = reward
    p01 = leaving(count, 0, fields["unvisited"])
    p10 = leaving(count, 1, fields["unvisited"])
    # The optimist leaves the worse state sooner and the better state later; between equal rewards nothing changes.
    if state == 0:
        p01 = upper(p01, radius) if r1 >= r0 else lower(p01, radius)
    else:
        p10 = lower(p10, radius) if r1 >= r0 else upper(p10, radius)
    if p01 == 0 and p10 == 0:
        return max(r0, r1)
    return weighted_mean(r0, r1, p10, p01)


def least_gap(count, fields):
    """Return the gap from which on chains are admitted for an arm."""
    if fields["exponent"] is not None:
        return plays(count) ** -fields["exponent"]
    return fields["gap"] or 0.0


def is_markovian(count, t, fields):
    """Return whether two estimated rows of an arm are too far apart for independent rewards."""
    if fields["test"] == "likelihood_ratio":
        return log_p_value(count) < -log_f(t if fields["clock"] == "round" else plays(count) + 1, None)
    clock = t - 1 if fields["clock"] == "round" else plays(count)
    rows = estimated_rows(count, fields["unvisited"])
    largest = max(distance(p, q, fields["distance"]) for p, q in combinations(rows, 2))
    # Estimates meet the threshold exactly when the clock is a fourth power, and such a tie is not beyond it.
    return largest > fields["scale"] * clock ** -fields["exponent"] * (1 + 1e-5)


def log_p_value(count):
    """Return the logarithm of the bound on the p-value of independence, from mutual information and factorials."""
    n, states = plays(count), len(count)
    arrivals, shape = visits(count), states * (states - 1)
    ratio = sum(
        moves * (math.log(moves) + math.log(n) - math.log(sum(row)) - math.log(arrivals[s]))
        for row in count
        for s, moves in enumerate(row)
        if moves
    )
    union = n * (n + 1) * math.comb(n + states - 1, states - 1)
    tail = ratio - shape - shape * math.log(ratio / shape) if ratio > shape else 0.0
    return min(math.log(union) - tail, 0.0)


def plugged_in(count, state, reward, fields):
    """Return the Gittins index of an arm whose rows are the estimates, as what playing on pays in the better case."""
    prior, discount = fields["prior"], fields["discount"]
    rows = [[(n + prior / 2) / (sum(row) + prior) for n in row] for row in count]
    paid = [row[0] * reward[0] + row[1] * reward[1] for row in rows]
    once, other = paid[state], 1 - state
    # stop when the state is this one again, or go on for as long as the arm is in the other
    stays = discount * rows[state][other] / (1 - discount * rows[other][other])
    return max(once, (once + stays * paid[other]) / (1 + stays))


def index(policy, count, state, t, reward, fields):
    """Return the index of one arm at round t under a policy that plays the largest index."""
    number = plays(count)
    if number == 0:
        return math.inf
    if policy == "UCBSM":
        return sample_mean(count, reward) + math.sqrt(fields["L"] * math.log(t) / number)
    if policy == "UCB1":
        return sample_mean(count, reward) + math.sqrt(fields["bonus"] * math.log(t - 1) / number)
    if policy == "UCB1Normal":
        squares = sum(n * x * x for n, x in zip(visits(count), reward)) - number * sample_mean(count, reward) ** 2
        return sample_mean(count, reward) + math.sqrt(16 * squares / (number - 1) * math.log(t - 1) / number)
    if policy in ("UCB1Tuned", "UCBV"):
        mean = sample_mean(count, reward)
        variance = sum(n * x * x for n, x in zip(visits(count), reward)) / number - mean**2
        if policy == "UCBV":
            share = fields["zeta"] * math.log(t) / number
            return mean + math.sqrt(2 * variance * share) + 3 * fields["c"] * share
        share = math.log(t - 1) / number
        return mean + math.sqrt(share * min(0.25, variance + math.sqrt(2 * share)))
    if policy == "MOSS":
        share = (t if fields["horizon"] is None else fields["horizon"]) / (fields["arms"] * number)
        return sample_mean(count, reward) + math.sqrt(max(0.0, math.log(share)) / number)
    if policy == "KLUCB":
        return upper(sample_mean(count, reward), level(count, t, fields) / number)
    if policy == "EmpiricalKLUCB":
        return law_index(count, t, reward, fields)
    if policy == "KLUCBMC" or (policy == "TVKLUCB" and is_markovian(count, t, fields)):
        return transition_index(count, state, t, reward, fields)
    if policy == "PlugInGittins":
        return plugged_in(count, state, reward, fields)
    if policy == "JointKLUCB":
        return upper_mean(count, reward, level(count, t, fields))
    return mean_index(count, t, reward, fields)


def chances(policy, counts, t, reward, fields, first=None):
    """Return the probability of each arm at round t; `first` is the first arm without a play, if there is one."""
    arms = range(len(counts))
    means = [sample_mean(counts[k], reward[k]) if plays(counts[k]) else 0.0 for k in arms]
    best = max(arms, key=lambda k: means[k]) if first is None else first
    if policy == "EpsilonGreedy":
        c, d, epsilon = fields["c"], fields["d"], fields["epsilon"]
        epsilon = min(1.0, c * len(counts) / (d**2 * t)) if epsilon is None else epsilon
        return [epsilon / len(counts) + (1 - epsilon) * (k == best) for k in arms]
    if first is not None:
        return [float(k == first) for k in arms]
    weights = [math.exp(mean / fields["temperature"]) for mean in means]
    return [weight / math.fsum(weights) for weight in weights]


def choose(policy, counts, states, t, reward, fields):
    """Return the arm a policy plays at round t, where counts[k][s][s'] are the transitions seen of arm k.

    Of a policy that plays by chance: the probability of each arm.
    """
    fields = DEFAULTS[policy] | fields | {"arms": len(counts)}
    arms = range(len(counts))
    if policy in ON_UNIT_REWARDS:
        reward = unit_rewards(reward)
    for k in arms:
        if plays(counts[k]) == 0:
            return chances(policy, counts, t, reward, fields, first=k) if policy in BY_CHANCE else k
    if policy in BY_CHANCE:
        return chances(policy, counts, t, reward, fields)
    if policy == "ExploreThenCommit":
        if t <= fields["m"] * len(counts):
            return (t - 1) % len(counts)
        committed = [k for k in arms if plays(counts[k]) > fields["m"]]
        return committed[0] if committed else max(arms, key=lambda k: sample_mean(counts[k], reward[k]))
    # Python's max and min return the first of equal values, which is the lowest arm.
    if policy == "UCB1Normal" and min(map(plays, counts)) < max(2, math.ceil(8 * math.log(t))):
        return min(arms, key=lambda k: plays(counts[k]))
    if policy == "RoundRobinKLUCB":
        eligible = [k for k in arms if plays(counts[k]) >= fields["delta"] * t] or list(arms)
        leader = max(eligible, key=lambda k: sample_mean(counts[k], reward[k]))
        candidate = t % len(counts)
        bound = mean_index(counts[candidate], t, reward[candidate], fields)
        return candidate if bound > sample_mean(counts[leader], reward[leader]) else leader
    if policy == "IMED":
        means = [sample_mean(counts[k], reward[k]) for k in arms]
        return min(arms, key=lambda k: plays(counts[k]) * kl(means[k], max(means)) + math.log(plays(counts[k])))
    if policy == "IMEDMC":
        gaps = [least_gap(count, fields) for count in counts]
        best = max(map(stationary_mean, counts, reward, gaps))
        cycles = [min(count[0][1], count[1][0]) for count in counts]
        return min(arms, key=lambda k: likelihood_ratio(counts[k], reward[k], best, gaps[k]) + math.log1p(cycles[k]))
    return max(arms, key=lambda k: index(policy, counts[k], states[k], t, reward[k], fields))


def start(reward, initial_state):
    """Return the zero counts, the first state of every arm and the rewards as lists of plain numbers."""
    reward = np.asarray(reward, dtype=np.float64)
    arms, states = reward.shape
    counts = np.zeros((arms, states, states), int).tolist()
    return counts, np.broadcast_to(initial_state, arms).tolist(), reward.tolist()


def play(policy, draws, reward, initial_state, horizon, /, **fields):
    """Return the arms played in one run, where draws(k, n, s) is the state the n-th play of arm k moves to from s."""
    counts, states, reward = start(reward, initial_state)
    chosen = []
    for t in range(1, horizon + 1):
        k = choose(policy, counts, states, t, reward, fields)
        state = int(draws(k, plays(counts[k]) + 1, states[k]))
        counts[k][states[k]][state] += 1
        states[k] = state
        chosen.append(k)
    return chosen


def exact_law(policy, transition, reward, initial_state, horizon, /, **fields):
    """Return the probability of every final count of visits: arm 0 to states 0, 1, .., then arm 1 to 0, 1, .."""
    counts, states, reward = start(reward, initial_state)
    law = {}

    def walk(t, probability):
        """Add every continuation from round t on to the law."""
        if t > horizon:
            key = tuple(number for count in counts for number in visits(count))
            law[key] = law.get(key, 0.0) + probability
            return
        chosen = choose(policy, counts, states, t, reward, fields)
        for k, share in enumerate(chosen) if isinstance(chosen, list) else [(chosen, 1.0)]:
            before = states[k]
            for after, chance in enumerate(transition[k][before]):
                if chance * share > 0:
                    counts[k][before][after] += 1
                    states[k] = after
                    walk(t + 1, probability * share * chance)
                    counts[k][before][after] -= 1
                    states[k] = before

    walk(1, 1.0)
    return law
