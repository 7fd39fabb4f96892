"""The best mixture of arms that cost, on average: a linear programme that bounds every policy's reward."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.arguments import LARGEST, LARGEST_INTEGER, finite, integer, number
from jaxbandit.base import described


@described
class Mixture(NamedTuple):
    """The best mixture of arms, and its value.

    Fields:
      value: reward of all rounds together.
      shares: [K], the share of the rounds in which each arm is played; they sum to less than M where the purse does not
        last.
      price: the slope of the value in the purse: what one unit of money more adds at most.
    """

    value: float
    shares: np.ndarray
    price: float


def best_mixture(means: ArrayLike, costs: ArrayLike, purse: float, horizon: int, *, plays: int = 1) -> Mixture:
    """The largest reward of n rounds if the purse B must suffice on average: a bound for every policy.

    A linear programme over the shares x [K] of the rounds: the largest n sum of x_k means_k, where n sum of x_k costs_k
    is at most B, the shares sum to at most M, and each is at most 1. With independent plays no policy collects more on
    average, whether it knows the arms or not: its expected numbers of plays, divided by n, are such shares. At M = 1
    one arm or a mixture of two arms is the best.

    Args:
      means: [K], mean reward of a play.
      costs: [K], mean cost of a play, at least 0.
      purse: B, at least 0.
      horizon: n, rounds.
      plays: M, most plays a round.

    Raises:
      ValueError: the argument and what is wrong with it.

    Source: Badanidiyuru, Kleinberg and Slivkins 2018, section 3 (its text was opened). There the round that would
    overdraw a purse is the last and does not count, which the bound does not survive: an arm that pays 1 and costs 1 in
    half of its plays collects 5 on average from a purse of 2, and the value is 4. It holds where a play is made or not
    before it is drawn, as in `environments.costly`.

    >>> mixture = best_mixture([0.9, 0.4, 0.1], [3, 1, 1], purse=200, horizon=100)
    >>> round(mixture.value, 9), mixture.shares.round(9).tolist(), round(mixture.price, 9)
    (65.0, [0.5, 0.5, 0.0], 0.25)
    """
    from scipy.optimize import linprog  # half a second, which an import of the package need not take

    worth, paid = finite("means", means), finite("costs", costs)
    if worth.ndim != 1 or not len(worth):
        raise ValueError(f"means: shape {worth.shape} is not [K]")
    if paid.shape != worth.shape:
        raise ValueError(f"costs: shape {paid.shape} is not [K] = {worth.shape}, as in means")
    if (paid < 0).any():
        raise ValueError(f"costs: {paid.min():g} is negative")
    rounds, most = integer("horizon", horizon, 1, LARGEST_INTEGER), integer("plays", plays, 1, LARGEST_INTEGER)
    rate = number("purse", purse, 0, LARGEST) / rounds
    unit, money = float(np.abs(worth).max()) or 1.0, float(paid.max()) or 1.0  # the solver's tolerances are absolute
    solved = linprog(
        -worth / unit,
        A_ub=np.stack([paid / money, np.ones_like(worth)]),
        b_ub=[min(rate / money, float(len(worth))), most],
        bounds=(0, 1),
        method="highs",
    )
    if solved.x is None:
        raise ValueError(f"purse: the linear programme was not solved: {solved.message}")
    price = max(-float(solved.ineqlin.marginals[0]), 0.0) * unit / money
    return Mixture(-rounds * unit * float(solved.fun), np.maximum(solved.x, 0), price)
