"""All arms as one decision process: its states are joint states of the arms, its actions the sets of arms to play."""

from __future__ import annotations

from functools import reduce
from itertools import combinations
from typing import NamedTuple

import numpy as np

from jaxbandit.known_arms import KnownArms


class Joint(NamedTuple):
    """The arms as one process; joint states are numbered as `numpy.ravel_multi_index` does, the last arm's fastest."""

    transition: np.ndarray  # [A, N, N], an action for each set of arms that may be played, in the order of combinations
    reward: np.ndarray  # [A, N], mean reward of all arms in a round that begins in the joint state
    initial: np.ndarray  # [N]


def joint(arms: KnownArms, plays: int) -> Joint:
    """The process of K arms with S states, `plays` of which are played a round: S^K states, an action for each set."""
    count, states = arms.earned.shape
    ones = np.ones(states)

    def together(of_arms: list[np.ndarray]) -> np.ndarray:
        return np.asarray(reduce(np.kron, of_arms))

    moves, paid = [], []
    for played in combinations(range(count), plays):
        chosen = [k in played for k in range(count)]
        moves.append(together([arms.transition[k] if chosen[k] else arms.passive[k] for k in range(count)]))
        pays = [arms.earned[k] if chosen[k] else arms.kept[k] for k in range(count)]
        paid.append(sum(together([pays[k] if n == k else ones for n in range(count)]) for k in range(count)))
    return Joint(np.stack(moves), np.stack(paid), together(list(arms.initial)))
