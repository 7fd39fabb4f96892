"""The Gittins index, by elimination of the states from the best one down."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.arguments import number
from jaxbandit.indices.index_arguments import checked_reward, checked_rows


def gittins(transition: ArrayLike, reward: ArrayLike, discount: float) -> np.ndarray:
    """Gittins index [K, S] of every state of every arm: the largest reward rate of the plays from there on.

    With X_0 = s, X_1, .. the arm's chain, its index in state s is the largest value, over all stopping rules that play
    at least once, of
    E(sum over n < N of discount^n reward(X_n+1)) / E(sum over n < N of discount^n), N the number of plays.
    Rewards are paid on arrival, as everywhere in this library: where a source pays R(s) in the state s that is left,
    its R is transition @ reward. Of arms that stay where they are while they are not played, one play a round, the rule
    that plays the largest index has the largest expected sum over rounds t of discount^(t-1) reward_t.

    Args:
      transition: [K, S, S], row-stochastic.
      reward: [S] or [K, S].
      discount: in [0, 1).

    Raises:
      ValueError: the argument and what is wrong with it.

    Source: Gittins 1979; computed by elimination without subtractions (Sonin 2008), so that a discount near 1 costs no
    digits.

    >>> gittins([[[0.5, 0.5], [0.4, 0.6]]], [0.0, 1.0], 0.9).round(6).tolist()
    [[0.549451, 0.6]]
    """
    rows = checked_rows("transition", transition)
    paid = checked_reward(reward, *rows.shape[:2])
    factor = number("discount", discount, 0, 1, below=True)
    return np.stack([_of_arm(one, one @ pays, factor) for one, pays in zip(rows, paid, strict=True)])


def _of_arm(transition: np.ndarray, earned: np.ndarray, discount: float) -> np.ndarray:
    """The indices [S] of one arm, where a play in state s earns `earned` [S] on average.

    The chain is killed with probability 1 - discount a play, so that an index is the largest reward per probability of
    being killed. The state where a single play has the highest such rate has the largest index; it is then taken out of
    the chain, and the rewards of passages through it are added to those of the other states.
    """
    moves, killed, earned = discount * transition, np.full(len(earned), 1 - discount), earned.copy()
    index, left = np.empty(len(earned)), np.arange(len(earned))
    while len(left):
        rates = earned[left] / killed[left]
        best = left[np.argmax(rates)]
        index[best] = (1 - discount) * rates.max()
        left = left[left != best]
        passing = moves[left, best] / (killed[best] + moves[best, left].sum())  # the divisor is 1 - moves[best, best]
        earned[left] += passing * earned[best]
        killed[left] += passing * killed[best]
        moves[np.ix_(left, left)] += np.outer(passing, moves[best, left])
    return index
