"""Discounted values of a decision process: of one policy, and of the best."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.arguments import accepts, number
from jaxbandit.base import described
from jaxbandit.decision_processes.evaluation import ACTIONS, MOVES, actions_of, reward_of_actions, until

EXACT = 1e-14  # of the largest value: what rounding may add to a difference of values
MOST = 10_000  # improvements of a policy, of which there are a few dozen at most


@described
class DiscountedValues(NamedTuple):
    """Discounted values and the policy that collects them.

    Fields:
      values: [S], expected sum over rounds n = 0, 1, .. of discount^n times the reward, from a start in each state.
      policy: [S] int64, the action taken in each state.
    """

    values: np.ndarray
    policy: np.ndarray


@accepts(transition=MOVES, policy=ACTIONS)
def discounted(
    transition: ArrayLike,
    reward: ArrayLike,
    discount: float,
    policy: ArrayLike | None = None,
    *,
    reward_axes: str | None = None,
) -> DiscountedValues:
    """The largest discounted values, or those of one policy: v = r + discount P v, its rows P and rewards r.

    The best policy is found by policy iteration. Values are computed by elimination without subtractions, so that they
    keep their digits for discounts close to 1. The largest ones are exact to 1e-14 / (1 - discount) of the largest
    size of a value: to 1e-10 for discounts up to 0.9999.

    Args:
      transition: [A, S, S], row-stochastic.
      reward: [A, S], paid by the state left; or as `reward_of_actions`.
      discount: in [0, 1).
      policy: [S], an action for each state; None for the best one.
      reward_axes: as `reward_of_actions`.

    Raises:
      ValueError: the argument and what is wrong with it.

    Source: Howard 1960; Puterman 1994, chapter 6.

    >>> moves, pays = [[[0.5, 0.5], [0.4, 0.6]], [[1.0, 0.0], [1.0, 0.0]]], [[0.0, 1.0], [0.2, 0.0]]
    >>> best = discounted(moves, pays, 0.9, reward_axes="action, state")
    >>> best.values.round(6).tolist(), best.policy.tolist()
    ([4.945055, 6.043956], [0, 0])
    >>> discounted(moves, pays, 0.9, policy=[1, 1], reward_axes="action, state").values.round(6).tolist()
    [2.0, 1.8]
    """
    moves = np.asarray(transition)
    paid = reward_of_actions(moves, reward, reward_axes)
    discount, every = number("discount", discount, 0, 1, below=True), np.arange(np.shape(paid)[1])

    def of(actions: np.ndarray) -> np.ndarray:
        return _values(moves[actions, every], paid[actions, every], discount)

    if policy is not None:
        given = actions_of(policy, len(moves))
        return DiscountedValues(of(given), given)
    current = paid.argmax(0)
    values = of(current)
    for _ in range(MOST):
        of_actions = paid + discount * (moves @ values)
        rounding = EXACT * np.abs(values).max()
        better = of_actions.max(0) > of_actions[current, every] + rounding
        if not better.any():
            break
        current = np.where(better, of_actions.argmax(0), current)
        before, values = values, of(current)
        if (values <= before + rounding).all():
            break
    return DiscountedValues(values, current)


def _values(rows: np.ndarray, rewards: np.ndarray, discount: float) -> np.ndarray:
    """Discounted values [S] of a chain: it ends after every round with probability 1 - discount."""
    states, least = len(rows), rewards.min()
    ending = np.zeros((states + 1, states + 1))
    ending[:states, :states], ending[:states, states], ending[states, states] = discount * rows, 1 - discount, 1
    sums = until(ending, np.arange(states + 1) == states, np.append(rewards - least, 0)[:, None])
    return np.asarray(sums[:states, 0] + least / (1 - discount))
