"""Slow float64 reference of the policies for two-state arms, in plain loops, as an oracle for the compiled ones."""

import math

import numpy as np
from reference_chain import likelihood_ratio, stationary_mean, upper_mean, weighted_mean
from reference_kl import kl, lower, upper

DEFAULTS = {
    "UCBSM": {"L": 343.0},
    "UCB1": {"bonus": 2.0},
    "IMED": {},
    "IMEDMC": {"exponent": None, "gap": None},
    "JointKLUCB": {"exploration": None, "clock": "round"},
    "KLUCB": {"exploration": None, "horizon": None, "clock": "round"},
    "MOSS": {"horizon": None},
    "EmpiricalKLUCB": {"exploration": 1.0, "top": False},
    "RoundRobinKLUCB": {"exploration": None, "delta": 0.0},
    "KLUCBMC": {"exploration": None, "unvisited": 1.0, "samples": "arm"},
    "PlugInGittins": {"discount": 0.99, "prior": 1.0},
    "TVKLUCB": {
        "exploration": None,
        "unvisited": 1.0,
        "samples": "arm",
        "exponent": 0.25,
        "scale": 1.0,
        "clock": "round",
        "distance": "total_variation",
    },
}


def plays(count):
    """Return how many times an arm with these transition counts has been played."""
    return count[0][0] + count[0][1] + count[1][0] + count[1][1]


def visits(count):
    """Return how many plays of an arm moved it to state 0 and how many to state 1."""
    return count[0][0] + count[1][0], count[0][1] + count[1][1]


