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
TIED = 1e-11  # of the same: states whose indices are closer are taken for equal
SPOILT = 1e-7  # of the numbers that are subtracted, a difference that is not trusted


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
    2023). Where it is as good to play later, the long-run average does not say when to play, and the index is the least
    subsidy for which it is optimal to wait; an index with a discount says it.

    >>> indices = whittle([[[0.5, 0.5], [0.4, 0.6]]], [[[0.8, 0.2], [0.2, 0.8]]], [0.0, 1.0], discount=0.9)
    >>> indices.index.round(6).tolist(), indices.indexable.tolist()
    ([[0.52967, 0.6]], [True])
    """
    return whittle_of(known_arms(active, passive, reward, passive_reward, paid), discount)


def whittle_of(arms: KnownArms, discount: float | None = None) -> WhittleIndices:
    """`whittle` of known arms."""
    factor = None if discount is None else number("discount", discount, 0, 1, below=True)
    table = np.full(arms.earned.shape, np.nan)
    for alike in arms.kinds:
        arm = alike[0]
        active, passive, earned, kept = (law[arm] for law in arms.moves)
        if factor is None and len(classes := recurrent_classes(passive)) > 1:
            raise ValueError(f"passive: arm {arm} has several recurrent classes {classes}; give a discount below 1")
        try:
            index = of_arm(active, passive, earned, kept, factor)
        except np.linalg.LinAlgError as error:
            raise ValueError(f"discount: None, but arm {arm}, {error}; give a discount below 1") from None
        if index is not None:
            table[alike] = index
    return WhittleIndices(table, ~np.isnan(table[:, 0]))


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
    change = active - passive if discount is None else discount * (active - passive)
    index, stopped, last = np.empty(states), np.zeros(states, bool), -np.inf
    equations = _Equations(active, discount)
    while not stopped.all():
        # the value of not playing in `stopped` alone is linear in the subsidy: fixed + slope * subsidy
        fixed, slope = equations.solved(np.stack([np.where(stopped, kept, earned), stopped]))
        gain = earned - kept + product(change, fixed)  # of one play in a state, less loss * subsidy
        loss = 1 - product(change, slope)
        size = most + np.abs(gain).max()
        falls = ~stopped & (loss > ROUNDING)
        if not falls.any():
            return None
        worth = np.where(falls, gain / np.where(falls, loss, 1), np.inf)
        subsidy = worth.min()
        if subsidy < last - ROUNDING * size or (gain - subsidy * loss)[stopped].max(initial=-np.inf) > ROUNDING * size:
            return None
        # all that tie at once: not to play in one of them may hide that it is as good not to play in the others
        tied = worth <= subsidy + TIED * size
        index[tied], stopped[tied], last = worth[tied], True, max(last, subsidy)
        if not stopped.all():
            equations.replace(np.flatnonzero(tied), passive)
    return index


def product(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """`right @ matrix.T` by one thread: those of BLAS wait for each other, for seconds where other programs run."""
    return np.asarray(np.einsum("ij,...j->...i", matrix, right))


class _Equations:
    """The equations of the relative values of a chain whose rows are replaced one by one.

    They have the value of state 0 taken off, which changes no index, and the average, or 1 - discount times that value,
    as the unknown in its place: so no digits are lost where the discount is near 1. The inverse is updated by each row
    (Sherman and Morrison 1950), so that a new row costs S^2 operations, not S^3, and each solution is corrected once by
    what its equations leave over. Where rounding has spoilt the inverse it is made anew.
    """

    def __init__(self, rows: np.ndarray, discount: float | None) -> None:
        self.rows, self.discount = rows.copy(), discount
        self.system = self.coefficients(rows) + np.eye(len(rows)) * (np.arange(len(rows)) > 0)
        self.invert()

    def coefficients(self, rows: np.ndarray) -> np.ndarray:
        """The coefficients of the equations of some states, by their rows, without the 1 of a state's own value."""
        numbers = -rows if self.discount is None else -self.discount * rows
        numbers[:, 0] = 1
        return numbers

    def invert(self) -> None:
        """Compute the inverse from the rows; a chain that has no average is an error."""
        if self.discount is None and len(classes := recurrent_classes(self.rows)) > 1:
            raise np.linalg.LinAlgError(f"played in some states only, has several recurrent classes {classes}")
        self.inverse = np.linalg.inv(self.system)

    def replace(self, states: np.ndarray, rows: np.ndarray) -> None:
        """Let the chain leave these states by other rows, of [S, S]."""
        changes = self.coefficients(rows[states]) - self.coefficients(self.rows[states])
        self.rows[states] = rows[states]
        self.system[states] += changes
        for state, change in zip(states, changes, strict=True):
            column = self.inverse[:, state].copy()
            divisor = 1 + np.sum(change * column)  # 0 if the chain falls apart
            if abs(divisor) < SPOILT * (1 + np.sum(np.abs(change * column))):
                return self.invert()
            self.inverse -= column[:, None] * (product(self.inverse.T, change) / divisor)

    def solved(self, right: np.ndarray) -> np.ndarray:
        """The relative values [C, S], 0 in state 0, for the right sides [C, S]."""
        values = product(self.inverse, right)
        left = right - product(self.system, values)
        if np.abs(left).max() > SPOILT * (np.abs(values).max() + np.abs(right).max()):
            self.invert()
            values = product(self.inverse, right)
            left = right - product(self.system, values)
        values += product(self.inverse, left)
        values[:, 0] = 0
        return values
