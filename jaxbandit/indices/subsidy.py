"""The Whittle index: the subsidy for leaving an arm alone that makes it as good as playing it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.arguments import number
from jaxbandit.base import described
from jaxbandit.chains import recurrent_classes
from jaxbandit.indices.index_arguments import Paid, known_arms
from jaxbandit.known_arms import KnownArms

ROUNDING = 1e-8  # of the range of the rewards and the largest number compared; closer numbers count as equal


@described
class WhittleIndices(NamedTuple):
    """Whittle indices of known restless arms, and which of the arms are indexable.

    Fields:
      index: [K, S]; NaN for an arm that is not indexable.
      indexable: [K] bool, whether the arm has an index in every state.
    """

    index: np.ndarray  # type: ignore[assignment]
    indexable: np.ndarray


def whittle(
    active: ArrayLike,
    passive: ArrayLike,
    reward: ArrayLike,
    *,
    discount: float | None = None,
    passive_reward: ArrayLike | None = None,
    paid: Paid = "arrival",
) -> WhittleIndices:
    """Whittle index [K, S] of every state of every arm: the least subsidy for which it is optimal not to play there.

    One arm alone is played or not in each round; if it is, it moves by `active` and pays reward(s') of the state s'
    moved to, else it moves by `passive`, pays passive_reward(s'), and a subsidy is paid. The arm is indexable if a
    larger subsidy never makes it optimal to play in a state where it was optimal not to; only then does the arm have an
    index in every state. With `passive` the identity, an arm that is not played stays, and the index is the Gittins
    index.

    Args:
      active, passive: [K, S, S], row-stochastic.
      reward: [S] or [K, S].
      discount: in [0, 1), or None for the long-run average. Then the chain must have a single recurrent class
        whichever states the search lets the player play in: an arm that stays where it is left has no average index.
      passive_reward: [S] or [K, S], what an arm pays that is not played; None for nothing. Give `reward` where every
        arm pays for its state, played or not.
      paid: "arrival", for the state moved to, as everywhere in this library; or "present", for the state left, as in
        most of the literature on restless arms. The long-run averages are the same, and so are their indices where
        `passive_reward` is `reward`; with a discount they differ: use the rule by which your arms pay.

    Returns:
      index [K, S], NaN for an arm that is not indexable, and indexable [K].

    Raises:
      ValueError: the argument and what is wrong with it.

    Source: Whittle 1988; the indices are found from the smallest up, as each joins the states where the arm is not
    played, and the arm is indexable if each such set is optimal for its subsidy (Nino-Mora 2007; Gast, Gaujal and Khun
    2023).

    >>> indices = whittle([[[0.5, 0.5], [0.4, 0.6]]], [[[0.8, 0.2], [0.2, 0.8]]], [0.0, 1.0], discount=0.9)
    >>> indices.index.round(6).tolist(), indices.indexable.tolist()
    ([[0.52967, 0.6]], [True])
    """
    return whittle_of(known_arms(active, passive, reward, passive_reward, paid), discount)


def whittle_of(arms: KnownArms, discount: float | None = None) -> WhittleIndices:
    """`whittle` of known arms."""
    factor = None if discount is None else number("discount", discount, 0, 1, below=True)
    indices = []
    for arm, (active, passive, earned, kept) in enumerate(zip(*arms.moves, strict=True)):
        if factor is None and len(classes := recurrent_classes(passive)) > 1:
            raise ValueError(f"passive: arm {arm} has several recurrent classes {classes}; give a discount below 1")
        try:
            indices.append(of_arm(active, passive, earned, kept, factor))
        except np.linalg.LinAlgError as error:
            raise ValueError(f"discount: None, but arm {arm}, {error}; give a discount below 1") from None
    indexable = np.array([index is not None for index in indices])
    nothing = np.full(arms.earned.shape[1], np.nan)
    return WhittleIndices(np.stack([nothing if index is None else index for index in indices]), indexable)


def of_arm(
    active: np.ndarray, passive: np.ndarray, earned: np.ndarray, kept: np.ndarray, discount: float | None
) -> np.ndarray | None:
    """The indices [S] of one arm, None if it is not indexable.

    Args:
      earned, kept: [S], what is paid on average for a round in which the arm is played in a state, or is not.

    Raises:
      numpy.linalg.LinAlgError: discount is None and there are several recurrent classes.
    """
    states, lowest = len(earned), min(earned.min(), kept.min())
    earned, kept = earned - lowest, kept - lowest  # a constant added to all rewards changes no index
    most = max(earned.max(), kept.max())
    index, stopped, last = np.empty(states), np.zeros(states, bool), -np.inf
    for _ in range(states):
        # the value of not playing in `stopped` alone is linear in the subsidy: fixed + slope * subsidy
        rows = np.where(stopped[:, None], passive, active)
        fixed, slope = _values(rows, np.where(stopped, kept, earned), stopped.astype(float), discount)
        change = active - passive if discount is None else discount * (active - passive)
        gain = earned - kept + change @ fixed  # of one play in a state, less loss * subsidy
        loss = 1 - change @ slope
        size = most + np.abs(gain).max()
        falls = ~stopped & (loss > ROUNDING)
        if not falls.any():
            return None
        worth = np.where(falls, gain / np.where(falls, loss, 1), np.inf)
        chosen = int(np.argmin(worth))
        subsidy = worth[chosen]
        if subsidy < last - ROUNDING * size or (gain - subsidy * loss)[stopped].max(initial=-np.inf) > ROUNDING * size:
            return None
        index[chosen], stopped[chosen], last = subsidy, True, max(last, subsidy)
    return index


def _values(
    rows: np.ndarray, paid: np.ndarray, subsidised: np.ndarray, discount: float | None
) -> tuple[np.ndarray, np.ndarray]:
    """Values [S] of the rewards and of the subsidies; without a discount relative values, 0 in state 0."""
    both = np.stack([paid, subsidised], axis=1)
    if discount is not None:
        values = np.linalg.solve(np.eye(len(rows)) - discount * rows, both)
    else:
        if len(classes := recurrent_classes(rows)) > 1:
            raise np.linalg.LinAlgError(f"played in some states only, has several recurrent classes {classes}")
        system = np.eye(len(rows)) - rows
        system[:, 0] = 1  # the unknown in place of the value of state 0 is the long-run average
        values = np.linalg.solve(system, both)
        values[0] = 0
    return values[:, 0], values[:, 1]
