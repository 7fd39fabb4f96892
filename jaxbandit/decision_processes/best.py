"""The best policies of a decision process, in the long run and in episodes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.arguments import accepts, integer
from jaxbandit.base import described
from jaxbandit.decision_processes.evaluation import MOVES, LongRun, long_run, reward_of_actions

EXACT = 1e-11  # of the largest number compared: what rounding may add to a difference of values
MOST = 10_000  # improvements of a policy, of which there are a few dozen at most
MOST_VALUES = 10_000_000  # of episodes, by round and state
SIGHT, MOST_SIGHT = 4, 1000  # sweeps of value iteration behind the first policy: for each state, and at most


@described
class Episodes(NamedTuple):
    """Values and policy of the best play in episodes of H rounds.

    Fields:
      values: [H, S], largest expected reward of the rest of an episode, by rounds played and the state then.
      policy: [H, S] int64, the actions that collect it; the lowest where several do.
    """

    values: np.ndarray
    policy: np.ndarray


@accepts(transition=MOVES)
def optimal(transition: ArrayLike, reward: ArrayLike, *, reward_axes: str | None = None) -> LongRun:
    """A policy with the largest gain from every state, its gain and its bias: policy iteration for any process.

    A change must raise the gain of a state or, at equal gains, its relative value. The gain g is unique and solves
    g = max over actions a of P_a g. The bias h solves g + h = max of (r_a + P_a h) over the actions of each state with
    P_a g = g there: all actions, where the gain is the same in all states, as in a communicating process. Where
    moreover the best policies have a single recurrent class in common, the bias is unique, too.

    Args:
      transition: [A, S, S], row-stochastic.
      reward: [A, S], paid by the state left; or as `reward_of_actions`.
      reward_axes: as `reward_of_actions`.

    Raises:
      ValueError: the argument and what is wrong with it.

    Source: Howard 1960; Puterman 1994, section 9.2.

    >>> moves, pays = [[[0.5, 0.5], [0.4, 0.6]], [[1.0, 0.0], [1.0, 0.0]]], [[0.0, 1.0], [0.2, 0.0]]
    >>> best = optimal(moves, pays, reward_axes="action, state")
    >>> best.gain.round(6).tolist(), best.policy.tolist()
    ([0.555556, 0.555556], [0, 0])
    """
    moves = np.asarray(transition)
    paid = reward_of_actions(moves, reward, reward_axes)
    every = np.arange(paid.shape[1])
    current = long_run(moves, paid, _far_sighted(moves, paid), reward_axes="action, state")
    for _ in range(MOST):
        gains = moves @ current.gain
        rounding = EXACT * np.abs(paid).max()
        better = gains.max(0) > gains[current.policy, every] + rounding
        if better.any():
            policy = np.where(better, gains.argmax(0), current.policy)
        else:
            values = np.where(gains >= gains.max(0) - rounding, paid + moves @ current.bias, -np.inf)
            rounding += EXACT * np.abs(current.bias).max()
            better = values.max(0) > values[current.policy, every] + rounding
            if not better.any():
                break
            policy = np.where(better, values.argmax(0), current.policy)
        current = long_run(moves, paid, policy, reward_axes="action, state")
    return current


def _far_sighted(moves: np.ndarray, paid: np.ndarray) -> np.ndarray:
    """A policy [S] to begin with, the best one with many rounds left, so that few improvements are needed."""
    values = np.zeros(paid.shape[1])
    for _ in range(min(SIGHT * len(values), MOST_SIGHT)):
        of_actions = paid + moves @ values
        values = of_actions.max(0) - of_actions.max(0).min()
    return np.asarray(of_actions.argmax(0))


@accepts(transition=MOVES)
def episodes(transition: ArrayLike, reward: ArrayLike, steps: int, *, reward_axes: str | None = None) -> Episodes:
    """What the best policy collects in episodes of H = `steps` rounds: V_h = max over a of (r_a + P_a V_h+1), V_H = 0.

    Args:
      transition: [A, S, S], row-stochastic.
      reward: [A, S], paid by the state left; or as `reward_of_actions`.
      steps: rounds, at least 1; at most 10^7 / S, as all values are kept.
      reward_axes: as `reward_of_actions`.

    Raises:
      ValueError: the argument and what is wrong with it.

    >>> moves = [[[0.5, 0.5], [0.4, 0.6]], [[1.0, 0.0], [1.0, 0.0]]]
    >>> episodes(moves, [[0.0, 1.0], [0.2, 0.0]], steps=2, reward_axes="action, state").values.round(6).tolist()
    [[0.6, 1.68], [0.2, 1.0]]
    """
    moves = np.asarray(transition)
    paid = reward_of_actions(moves, reward, reward_axes)
    steps = integer("steps", steps, 1, MOST_VALUES // paid.shape[1])
    values, policy = np.zeros((steps + 1, paid.shape[1])), np.zeros((steps, paid.shape[1]), np.int64)
    for h in reversed(range(steps)):
        of_actions = paid + moves @ values[h + 1]
        values[h], policy[h] = of_actions.max(0), of_actions.argmax(0)
    return Episodes(values[:-1], policy)
