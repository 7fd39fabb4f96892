"""Tables of columns, from files or from arrays: what a line holds, and what is wrong with which line."""

from __future__ import annotations

import csv
import io
import os
import re
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np

from jaxbandit.arguments import LARGEST, excerpt, path

SEPARATORS = ",\t;"
MISSING = ("", "na", "<na>", "nan", "null", "none")  # in small letters: what programs write where there was nothing

Gaps = Literal["error", "split"]  # what a place is where steps or rounds of a sequence are missing
States = int | tuple[str, ...]  # how many there are, if they are numbers from 0; or their names


class Table:
    """The lines of a table; what is raised within `errors_by_line` is said of the line that was read last.

    Raises:
      ValueError: `data` are neither columns nor a path; the file's text is not UTF-8.
      OSError: the file cannot be read.
    """

    def __init__(self, data: Any):
        self._path = path("data", data) if isinstance(data, str | os.PathLike) else None
        text = _text(self._path) if self._path else _written(data)
        separator = max(SEPARATORS, key=text.partition("\n")[0].count) if self._path else ","
        self._lines = csv.reader(
            io.StringIO(text, newline=None), delimiter=separator, skipinitialspace=True, strict=True
        )

    @contextmanager
    def errors_by_line(self) -> Iterator[None]:
        """Errors in this context name the line."""
        try:
            yield
        except (ValueError, csv.Error) as error:
            raise ValueError(f"data: {self.line}: {error}") from None

    @property
    def line(self) -> str:
        """The line that was read last: of a file from 1, with the columns' names; of arrays from 0, without them."""
        number = max(self._lines.line_num, 1)
        return f"{self._path}, line {number}" if self._path else f"row {number - 2}" if number > 1 else "columns"

    def header(self, roles: str) -> list[str]:
        """The names of the columns, which begin the table."""
        header = next(self._lines, None)
        if not header:
            raise ValueError(f"no columns; the first line names them: {roles}")
        self._columns = len(header)
        return [name.strip() for name in header]

    def __iter__(self) -> Iterator[list[str]]:
        """The fields of each line after the header."""
        for fields in self._lines:
            if len(fields) != self._columns:
                raise ValueError(f"{len(fields)} fields, not {self._columns}" if fields else "blank")
            yield [field.strip() for field in fields]


def is_table(data: Any) -> bool:
    """Whether `data` is a DataFrame, of pandas or another package."""
    return not isinstance(data, type) and hasattr(data, "columns") and hasattr(data, "__getitem__")


def _text(place: Path) -> str:
    content = place.read_bytes()
    try:
        return content.decode("utf-8-sig")  # what spreadsheets write begins with a byte-order mark
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ValueError(f"data: {place}, line {line}: not UTF-8; save the file as CSV in UTF-8") from None


def _written(data: Any) -> str:
    """The text of the file that has these columns, a dictionary or a DataFrame."""
    if not (isinstance(data, Mapping) or is_table(data)):
        raise ValueError(f"data: {excerpt(data)} is neither a file's path nor a dictionary of columns")
    columns = {}
    for name in data if isinstance(data, Mapping) else data.columns:
        try:
            columns[str(name)] = column = np.asarray(data[name])
        except (TypeError, ValueError):  # entries of several lengths, or keys of JAX
            raise ValueError(f"data: column {str(name)!r} is not an array of texts or numbers") from None
        if column.ndim != 1:
            raise ValueError(f"data: column {str(name)!r} has shape {column.shape}, not [rows]")
    if len(lengths := {len(column) for column in columns.values()}) > 1:
        raise ValueError(f"data: columns of {min(lengths)} to {max(lengths)} rows; all need the same number")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*([_entry(value) for value in column.tolist()] for column in columns.values())))
    return text.getvalue()


def _entry(value: Any) -> Any:
    """Truths and whole numbers without a point: a column of integers with a gap becomes one of floats in DataFrames."""
    return int(value) if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()) else value


def column_names(columns: Mapping[str, str] | None, roles: tuple[str, ...]) -> dict[str, str]:
    """The column that the user names for each role."""
    if columns is None:
        return {}
    if not isinstance(columns, Mapping):
        raise ValueError(f"columns: {excerpt(columns)} is not a dictionary such as {{'arm': 'choice'}}")
    for role, name in columns.items():
        if role not in roles or not isinstance(name, str):
            raise ValueError(f"columns: {excerpt({role: name})} does not name the column of {', '.join(roles)}")
    return dict(columns)


def place_of(header: list[str], names: Mapping[str, str], role: str, hint: str = "") -> int:
    """Where the column of a role stands in a line."""
    name = names.get(role, role)
    if header.count(name) != 1:
        how_many = header.count(name) or "no"
        raise ValueError(
            f"{how_many} columns {name!r} in {header}; columns={{{role!r}: ..}} names the one with each {role}{hint}"
        )
    return header.index(name)


def place_if_any(header: list[str], names: Mapping[str, str], role: str) -> int | None:
    """Where the column of a role stands, or None where there is no such column."""
    return place_of(header, names, role) if role in names or role in header else None


def arm_of(name: str, text: str) -> str:
    """The label of an arm."""
    if text.lower() in MISSING:
        raise ValueError(f"{name} {text!r} is no arm; leave out the lines without a choice")
    return text


def whole(name: str, text: str, hint: str = "") -> int:
    """A whole number from 0 on."""
    if not re.fullmatch("[0-9]{1,18}", text):
        raise ValueError(f"{name} {text!r} is not a whole number from 0 on{hint}")
    return int(text)


def real(name: str, text: str) -> float:
    """A finite number."""
    try:
        number = float(text.replace("_", "?"))  # which Python takes for a number
    except ValueError:
        hint = "; write decimals with a point" if re.fullmatch(r"[-+]?\d+,\d+", text) else ""
        raise ValueError(f"{name} {text!r} is not a number{hint}") from None
    if not abs(number) <= LARGEST:
        raise ValueError(f"{name} {text} is not among {kind(None)}")
    return number


def is_missing(text: str, states: States | None = None) -> bool:
    """Whether nothing was there, unless a state has this name."""
    return text.lower() in MISSING and not (isinstance(states, tuple) and text in states)


def state_of(name: str, text: str, states: States) -> int:
    """A state by its number or by its name."""
    if isinstance(states, tuple):
        if text not in states:
            raise ValueError(f"{name} {text!r} is not among {kind(states)}")
        return states.index(text)
    state = whole(name, text)
    if state >= states:
        raise ValueError(f"{name} {state} is not among {kind(states)}")
    return state


def kind(states: States | None) -> str:
    """What a column of states or rewards, or a sequence, may hold."""
    if isinstance(states, tuple):
        return f"states {', '.join(states)}"
    return "finite numbers (up to 1e30)" if states is None else f"states 0..{states - 1}"


def text_of_fit(lines: list[str], gaps: int, width: int) -> str:
    """The lines of a fit's text in 80 columns, with one on the places where sequences were split, if they were.

    `width`: of the first column, under which a line goes on.
    """
    transitions = "1 gap, whose transition is" if gaps == 1 else f"{gaps:,d} gaps, whose transitions are"
    lines = [*lines, f"{transitions} left out."] if gaps else lines
    indent = " " * (width + 2)
    return "\n".join(textwrap.fill(line, 80, subsequent_indent=indent, break_long_words=False) for line in lines)


def in_order(labels: Mapping[str, Any]) -> list[str]:
    """The labels of arms, sorted: as numbers if all of them are."""
    return sorted(labels, key=int) if all(map(str.isdecimal, labels)) else sorted(labels)
