"""What a planner or an index computes from: arms whose laws are known."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.base import Paid, described


@described
class KnownArms(NamedTuple):
    """K arms of S states whose laws are known, in NumPy float64 on the host: what `environment.known()` returns.

    Fields:
      transition: [K, S, S], rows of an arm that is played.
      passive: [K, S, S], rows of an arm that is not played; the identity where such arms stay where they are.
      earned: [K, S], average reward of a round in which the arm is played in a state, less the cost of the play.
      kept: [K, S], average reward of a round in which the arm is not played.
      reward: [K, S], what the state moved to pays, [K, G] what a symbol pays; in a decision process the state left.
      initial: [K, S], law of each arm's first state; [S] in a decision process.
      cost: of a play, one number or [K].
      paid: which arms pay, "played" or "all".
      emission: [K, S, G], probability of each symbol in each state; None where states are shown.
      steps: rounds of an episode; None where there are no episodes.
    """

    transition: np.ndarray
    passive: np.ndarray
    earned: np.ndarray
    kept: np.ndarray
    reward: np.ndarray = np.empty(0)  # an index of rows and averages needs neither this
    initial: np.ndarray = np.empty(0)  # nor this
    cost: np.ndarray | float = 0.0
    paid: Paid = "played"
    emission: np.ndarray | None = None
    steps: int | None = None

    @property
    def uncontrolled(self) -> bool:
        """Whether arms move alike, played or not."""
        return np.array_equal(self.transition, self.passive)

    @property
    def moves(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """`transition`, `passive`, `earned` and `kept`, from which every index follows."""
        return self[:4]

    @classmethod
    def of(
        cls,
        transition: ArrayLike,
        passive: ArrayLike,
        reward: ArrayLike,
        initial: ArrayLike,
        *,
        cost: ArrayLike = 0.0,
        paid: Paid = "played",
        emission: ArrayLike | None = None,
    ) -> KnownArms:
        """Arms that move by these laws and pay for the state moved to, or for the symbol that it shows.

        Args:
          passive: [S, S] or [K, S, S].

        >>> rows, wait = [[[0.1, 0.9], [0.1, 0.9]]] * 2, [[0.9, 0.1], [0.3, 0.7]]
        >>> arms = KnownArms.of(rows, wait, [[0, 1]] * 2, [[1, 0]] * 2, cost=0.2, paid="all")
        >>> arms.earned[0].round(6).tolist(), arms.kept[0].round(6).tolist()
        ([0.7, 0.7], [0.1, 0.7])
        """
        rows, pays = np.asarray(transition, float), np.asarray(reward, float)
        wait = np.broadcast_to(np.asarray(passive, float), rows.shape)
        shows = None if emission is None else np.asarray(emission, float)
        worth = pays if shows is None else np.einsum("ksg,kg->ks", shows, pays)  # of a state that is moved to
        costs = np.asarray(cost, float) if np.ndim(cost) else float(np.asarray(cost))
        earned = np.einsum("kst,kt->ks", rows, worth) - np.broadcast_to(costs, len(rows))[:, None]
        kept = np.einsum("kst,kt->ks", wait, worth) if paid == "all" else np.zeros_like(earned)
        return cls(rows, wait, earned, kept, pays, np.asarray(initial, float), costs, paid, shows)
