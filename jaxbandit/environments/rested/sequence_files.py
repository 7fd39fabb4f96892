"""Tables with a line for each step of an arm: what they hold, and what is wrong with which line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from jaxbandit.environments.rested.columns import (
    States,
    Table,
    arm_of,
    column_names,
    in_order,
    place_if_any,
    place_of,
    real,
    state_of,
    whole,
)

ROLES = ("arm", "step", "round", "sequence", "state", "reward")


class _Place(NamedTuple):
    """Where the columns that are read stand in a line."""

    arm: int
    sequence: int | None
    order: int
    value: int
    has_rounds: bool  # the order is that of rounds, and not of an arm's own steps


def from_table(
    data: Any, states: States | None, columns: Mapping[str, str] | None, split: bool
) -> tuple[list[str], list[list[np.ndarray]], int]:
    """The labels of the arms in a file or in columns, their sequences, and how many gaps were `split` (see `fit`).

    Raises:
      ValueError: `columns` are wrong, or a line of the table is, which is named.
      OSError: the file cannot be read.
    """
    names = _names(columns, states)
    table = Table(data)
    with table.errors_by_line():
        arms, lines, gaps = _read(table, names, states, split)
    labels = in_order(arms)
    for label in labels:
        if all(len(values) < 2 for values in arms[label].values()):
            raise ValueError(f"data: {lines[label]}: arm {label} {transitions_are_needed(len(arms[label]))}")
    return labels, [[np.array(values) for values in arms[label].values()] for label in labels], gaps


def transitions_are_needed(sequences: int) -> str:
    """What is said of an arm in whose sequences no step follows another."""
    where = "has one step at most" if sequences < 2 else f"has {sequences} sequences of one step at most"
    return f"{where}; a transition takes 2 successive steps"


def _names(columns: Mapping[str, str] | None, states: States | None) -> dict[str, str]:
    """The column that the user names for each role."""
    names = column_names(columns, ROLES)
    if "step" in names and "round" in names:
        raise ValueError("columns: a step counts an arm's own plays, a round those of all arms; name one of them")
    if (unused := "state" if states is None else "reward") in names:
        how = "a column of states needs" if states is None else "a column of rewards is for a fit without"
        raise ValueError(f"columns: {unused!r} is not read; {how} `reward`, which says what each state pays")
    return names


def _places(header: list[str], names: dict[str, str], states: States | None) -> _Place:
    has_rounds = "round" in names or not ("step" in names or "step" in header or "round" not in header)
    hint = "" if has_rounds else ", or {'round': ..} where all arms count together"
    other = " (a fit {} `reward` reads {} instead)".format(
        *(("with", "states") if states is None else ("without", "rewards"))
    )
    return _Place(
        arm=place_of(header, names, "arm"),
        sequence=place_if_any(header, names, "sequence"),
        order=place_of(header, names, "round" if has_rounds else "step", hint),
        value=place_of(header, names, "reward" if states is None else "state", other),
        has_rounds=has_rounds,
    )


def _read(
    table: Table, names: dict[str, str], states: States | None, split: bool
) -> tuple[dict[str, dict[tuple[str, int], list[float]]], dict[str, str], int]:
    """What each arm showed in each sequence, or part of one, the line of its last step, and the number of gaps."""
    header = table.header("arm, step, and state or reward")
    place = _places(header, names, states)
    arms: dict[str, dict[tuple[str, int], list[float]]] = {}
    lines: dict[str, str] = {}
    last: dict[tuple[str, str], int] = {}
    parts: dict[tuple[str, str], int] = defaultdict(int)  # gaps of a sequence so far
    for fields in table:
        arm = arm_of(header[place.arm], fields[place.arm])
        sequence = "" if place.sequence is None else fields[place.sequence]
        number = whole(header[place.order], fields[place.order], "; number dates and times in their order")
        before = last.get((sequence, arm), number - 1)
        if split and not place.has_rounds and number > before + 1:
            parts[sequence, arm] += 1
        elif wrong := _disorder(before, number, place):
            name = header[place.order]
            raise ValueError(f"{name} {number} of arm {arm} follows {name} {before}{wrong}")
        last[sequence, arm], lines[arm] = number, table.line
        name, text = header[place.value], fields[place.value]
        value = real(name, text) if states is None else state_of(name, text, states)
        arms.setdefault(arm, {}).setdefault((sequence, parts[sequence, arm]), []).append(value)
    return arms, lines, sum(parts.values())


def _disorder(before: int, number: int, place: _Place) -> str:
    """What is wrong with this step of an arm after the one before, or this round: nothing if it is the next one."""
    if number <= before:
        rule = "rounds go up" if place.has_rounds else "steps of an arm go up by one"
        several = "; columns={'sequence': ..} names the sequences if there are several" * (place.sequence is None)
        return f"; {rule}, in this order{several}"
    if number > before + 1 and not place.has_rounds:
        return (
            ", with transitions unseen between them. If the arm stood still, as rested arms do while others are "
            "played, columns={'round': ..} says so. If it moved unseen, gaps=\"split\" leaves out the transition over "
            "the gap. Restless arms, which move in every round, are for `environments.fit_restless`"
        )
    return ""
