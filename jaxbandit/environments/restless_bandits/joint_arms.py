"""All arms together as one decision process: its states are those of all arms, its actions the sets of arms to play."""

from __future__ import annotations

from functools import reduce
from itertools import combinations
from typing import NamedTuple

import numpy as np


class Joint(NamedTuple):
    """The arms as one process; joint states are numbered as `numpy.ravel_multi_index` does, the last arm's fastest."""

    transition: np.ndarray  # [A, N, N], an action for each set of arms that may be played, in the order of combinations
    reward: np.ndarray  # [A, N], what all arms pay on average in the round, by the state left
    initial: np.ndarray  # [N]


def joint(
    active: np.ndarray, passive: np.ndarray, earned: np.ndarray, kept: np.ndarray, initial: np.ndarray, plays: int
) -> Joint:
    """The process of K arms with S states, of which M are played a round: S^K states and as many actions as sets.

    Args:
      active, passive: [K, S, S], rows of an arm that is played and of one that is not.
      earned, kept: [K, S], what an arm pays on average in a round in which it is played in a state, or is not.
      initial: [K, S], laws of the first states.
      plays: M.
    """
    count, each = earned.shape
    ones = np.ones(each)

    def together(of_arms: list[np.ndarray]) -> np.ndarray:
        return np.asarray(reduce(np.kron, of_arms))

    moves, paid = [], []
    for played in combinations(range(count), plays):
        chosen = [k in played for k in range(count)]
        moves.append(together([active[k] if chosen[k] else passive[k] for k in range(count)]))
        pays = [earned[k] if chosen[k] else kept[k] for k in range(count)]
        paid.append(sum(together([pays[k] if n == k else ones for n in range(count)]) for k in range(count)))
    return Joint(np.stack(moves), np.stack(paid), together(list(initial)))
