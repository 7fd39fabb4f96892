"""The long-run gain and bias of a policy of a decision process."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit import chains
from jaxbandit.arguments import Numbers, accepts, choice, finite
from jaxbandit.base import described

MOVES = Numbers("[A, S, S]", 0, 1, law=True, kind=np.float64)
ACTIONS = Numbers("[S]", 0, kind=np.int64)


@described
class LongRun(NamedTuple):
    """What a policy collects in the long run.

    Fields:
      gain: [S], average reward a round from a start in each state.
      bias: [S], expected reward beyond the gain, all rounds together; its mean under every stationary law is 0.
      policy: [S] int64, the action taken in each state.
    """

    gain: np.ndarray
    bias: np.ndarray
    policy: np.ndarray

    @property
    def span(self) -> float:
        """The largest minus the smallest bias."""
        return float(np.ptp(self.bias))


@accepts(transition=MOVES, policy=ACTIONS)
def long_run(transition: ArrayLike, reward: ArrayLike, policy: ArrayLike, *, reward_axes: str | None = None) -> LongRun:
    """Gain and bias of a policy: g = P* r and h = (I - P + P*)^-1 (r - g), also with several recurrent classes.

    P and r are the policy's rows and rewards, and P* is the limit of the averages of I, P, .., P^n. Both are found by
    elimination without subtractions, so that classes which are hardly ever left do no harm.

    Args:
      transition: [A, S, S], row-stochastic.
      reward: [A, S], paid by the state left; or as `reward_of_actions`.
      policy: [S], an action for each state.
      reward_axes: as `reward_of_actions`.

    Raises:
      ValueError: the argument and what is wrong with it.

    Source: Puterman 1994, appendix A and section 8.2.

    >>> moves = [[[0.5, 0.5], [0.4, 0.6]], [[1.0, 0.0], [1.0, 0.0]]]
    >>> long_run(moves, [[0.0, 1.0], [0.2, 0.0]], [0, 0], reward_axes="action, state").gain.round(6).tolist()
    [0.555556, 0.555556]
    """
    moves = np.asarray(transition)
    paid = reward_of_actions(moves, reward, reward_axes)
    policy = actions_of(policy, len(moves))
    every = np.arange(len(policy))
    rows, rewards = moves[policy, every], paid[policy, every]
    classes = chains.recurrent_classes(rows)
    laws = np.zeros((len(classes), len(rows)))
    for law, states in zip(laws, classes, strict=True):
        within = rows[np.ix_(states, states)]
        law[states] = chains.stationary(within / within.sum(-1, keepdims=True))
    recurrent = laws.sum(0) > 0
    ways = np.stack([rows[:, states].sum(1) for states in classes], axis=1)
    share = np.where(
        recurrent[:, None], laws.T > 0, until(rows, recurrent, ways)
    )  # [S, classes], the chances to end in each class
    gain = share @ (laws @ rewards)
    ends = np.isin(every, laws.argmax(1))  # the likeliest state of each class is reached soon
    least = rewards.min()
    sums = until(rows, ends, np.stack([rewards - least, gain - least], axis=1))
    bias = sums[:, 0] - sums[:, 1]
    return LongRun(gain, bias - share @ (laws @ bias), policy)


@accepts(transition=MOVES)
def reward_of_actions(transition: ArrayLike, reward: ArrayLike, reward_axes: str | None = None) -> np.ndarray:
    """What each action pays on average in each state, [A, S] float64, by a table whose shape or name tells its axes.

    Args:
      transition: [A, S, S], row-stochastic.
      reward: [A, S] or [S, A], paid by the state left and the action; or [A, S, S] or [S, A, S], paid by the move to
        the next state: of it the mean counts, sum over s' of transition[a, s, s'] reward[a, s, s'].
      reward_axes: "action, state" or "state, action", the first two axes of `reward`; needed where A = S, unless both
        readings are the same.

    Raises:
      ValueError: the argument and what is wrong with it.

    >>> stay_or_swap = [[[1, 0], [0, 1]], [[0, 1], [1, 0]]]
    >>> reward_of_actions(stay_or_swap, [[1, 2], [3, 4]], reward_axes="state, action").tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    """
    moves, table = np.asarray(transition), finite("reward", reward)
    actions, states = moves.shape[:2]
    shapes = {"action, state": (actions, states), "state, action": (states, actions)}
    if reward_axes is not None:
        choice("reward_axes", reward_axes, shapes)
    readings = [
        table if axes == "action, state" else table.swapaxes(0, 1)
        for axes, shape in shapes.items()
        if table.shape in (shape, (*shape, states)) and reward_axes in (None, axes)
    ]
    if not readings:
        raise ValueError(
            f"reward: shape {table.shape} is not [A, S] = {(actions, states)}, [S, A], [A, S, S] or [S, A, S] "
            "in the order of reward_axes: what each action pays in each state, also by the next state"
        )
    if not np.array_equal(readings[0], readings[-1]):
        raise ValueError(
            f'reward: shape {table.shape} does not tell actions from states; name its axes, reward_axes="action, '
            'state" or "state, action"'
        )
    return readings[0] if table.ndim == 2 else np.einsum("ast,ast->as", moves, readings[0])


def actions_of(policy: ArrayLike, count: int) -> np.ndarray:
    """The actions [S] int64 of a policy, each of which is one of `count`."""
    actions = np.asarray(policy, np.int64)
    if actions.max() >= count:
        raise ValueError(f"policy: action {actions.max()}; there are {count}, numbered from 0")
    return actions


def until(rows: np.ndarray, ends: np.ndarray, amounts: np.ndarray) -> np.ndarray:
    """Expected sums of amounts over the states of a chain until it reaches an end: [S, N], 0 at the ends.

    States are eliminated without subtractions, so that sums keep their digits where the ends are reached after a
    hundred million rounds.

    Args:
      rows: [S, S], row-stochastic; from every state the chain reaches an end with probability 1.
      ends: [S] bool.
      amounts: [S, N], not negative.

    Source: Grassmann, Taksar and Heyman 1985.
    """
    others = np.flatnonzero(~ends)
    among, sums = rows[np.ix_(others, others)], amounts[others].astype(float)
    exits, leaving = rows[np.ix_(others, np.flatnonzero(ends))].sum(1), np.ones(len(others))
    for last in reversed(range(len(others))):
        leaving[last] = among[last, :last].sum() + exits[last]
        before = np.flatnonzero(among[:last, last])  # few, if each state leads to few others
        share = among[before, last] / leaving[last]
        among[before, :last] += np.outer(share, among[last, :last])
        exits[before] += share * exits[last]
        sums[before] += np.outer(share, sums[last])
    for s in range(len(others)):
        sums[s] = (sums[s] + among[s, :s] @ sums[:s]) / leaving[s]
    totals = np.zeros(amounts.shape)
    totals[others] = sums
    return totals
