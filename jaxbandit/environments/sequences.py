"""Observed sequences of states or rewards, arm by arm: from arrays or from a CSV file, every entry checked."""

from __future__ import annotations

import csv
import io
import itertools
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.arguments import LARGEST, as_floats, path, shown

Data = Iterable[ArrayLike] | str | os.PathLike[str]


def sequences(data: Data, states: int | None = None) -> list[np.ndarray]:
    """The K sequences [steps] in `data`: of states below `states`, or of rewards where that is None.

    Raises:
      ValueError: an entry is wrong; arms are fewer than 2, or steps of an arm fewer than 2.
      OSError: the file cannot be read.

    >>> [arm.tolist() for arm in sequences([[0, 1, 1], [1, 0]], states=2)]
    [[0, 1, 1], [1, 0]]
    """
    from_file = isinstance(data, str | os.PathLike)
    arms = _from_file(path("data", data), states) if from_file else _from_arrays(data, states)
    if len(arms) < 2:
        raise ValueError(f"data: {'one arm only' if arms else 'no arms'}; a bandit needs at least 2")
    return arms


def _from_arrays(data: Any, states: int | None) -> list[np.ndarray]:
    try:
        if isinstance(data, bytes | Mapping):
            raise TypeError
        entries = iter(data)
    except TypeError:
        raise ValueError(f"data: {shown(data)}; give one sequence an arm, or a file's path") from None
    arms = []
    for number, given in enumerate(entries):
        values, arm = as_floats(f"data: arm {number}", given), np.asarray(given)
        arms.append(arm)
        if arm.ndim != 1 or len(arm) < 2:
            raise ValueError(f"data: arm {number} has shape {arm.shape}, not [steps] with at least 2 steps")
        if arm.dtype.kind not in ("biuf" if states is None else "biu"):
            raise ValueError(f"data: arm {number} holds {arm.dtype}, not {_kind(states)}")
        wrong = ~(np.abs(values) <= LARGEST) if states is None else (arm < 0) | (arm >= states)
        if wrong.any():
            step = int(np.argmax(wrong))
            raise ValueError(f"data: arm {number}, step {step}: {arm[step]} is not among {_kind(states)}")
    return [arm.astype(float if states is None else int) for arm in arms]


def _from_file(place: Path, states: int | None) -> list[np.ndarray]:
    rows = csv.reader(io.StringIO(_text(place), newline=None), skipinitialspace=True, strict=True)
    try:
        arms, lines = _columns(rows, states)
    except (ValueError, csv.Error) as error:
        raise ValueError(f"data: {place}, line {max(rows.line_num, 1)}: {error}") from None
    for arm, values in sorted(arms.items()):
        missing = next(number for number in itertools.count() if number not in arms)
        if missing < arm:
            raise ValueError(f"data: {place}, line {lines[arm]}: there is an arm {arm}, but no arm {missing}")
        if len(values) < 2:
            raise ValueError(f"data: {place}, line {lines[arm]}: arm {arm} ends after one step; at least 2 are needed")
    return [np.array(arms[arm]) for arm in range(len(arms))]


def _text(path: Path) -> str:
    content = path.read_bytes()
    try:
        return content.decode("utf-8-sig")  # what spreadsheets write begins with a byte-order mark
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ValueError(f"data: {path}, line {line}: not UTF-8; save the file as CSV in UTF-8") from None


def _columns(rows: Any, states: int | None) -> tuple[dict[int, list[float]], dict[int, int]]:
    """What each arm showed, and the line of its last step; the reader stands at the line that an error is about."""
    header = next(rows, None)
    if not header:
        raise ValueError("no columns; the first line names them: arm, step, and state or reward")
    quantity = "reward" if states is None else "state"
    for name in ("arm", "step", quantity):
        if header.count(name) != 1:
            raise ValueError(
                f"{header.count(name) or 'no'} columns {name!r} in {header}; a column state is for a fit that is given "
                "`reward`, a column reward for one that is not"
            )
    arms: dict[int, list[float]] = {}
    lines: dict[int, int] = {}
    steps: dict[int, int] = {}
    for fields in rows:
        if len(fields) != len(header):
            raise ValueError(f"{len(fields)} fields, not {len(header)}" if fields else "blank")
        row = dict(zip(header, fields))
        arm, step = _whole("arm", row["arm"]), _whole("step", row["step"])
        if arm in steps and step > steps[arm] + 1:
            raise ValueError(
                f"step {step} of arm {arm} follows step {steps[arm]}, with transitions unseen between them; arms that "
                "were seen at some of their steps only, as restless arms are, cannot be fitted"
            )
        if arm in steps and step != steps[arm] + 1:
            raise ValueError(f"step {step} of arm {arm} follows step {steps[arm]}; steps go up by one, in this order")
        value = _value(row[quantity], states)
        arms.setdefault(arm, []).append(value)
        lines[arm], steps[arm] = rows.line_num, step
    return arms, lines


def _whole(name: str, text: str) -> int:
    if not re.fullmatch("[0-9]{1,18}", text.strip()):
        raise ValueError(f"{name} {text!r} is not a whole number from 0 on")
    return int(text)


def _value(text: str, states: int | None) -> float:
    if states is not None:
        state = _whole("state", text)
        if state >= states:
            raise ValueError(f"state {state} is not among {_kind(states)}")
        return state
    try:
        reward = float(text.replace("_", "?"))  # which Python takes for a number
    except ValueError:
        raise ValueError(f"reward {text!r} is not a number") from None
    if not abs(reward) <= LARGEST:
        raise ValueError(f"reward {text} is not among {_kind(states)}")
    return reward


def _kind(states: int | None) -> str:
    return "finite numbers (up to 1e30)" if states is None else f"states 0..{states - 1}"
