"""Arms that cost, in plain float64: what policies play after given plays, exact laws and the best expected reward."""

import math
from collections import defaultdict
from typing import NamedTuple

import numpy as np
from reference_kl import lower, upper
from scipy.optimize import linprog


def averages(history, reward, cost):
    """Plays, mean reward and mean cost of each arm, of plays that were made; a history is a list of (arm, state)."""
    plays, paid, spent = (np.zeros(len(reward)) for _ in range(3))
    for arm, state in history:
        if state < len(reward[arm]) - 1:
            plays[arm] += 1
            paid[arm] += reward[arm][state]
            spent[arm] += cost[arm][state]
    return plays, paid / np.maximum(plays, 1), spent / np.maximum(plays, 1)


def kl_bounds(history, reward, cost, t):
    """Upper bounds of rewards and lower bounds of costs, in money."""
    plays, mean, spent = averages(history, reward, cost)
    above, below = [], []
    for k, T in enumerate(plays):
        radius = math.log1p(t * math.log(t) ** 2) / max(T, 1)
        least, most = min(cost[k][:-1]), max(cost[k][:-1])
        above.append(upper(min(mean[k], 1.0), radius))
        below.append(
            least + (most - least) * lower((spent[k] - least) / (most - least), radius) if most > least else most
        )
    return np.array(above), np.array(below, float)


def masked(scores, history, cost, purse, plays):
    """The scores after the rule that every arm is played once, and none that the purse cannot pay for."""
    left = purse - sum(cost[arm][state] for arm, state in history)
    scores = np.where(plays == 0, math.inf, scores)
    return np.where(np.max(cost, axis=1) <= left, scores, -math.inf)


def ratio_kl_ucb(history, reward, cost, purse, horizon):
    """The scores of the next round."""
    above, below = kl_bounds(history, reward, cost, len(history) + 1)
    return masked(above / np.maximum(below, 1e-30), history, cost, purse, averages(history, reward, cost)[0])


def primal_dual(history, reward, cost, purse, horizon, C=None):
    """The scores of the next round, from Badanidiyuru, Kleinberg and Slivkins: all weights found anew."""
    arms, dearest = len(reward), np.max(cost)
    money = purse / dearest
    B = min(money, horizon)
    amount = math.log(2 * horizon * arms) if C is None else C

    def bounds(past):
        plays, mean, spent = averages(past, reward, cost)
        N = np.maximum(plays, 1)

        def rad(m):
            return np.sqrt(amount * m / N) + amount / N

        used = spent / dearest
        return plays, np.minimum(1, mean + rad(mean)), B / money * np.maximum(0, used - rad(used))

    v = np.ones(2)
    for n, (arm, _) in enumerate(history):
        plays, _, lowest = bounds(history[:n])
        if plays[arm]:
            v = v * (1 + math.sqrt(math.log(2) / B)) ** np.array([B / horizon, lowest[arm]])
    plays, above, lowest = bounds(history)
    y = v / v.sum()
    return masked(above / (y[0] * B / horizon + y[1] * lowest), history, cost, purse, plays)


class Solution(NamedTuple):
    """Shares of the best mixture, and the prices of money and of a round."""

    shares: np.ndarray
    money: float
    time: float


def mixture(above, below, rate):
    """The best mixture, by SciPy's dual simplex."""
    solved = linprog(-above, A_ub=[below, np.ones(len(above))], b_ub=[rate, 1], method="highs-ds")
    return Solution(solved.x, *-solved.ineqlin.marginals)


def law_of_spending(arms, order, purse):
    """The probability of every (reward, money spent) after the arms of `order` were chosen."""
    law = {(0, 0): 1.0}
    for arm in order:
        following = defaultdict(float)
        for (paid, spent), chance in law.items():
            most = max(cost for _, _, cost in arms[arm])
            for p, more, cost in arms[arm] if most <= purse - spent else [(1.0, 0, 0)]:
                following[paid + more, spent + cost] += chance * p
        law = following
    return dict(law)
