"""Tables of restless arms, a line for each arm and round: the transitions with and without a play."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from jaxbandit.environments.rested.columns import (
    MISSING,
    States,
    Table,
    arm_of,
    column_names,
    in_order,
    place_if_any,
    place_of,
    state_of,
    whole,
)

ROLES = ("arm", "sequence", "round", "state", "action", "next_state")


Move = tuple[int, int, int, int]  # sequence, action, state, next state


class Seen(NamedTuple):
    """What a table says of K arms."""

    labels: list[str]
    moves: list[np.ndarray]  # [N, 4] for each arm, its transitions in order: sequence, action, state, next state
    gaps: int  # the number of places in a sequence at which rounds are missing


class _Line(NamedTuple):
    """The state of an arm in a round, what was done, and the state of the next round where the line has it."""

    round: int
    state: int
    action: int | None
    next_state: int | None


class _Places(NamedTuple):
    """Where the columns stand in a line."""

    arm: int
    state: int
    action: int
    sequence: int | None
    next_state: int | None
    round: int | None


def restless_transitions(data: Any, states: States, columns: Mapping[str, str] | None, split: bool) -> Seen:
    """The transitions in a table (see `fit_restless`); gaps are errors unless sequences are `split` there.

    Raises:
      ValueError: `columns` are wrong, or a line of the table is, which is named; or there are no transitions.
      OSError: the file cannot be read.
    """
    names = column_names(columns, ROLES)
    table = Table(data)
    with table.errors_by_line():
        arms, gaps = _read(table, names, states, split)
    labels = in_order(arms)
    if len(labels) < 2:
        raise ValueError(
            f"data: {'one arm only' if labels else 'no arms'}; a bandit needs at least 2, and columns={{'arm': ..}} "
            "names the column of subjects, or of groups"
        )
    for label in labels:
        if not arms[label]:
            raise ValueError(f"data: arm {label} has no transition, which takes 2 successive rounds or a next state")
    return Seen(labels, [np.array(arms[label]) for label in labels], gaps)


def _read(table: Table, names: Mapping[str, str], states: States, split: bool) -> tuple[dict[str, list[Move]], int]:
    """The transitions of each arm, and the number of gaps."""
    arms: dict[str, list[Move]] = {}
    numbers: dict[tuple[str, str], int] = {}  # of the sequences
    last: dict[tuple[str, str], _Line] = {}
    gaps = 0
    header = table.header("arm, state, action, and round or next_state")
    places = _places(header, names)
    for fields in table:
        arm = arm_of(header[places.arm], fields[places.arm])
        sequence = "" if places.sequence is None else fields[places.sequence]
        line = _line(header, fields, places, states)
        moves, whose = arms.setdefault(arm, []), numbers.setdefault((arm, sequence), len(numbers))
        before = last.get((arm, sequence))
        last[arm, sequence] = line
        if line.next_state is not None:
            moves.append((whose, line.action or 0, line.state, line.next_state))
        if before is None or places.round is None:
            continue
        name = header[places.round]
        gap = _gap(before, line, f"{name} {line.round} of arm {arm} follows {name} {before.round}", places)
        if gap and line.next_state is None:
            gaps += 1
            if not split:
                raise ValueError(f'{gap}; gaps="split" leaves out the transition over the gap, which was not seen')
        elif line.next_state is None:
            if before.action is None:
                raise ValueError(f"{header[places.action]} of arm {arm} in {name} {before.round} is missing")
            moves.append((whose, before.action, before.state, line.state))
    return arms, gaps


def _places(header: list[str], names: Mapping[str, str]) -> _Places:
    next_state = place_if_any(header, names, "next_state")
    return _Places(
        arm=place_of(header, names, "arm"),
        state=place_of(header, names, "state"),
        action=place_of(header, names, "action"),
        sequence=place_if_any(header, names, "sequence"),
        next_state=next_state,
        round=place_if_any(header, names, "round")
        if next_state is not None
        else place_of(header, names, "round", ", unless each line has the next state"),
    )


def _line(header: list[str], fields: list[str], places: _Places, states: States) -> _Line:
    """One line; only where no next state stands in the lines, an action may be missing: the last one is not needed."""
    name, text = header[places.action], fields[places.action].lower()
    if text not in ("0", "1") and not (text in MISSING and places.next_state is None):
        raise ValueError(f"{name} {fields[places.action]!r} is neither 0 (not played) nor 1 (played)")
    ordered, after = places.round, places.next_state
    return _Line(
        0 if ordered is None else whole(header[ordered], fields[ordered], "; number dates and times in their order"),
        _state(header[places.state], fields[places.state], states),
        None if text in MISSING else int(text),
        None if after is None else _state(header[after], fields[after], states),
    )


def _state(name: str, text: str, states: States) -> int:
    if text.lower() in MISSING and (isinstance(states, int) or text not in states):
        raise ValueError(f"{name} {text!r} is no state; leave out the line")
    return state_of(name, text, states)


def _gap(before: _Line, line: _Line, where: str, places: _Places) -> str:
    """Where rounds are missing between two lines of an arm; empty if none is."""
    if line.round <= before.round:
        several = "; columns={'sequence': ..} names the sequences if there are several" * (places.sequence is None)
        raise ValueError(f"{where}; rounds go up, in this order{several}")
    if line.round > before.round + 1:
        return where
    if before.next_state not in (None, line.state):
        raise ValueError(f"{where}, but its state is not the next state there")
    return ""
