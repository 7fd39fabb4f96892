"""Files of columns, a line for each step of an arm: what they hold, and what is wrong with which line."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxbandit.arguments import LARGEST, excerpt

ROLES = ("arm", "step", "round", "sequence", "state", "reward")
SEPARATORS = ",\t;"
MISSING = ("", "na", "nan", "null")  # in small letters: what programs write where there was no choice


class _Place(NamedTuple):
    """Where the columns that are read stand in a line."""

    arm: int
    sequence: int | None
    order: int
    value: int
    has_rounds: bool  # the order is that of rounds, and not of an arm's own steps


def from_file(
    place: Path, states: int | None, columns: Mapping[str, str] | None
) -> tuple[list[str], list[list[np.ndarray]]]:
    """The labels of the arms in a file, and their sequences (see `fit`).

    Raises:
      ValueError: `columns` are wrong, or a line of the file is, which is named.
      OSError: the file cannot be read.
    """
    names = _names(columns, states)
    text = _text(place)
    separator = max(SEPARATORS, key=text.partition("\n")[0].count)
    rows = csv.reader(io.StringIO(text, newline=None), delimiter=separator, skipinitialspace=True, strict=True)
    try:
        arms, lines = _read(rows, names, states)
    except (ValueError, csv.Error) as error:
        raise ValueError(f"data: {place}, line {max(rows.line_num, 1)}: {error}") from None
    labels = sorted(arms, key=int) if all(map(str.isdecimal, arms)) else sorted(arms)
    for label in labels:
        if all(len(values) < 2 for values in arms[label].values()):
            raise ValueError(
                f"data: {place}, line {lines[label]}: arm {label} {transitions_are_needed(len(arms[label]))}"
            )
    return labels, [[np.array(values) for values in arms[label].values()] for label in labels]


def transitions_are_needed(sequences: int) -> str:
    """What is said of an arm in whose sequences no step follows another."""
    where = "has one step at most" if sequences < 2 else f"has {sequences} sequences of one step at most"
    return f"{where}; a transition takes 2 successive steps"


def kind(states: int | None) -> str:
    """What a sequence may hold."""
    return "finite numbers (up to 1e30)" if states is None else f"states 0..{states - 1}"


def _names(columns: Mapping[str, str] | None, states: int | None) -> dict[str, str]:
    """The column that the user names for each role."""
    if columns is None:
        return {}
    if not isinstance(columns, Mapping):
        raise ValueError(f"columns: {excerpt(columns)} is not a dictionary such as {{'arm': 'choice'}}")
    for role, name in columns.items():
        if role not in ROLES or not isinstance(name, str):
            raise ValueError(f"columns: {excerpt({role: name})} does not name the column of {', '.join(ROLES)}")
    if "step" in columns and "round" in columns:
        raise ValueError("columns: a step counts an arm's own plays, a round those of all arms; name one of them")
    if (unused := "state" if states is None else "reward") in columns:
        how = "a column of states needs" if states is None else "a column of rewards is for a fit without"
        raise ValueError(f"columns: {unused!r} is not read; {how} `reward`, which says what each state pays")
    return dict(columns)


def _text(path: Path) -> str:
    content = path.read_bytes()
    try:
        return content.decode("utf-8-sig")  # what spreadsheets write begins with a byte-order mark
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ValueError(f"data: {path}, line {line}: not UTF-8; save the file as CSV in UTF-8") from None


def _places(header: list[str], names: dict[str, str], states: int | None) -> _Place:
    def column(role: str, hint: str = "") -> int:
        name = names.get(role, role)
        if header.count(name) != 1:
            how_many = header.count(name) or "no"
            raise ValueError(
                f"{how_many} columns {name!r} in {header}; columns={{{role!r}: ..}} names the {role}s{hint}"
            )
        return header.index(name)

    has_rounds = "round" in names or not ("step" in names or "step" in header or "round" not in header)
    return _Place(
        arm=column("arm"),
        sequence=column("sequence") if "sequence" in names or "sequence" in header else None,
        order=column("round") if has_rounds else column("step", ", or {'round': ..} where all arms count together"),
        value=column("state", " (a fit without `reward` reads rewards instead)")
        if states is not None
        else column("reward", " (a fit with `reward` reads states instead)"),
        has_rounds=has_rounds,
    )


def _read(
    rows: Any, names: dict[str, str], states: int | None
) -> tuple[dict[str, dict[str, list[float]]], dict[str, int]]:
    """What each arm showed in each sequence, and the line of its last step; an error is about the reader's line."""
    header = next(rows, None)
    if not header:
        raise ValueError("no columns; the first line names them: arm, step, and state or reward")
    header = [name.strip() for name in header]
    place = _places(header, names, states)
    arms: dict[str, dict[str, list[float]]] = {}
    lines: dict[str, int] = {}
    last: dict[tuple[str, str], int] = {}
    for fields in rows:
        if len(fields) != len(header):
            raise ValueError(f"{len(fields)} fields, not {len(header)}" if fields else "blank")
        arm = fields[place.arm].strip()
        if arm.lower() in MISSING:
            raise ValueError(f"{header[place.arm]} {arm!r} is no arm; leave out the lines without a choice")
        sequence = "" if place.sequence is None else fields[place.sequence].strip()
        number = _whole(header[place.order], fields[place.order], "; number dates and times in their order")
        if (sequence, arm) in last and (wrong := _disorder(last[sequence, arm], number, place)):
            name = header[place.order]
            raise ValueError(f"{name} {number} of arm {arm} follows {name} {last[sequence, arm]}{wrong}")
        last[sequence, arm], lines[arm] = number, rows.line_num
        value = _value(header[place.value], fields[place.value], states)
        arms.setdefault(arm, {}).setdefault(sequence, []).append(value)
    return arms, lines


def _disorder(before: int, number: int, place: _Place) -> str:
    """What is wrong with this step of an arm after the one before, or this round: nothing if it is the next one."""
    if number <= before:
        rule = "rounds go up" if place.has_rounds else "steps of an arm go up by one"
        several = "; columns={'sequence': ..} names the sequences if there are several" * (place.sequence is None)
        return f"; {rule}, in this order{several}"
    if number > before + 1 and not place.has_rounds:
        return (
            ", with transitions unseen between them. If the arm stood still, as rested arms do while others are "
            "played, columns={'round': ..} says so. If it moved unseen, give what follows the gap another name in a "
            "column sequence. Restless arms, which move in every round, cannot be fitted: count their transitions from "
            "each round to the next by yourself, and give the rows to `environments.restless`"
        )
    return ""


def _whole(name: str, text: str, hint: str = "") -> int:
    if not re.fullmatch("[0-9]{1,18}", text.strip()):
        raise ValueError(f"{name} {text!r} is not a whole number from 0 on{hint}")
    return int(text)


def _value(name: str, text: str, states: int | None) -> float:
    if states is not None:
        state = _whole(name, text)
        if state >= states:
            raise ValueError(f"{name} {state} is not among {kind(states)}")
        return state
    try:
        reward = float(text.replace("_", "?"))  # which Python takes for a number
    except ValueError:
        hint = "; write decimals with a point" if re.fullmatch(r"\s*[-+]?\d+,\d+\s*", text) else ""
        raise ValueError(f"{name} {text!r} is not a number{hint}") from None
    if not abs(reward) <= LARGEST:
        raise ValueError(f"{name} {text} is not among {kind(None)}")
    return reward
