"""Tables with a line for each step of an arm: what they hold, and what is wrong with which line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from jaxbandit.environments.rested.columns import (
    States,
    Table,
    arm_of,
    column_names,
    in_order,
    is_missing,
    place_if_any,
    place_of,
    real,
    state_of,
    whole,
)

ROLES = ("arm", "step", "round", "sequence", "state", "reward")
MOST_UNSEEN = 10_000  # steps in one gap; after as many the state has forgotten where it was
CURES = 'gaps="steps" counts steps in which the arm moved unseen, gaps="split" leaves out the transitions over them'

# What a step is of which nothing is known. "symbols": where its number is left out an error, else a step.
Missing = Literal["error", "split", "steps", "symbols"]
GAPS = ("error", "split", "steps")  # what users may say
Played = dict[str, dict[str, list[tuple[int, float]]]]  # of each arm in each sequence, the steps or rounds and values


class _Place(NamedTuple):
    """Where the columns that are read stand in a line."""

    arm: int
    sequence: int | None
    order: int
    value: int
    has_rounds: bool  # the order is that of rounds, and not of an arm's own steps


def from_table(
    data: Any, states: States | None, columns: Mapping[str, str] | None, gaps: Missing
) -> tuple[list[str], list[list[np.ndarray]]]:
    """The labels of the arms in a file or in columns, and their sequences, with NaN for what was not seen (see `fit`).

    Raises:
      ValueError: `columns` are wrong, or a line of the table is, which is named.
      OSError: the file cannot be read.
    """
    names = _names(columns, states)
    table = Table(data)
    with table.errors_by_line():
        header = table.header("arm, step, and state or reward")
        place = _places(header, names, states)
        arms, lines, rounds = _read(table, header, place, states, gaps)
    lost = {}  # of each sequence the rounds after which some are missing
    for sequence, numbers in rounds.items():
        played = np.array(sorted(numbers))
        lost[sequence] = played[:-1][np.diff(played) > 1]
        if gaps != "split" and len(lost[sequence]):
            raise ValueError(f"data: {_no_play(header[place.order], int(lost[sequence][0]) + 1, sequence)}")
    sequences = {
        label: [_filled(values, lost.get(sequence), gaps) for sequence, values in arms[label].items()] for label in arms
    }
    labels = in_order(arms)
    for label in labels:
        if all(np.isfinite(values).sum() < 2 for values in sequences[label]):
            raise ValueError(f"data: {lines[label]}: arm {label} {transitions_are_needed(len(arms[label]))}")
    return labels, [sequences[label] for label in labels]


def _no_play(name: str, number: int, sequence: str) -> str:
    """What is said of a round that no line has."""
    where = f" of sequence {sequence}" if sequence else ""
    return (
        f"no line has {name} {number}{where}, in which some arm was played, or none. If a line was lost, "
        f'gaps="split" leaves out all transitions over that {name}. If no arm was played, write a line with an empty '
        f"arm, or number the plays 1, 2, .. in place of the {name}s. Restless arms, which move in every round, are for "
        "`environments.fit_restless`"
    )


def _filled(values: list[tuple[int, float]], lost: np.ndarray | None, gaps: Missing) -> np.ndarray:
    """One sequence of an arm with NaN for each step that was left out, or one NaN where it is to be split."""
    numbers, shown = np.array([number for number, _ in values]), np.array([value for _, value in values], float)
    if lost is None:
        left_out = np.diff(numbers) - 1
        left_out = np.minimum(left_out, 1) if gaps == "split" else left_out
    else:
        left_out = np.minimum(np.diff(np.searchsorted(lost, numbers)), 1)
    return np.insert(shown, np.repeat(np.arange(1, len(shown)), left_out), np.nan)


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
    table: Table, header: list[str], place: _Place, states: States | None, gaps: Missing
) -> tuple[Played, dict[str, str], dict[str, set[int]]]:
    """What each arm showed in each sequence, the line of its last step, and the rounds that each sequence has."""
    arms: Played = {}
    lines: dict[str, str] = {}
    rounds: dict[str, set[int]] = {}
    for fields in table:
        sequence = "" if place.sequence is None else fields[place.sequence]
        number = whole(header[place.order], fields[place.order], "; number dates and times in their order")
        if place.has_rounds:
            rounds.setdefault(sequence, set()).add(number)
            if is_missing(fields[place.arm]) and is_missing(fields[place.value], states):
                continue  # no arm was played
        arm = arm_of(header[place.arm], fields[place.arm])
        shown = arms.setdefault(arm, {}).setdefault(sequence, [])
        before = shown[-1][0] if shown else number - 1
        if wrong := _disorder(before, number, place, gaps):
            name = header[place.order]
            raise ValueError(f"{name} {number} of arm {arm} follows {name} {before}{wrong}")
        lines[arm] = table.line
        name, text = header[place.value], fields[place.value]
        if is_missing(text, states):
            if gaps == "error":
                raise ValueError(f"{name} {text!r} is not there; {CURES}")
            value = np.nan
        else:
            value = real(name, text) if states is None else state_of(name, text, states)
        shown.append((number, value))
    return arms, lines, rounds


def _disorder(before: int, number: int, place: _Place, gaps: Missing) -> str:
    """What is wrong with this step of an arm after the one before, or this round: nothing if it is the next one."""
    if number <= before:
        rule = "rounds go up" if place.has_rounds else "steps of an arm go up by one"
        several = "; columns={'sequence': ..} names the sequences if there are several" * (place.sequence is None)
        return f"; {rule}, in this order{several}"
    if number == before + 1 or place.has_rounds or gaps == "split":
        return ""
    if gaps == "steps":
        most = f'; gaps="steps" takes {MOST_UNSEEN:,} steps in a gap, after which gaps="split" loses nothing'
        return most * (number > before + 1 + MOST_UNSEEN)
    return (
        ", with transitions unseen between them. If the arm stood still, as rested arms do while others are "
        f"played, columns={{'round': ..}} says so. If it moved unseen, {CURES}. Restless arms, which move in every "
        "round, are for `environments.fit_restless`"
    )
