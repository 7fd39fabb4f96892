"""Learners of decision processes as scalar loops in float64, compiled by numba on every core: what stands beside ours.

They are written from the papers and share no code with jaxbandit, so that they say as well whether ours plays what it
should. UCRL2 is that of Jaksch, Ortner and Auer 2010, PSRL that of Osband, Russo and Van Roy 2013 for long-run rewards,
IMED-RL that of Pesquerel and Maillard 2022. What the papers leave open is as in ours: the first action on ties, PSRL's
priors and when its episodes end, and when value iteration stops. Without numba the loops are plain Python.
"""

from __future__ import annotations

import functools
import time
from typing import Any, NamedTuple

import numpy as np

WAITING = 0.1  # so that value iteration also ends where states take turns
MOST_SWEEPS, MOST_SWEEPS_A_ROUND = 1000, 100
HALVINGS = 50


class Played(NamedTuple):
    """What a loop has played."""

    collected: np.ndarray  # [R], rewards
    seconds: float  # of one processor


def play(name: str, setting: Any, process: Any, runs: int, horizon: int, seed: int = 0) -> Played:
    """Runs of one policy on a process from its state 0, its loop compiled before.

    Args:
      name: "UCRL2", "PSRL" or "IMED-RL".
      setting: UCRL2's delta; whether PSRL learns rewards; whether IMED-RL is normalised.
      process: with `transition` [A, S, S] and `reward` [A, S].

    Raises:
      ImportError: numba is not installed (extra `bench`).
    """
    loop = compiled()[name]
    moves, reward = np.array(process.transition, float), np.array(process.reward, float)
    seeds = (seed * 1_000_003 + np.arange(runs)) % 2**32  # no two runs have the same
    loop(moves, reward, seeds[:1], 10, setting)
    began = time.process_time()
    collected = loop(moves, reward, seeds, horizon, setting)
    return Played(collected, time.process_time() - began)


@functools.cache
def compiled() -> dict[str, Any]:
    """The loops, of which each is compiled when it is first called."""
    import numba

    return loops(numba.njit, numba.prange)


def plain(function: Any = None, **options: Any) -> Any:
    """In the place of numba's `njit`: the function as it is."""
    return function or plain


def loops(njit: Any = plain, prange: Any = range) -> dict[str, Any]:
    """By name: (moves [A, S, S], reward [A, S], seeds [R], horizon, setting) to the rewards collected [R]."""
    best_actions = planning(njit)
    ucrl2, psrl = episodes(njit, optimism(njit), False), episodes(njit, sampling(njit, best_actions), True)
    one_run = {"UCRL2": ucrl2, "PSRL": psrl, "IMED-RL": indices(njit, best_actions)}
    return {name: over_runs(one, njit, prange) for name, one in one_run.items()}


def over_runs(one_run: Any, njit: Any, prange: Any) -> Any:
    """All runs of a loop, each with random numbers of its own."""

    @njit(parallel=True)
    def play(moves, reward, seeds, horizon, setting):
        collected = np.zeros(len(seeds))
        for run in prange(len(seeds)):
            np.random.seed(seeds[run])  # noqa: NPY002
            collected[run] = one_run(moves, reward, horizon, setting)
        return collected

    return play


def drawing(njit: Any) -> Any:
    """The next state, drawn from a row."""

    @njit
    def following(row):
        left = np.random.random()  # noqa: NPY002
        for state in range(len(row) - 1):
            left -= row[state]
            if left < 0:
                return state
        return len(row) - 1

    return following


def episodes(njit: Any, plan: Any, after: bool) -> Any:
    """One run of a policy that plans at the beginning of an episode, which ends where a pair was tried twice as often.

    Args:
      after: whether the episode ends after the round that doubles the tries of a pair, not before a pair whose tries
        have doubled is played once more.
    """
    following = drawing(njit)

    @njit
    def one_run(moves, reward, horizon, setting):
        A, S = reward.shape
        counts, tried, before = np.zeros((A, S, S)), np.zeros((A, S)), np.zeros((A, S))
        actions, here, collected, begins = np.zeros(S, np.int64), 0, 0.0, True
        for t in range(1, horizon + 1):
            a = actions[here]
            if not after and tried[a, here] - before[a, here] >= max(1.0, before[a, here]):
                begins = True
            if begins:
                actions = plan(counts, tried, reward, t, setting)
                before, begins = tried.copy(), False
                a = actions[here]
            to = following(moves[a, here])
            collected += reward[a, here]
            counts[a, here, to] += 1
            tried[a, here] += 1
            if after and tried[a, here] - before[a, here] >= max(1.0, before[a, here]):
                begins = True
            here = to
        return collected

    return one_run


def optimism(njit: Any) -> Any:
    """UCRL2's plan before round t: extended value iteration, figures 1 and 2 of the source."""

    @njit
    def largest(p, off, u, order):
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
    def plan(counts, tried, reward, t, delta):
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
                    # a ball of radius 2 holds every row, and rounding must not decide between pairs that have one
                    worth = paid + (u[order[-1]] if off >= 2 else largest(counts[a, s] / n, off, u, order))
                    if a == 0 or worth > above[s]:
                        above[s], actions[s] = worth, a
            change = above - u
            u = above - above.min()
            if change.max() - change.min() < 1 / np.sqrt(t):
                return actions

    return plan


def planning(njit: Any) -> Any:
    """Value iteration for a process that stays where it is with a small probability."""

    @njit
    def best_actions(rows, reward, allowed, u, tolerance, most):
        """The best of the allowed actions; the values u become those that were found."""
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

    return best_actions


def sampling(njit: Any, best_actions: Any) -> Any:
    """PSRL's plan before round t: the best actions of a process drawn from what is known."""

    @njit
    def plan(counts, tried, reward, t, learned):
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

    return plan


def indices(njit: Any, best_actions: Any) -> Any:
    """One run of IMED-RL, which plans in every round from the values of the round before."""
    following = drawing(njit)

    @njit
    def divergence(row, reward, share, u, best, most):
        """The largest mean of log(1 - x (r + u - best)) over 0 <= x <= 1 / (most - best), by halving the slope's range.

        Rewards are 1/2 with probability `share`, else `reward`.
        """
        low, high = 0.0, 1 / (most - best)
        for _ in range(HALVINGS):
            x, slope = (low + high) / 2, 0.0
            for to in range(len(u)):
                for each, law in ((reward, 1 - share), (0.5, share)):
                    above = each + u[to] - best
                    slope -= row[to] * law * above / (1 - x * above)
            if slope > 0:
                low = x
            else:
                high = x
        found = 0.0
        for to in range(len(u)):
            for each, law in ((reward, 1 - share), (0.5, share)):
                found += row[to] * law * np.log(1 - low * (each + u[to] - best))
        return max(0.0, found)

    @njit
    def one_run(moves, reward, horizon, normalised):
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
                        found = divergence(rows[a, here], reward[a, here], 1 / (n + 1), u, best, most)
                        index += n * (found if normalised else found + np.log(most))
                if chosen < 0 or index < least:
                    chosen, least = a, index
            to = following(moves[chosen, here])
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

    return one_run
