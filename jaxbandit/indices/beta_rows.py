"""The Gittins index of an arm with two states whose rows have Beta priors."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.arguments import finite, integer, number
from jaxbandit.indices.posterior_layers import Layer, chain_layer

MOST = 250  # plays ahead: more take minutes
ERROR = 1e-6  # of an index, in ranges of the reward, if the depth is not given
HALVINGS = 50  # of the interval in which an index lies


def gittins_beta_rows(
    prior: ArrayLike, discount: float, depth: int | None = None, reward: ArrayLike = (0, 1)
) -> np.ndarray:
    """Gittins index in each state of an arm with two states, whose rows are not known and have Beta priors.

    It is the charge a play at which the arm is worth just as much as not to play: the largest value, over all stopping
    rules with N >= 1 plays, of E(sum over n < N of discount^n R_n+1) / E(sum over n < N of discount^n). The state of
    the arm and the counts of its transitions together are a chain whose law is known. So of several such arms with
    independent priors, one play a round, the rule that plays the largest index has the largest expected sum of
    discounted rewards over the prior. After plays, their counts are added to the prior.

    Plays are looked at `depth` ahead; from then on the arm is taken to pay the stationary mean of its posterior mean
    rows for ever. The index is then off by at most discount^depth / (1 - discount) times the range of the reward. The
    work grows with the third power of the depth.

    Args:
      prior: [2, 2], the parameters of the independent Beta priors of both rows, [state, following state], positive.
      discount: in [0, 1).
      depth: 1 to 250; None for the least with an error of at most 1e-6 times the range of the reward.
      reward: [2], paid on arrival.

    Returns:
      [2], the index in state 0 and in state 1.

    Raises:
      ValueError: the argument and what is wrong with it; the discount, if it needs a larger depth than 250.

    Source: Gittins 1979; the counts of a chain as its states are our own.

    >>> gittins_beta_rows([[1, 1], [1, 1]], 0.5).round(4).tolist()
    [0.5234, 0.5573]
    """
    rows, paid = finite("prior", prior), finite("reward", reward)
    if rows.shape != (2, 2):
        raise ValueError(f"prior: shape {rows.shape} is not [2, 2], one row for each state")
    if not (rows > 0).all():
        raise ValueError(f"prior: {rows.min()} is not positive")
    if paid.shape != (2,):
        raise ValueError(f"reward: shape {paid.shape} is not [2], one of each state")
    factor = number("discount", discount, 0, 1, below=True)
    ahead = _least_depth(factor) if depth is None else integer("depth", depth, 1, MOST)
    return np.array([_index([chain_layer(n, rows, paid, s) for n in range(ahead + 1)], paid, factor) for s in (0, 1)])


def _index(layers: list[Layer], reward: np.ndarray, discount: float) -> float:
    """The index before the first play, of an arm with a layer for each number of plays up to the depth."""
    low, high = float(reward.min()), float(reward.max())
    for _ in range(HALVINGS):
        charge = (low + high) / 2
        worth = np.maximum(layers[-1].mean - charge, 0) / (1 - discount)
        for layer in layers[-2::-1]:
            chance, after = layer.chance, worth[layer.following]
            now = (1 - chance) * (reward[0] + discount * after[:, 0]) + chance * (reward[1] + discount * after[:, 1])
            first = now - charge
            worth = np.maximum(first, 0)
        low, high = (charge, high) if first[0] > 0 else (low, charge)
    return low


def _least_depth(discount: float) -> int:
    """The least depth whose error is at most `ERROR`."""
    needed = 1 if discount == 0 else max(1, math.ceil(math.log(ERROR * (1 - discount)) / math.log(discount)))
    if needed > MOST:
        raise ValueError(
            f"discount: {discount} needs a depth of {needed} plays for an error of {ERROR}, more than {MOST}; give a "
            "depth"
        )
    return needed
