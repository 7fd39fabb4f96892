"""What is measured: speeds, errors, and the paper's experiments, from `results/` or else in small, kept in `build`."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from docs.making import ROOT

NAMES = "digits or oracle or mpmath or definition or two_states or stopping_set"  # of the tests that measure errors
ACCURACY = f'python -m pytest -m "slow or not slow" -k "{NAMES}"'
MEASURED = ("largest error", "allowed")
RUNS, HORIZON = 100, 10_000  # of the paper's experiments where no others are found


def play(module: str, *options: str) -> None:
    """An experiment in a process of its own.

    Raises:
      RuntimeError: it fails; the message is what it said.
    """
    done = subprocess.run([sys.executable, "-m", module, *options], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{module}: {done.stderr}")


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as a table in Markdown; numbers stand to the right.

    >>> print(table([{"a": "x|y", "b": 1.5}]))
    | a | b |
    |---|--:|
    | x\\|y | 1.5 |
    <BLANKLINE>
    """
    right = [_is_number(value) for value in rows[0].values()]
    lines = [list(rows[0]), *[[str(value).replace("|", r"\|") for value in row.values()] for row in rows]]
    bodies = ["| " + " | ".join(line) + " |" for line in lines]
    return "\n".join([bodies[0], "|" + "|".join("--:" if r else "---" for r in right) + "|", *bodies[1:]]) + "\n"


def _is_number(value: Any) -> bool:
    try:
        float(str(value).replace(",", "").rstrip("%"))
    except ValueError:
        return False
    return True


def speeds() -> dict[str, str]:
    """Million rounds a second by the name of a policy, from the table of `docs/speed.md`."""
    return dict(re.findall(r"^\| ([^|]+) \| ([\d.]+) \|", (ROOT / "docs" / "speed.md").read_text(), re.MULTILINE))


def accuracy() -> str:
    """The errors that the tests have measured here, of several with one name the largest, in Markdown."""
    files = (ROOT / "build" / "accuracy").glob("*.json")
    rows = sorted((row for path in files for row in json.loads(path.read_text())), key=lambda row: row["largest error"])
    by_name = {row["what"]: {**row, **{name: f"{row[name]:.2g}" for name in MEASURED}} for row in rows}
    if not by_name:
        return f"Not measured here: `{ACCURACY}` does, and the next build shows it.\n"
    return table([by_name[name] for name in sorted(by_name, key=str.lower)])


def paper(folder: Path, build: Path) -> tuple[dict[Path, str], dict[Path, Path]]:
    """Claims, bounds and figures of the largest `experiments.paper` in `results`, or of a small one."""
    reports = [*(ROOT / "results" / "paper").glob("*/report.html"), *build.glob("paper*/report.html")]
    whole = [path for path in reports if (path.parent / "phases.csv").exists()]  # older ones lack a table
    done = [path for path in whole if path.is_relative_to(ROOT / "results")] or whole
    if not done:
        size = ("--runs", str(RUNS), "--horizon", str(HORIZON))
        play("experiments.paper", *size, "--out", str(build / "paper"))
        done = [build / "paper" / "report.html"]
    homes = {path.parent: _size(path) for path in done}
    home = max(homes, key=lambda folder: np.prod(homes[folder]))
    runs, horizon = homes[home]
    pictures = {folder / "paper" / path.name: path for path in home.glob("*.png")}
    size = f"{runs:,} runs of {horizon:,} rounds"
    texts = {
        folder / "parts" / "paper_claims.md": f"{size}.\n\n{table(_rows(home / 'claims.csv'))}",
        folder / "parts" / "paper_phases.md": table(_rows(home / "phases.csv")),
        folder / "parts" / "paper_bounds.md": table(_rows(home / "bounds.csv")),
        folder / "parts" / "paper_figures.md": _figures(pictures),
        folder / "parts" / "paper_slips.md": _slips(),
    }
    return texts, pictures


def _size(report: Path) -> tuple[int, int]:
    """Runs and rounds, as the experiment's page names them."""
    runs, horizon = re.search(r"Here: ([\d,]+) runs of ([\d,]+) rounds", report.read_text()).groups()
    return int(runs.replace(",", "")), int(horizon.replace(",", ""))


def _rows(path: Path) -> list[dict[str, str]]:
    with open(path, newline="") as file:
        return [{name: _short(value) for name, value in row.items()} for row in csv.DictReader(file)]


def _short(value: str) -> str:
    """Numbers of a CSV file, which has all digits, as they are printed."""
    try:
        return f"{float(value):,.1f}"
    except ValueError:
        return value


def _figures(pictures: dict[Path, Path]) -> str:
    from experiments.published import figures  # draws, and so waits for Matplotlib

    captions = {figure.name: figure.caption for figure in figures.FIGURES if not isinstance(figure, str)}
    captions |= {"Figure 1e": figures.FAMILY, "Phases": figures.PHASES, "Bounds": figures.NORMALISED}
    parts = [figures.HOW_TO_READ]
    for name, caption in captions.items():
        file = name.lower().replace(" ", "_").replace(".", "") + ".png"
        if file not in {path.name for path in pictures}:
            raise FileNotFoundError(f"{file}: no such figure of experiments.paper")
        parts.append(f":::{{figure}} /generated/paper/{file}\n:alt: {name}\n\n**{name}.** {caption}\n:::")
    return "\n\n".join(parts) + "\n"


def _slips() -> str:
    from experiments.published.slips import SLIPS

    return table([dict(zip(("where", "what", "here"), slip)) for slip in SLIPS])
