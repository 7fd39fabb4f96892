"""Plays UCRL2, PSRL and IMED-RL on decision processes as scalar loops in float64 that numba compiles; see `job_files`.

The loops are written from the papers and share no code with jaxbandit. UCRL2 is that of Jaksch, Ortner and Auer 2010,
PSRL that of Osband, Russo and Van Roy 2013 for long-run rewards, IMED-RL that of Pesquerel and Maillard 2022. What the
papers leave open is as in jaxbandit: the first action on ties, PSRL's priors and the ends of its episodes, and when
value iteration stops. A loop takes (moves [A, S, S], reward [A, S], seed, horizon, setting) and returns what it has
collected; the setting is UCRL2's delta, whether PSRL learns rewards, or whether IMED-RL is normalised.
"""

import numpy as np

try:
    from numba import njit
except ImportError:  # the loops are plain Python

    def njit(function):
        return function


WAITING = 0.1  # chance to stay, with which value iteration also ends where states alternate
MOST_SWEEPS, MOST_SWEEPS_A_ROUND = 1000, 100
HALVINGS = 50


@njit
def next_state(row):
    left = np.random.random()  # noqa: NPY002
    for state in range(len(row) - 1):
        left -= row[state]
        if left < 0:
            return state
    return len(row) - 1


@njit
def largest_mean(p, off, u, order):
    """The largest mean of u over rows whose L1 distance from p is at most `off`."""
    q = p.copy()
    q[order[-1]] = min(1.0, p[order[-1]] + off / 2)
    excess, worst = q.sum() - 1, 0
    while excess > 0 and worst < len(u) - 1:
        cut = min(q[order[worst]], excess)
        q[order[worst]] -= cut
        excess -= cut
        worst += 1
    return (q * u).sum()


@njit
def optimistic_plan(counts, tried, reward, t, delta):
    """UCRL2's plan before round t: extended value iteration, figures 1 and 2 of the source."""
    A, S = reward.shape
    u, actions = np.zeros(S), np.zeros(S, np.int64)
    while True:
        order, above = np.argsort(u), np.zeros(S)
        for s in range(S):
            for a in range(A):
                n = max(1.0, tried[a, s])
                paid = reward[a, s] if tried[a, s] > 0 else 0.0
                paid = min(1.0, paid + np.sqrt(7 * np.log(2 * S * A * t / delta) / (2 * n)))
                off = np.sqrt(14 * S * np.log(2 * A * t / delta) / n)
                # a ball of radius 2 holds every row; rounding must not decide between two pairs that have one
                worth = paid + (u[order[-1]] if off >= 2 else largest_mean(counts[a, s] / n, off, u, order))
                if a == 0 or worth > above[s]:
                    above[s], actions[s] = worth, a
        change = above - u
        u = above - above.min()
        if change.max() - change.min() < 1 / np.sqrt(t):
            return actions


@njit
def best_actions(rows, reward, allowed, u, tolerance, most):
    """The best of the allowed actions by value iteration, which begins with the values u and changes them."""
    A, S = reward.shape
    actions = np.zeros(S, np.int64)
    for _ in range(most):
        change = np.full(S, -np.inf)
        for s in range(S):
            for a in range(A):
                if allowed[a, s]:
                    gain = reward[a, s] - u[s]
                    for to in range(S):
                        gain += rows[a, s, to] * u[to]
                    if gain > change[s]:
                        change[s], actions[s] = gain, a
        u += (1 - WAITING) * change
        u -= u.min()
        if change.max() - change.min() < tolerance:
            break
    return actions


@njit
def sampled_plan(counts, tried, reward, t, learned):
    """PSRL's plan before round t: the best actions of a process drawn from what is known."""
    A, S = reward.shape
    rows, paid = np.zeros((A, S, S)), reward.copy()
    for a in range(A):
        for s in range(S):
            for to in range(S):
                rows[a, s, to] = np.random.standard_gamma(1 + counts[a, s, to])  # noqa: NPY002
            rows[a, s] /= rows[a, s].sum()
            if learned:
                gained = tried[a, s] * reward[a, s]
                paid[a, s] = np.random.beta(1 + gained, 1 + tried[a, s] - gained)  # noqa: NPY002
    tolerance = min(max(1 / t, 1e-6), 1e-2)
    return best_actions(rows, paid, np.ones((A, S), np.bool_), np.zeros(S), tolerance, MOST_SWEEPS)