def sample_mean(count, reward):
    """Return the mean reward of an arm's plays, those of the states moved to."""
    zeros, ones = visits(count)
    # Reduced fractions, so that arms with the same shares of the two states have the same mean to the last bit.
    divisor = math.gcd(zeros, ones)
    return weighted_mean(reward[0], reward[1], zeros // divisor, ones // divisor)


def leaving(count, state, unvisited):
    """Return the estimated probability of leaving a state."""
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
    if clock not in ("round", "arm"):
        raise ValueError(f"clock is {clock!r}, neither 'round' nor 'arm'")
    return log_f(t if clock == "round" else t / plays(count), fields["exploration"])


def mean_index(count, t, reward, fields):
    """Return the KL-UCB index of the sample mean of an arm that was played."""
    return upper(sample_mean(count, reward), log_f(t, fields["exploration"]) / plays(count))


def transition_index(count, state, t, reward, fields):
    """Return the optimistic stationary mean of an arm whose present state's row is moved within its KL radius."""
    if fields["samples"] not in ("arm", "state"):
        raise ValueError(f"samples is {fields['samples']!r}, neither 'arm' nor 'state'")
    samples = plays(count) if fields["samples"] == "arm" else count[state][0] + count[state][1]
    radius = log_f(t, fields["exploration"]) / samples if samples else math.inf
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


def distance(p, q, name):
    """Return the distance of two rows in its plain form."""

    def log_ratio(a, b):
        return 0.0 if a == 0 else (math.inf if b == 0 else a * math.log(a / b))

    if name == "total_variation":
        return abs(p[1] - q[1])
    if name == "squared_hellinger":
        return sum((math.sqrt(a) - math.sqrt(b)) ** 2 for a, b in zip(p, q, strict=True)) / 2
    if name == "jensen_shannon":
        middle = [(a + b) / 2 for a, b in zip(p, q, strict=True)]
        return sum(log_ratio(a, m) + log_ratio(b, m) for a, b, m in zip(p, q, middle, strict=True)) / 2
    if name == "kl":
        forth = sum(log_ratio(a, b) for a, b in zip(p, q, strict=True))
        return max(forth, sum(log_ratio(b, a) for a, b in zip(p, q, strict=True)))
    raise ValueError(f"unknown distance {name!r}")


def joint_index(count, t, reward, fields):
    """Return the largest mean of a chain whose likelihood ratio is within the level."""
    if fields["clock"] not in ("round", "arm"):
        raise ValueError(f"clock is {fields['clock']!r}, neither 'round' nor 'arm'")
    clock = t if fields["clock"] == "round" else t / plays(count)
    return upper_mean(count, reward, log_f(clock, fields["exploration"]))


def least_gap(count, fields):
    """Return the gap from which on chains are admitted for an arm."""
    if fields["exponent"] is not None:
        return plays(count) ** -fields["exponent"]
    return fields["gap"] or 0.0


def is_markovian(count, t, fields):
    """Return whether the estimated rows of an arm are too far apart for independent rewards."""
    if fields["clock"] not in ("round", "arm"):
        raise ValueError(f"clock is {fields['clock']!r}, neither 'round' nor 'arm'")
    clock = t - 1 if fields["clock"] == "round" else plays(count)
    p01 = leaving(count, 0, fields["unvisited"])
    p10 = leaving(count, 1, fields["unvisited"])
    rows = ((1 - p01, p01), (p10, 1 - p10))
    # Estimates meet the threshold exactly when the clock is a fourth power, and such a tie is not beyond it.
    return distance(*rows, fields["distance"]) > fields["scale"] * clock ** -fields["exponent"] * (1 + 1e-5)


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
    if policy == "MOSS":
        share = (t if fields["horizon"] is None else fields["horizon"]) / (fields["arms"] * number)
        return sample_mean(count, reward) + math.sqrt(max(0.0, math.log(share)) / number)
    if policy == "KLUCB":
        return upper(sample_mean(count, reward), level(count, t, fields) / number)
    if policy == "EmpiricalKLUCB":  # of two states; `reference_states` has the others and `top`
        (worse, _), (better, good) = sorted(zip(reward, visits(count)))
        return worse + (better - worse) * upper(good / number, log_f(t, fields["exploration"]) / number)
    if policy == "KLUCBMC" or (policy == "TVKLUCB" and is_markovian(count, t, fields)):
        return transition_index(count, state, t, reward, fields)
    if policy == "PlugInGittins":
        return plugged_in(count, state, reward, fields)
    if policy == "JointKLUCB":
        return joint_index(count, t, reward, fields)
    return mean_index(count, t, reward, fields)


def choose(policy, counts, states, t, reward, fields):
    """Return the arm a policy plays at round t, where counts[k][s][s'] are the transitions seen of arm k."""
    if unknown := fields.keys() - DEFAULTS[policy].keys():
        raise ValueError(f"{policy} has no fields {sorted(unknown)}")
    fields = DEFAULTS[policy] | fields | {"arms": len(counts)}
    arms = range(len(counts))
    for k in arms:
        if plays(counts[k]) == 0:
            return k
    # Python's max and min return the first of equal values, which is the lowest arm.
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
    reward = np.asarray(reward, dtype=np.float64).tolist()
    states = np.broadcast_to(initial_state, len(reward)).tolist()
    return [[[0, 0], [0, 0]] for _ in reward], states, reward


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
    """Return the probability of every final (arm 0 to 0, arm 0 to 1, arm 1 to 0, arm 1 to 1) count of visits."""
    transition = np.asarray(transition, dtype=np.float64).tolist()
    counts, states, reward = start(reward, initial_state)
    law = {}

    def walk(t, probability):
        """Add every continuation from round t on to the law."""
        if t > horizon:
            key = (*visits(counts[0]), *visits(counts[1]))
            law[key] = law.get(key, 0.0) + probability
            return
        k = choose(policy, counts, states, t, reward, fields)
        before = states[k]
        for after in (0, 1):
            if transition[k][before][after] > 0:
                counts[k][before][after] += 1
                states[k] = after
                walk(t + 1, probability * transition[k][before][after])
                counts[k][before][after] -= 1
                states[k] = before

    walk(1, 1.0)
    return law
