"""Backward induction over what may be known of arms whose laws were drawn from priors: indices and best decisions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from jaxbandit.indices.posterior_layers import Layer

CHARGES = 400  # at which an arm is valued; its index is interpolated between them


def gittins_layers(
    layers: Sequence[Layer], reward: np.ndarray, discount: float, depth: int, charges: int = CHARGES
) -> list[np.ndarray]:
    """The Gittins index of each case of the layers 0 to `depth`, from one backward pass for all charges together.

    After the last layer an arm is taken to pay its mean for ever, or is no longer played. What it is worth to play on
    falls with the charge; the index, at which it is 0, is interpolated linearly between two neighbouring charges. With
    400 of them the error of 288 entries of chains was at most 4e-4 of the rewards' range, and half of them were within
    1e-5, with discounts from .8 to .99.
    """
    charge = np.linspace(reward.min(), reward.max(), charges)
    worth = np.maximum(layers[-1].mean[:, None] - charge, 0) / (1 - discount)
    tables: list[np.ndarray] = []
    for plays in range(len(layers) - 2, -1, -1):
        go_on = _played(layers[plays], reward, worth, discount) - charge
        if plays <= depth:
            tables.append(_root(go_on, charge))
        worth = np.maximum(go_on, 0)
    return tables[::-1]


def _root(values: np.ndarray, charge: np.ndarray) -> np.ndarray:
    """Where each row of `values` [C, L], which falls along the charges [L], is 0."""
    last = np.clip((values > 0).sum(-1) - 1, 0, len(charge) - 2)  # the last charge at which a row is positive
    rows = np.arange(len(values))
    above, below = values[rows, last], values[rows, last + 1]
    share = np.clip(above / np.where(above > below, above - below, 1), 0, 1)
    return np.asarray(charge[last] + share * (charge[last + 1] - charge[last]))


class Decided(NamedTuple):
    """Two arms before a round of the best policy.

    Fields:
      worth: the expected total reward from this round on, one array [C, D] for each number n of plays of the first
        arm so far; C and D are the cases of the first and of the second arm.
      second: whether the second arm is better, of the same shapes.
    """

    worth: list[np.ndarray]
    second: list[np.ndarray]


def best_of_two(arms: Sequence[Sequence[Layer]], reward: np.ndarray) -> Iterator[Decided]:
    """The best decisions with two arms, which have a layer for each round, from the last round to the first."""
    rounds = len(arms[0])
    sizes = [[1, *(int(layer.following.max()) + 1 for layer in layers)] for layers in arms]  # cases by plays
    worth = [np.zeros((sizes[0][n], sizes[1][rounds - n])) for n in range(rounds + 1)]
    for played in range(rounds - 1, -1, -1):
        each = [
            (_played(arms[0][n], reward, worth[n + 1]), _played(arms[1][played - n], reward, worth[n].T).T)
            for n in range(played + 1)
        ]
        worth = [np.maximum(*both) for both in each]
        yield Decided(worth, [second > first for first, second in each])


def _played(layer: Layer, reward: np.ndarray, worth: np.ndarray, discount: float = 1.0) -> np.ndarray:
    """What a play of an arm is worth in each case of its layer, if the cases of the next are worth `worth` [C', D]."""
    chance, (of_0, of_1) = layer.chance[:, None], layer.following.T
    after_0, after_1 = reward[0] + discount * worth[of_0], reward[1] + discount * worth[of_1]
    return np.asarray((1 - chance) * after_0 + chance * after_1)
