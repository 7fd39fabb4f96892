"""Tables of a comparison: rows are dicts, printed or written as CSV."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import TextWrapper
from typing import Any

import numpy as np

from jaxbandit import Result, metrics
from jaxbandit.results.file import whole_file
from jaxbandit.texts import filled, terminal_width

Row = dict[str, str | float]
Tables = dict[str, tuple[str, list[Row]]]  # of each name its title and rows


def final_table(result: Result, scenario: int = 0) -> list[Row]:
    """Final pseudo-regret of every policy in a scenario."""
    return [
        {
            "policy": label,
            **moments(metrics.pseudo_regret(result, label)[scenario, 0, :, -1]),
            "linear share": float(metrics.linear_share(result, label)[scenario, 0]),
            "best arm's share": float(metrics.best_share(result, label)[scenario, 0, :, -1].mean()),
        }
        for label in result.labels
    ]


def of_all(column: str, tables: Mapping[str, list[Row]]) -> list[Row]:
    """The rows of all tables, with the name of their table in a first column."""
    return [{column: name, **row} for name, rows in tables.items() for row in rows]


def paired_table(result: Result) -> list[Row]:
    """Differences of final regret between every two policies; negative where the first has less."""
    rows: list[Row] = []
    for first, second in itertools.combinations(reversed(result.labels), 2):
        difference = metrics.paired_difference(result, first, second)[0, 0]
        s = metrics.summary(difference)
        low, high = metrics.median_interval(difference)
        row: Row = {"first": first, "second": second, **mean_and_interval(s), "median": float(s.median)}
        row |= {"median low": float(low), "median high": float(high)}
        rows.append(row | {"first less in": float((difference < 0).mean())})
    return rows


SHARES = (
    "linear share",
    "best arm's share",
    "first less in",
    "best arm Markovian",
    "others Markovian",
    "all arms Markovian",
    "weighed by plays",
)
REWARDS = ("gap",)
RATIOS = (
    "times the least",
    "times: 95% low",
    "times: 95% high",
    "times the lower bound",
    "times UCB1",
    "seconds to compile",
)


def text(column: str, value: str | float) -> str:
    """A cell in words: shares as percentages, rewards to four digits, ratios to two."""
    if isinstance(value, str):
        return value
    digits = ".1%" if column in SHARES else ".4f" if column in REWARDS else ",.2f" if column in RATIOS else ",.1f"
    return f"{value:{digits}}"


def in_short(values: np.ndarray, form: str = ",.1f") -> str:
    """The mean over runs and half of its 95 % interval."""
    s = metrics.summary(values)
    return f"{s.mean:{form}} ± {s.high - s.mean:{form}}"


def moments(values: np.ndarray, mean: str = "mean") -> Row:
    """Columns for the mean over runs, which has the name `mean`, its 95 % interval, and the tail."""
    s = metrics.summary(values)
    tail: Row = {"median": float(s.median), "90% quantile": float(s.quantile_90), "worst 5%": float(s.worst)}
    return mean_and_interval(s, mean) | tail


def mean_and_interval(summary: Any, mean: str = "mean", prefix: str = "") -> Row:
    """Columns for a mean, which has the name `mean`, and for the ends of its 95 % interval."""
    low, high = float(summary.low), float(summary.high)
    return {mean: float(summary.mean), f"{prefix}95% low": low, f"{prefix}95% high": high}


def together(rows: list[Row]) -> list[Row]:
    """Rows with the ends of an interval, which are columns after that of the mean, in the mean's cell.

    >>> together([{"mean": 2.0, "95% low": 1.0, "95% high": 3.0, "median": 2.0}])
    [{'mean (95%)': '2.0 (1.0 to 3.0)', 'median': 2.0}]
    """
    return [dict(_cells_together(row)) for row in rows]


def _cells_together(row: Row) -> Iterator[tuple[str, str | float]]:
    columns = list(row)
    for place, column in enumerate(columns):
        if (following := columns[place + 1 : place + 3]) and following[0].endswith("95% low"):
            value, *ends = (text(column, row[name]) for name in (column, *following))
            yield f"{column} (95%)", f"{value} ({' to '.join(ends)})" if value else ""
        elif not column.endswith(("95% low", "95% high")):
            yield column, row[column]


def show(rows: list[Row], width: int | None = None, file: str = "") -> str:
    """Rows as aligned text; where they are wider than the terminal, the first columns and the names of the others.

    Headers and long texts are wrapped there, between words.

    Args:
      rows: with the same columns.
      width: of the terminal if None.
      file: in which all columns are.
    """
    width = terminal_width() if width is None else width
    cells = [list(rows[0]), *[[text(column, value) for column, value in row.items()] for row in rows]]
    left = [isinstance(value, str) for value in rows[0].values()]
    if sum(_widths(cells)) + 2 * (len(left) - 1) <= width:
        return _block(cells, left)
    wrapped = [*zip(*[_wrapped(column, width // 4) for column in zip(*cells)])]
    ends = np.cumsum([each + 2 for each in _widths(wrapped)]) - 2
    shown = max(int((ends <= width).sum()), 2)
    view = _block([line[:shown] for line in wrapped], left)
    if not (others := "; ".join(cells[0][shown:])):
        return view
    return f"{view}\n{_fill(f'Not shown: {others}' + f' (all are in {file})' * bool(file), width)}"


def _wrapped(column: Sequence[str], most: int) -> list[str]:
    """A header, no wider than the cells if its words allow it, and the cells, no wider than `most`."""
    cells = [_fill(cell, most) for cell in column[1:]]
    return [_fill(column[0], max(_widths([[cell] for cell in cells]))), *cells]


def _fill(words: str, width: int) -> str:
    return TextWrapper(max(width, 1), break_long_words=False, break_on_hyphens=False).fill(words)


def _widths(cells: Sequence[Sequence[str]]) -> list[int]:
    return [max(len(part) for cell in column for part in cell.split("\n")) for column in zip(*cells)]


def _block(cells: Sequence[Sequence[str]], left: list[bool]) -> str:
    """Lines of cells, each of which may have several lines itself; the first has the headers."""
    widths = _widths(cells)
    lines = []
    for line in cells:
        parts = itertools.zip_longest(*[cell.split("\n") for cell in line], fillvalue="")
        padded = [
            [cell.ljust(w) if is_left else cell.rjust(w) for cell, w, is_left in zip(p, widths, left)] for p in parts
        ]
        lines.append("\n".join("  ".join(part).rstrip() for part in padded))
    return "\n".join([lines[0], "-" * max(map(len, lines[0].split("\n"))), *lines[1:]])


def publish(tables: Tables, folder: Path) -> None:
    """Print each table under its title and write it to the folder as CSV, under its name."""
    for name, (title, rows) in tables.items():
        print(f"\n{filled(title)}\n" + show(rows, file=f"{name}.csv"))
        write(rows, folder / f"{name}.csv")


def write(rows: list[Row], path: Path) -> None:
    """Rows as CSV."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, rows[0].keys())
    writer.writeheader()
    writer.writerows(rows)
    put(path, text.getvalue())


def put(path: Path, contents: str | bytes) -> None:
    """The file, as a whole or not at all."""
    with whole_file(path) as file:
        file.write(contents.encode() if isinstance(contents, str) else contents)