def in_episodes(plan, after):
    """A loop that plans at the beginning of an episode, which ends when a pair was tried twice as often.

    It ends after the round that doubles the tries of a pair, or else before such a pair is played once more.
    """

    @njit
    def loop(moves, reward, seed, horizon, setting):
        np.random.seed(seed)  # noqa: NPY002
        A, S = reward.shape
        counts, tried, before = np.zeros((A, S, S)), np.zeros((A, S)), np.zeros((A, S))
        actions, here, collected, begins = np.zeros(S, np.int64), 0, 0.0, True
        for t in range(1, horizon + 1):
            a = actions[here]
            if begins or (not after and tried[a, here] - before[a, here] >= max(1.0, before[a, here])):
                actions, before, begins = plan(counts, tried, reward, t, setting), tried.copy(), False
                a = actions[here]
            to = next_state(moves[a, here])
            collected += reward[a, here]
            counts[a, here, to] += 1
            tried[a, here] += 1
            begins = after and tried[a, here] - before[a, here] >= max(1.0, before[a, here])
            here = to
        return collected

    return loop


@njit
def divergence(row, reward, share, u, best, most):
    """The largest mean of log(1 - x (r + u - best)) over 0 <= x <= 1 / (most - best), by halving the slope's range.

    Rewards r are 1/2 with probability `share`, else `reward`.
    """
    low, high = 0.0, 1 / (most - best)
    for _ in range(HALVINGS):
        x, slope = (low + high) / 2, 0.0
        for to in range(len(u)):
            for paid, law in ((reward, 1 - share), (0.5, share)):
                above = paid + u[to] - best
                slope -= row[to] * law * above / (1 - x * above)
        if slope > 0:
            low = x
        else:
            high = x
    value = 0.0
    for to in range(len(u)):
        for paid, law in ((reward, 1 - share), (0.5, share)):
            value += row[to] * law * np.log(1 - low * (paid + u[to] - best))
    return max(0.0, value)


@njit
def imed_rl(moves, reward, seed, horizon, normalised):
    """Plans in every round, from the values of the round before."""
    np.random.seed(seed)  # noqa: NPY002
    A, S = reward.shape
    rows, tried, paid = np.full((A, S, S), 1 / S), np.zeros((A, S)), np.full((A, S), 0.5)
    u, allowed, worth = np.zeros(S), np.ones((A, S), np.bool_), np.zeros(A)
    here, collected = 0, 0.0
    for _ in range(horizon):
        best_actions(rows, paid, allowed, u, 1e-3, MOST_SWEEPS_A_ROUND)
        for a in range(A):
            worth[a] = paid[a, here] + (rows[a, here] * u).sum()
        best, most, chosen, least = worth.max(), 1 + u.max(), -1, np.inf
        for a in range(A):
            n = tried[a, here]
            index = -np.inf
            if n > 0:
                index = np.log(n)
                if worth[a] < best:
                    d = divergence(rows[a, here], reward[a, here], 1 / (n + 1), u, best, most)
                    index += n * (d if normalised else d + np.log(most))
            if chosen < 0 or index < least:
                chosen, least = a, index
        to = next_state(moves[chosen, here])
        collected += reward[chosen, here]
        n = tried[chosen, here] + 1
        rows[chosen, here] *= n / (n + 1)
        rows[chosen, here, to] += 1 / (n + 1)
        tried[chosen, here] = n
        paid[chosen, here] = (0.5 + n * reward[chosen, here]) / (n + 1)
        for a in range(A):
            allowed[a, here] = tried[a, here] >= np.log(tried[:, here].max()) ** 2
        here = to
    return collected


LOOPS = {"UCRL2": in_episodes(optimistic_plan, False), "PSRL": in_episodes(sampled_plan, True), "IMED-RL": imed_rl}


def prepare(job):
    """A loop from state 0."""
    moves, reward, (setting,) = np.array(job["moves"]), np.array(job["reward"]), job["arguments"].values()

    def play(horizon, words):
        collected = LOOPS[job["policy"]](moves, reward, int(words[0]), horizon, setting)
        return job["best"] * horizon - collected

    return play


if __name__ == "__main__":
    from job_files import play_all

    play_all(prepare)
