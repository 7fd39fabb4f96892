"""Checks of the arguments of this room's functions."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.arguments import finite
from jaxbandit.probabilities import stochastic


def checked_rows(name: str, rows: ArrayLike) -> np.ndarray:
    """Transitions [K, S, S] in float64.

    Raises:
      ValueError: with the name: another shape, or rows that are not probabilities.
    """
    array = finite(name, rows)
    if array.ndim != 3 or array.shape[1] != array.shape[2] or 0 in array.shape:
        raise ValueError(f"{name}: shape {array.shape} is not [K, S, S]")
    return stochastic(name, array)


def checked_reward(reward: ArrayLike, arms: int, states: int) -> np.ndarray:
    """Rewards [K, S] in float64, from [S] or [K, S].

    Raises:
      ValueError: another shape, or not numbers.
    """
    array = finite("reward", reward)
    if array.shape not in ((states,), (arms, states)):
        raise ValueError(f"reward: shape {array.shape} is neither [S] = ({states},) nor [K, S] = ({arms}, {states})")
    return np.broadcast_to(array, (arms, states))
