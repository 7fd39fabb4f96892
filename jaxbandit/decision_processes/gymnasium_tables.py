"""Decision processes from the dictionaries of Gymnasium's toy texts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.arguments import excerpt, finite
from jaxbandit.base import described
from jaxbandit.probabilities import stochastic


@described
class Tables(NamedTuple):
    """The tables of a decision process, in the order in which functions take them.

    Fields:
      transition: [A, S, S], row-stochastic.
      reward: [A, S], what an action pays on average in each state.
    """

    transition: np.ndarray
    reward: np.ndarray


def from_gymnasium(table: Any, restart: ArrayLike | None = None) -> Tables:
    """The tables of a process P[s][a] = [(probability, next state, reward, terminated), ..].

    A move that terminates pays its reward and ends the episode: it leads to a further state, the last one, which every
    action keeps and which pays nothing. So discounted values and those of episodes are Gymnasium's. With `restart` it
    leads to the first state of a new episode instead, and the process goes on for ever, as regret in the long run needs
    it. Gymnasium's limits on the length of an episode are not part of the dictionary.

    Args:
      table: a dictionary or list, such as `gymnasium.make("FrozenLake-v1").unwrapped.P`, states and actions from 0.
      restart: [S], the law of the first state, such as `env.unwrapped.initial_state_distrib`; None for an end.

    Raises:
      ValueError: the argument and what is wrong with it.

    >>> walk = {0: {0: [(0.9, 1, 0, False), (0.1, 0, 0, False)]}, 1: {0: [(1.0, 1, 5.0, True)]}}
    >>> from_gymnasium(walk).transition.tolist(), from_gymnasium(walk, restart=[1, 0]).transition.tolist()
    ([[[0.1, 0.9, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]], [[[0.1, 0.9], [1.0, 0.0]]])
    """
    outcomes: list[tuple[Any, ...]] = []
    try:
        states, actions = len(table), len(table[0])
        for s in range(states):
            for a in range(max(actions, len(table[s]))):
                outcomes += [(a, s, *map(float, outcome[:3]), bool(outcome[3])) for outcome in table[s][a]]
    except (TypeError, KeyError, IndexError, ValueError):
        raise ValueError(
            f"table: {excerpt(table)} is not P[s][a] = [(probability, next state, reward, terminated), ..] with the "
            "same actions in all states, both numbered from 0"
        ) from None
    action, state, chance, following, pays, ends = (np.array(column) for column in zip(*outcomes, strict=True))
    if not np.isin(following, range(states)).all():
        raise ValueError(f"table: a next state is none of the {states} states, which are numbered from 0")
    paid, moves = np.zeros((actions, states + 1)), np.zeros((actions, states + 1, states + 1))
    np.add.at(paid, (action, state), finite("table", chance * pays))
    np.add.at(moves, (action, state, np.where(ends, states, following.astype(int))), chance)
    moves[:, states, states] = 1
    if restart is not None:
        law = finite("restart", restart)
        if law.shape != (states,):
            raise ValueError(f"restart: shape {law.shape} is not [S] = ({states},)")
        moves[..., :states] += moves[..., states:] * stochastic("restart", law)
    if restart is not None or not ends.any():
        moves, paid = moves[:, :states, :states], paid[:, :states]
    return Tables(stochastic("table", moves), paid)
