"""Arms whose first state is unknown until they are played."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.arguments import finite
from jaxbandit.indices.index_arguments import checked_reward, checked_rows
from jaxbandit.probabilities import stochastic


def with_start(transition: ArrayLike, reward: ArrayLike, initial: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """The same arms with one more state, the last one, for an arm that was never played: [K, S+1, S+1] and [K, S+1].

    The first play of an arm starts from a state with the law `initial`, so that the row of the new state is initial @
    transition; no state leads to it. For a player who knows this law but not the state, the index of the new state is
    that of an arm that was never played.

    Args:
      transition: [K, S, S], row-stochastic.
      reward: [S] or [K, S].
      initial: [K, S], the law of every arm's first state.

    Raises:
      ValueError: the argument and what is wrong with it.

    >>> with_start([[[0.5, 0.5], [0.4, 0.6]]], [0.0, 1.0], [[0.5, 0.5]])[0].round(6).tolist()
    [[[0.5, 0.5, 0.0], [0.4, 0.6, 0.0], [0.45, 0.55, 0.0]]]
    """
    rows = checked_rows("transition", transition)
    arms, states = rows.shape[:2]
    paid = checked_reward(reward, arms, states)
    law = finite("initial", initial)
    if law.shape != (arms, states):
        raise ValueError(f"initial: shape {law.shape} is not [K, S] = ({arms}, {states})")
    row = np.einsum("ks,kst->kt", stochastic("initial", law[:, None])[:, 0], rows)
    extended = np.concatenate([rows, row[:, None]], axis=1)
    never = np.zeros((arms, states + 1, 1))
    return np.concatenate([extended, never], axis=2), np.concatenate([paid, paid[:, :1]], axis=1)
