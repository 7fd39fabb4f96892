"""How an experiment goes, in this order: begin, play, finish.

What cannot be played is refused before a folder is touched. The folder holds one experiment with one set of settings,
so that the same command continues what was stopped. Then tables are printed and written, and pictures saved.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import jaxbandit
from experiments.command_line.folder import prepare
from experiments.reports.pictures import Pictures, save
from experiments.reports.tables import Tables, filled, publish
from jaxbandit import Result
from jaxbandit.simulation.asking.request import check

Cases = Mapping[Any, Mapping[str, Any]]


def check_cases(cases: Cases) -> None:
    """Raise ValueError unless all of it can be simulated."""
    for options in cases.values():
        check(**options)


def begin(
    name: str, settings: Any, cases: Cases, default: str = "", fixed: Iterable[str] | None = None, grows: bool = False
) -> Path:
    """Check the cases, then take the folder `--out`.

    Args:
      name: of the experiment.
      settings: its options, a dataclass with `out`.
      cases: none where the experiment plays by itself.
      default: folder where `--out` is not given; if empty, that of the experiment, its runs, horizon and seed.
      fixed: the options that may not change in a folder; if None, all but `out`.
      grows: whether runs may become more, so that horizon and seed alone are fixed and the default folder lacks runs.

    Raises:
      ValueError: what cannot be played, or why the folder cannot be had.
    """
    check_cases(cases)
    if grows:
        default, fixed = f"results/{name}/{settings.horizon}-seed{settings.seed}", ("horizon", "seed")
    asked = dataclasses.asdict(settings)
    asked.pop("quick", None)  # what it stands for is among the others
    out = asked.pop("out") or default or settings.default_folder(name)
    return prepare(out, name, asked if fixed is None else {option: asked[option] for option in fixed})


def play(cases: Cases, folder: Path) -> dict[str, Result]:
    """Sweep the cases into folder/counts; what is there continues."""
    counts = folder / "counts"
    if counts.exists():
        print("continuing with what is done already")
    return jaxbandit.sweep(cases, counts)


def finish(folder: Path, tables: Tables, pictures: Pictures = (), words: str = "", speed: str = "") -> None:
    """Print and write the tables, say `words` below them, save the pictures, and say where everything is."""
    publish(tables, folder)
    if words:
        print(f"\n{filled(words)}")
    for name, figure in pictures:
        save(figure, folder / name)
    print(f"\n{speed}written to {folder}/")
