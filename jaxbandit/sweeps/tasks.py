"""Play blocks of runs of a case into their files, in this process or in the workers of an executor."""

from __future__ import annotations

import functools
import multiprocessing
import os
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.cores import check_threads
from jaxbandit.interruption import CtrlC, interrupted, stop_if_interrupted
from jaxbandit.simulation.asking.request import Request, check
from jaxbandit.simulation.loop import pieces
from jaxbandit.simulation.progress import LOOK, progress_bar
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
    stop_file: Path  # created when the sweep stops, for workers to see; the next sweep removes it


def play(task: Task, case: Request, bar: Any, stopped: Callable[[], bool] = interrupted) -> None:
    """Play a block of runs of a case from where its files end; if stopped, write them and raise KeyboardInterrupt."""
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


def play_remotely(task: Task, key: np.ndarray, implementation: str, double: bool) -> None:
    """Play a block in a worker of an executor, which writes the files itself; return early once the sweep has stopped.

    Only a Ctrl-C in this process raises KeyboardInterrupt: Dask would take it for the end of its worker.
    """
    check_threads()
    _end_with_parent()
    try:
        with CtrlC(), jax.enable_x64(double):
            options = task.options | {"key": jax.random.wrap_key_data(jnp.asarray(key), impl=implementation)}
            case = check(**without(options, CUTTING))
            stopped = lambda: interrupted() or task.stop_file.exists()
            play(task._replace(options=options), case, progress_bar(0, False), stopped)
    except KeyboardInterrupt:
        if not task.stop_file.exists():
            raise


@functools.cache
def _end_with_parent() -> None:
    """From now on, end this process with the one that started it.

    Otherwise the workers of a `ProcessPoolExecutor` whose process was killed would wait for ever, each with its memory.
    Files are whole at any moment.
    """
    parent = multiprocessing.parent_process()

    def wait_and_end() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait_and_end, daemon=True).start()


def play_all(executor: Executor, tasks: list[tuple[Task, int]], bar: Any) -> None:
    """Let the workers of an executor play the tasks.

    Whatever ends the sweep early, the error of a worker or Ctrl-C, stops all workers; they write what they have played.
    If a worker died, raise RuntimeError.
    """
    if not tasks:
        return
    futures: dict[Future[None], int] = {}
    double = jnp.result_type(float).itemsize == 8
    try:
        for task, rounds in tasks:
            key = jax.random.key(0) if task.options.get("key") is None else task.options["key"]
            words = np.asarray(jax.random.key_data(key)), str(jax.random.key_impl(key))
            plain = task._replace(options=without(task.options, ("key",)))
            futures[executor.submit(play_remotely, plain, *words, double)] = rounds
        left = set(futures)
        while left:
            stop_if_interrupted()
            done, left = wait(left, LOOK, FIRST_COMPLETED)
            for future in done:
                future.result()
                bar.update(futures[future])
    except BaseException as error:
        with suppress(OSError):
            tasks[0][0].stop_file.touch()
        wait([future for future in futures if not future.cancel()])
        if not isinstance(error, BrokenExecutor):
            raise
        stop_if_interrupted()  # Ctrl-C ends idle workers
        raise RuntimeError(
            "executor: a worker died and took the pool with it; what was written is whole, and the same call with a "
            "new executor continues"
        ) from error
