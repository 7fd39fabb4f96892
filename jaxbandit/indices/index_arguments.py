"""Checks of the arguments of this room's functions."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.arguments import choice, finite
from jaxbandit.known_arms import KnownArms
from jaxbandit.probabilities import stochastic

Paid = Literal["arrival", "present"]  # whether the state moved to pays, or the state left


def checked_rows(name: str, rows: ArrayLike) -> np.ndarray:
    """Transitions [K, S, S] in float64."""
    array = finite(name, rows)
    if array.ndim != 3 or array.shape[1] != array.shape[2] or 0 in array.shape:
        raise ValueError(f"{name}: shape {array.shape} is not [K, S, S]")
    return stochastic(name, array)


def checked_reward(reward: ArrayLike, arms: int, states: int, name: str = "reward") -> np.ndarray:
    """Rewards [K, S] in float64, from [S] or [K, S]."""
    array = finite(name, reward)
    if array.shape not in ((states,), (arms, states)):
        raise ValueError(f"{name}: shape {array.shape} is neither [S] = ({states},) nor [K, S] = ({arms}, {states})")
    return np.broadcast_to(array, (arms, states))


def known_arms(
    active: ArrayLike, passive: ArrayLike, reward: ArrayLike, passive_reward: ArrayLike | None, paid: Paid
) -> KnownArms:
    """The arms with these rows and rewards; a passive reward of None means 0."""
    choice("paid", paid, get_args(Paid))
    played, left = checked_rows("active", active), checked_rows("passive", passive)
    if played.shape != left.shape:
        raise ValueError(f"passive: shape {left.shape} is not that of active, {played.shape}")
    arms, states = played.shape[:2]
    earned = checked_reward(reward, arms, states)
    kept = checked_reward(
        np.zeros(states) if passive_reward is None else passive_reward, arms, states, "passive_reward"
    )
    if paid == "arrival":
        earned, kept = (np.einsum("kst,kt->ks", rows, pays) for rows, pays in ((played, earned), (left, kept)))
    return KnownArms(played, left, earned, kept)
