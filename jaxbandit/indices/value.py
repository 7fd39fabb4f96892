"""The discounted reward of the Gittins rule, computed arm by arm."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.arguments import number
from jaxbandit.indices.elimination import gittins
from jaxbandit.indices.start import with_start


def gittins_value(transition: ArrayLike, reward: ArrayLike, discount: float, initial: ArrayLike) -> float:
    """The largest expected sum over rounds t of discount^(t-1) reward_t, for known rested arms, one play a round.

    With top the largest index of all, it is (top - integral up to top of product over k of E discount^N_k(g) dg) /
    (1 - discount), where N_k(g) plays take arm k to a state whose Gittins index is g or less. The integrand is constant
    between neighbouring indices, so that the sum is exact and no joint states of several arms are needed: 20 arms of 10
    states take 20 times the work of one.

    Args:
      transition: [K, S, S], row-stochastic.
      reward: [S] or [K, S], paid on arrival.
      discount: in [0, 1).
      initial: [K, S], the law of every arm's first state. The player knows this law, and sees the state itself only
        when the arm is played. A row with a single 1 is a known state.

    Raises:
      ValueError: the argument and what is wrong with it.

    Source: Whittle 1980.

    >>> two = [[[0.5, 0.5], [0.4, 0.6]], [[0.6, 0.4], [0.55, 0.45]]]
    >>> round(gittins_value(two, [0.0, 1.0], 0.9, [[1, 0], [1, 0]]), 6)
    5.494505
    """
    discount = number("discount", discount, 0, 1, below=True)
    rows, paid = with_start(transition, reward, initial)
    index = gittins(rows, paid, discount)
    ends = np.unique(index)
    together = np.ones(len(ends) - 1)  # between ends[n] and ends[n + 1]
    for one, of_states in zip(rows, index, strict=True):
        own = np.unique(of_states)
        waits = np.array([_discount_to_stop(one, of_states >= end, discount)[-1] for end in own] + [1.0])
        together *= waits[np.searchsorted(own, ends[1:])]
    return float((ends[-1] - np.sum(together * np.diff(ends))) / (1 - discount))


def _discount_to_stop(transition: np.ndarray, plays: np.ndarray, discount: float) -> np.ndarray:
    """E discount^N [S], N the plays that take the chain out of the states `plays` [S] bool."""
    discounts = np.ones(len(plays))
    inside = discount * transition[np.ix_(plays, plays)]
    leaving = discount * transition[np.ix_(plays, ~plays)].sum(1)
    discounts[plays] = np.linalg.solve(np.eye(len(inside)) - inside, leaving)
    return discounts
