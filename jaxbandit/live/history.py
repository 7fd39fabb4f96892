"""The log of a player as columns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from jaxbandit.base import described
from jaxbandit.live.position import Event


@described
class History(NamedTuple):
    """All plays of a player; entry i of a column is the play with the id i.

    Fields:
      arms: names of the arms, those that were added and retired included.
      round: [P], the round, from 1.
      time: [P], when it was chosen, in seconds since 1970.
      arm: [P], number of the arm in `arms`.
      probability: [P], with which it was chosen; NaN where it is not known.
      state: [P], number of the state that it showed, in the order of the player's `states`; -1 without an answer, 0 if
        arms have no states.
      reward: [P], what it paid; NaN without an answer.
      learned: [P], the place of its answer among all answers, from 0; -1 without an answer.
      forgotten: [P], whether it was forgotten.
    """

    arms: list[str]
    round: np.ndarray
    time: np.ndarray
    arm: np.ndarray
    probability: np.ndarray
    state: np.ndarray
    reward: np.ndarray
    learned: np.ndarray
    forgotten: np.ndarray


def history(arms: list[str], events: Iterable[Event]) -> History:
    """The history of these events."""
    plays: list[tuple[int, float, int, float]] = []
    answers: list[tuple[int, int, float]] = []
    forgotten: list[int] = []
    for kind, *rest in events:
        if kind == "choose":
            t, _, chosen, chances, _, time = rest
            plays += [(t, time, arm, chances[m] if chances else np.nan) for m, arm in enumerate(chosen)]
        elif kind == "answer":
            number, _, state, reward = rest
            answers.append((number, state, reward))
        elif kind == "forget":
            forgotten += rest[0]
    t, times, chosen, chances = (np.array([play[n] for play in plays]) for n in range(4))
    states, learned = np.full((2, len(plays)), -1)
    rewards, lost = np.full(len(plays), np.nan), np.zeros(len(plays), bool)
    lost[forgotten] = True
    for place, (number, state, reward) in enumerate(answers):
        states[number], rewards[number], learned[number] = state, reward, place
    whole = [np.asarray(column, int) for column in (t, chosen)]
    return History(arms, whole[0], times.astype(float), whole[1], chances.astype(float), states, rewards, learned, lost)
