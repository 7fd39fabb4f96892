"""Policies that learn restless arms whose states are all seen, as plain float64 loops."""

import math

import numpy as np
from reference_processes import best_in_l1


def solved(rows, paid, discount):
    """Values of a chain that is paid in each state; without a discount up to a constant."""
    S = len(paid)
    if discount is not None:
        return np.linalg.solve(np.eye(S) - discount * rows, paid)
    system = np.vstack([np.column_stack([np.eye(S) - rows, np.ones(S)]), np.ones(S + 1)])
    system[-1, -1] = 0  # values that sum to 0, and the average
    return np.linalg.solve(system, np.append(paid, 0))[:S]


def adaptive_greedy(active, passive, earned, kept, discount=None):
    """Of the states not yet found, always the one where the least subsidy makes a round without a play as good."""
    S, result, last = len(earned), {}, 0.0
    b = 1 if discount is None else discount
    for _ in range(S):
        rows = np.array([passive[s] if s in result else active[s] for s in range(S)])
        paid = np.array([kept[s] if s in result else earned[s] for s in range(S)])
        one, other = (solved(rows, paid + m * np.array([s in result for s in range(S)]), discount) for m in (0, 1))
        least, place = math.inf, None
        for s in range(S):
            move = b * (active[s] - passive[s])
            loss = 1 - move @ (other - one)
            worth = (earned[s] - kept[s] + move @ one) / loss if loss > 1e-6 else 1e30
            if s not in result and worth < least:
                least, place = worth, s
        last = result[place] = last if least == 1e30 else least
    return np.array([result[s] for s in range(S)])


def index_of_arm(rows, reward, cost, paid, discount, kept=None):
    """Of an arm with the rows [2, S, S] without and with a play, and what its states pay.

    With `kept`, what states pay without a play, it is the state left that pays.
    """
    earned, kept = (
        (rows[1] @ reward - cost, rows[0] @ reward * (paid == "all")) if kept is None else (reward - cost, kept)
    )
    return adaptive_greedy(rows[1], rows[0], earned, kept, discount)


def optimistic_arm(counts, reward, arms, number, price, paid, eta, scale, discount, kept=None):
    """The best rows [2, S, S] near those counted; None where rounding decides to which of two states they lead."""
    S = len(reward)
    value, best = np.zeros(S), np.zeros((2, S, S))
    while True:
        worth, nearest = np.zeros((2, S)), math.inf
        for a in (0, 1):
            own = 0 if kept is None else reward if a else kept
            after = reward * (kept is None and (a == 1 or paid == "all")) + discount * value
            nearest = min(nearest, np.diff(np.sort(after)).min())
            for s in range(S):
                N = counts[a, s].sum()
                p = counts[a, s] / N if N else np.full(S, 1 / S)
                radius = scale * math.sqrt(2 * S * math.log(4 * S * arms * number**4 / eta) / max(1, N))
                best[a, s] = best_in_l1(p, radius, after)
                worth[a, s] = best[a, s] @ after - a * price + (own[s] if kept is not None else 0)
        if np.abs(worth.max(0) - value).max() < 1e-10:
            return best if nearest > 1e-4 else None
        value = worth.max(0)


def begins(t, longest=math.inf):
    """The number of the episode that begins in round t, or None, if the n-th lasts n rounds, or `longest` if fewer."""
    first, number = 1, 1
    while first < t:
        first, number = first + min(number, longest), number + 1
    return number if first == t else None
