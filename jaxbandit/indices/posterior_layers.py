"""What may be known of an arm after some plays, if its law was drawn from a prior."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.arguments import finite, integer


class Layer(NamedTuple):
    """What may be known of an arm after n plays, and what its next play does.

    Fields:
      chance: [C], of the second of two results.
      following: [C, 2], the place of what is known after either result, in the layer of n + 1 plays.
      mean: [C], the long-run mean reward if every chance were what is expected of it now.
    """

    chance: np.ndarray
    following: np.ndarray
    mean: np.ndarray


def bernoulli_layer(plays: int, prior: np.ndarray, reward: np.ndarray) -> Layer:
    """The layer of a Bernoulli arm: by the number of plays with result 1."""
    ones = np.arange(plays + 1)
    chance = (prior[1] + ones) / (prior.sum() + plays)
    return Layer(chance, np.stack([ones, ones + 1], 1), (1 - chance) * reward[0] + chance * reward[1])


def chain_layer(plays: int, prior: np.ndarray, reward: np.ndarray, start: int) -> Layer:
    """The layer of an arm of two states: by its moves, and by how many plays stayed in state 0."""
    moves, stayed = np.triu_indices(plays + 1)
    moves, stayed = moves, stayed - moves  # the first row is that of no move, with 0 to n stays in state 0
    others = plays - moves - stayed  # that stayed in state 1
    state = (start + moves) % 2
    from_start = (moves + 1) // 2  # moves out of the first state
    left = np.where(start == 0, from_start, moves - from_start), np.where(start == 1, from_start, moves - from_start)
    counted = [[stayed, left[0]], [left[1], others]]  # transitions from the first number's state to the second's
    chances = [(prior[s, 1] + counted[s][1]) / (prior[s].sum() + counted[s][0] + counted[s][1]) for s in (0, 1)]
    in_1 = chances[0] / (chances[0] + 1 - chances[1])  # the stationary chance of state 1

    def place(moves: np.ndarray, stayed: np.ndarray) -> np.ndarray:
        """The place of a case in the layer of one more play."""
        size = plays + 2
        return moves * size - moves * (moves - 1) // 2 + stayed

    moved, kept = place(moves + 1, stayed), place(moves, stayed + (state == 0))
    following = np.where(state[:, None] == 1, np.stack([moved, kept], 1), np.stack([kept, moved], 1))
    return Layer(np.where(state == 1, chances[1], chances[0]), following, reward[0] + (reward[1] - reward[0]) * in_1)


class TwoArms(NamedTuple):
    """Two arms whose laws are drawn from a prior.

    Fields:
      arms: a layer for each round, of both arms.
      prior: [2, 2] of Bernoulli arms, or [2, 2, 2] of chains.
      reward: [2].
      start: [2], their first states.
    """

    arms: list[list[Layer]]
    prior: np.ndarray
    reward: np.ndarray
    start: np.ndarray

    @property
    def independent(self) -> bool:
        """Whether they are Bernoulli arms."""
        return self.prior.ndim == 2


def layers_of_two(
    prior: ArrayLike, horizon: int, reward: ArrayLike, start: ArrayLike, most: Mapping[int, int]
) -> TwoArms:
    """Two arms for `horizon` rounds, with the arguments of `bounds.bayes_optimum`, which are checked.

    Args:
      most: the largest horizon by the number of axes of the prior.
    """
    priors, paid, first = finite("prior", prior), finite("reward", reward), finite("start", start)
    if priors.shape not in ((2, 2), (2, 2, 2)):
        raise ValueError(f"prior: shape {priors.shape} is neither [2, 2] of Bernoulli arms nor [2, 2, 2] of chains")
    if not (priors > 0).all():
        raise ValueError(f"prior: {priors.min()} is not positive")
    if paid.shape != (2,):
        raise ValueError(f"reward: shape {paid.shape} is not [2], one of each result")
    if first.shape != (2,) or not np.isin(first, (0, 1)).all():
        raise ValueError(f"start: {first.tolist()} are not two states, each 0 or 1")
    rounds, first = integer("horizon", horizon, 1, most[priors.ndim]), first.astype(int)
    if priors.ndim == 2:
        arms = [[bernoulli_layer(n, arm, paid) for n in range(rounds)] for arm in priors]
    else:
        both = zip(priors, first, strict=True)
        arms = [[chain_layer(n, arm, paid, state) for n in range(rounds)] for arm, state in both]
    return TwoArms(arms, priors, paid, first)
