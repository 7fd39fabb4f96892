"""Known laws of arms, the input of planners and indices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.base import Paid, Pays, described


@described
class KnownArms(NamedTuple):
    """Known laws of K arms with S states, in NumPy float64 on the host, as `environment.known()` returns them.

    Fields:
      transition: [K, S, S], rows of an arm that is played.
      passive: [K, S, S], rows of an arm that is not played; the identity for rested arms.
      earned: [K, S], average reward of a round in which the arm is played in a state, minus the cost of the play.
      kept: [K, S], average reward of a round in which the arm is not played.
      reward: [K, S], reward of the new state, or [K, G], of a symbol; of the old state if `pays` is "before".
      initial: [K, S], law of each arm's first state; [S] in a decision process.
      cost: of a play, one number or [K].
      paid: the arms that pay, "played" or "all".
      emission: [K, S, G], probability of each symbol in each state; None if states are shown.
      steps: rounds of an episode; None without episodes.
      passive_reward: [K, S], as `reward`, of an arm that is not played, if all pay; None for `reward`.
      pays: the state that pays, "after" the move or "before" it.
    """

    transition: np.ndarray
    passive: np.ndarray
    earned: np.ndarray
    kept: np.ndarray
    reward: np.ndarray = np.empty(0)  # not needed for indices
    initial: np.ndarray = np.empty(0)  # not needed for indices
    cost: np.ndarray | float = 0.0
    paid: Paid = "played"
    emission: np.ndarray | None = None
    steps: int | None = None
    passive_reward: np.ndarray | None = None
    pays: Pays = "after"

    @property
    def uncontrolled(self) -> bool:
        """Whether arms have the same law whether they are played or not."""
        return np.array_equal(self.transition, self.passive)

    @property
    def moves(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """`transition`, `passive`, `earned` and `kept`, the inputs of every index."""
        return self[:4]

    @property
    def kinds(self) -> list[np.ndarray]:
        """The numbers of the arms with the same laws and rewards, kind by kind."""
        kinds: dict[bytes, list[int]] = {}
        for k, laws in enumerate(zip(*self.moves, strict=True)):
            kinds.setdefault(b"".join(law.tobytes() for law in laws), []).append(k)
        return [np.array(alike) for alike in kinds.values()]

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
        passive_reward: ArrayLike | None = None,
        pays: Pays = "after",
    ) -> KnownArms:
        """Arms with these laws, whose rewards depend on the new state, the symbol that it shows, or the old state.

        Args:
          passive: [S, S] or [K, S, S].
          passive_reward: [K, S]; needs paid="all".

        >>> rows, wait = [[[0.1, 0.9], [0.1, 0.9]]] * 2, [[0.9, 0.1], [0.3, 0.7]]
        >>> arms = KnownArms.of(rows, wait, [[0, 1]] * 2, [[1, 0]] * 2, cost=0.2, paid="all")
        >>> arms.earned[0].round(6).tolist(), arms.kept[0].round(6).tolist()
        ([0.7, 0.7], [0.1, 0.7])
        """
        rows, table = np.asarray(transition, float), np.asarray(reward, float)
        wait = np.broadcast_to(np.asarray(passive, float), rows.shape)
        shows = None if emission is None else np.asarray(emission, float)
        worth = table if shows is None else np.einsum("ksg,kg->ks", shows, table)  # of a new state
        costs = np.asarray(cost, float) if np.ndim(cost) else float(np.asarray(cost))
        unplayed = None if passive_reward is None else np.asarray(passive_reward, float)
        keeps = worth if unplayed is None else unplayed
        if pays == "after":
            worth, keeps = np.einsum("kst,kt->ks", rows, worth), np.einsum("kst,kt->ks", wait, keeps)
        earned = worth - np.broadcast_to(costs, len(rows))[:, None]
        kept = keeps if paid == "all" else np.zeros_like(earned)
        first = np.asarray(initial, float)
        return cls(rows, wait, earned, kept, table, first, costs, paid, shows, passive_reward=unplayed, pays=pays)
