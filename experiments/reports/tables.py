"""Tables of a comparison: rows are dicts, printed or written as CSV."""

from __future__ import annotations

import csv
import io
from itertools import combinations
from pathlib import Path

import numpy as np

from jaxbandit import Result, metrics
from jaxbandit.results.file import whole_file

Row = dict[str, str | float]
Tables = dict[str, tuple[str, list[Row]]]  # of each name its title and rows


def final_table(result: Result, scenario: int = 0) -> list[Row]:
    """Final pseudo-regret of every policy in a scenario."""
    rows: list[Row] = []
    for label in result.labels:
        s = metrics.summary(metrics.pseudo_regret(result, label)[scenario, 0, :, -1])
        rows.append(
            {
                "policy": label,
                "mean": float(s.mean),
                "95% low": float(s.low),
                "95% high": float(s.high),
                "median": float(s.median),
                "90% quantile": float(s.quantile_90),
                "worst 5%": float(s.worst),
                "linear share": float(metrics.linear_share(result, label)[scenario, 0]),
                "best arm's share": float(metrics.best_share(result, label)[scenario, 0, :, -1].mean()),
            }
        )
    return rows


def paired_table(result: Result) -> list[Row]:
    """Differences of final regret between every two policies; negative where the first has less."""
    rows: list[Row] = []
    for first, second in combinations(reversed(result.labels), 2):
        difference = metrics.paired_difference(result, first, second)[0, 0]
        s = metrics.summary(difference)
        low, high = metrics.median_interval(difference)
        rows.append(
            {
                "first": first,
                "second": second,
                "mean": float(s.mean),
                "95% low": float(s.low),
                "95% high": float(s.high),
                "median": float(s.median),
                "median low": float(low),
                "median high": float(high),
                "first less in": float((difference < 0).mean()),
            }
        )
    return rows


SHARES = (
    "linear share",
    "best arm's share",
    "first less in",
    "its plays in the transition phase",
    "rounds judged Markovian",
    "best arm Markovian",
    "others Markovian",
    "all arms Markovian",
    "weighed by plays",
)
REWARDS = ("arm's mean", "gap")
RATIOS = ("times the least", "times the lower bound", "times UCB1", "seconds to compile")


def text(column: str, value: str | float) -> str:
    """A cell in words: shares as percentages, rewards to four digits, ratios to two."""
    if isinstance(value, str):
        return value
    digits = ".1%" if column in SHARES else ".4f" if column in REWARDS else ",.2f" if column in RATIOS else ",.1f"
    return f"{value:{digits}}"


def in_short(values: np.ndarray) -> str:
    """The mean over runs and half of its 95 % interval."""
    s = metrics.summary(values)
    return f"{s.mean:,.1f} ± {s.high - s.mean:,.1f}"


def show(rows: list[Row]) -> str:
    """Rows as aligned text."""
    cells = [list(rows[0]), *[[text(column, value) for column, value in row.items()] for row in rows]]
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    left = [isinstance(value, str) for value in rows[0].values()]
    lines = [
        "  ".join(cell.ljust(w) if is_left else cell.rjust(w) for cell, w, is_left in zip(line, widths, left)).rstrip()
        for line in cells
    ]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def publish(tables: Tables, folder: Path) -> None:
    """Print each table under its title and write it to the folder as CSV, under its name."""
    for name, (title, rows) in tables.items():
        print(f"\n{title}\n" + show(rows))
        write(rows, folder / f"{name}.csv")


def write(rows: list[Row], path: Path) -> None:
    """Rows as CSV."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, rows[0].keys())
    writer.writeheader()
    writer.writerows(rows)
    with whole_file(path) as file:
        file.write(text.getvalue().encode())
