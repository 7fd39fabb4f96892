"""Which states of a decision process can be reached, and in how many rounds."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.arguments import accepts
from jaxbandit.base import described
from jaxbandit.decision_processes.best import EXACT, MOST
from jaxbandit.decision_processes.evaluation import MOVES, until

MOST_CERTAIN = 1e8  # rounds, up to which the plain solution of a system of equations has at least six digits
SPARSE = 0.1  # share of the moves that can be made, below which systems of equations are solved as sparse ones
Kind = Literal["ergodic", "communicating", "weakly communicating", "multichain"]


@described
class Structure(NamedTuple):
    """How states communicate.

    Fields:
      kind: "ergodic" if every policy reaches every state from every other; "communicating" if for each two states some
        policy does; "weakly communicating" if that holds for all but the transient states; else "multichain".
      classes: the largest sets of states in which a player can stay for ever and reach each state from each other one.
      transient: the states that are in no class, which every policy leaves for ever.
    """

    kind: Kind
    classes: list[list[int]]
    transient: list[int]


@accepts(transition=MOVES)
def hitting_times(transition: ArrayLike) -> np.ndarray:
    """[S, S], the least expected number of rounds from one state (row) to another (column), each by its own policy.

    It is 0 from a state to itself, and inf where no policy reaches the state with probability 1. For a single chain P,
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


@accepts(transition=MOVES)
def diameter(transition: ArrayLike) -> float:
    """The largest of the `hitting_times`, inf where a state cannot be reached from another one.

    Args:
      transition: [A, S, S], row-stochastic.

    Raises:
      ValueError: the argument and what is wrong with it.

    Source: Jaksch, Ortner and Auer 2010, definition 1.

    >>> diameter([[[0.5, 0.5], [0.4, 0.6]], [[1.0, 0.0], [1.0, 0.0]]])
    2.0
    """
    moves = np.asarray(transition)
    if not _reaches(moves > 0).all():
        return float(np.inf)
    longest, within = 0.0, _within(moves)  # bounds, which rule out most states
    for target in np.argsort(-within):
        if within[target] <= longest:
            break
        longest = max(longest, float(_times_to(moves, int(target)).max()))
    return longest


def _within(moves: np.ndarray) -> np.ndarray:
    """A number of rounds [S] within which some policy reaches each state from every other on average; inf for unknown.

    They are those of the policy that is likeliest to come nearer, by the number of possible steps. Its equations are
    solved by an ordinary solver, by which large numbers lose digits; so each is a little increased.

    Args:
      moves: [A, S, S], in which every state can be reached from every other.
    """
    from scipy.sparse import csc_array  # here, as it takes a tenth of a second of an import of the package
    from scipy.sparse.csgraph import shortest_path
    from scipy.sparse.linalg import splu

    every, some = np.arange(moves.shape[-1]), (moves > 0).any(0)
    steps, within = shortest_path(csc_array(some), unweighted=True), np.full(len(every), np.inf)
    for target in every:
        others = every[every != target]
        system = -moves[_towards(moves, steps[:, target]), every]
        system[every, every] = 0
        system[every, every] = -system.sum(1)
        system, rounds = system[np.ix_(others, others)], np.ones(len(others))
        with suppress(RuntimeError, np.linalg.LinAlgError):  # a system whose solution has no correct digit
            few = some.mean() < SPARSE
            times = splu(csc_array(system)).solve(rounds) if few else np.linalg.solve(system, rounds)
            if ((times >= 1) & (times < MOST_CERTAIN)).all():
                within[target] = times.max(initial=0) * (1 + 1e-6)
    return within


@accepts(transition=MOVES)
def structure(transition: ArrayLike) -> Structure:
    """How the states of a process communicate, as a `Structure`.

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
    """The kind of a process with these possible moves [A, S, S] and this number of classes."""
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
    """[S, S], whether a state can be reached from another by possible steps [A, S, S], or by none."""
    reaches = steps.any(0) | np.eye(steps.shape[-1], dtype=bool)
    for _ in range(len(reaches).bit_length()):
        ways = reaches.astype(np.float32)  # whose products are fast, and exact up to 2^24 states
        reaches = (ways @ ways) > 0
    return reaches


def _towards(moves: np.ndarray, distance: np.ndarray, safe: Any = True) -> np.ndarray:
    """The safe action [S] in each state that is likeliest to lead to a state with a smaller distance."""
    nearer = distance[None] < distance[:, None]
    return np.asarray(np.where(safe, np.where(nearer, moves, 0).sum(-1), 0).argmax(0))


def _times_to(moves: np.ndarray, target: int) -> np.ndarray:
    """The least expected number of rounds from each state to one of them, [S]."""
    can = moves > 0
    sure = np.ones(moves.shape[-1], bool)  # states from which some policy reaches the target with probability 1
    while True:
        safe = ~(can & ~sure).any(-1)  # [A, S], actions that stay among these states
        distance = np.where(np.arange(len(sure)) == target, 0.0, np.inf)
        last, step = np.array([target]), 0
        while last.size:
            step += 1
            nearer = safe & can[:, :, last].any(-1) & np.isinf(distance)
            last = np.flatnonzero(nearer.any(0))
            distance[last] = step
        if (np.isfinite(distance) == sure).all():
            break
        sure = np.isfinite(distance)
    every, times = np.arange(len(sure)), np.full(len(sure), np.inf)
    policy = _towards(moves, distance, safe)
    safe |= ~sure  # actions in the other states do not matter
    among, ends = np.where(sure, moves, 0), ~sure | (every == target)
    for _ in range(MOST):
        times[sure] = until(among[policy, every], ends, np.ones((len(sure), 1)))[sure, 0]
        of_actions = np.where(safe, 1 + among @ np.where(sure, times, 0), np.inf)
        better = ~ends & (of_actions.min(0) < of_actions[policy, every] * (1 - EXACT))
        if not better.any():
            break
        policy = np.where(better, of_actions.argmin(0), policy)
    return times
