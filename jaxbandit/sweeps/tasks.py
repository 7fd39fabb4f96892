"""A block of runs of a case, played into its files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from jaxbandit.interruption import interrupted
from jaxbandit.simulation.asking.request import Request
from jaxbandit.simulation.loop import pieces
from jaxbandit.sweeps import files, storage
from jaxbandit.sweeps.files import Piece

CUTTING = ("chunk", "tile", "devices")  # arguments of `simulate` that change no count

Options = Mapping[str, Any]


class Task(NamedTuple):
    """A block of runs of a case, and where it is written."""

    folder: Path
    options: dict[str, Any]
    first: int
    stop: int
    every: float
    ended: Path  # is there once the sweep was stopped, for workers to see; the next one removes it


def play(task: Task, case: Request, bar: Any, stopped: Callable[[], bool] = interrupted) -> None:
    """Play a block of runs of a case to its end, from where its files end.

    Raises:
      KeyboardInterrupt: stopped; what was played is written.
    """
    request = case.of_runs(task.first, task.stop)
    written = files.pieces_of(task.folder).get((task.first, task.stop))
    asked = storage.asked_of(case)
    last = files.load_piece(task.folder, written[-1], asked) if written else None
    before = last.rounds if last else 0
    cutting = {name: task.options[name] for name in CUTTING if name in task.options}
    for part in pieces(request, bar, resume=last, every=task.every, stopped=stopped, **cutting):
        if part.rounds > before:
            files.save_piece(task.folder, Piece(task.first, task.stop, before, part.rounds), part)
            before = part.rounds
    if before < request.horizon or stopped():
        raise KeyboardInterrupt


def without(options: Options, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in names}
