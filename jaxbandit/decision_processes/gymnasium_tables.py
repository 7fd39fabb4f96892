"""Decision processes from the dictionaries of Gymnasium's toy texts."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxbandit.arguments import excerpt, finite
from jaxbandit.probabilities import stochastic


def from_gymnasium(table: Any) -> tuple[np.ndarray, np.ndarray]:
    """`transition` [A, S, S] and `reward` [A, S] of P[s][a] = [(probability, next state, reward, terminated), ..].

    A move that terminates pays its reward and ends the episode: it leads to a further state, the last one, in which
    every action stays and pays nothing. So discounted values and those of episodes are those of the game. Gymnasium's
    limits on the length of an episode are not part of the dictionary; `decision_process(*tables, steps=H)` has one.

    Args:
      table: a dictionary or list, such as `gymnasium.make("FrozenLake-v1").unwrapped.P`, states and actions from 0.

    Raises:
      ValueError: the argument and what is wrong with it.

    >>> walk = {0: {0: [(0.9, 1, 0, False), (0.1, 0, 0, False)]}, 1: {0: [(1.0, 1, 5.0, True)]}}
    >>> [item.tolist() for item in from_gymnasium(walk)]
    [[[[0.1, 0.9, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]], [[0.0, 5.0, 0.0]]]
    """
    outcomes: list[tuple[Any, ...]] = []
    try:
        states, actions = len(table), len(table[0])
        for s in range(states):
            for a in range(max(actions, len(table[s]))):
                outcomes += [(a, s, *map(float, outcome[:3]), bool(outcome[3])) for outcome in table[s][a]]
        action, state, chance, following, pays, ends = (np.array(column) for column in zip(*outcomes, strict=True))
    except (TypeError, KeyError, IndexError, ValueError):
        raise ValueError(
            f"table: {excerpt(table)} is not P[s][a] = [(probability, next state, reward, terminated), ..] with the "
            "same actions in all states, both numbered from 0"
        ) from None
    if not np.isin(following, range(states)).all():
        raise ValueError(f"table: a next state is none of the {states} states, which are numbered from 0")
    paid, moves = np.zeros((actions, states + 1)), np.zeros((actions, states + 1, states + 1))
    np.add.at(paid, (action, state), finite("table", chance * pays))
    np.add.at(moves, (action, state, np.where(ends, states, following.astype(int))), chance)
    moves[:, states, states] = 1
    size = states + bool(ends.any())
    return stochastic("table", moves[:, :size, :size]), paid[:, :size]
