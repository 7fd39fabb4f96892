"""Answers that wait until those of the arm's earlier plays are known, for policies that need them `in_order`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Queue = list[list[Any]]  # of one arm: [id, round, outcomes] in the order of plays; None while open, [] if forgotten


def closed(queue: Queue, number: int, outcomes: list[Any]) -> Iterator[tuple[int, list[Any], bool]]:
    """Close the play with this number; gives what the policy may learn now, with the round.

    An arm moves in a play that was forgotten, too. The answer after it is no single move from the state seen last: it
    comes with False, and only says where the arm is.

    >>> queue = [[0, 1, None], [3, 4, None], [5, 6, None]]
    >>> list(closed(queue, 3, ["b"])), list(closed(queue, 0, ["a"]))
    ([], [(1, ['a'], True), (4, ['b'], True)])
    """
    next(entry for entry in queue if entry[0] == number)[2] = outcomes
    while queue:
        gap = queue[0][2] == []
        if len(queue) <= gap or queue[gap][2] is None:
            return
        _, t, known = queue[gap]
        if not known:  # another one that was forgotten
            del queue[0]
            continue
        del queue[: gap + 1]
        yield t, known, not gap
