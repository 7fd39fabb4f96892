"""Which states of a decision process can be reached, and how soon."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.arguments import accepts
from jaxbandit.base import described
from jaxbandit.decision_processes.best import EXACT, MOST
from jaxbandit.decision_processes.evaluation import MOVES, until

Kind = Literal["ergodic", "communicating", "weakly communicating", "multichain"]


@described
class Structure(NamedTuple):
    """How states communicate.

    Fields:
      kind: "ergodic" if every policy comes from every state to every other; "communicating" if some policy does;
        "weakly communicating" if some does to all states but the transient ones; "multichain" if none does.
      classes: lists of states that a player can stay among for ever, and reach from one another; as large as possible.
      transient: the states that are in none of them, which every policy leaves for good.
    """

    kind: Kind
    classes: list[list[int]]
    transient: list[int]


@accepts(transition=MOVES)
def hitting_times(transition: ArrayLike) -> np.ndarray:
    """[S, S], the least expected number of rounds from one state (row) to another (column), by the policy made for it.

    It is 0 from a state to itself, and inf where no policy comes to the state with probability 1. Of a single chain P,
    `hitting_times(P[None])` are its mean hitting times.

    Args:
      transition: [A, S, S], row-stochastic.

    Raises:
      ValueError: the argument and what is wrong with it.

    >>> hitting_times([[[0.5, 0.5], [0.4, 0.6]], [[1.0, 0.0], [1.0, 0.0]]]).tolist()
    [[0.0, 2.0], [1.0, 0.0]]
    """
    moves = np.asarray(transition)
    return np.stack([_times_to(moves, target) for target in range(moves.shape[-1])], axis=1)


def diameter(transition: ArrayLike) -> float:
    """The largest of the `hitting_times`: how long the way between two states may take if it is sought; inf if there
    is none.

    Args:
      transition: [A, S, S], row-stochastic.

    Raises:
      ValueError: the argument and what is wrong with it.

    Source: Jaksch, Ortner and Auer 2010, definition 1.

    >>> diameter([[[0.5, 0.5], [0.4, 0.6]], [[1.0, 0.0], [1.0, 0.0]]])
    2.0
    """
    return float(hitting_times(transition).max())


@accepts(transition=MOVES)
def structure(transition: ArrayLike) -> Structure:
    """How the states of a process communicate.

    The classes are the maximal end components: actions that may leave a class are taken away until none are left.

    Args:
      transition: [A, S, S], row-stochastic.

    Raises:
      ValueError: the argument and what is wrong with it.

    Source: Puterman 1994, section 8.3.

    >>> structure([[[0.0, 1.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]])
    Structure(kind='multichain', classes=[[0], [1]], transient=[])
    """
    can = np.asarray(transition) > 0
    allowed = np.ones(can.shape[:2], bool)
    while True:
        together = _reaches(can & allowed[..., None])
        together &= together.T
        leaves = (can & ~together[None]).any(-1)
        if not (leaves & allowed).any():
            break
        allowed &= ~leaves
    classes = sorted({tuple(np.flatnonzero(row).tolist()) for s, row in enumerate(together) if allowed[:, s].any()})
    stays = {s for states in classes for s in states}
    transient = [s for s in range(len(together)) if s not in stays]
    return Structure(_kind(can, len(classes), bool(transient)), list(map(list, classes)), transient)


def _kind(can: np.ndarray, classes: int, transient: bool) -> Kind:
    """The kind of a process of moves that can be made, [A, S, S], with so many classes."""
    if classes > 1:
        return "multichain"
    if transient:
        return "weakly communicating"
    for target in range(can.shape[-1]):
        away = np.arange(can.shape[-1]) != target  # states in which some policy can stay away from it for ever
        while (stays := away & (~(can & ~away).any(-1)).any(0)).sum() < away.sum():
            away = stays
        if away.any():
            return "communicating"
    return "ergodic"


def _reaches(steps: np.ndarray) -> np.ndarray:
    """[S, S], whether a state can be reached from another by steps [A, S, S] that can be made, none included."""
    reaches = steps.any(0) | np.eye(steps.shape[-1], dtype=bool)
    for _ in range(len(reaches).bit_length()):
        reaches = (reaches.astype(int) @ reaches.astype(int)) > 0
    return reaches


def _times_to(moves: np.ndarray, target: int) -> np.ndarray:
    """The least expected number of rounds from each state to one of them, [S]."""
    can = moves > 0
    sure = np.ones(moves.shape[-1], bool)  # states from which some policy comes to the target with probability 1
    while True:
        safe = ~(can & ~sure).any(-1)  # [A, S], actions that stay among these states
        distance = np.where(np.arange(len(sure)) == target, 0.0, np.inf)
        policy = np.zeros(len(sure), np.int64)
        for step in range(1, len(sure)):
            nearer = safe & (can & (distance < step)).any(-1) & np.isinf(distance)
            distance[nearer.any(0)], policy = step, np.where(nearer.any(0), nearer.argmax(0), policy)
        if (np.isfinite(distance) == sure).all():
            break
        sure = np.isfinite(distance)
    every, times = np.arange(len(sure)), np.full(len(sure), np.inf)
    safe |= ~sure  # what is done elsewhere does not matter
    among, ends = np.where(sure, moves, 0), ~sure | (every == target)
    for _ in range(MOST):
        times[sure] = until(among[policy, every], ends, np.ones((len(sure), 1)))[sure, 0]
        of_actions = np.where(safe, 1 + among @ np.where(sure, times, 0), np.inf)
        better = ~ends & (of_actions.min(0) < of_actions[policy, every] * (1 - EXACT))
        if not better.any():
            break
        policy = np.where(better, of_actions.argmin(0), policy)
    return times
