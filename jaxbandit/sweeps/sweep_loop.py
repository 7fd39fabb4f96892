"""`sweep`: simulate named cases into a folder, and continue where it was interrupted."""

from __future__ import annotations

import errno
import inspect
import math
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path
from typing import Any

from jaxbandit.arguments import excerpt, integer, number, truth
from jaxbandit.arguments import path as as_path
from jaxbandit.interruption import CtrlC, stop_if_interrupted
from jaxbandit.results.result import Result
from jaxbandit.simulation.asking.request import Request, check
from jaxbandit.simulation.progress import progress_bar, rounds_left
from jaxbandit.simulation.telling.fingerprint import fingerprint
from jaxbandit.simulation.telling.free_memory import check_memory
from jaxbandit.sweeps import files, storage
from jaxbandit.sweeps.tasks import CUTTING, Options, Task, play, play_all, without

RUNS_OF_A_FILE = 10_000


def sweep(
    cases: Mapping[str, Options],
    folder: str | os.PathLike[str],
    *,
    executor: Executor | None = None,
    block: int = RUNS_OF_A_FILE,
    every: float = 30.0,
    progress: bool = True,
) -> dict[str, Result]:
    """Simulate every case into a folder: skip finished cases, and continue stopped ones; changed ones are an error.

    The counts are those of `simulate` with the same arguments, bit for bit, however often the sweep was interrupted and
    whatever executor played it. Runs may be added later: 1,000 now and `runs=10_000` tomorrow plays the other 9,000.
    Cases may be added and left out. The default key of every case is `jax.random.key(0)`, so that cases have common
    random numbers: differences between cases are paired run by run, and the standard error of an average over cases is
    that of the averages within each run. Give independent cases keys of their own.

    Every block of runs is written after `every` seconds, to files that are never changed again and never half written.
    Ctrl-C writes what was played and raises KeyboardInterrupt; the same call continues, also after kill -9. A finished
    sweep is only read, so its folder may be read-only.

    Args:
      cases: name to the arguments of `simulate` (except `progress` and `resume`). `grid` makes them from axes.
      folder: created if missing. A second sweep into it at the same time is an error.
      executor: a `concurrent.futures.Executor` whose workers see the folder; each task is a block of runs of a case.
      block: runs of a file and of a task; give fewer for more workers.
      every: seconds between two files of a block.
      progress: show a bar, if the output is a terminal or a notebook.

    Returns:
      name to `Result`, complete; `simulate(resume=...)` cannot continue it.

    Raises:
      ValueError: an argument is wrong or has changed (which one), or a file is damaged or foreign (its name).
      OSError: the folder cannot be written, or another sweep is writing to it (BlockingIOError).
      RuntimeError: a worker of the executor died, or was forked and not spawned.
      KeyboardInterrupt: by Ctrl-C.

    >>> import jaxbandit, tempfile
    >>> arms = jaxbandit.two_state([0.5, 0.4], [0.4, 0.55])
    >>> def case(exponent):
    ...     policies = {"TV": jaxbandit.TVKLUCB(exponent=exponent)}
    ...     return {"scenarios": arms, "policies": policies, "runs": 4, "horizon": 50, "times": [50]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results = sweep(jaxbandit.grid(case, exponent=[0.2, 0.3]), folder)
    >>> {name: result.visits["TV"].shape for name, result in results.items()}
    {'exponent=0.2': (1, 1, 4, 1, 2, 2), 'exponent=0.3': (1, 1, 4, 1, 2, 2)}
    """
    try:
        with CtrlC():
            block = integer("block", block, 1)
            every = number("every", every, 0, math.inf, above=True)
            truth("progress", progress)
            if executor is not None and not isinstance(executor, Executor):
                raise ValueError(
                    f"executor: {excerpt(executor)} is not a concurrent.futures.Executor; for Dask give "
                    "client.get_executor()"
                )
            requests = _check(cases, executor)
            check_memory("cases", list(requests.values()), playing=False)
            for request in requests.values():
                check_memory("block", [request.of_runs(0, min(block, request.runs))], playing=True)
            path = as_path("folder", folder).resolve()
            with storage.locked(path) as writable:
                folders = storage.open_cases(path, requests, writable)
                tasks = [
                    (name, task, rounds)
                    for name, request in requests.items()
                    for task, rounds in _tasks(folders[name], dict(cases[name]), request, block, every)
                    if rounds
                ]
                if tasks and not writable:
                    reason = f"cannot be written, and cases[{tasks[0][0]!r}] is not finished; choose another folder"
                    raise PermissionError(errno.EACCES, reason, str(path))
                left = sum(rounds for _, _, rounds in tasks)
                total = max(left, sum(map(rounds_left, requests.values())))
                with progress_bar(total, progress, total - left) as bar:
                    if executor is not None:
                        play_all(executor, [(task, rounds) for _, task, rounds in tasks], bar)
                    else:
                        for name, task, _ in tasks:
                            bar.set_description(name)
                            play(task, requests[name], bar)
                return {name: _assemble(folders[name], request) for name, request in requests.items()}
    except KeyboardInterrupt:
        raise KeyboardInterrupt("stopped; what is written is kept, and the same call continues") from None


def _assemble(folder: Path, request: Request) -> Result:
    whole = files.assemble(folder, storage.asked_of(request), request.runs)
    return replace(whole, means=request.means, reward=request.reward, fingerprint=fingerprint(request))


def _check(cases: Mapping[str, Options], executor: Executor | None) -> dict[str, Request]:
    """Every case as a request, before anything is written."""
    if not isinstance(cases, Mapping) or not cases:
        raise ValueError("cases: give a dict from name to the arguments of simulate")
    requests, known = {}, inspect.signature(check).parameters
    for name, options in cases.items():
        if not isinstance(name, str) or not isinstance(options, Mapping):
            raise ValueError(f"cases[{excerpt(name)}]: give a text and a dict of the arguments of simulate")
        for argument in options:
            if argument in ("progress", "resume"):
                raise ValueError(f"cases[{name!r}]: {argument} is the sweep's own; leave it out")
            if argument not in (*known, *CUTTING):
                raise ValueError(f"cases[{name!r}]: {excerpt(argument)} is not an argument of simulate")
        for argument in ("scenarios", "policies"):
            if argument not in options:
                raise ValueError(f"cases[{name!r}]: {argument} is missing")
        if executor is not None and "devices" in options:
            raise ValueError(f"cases[{name!r}]: an executor has other devices than this process; leave them out")
        if isinstance(options.get("runs"), range):
            raise ValueError(f"cases[{name!r}]: runs: give their number, from run 0")
        stop_if_interrupted()
        try:
            requests[name] = check(**without(options, CUTTING))
        except (TypeError, ValueError) as error:
            raise ValueError(f"cases[{name!r}]: {error}") from error
    return requests


def _tasks(
    folder: Path, options: dict[str, Any], request: Request, block: int, every: float
) -> Iterator[tuple[Task, int]]:
    """The blocks of runs of a case, in the folder or new, in order, and the rounds that are left to play of each."""
    known = files.pieces_of(folder)
    stop_file = folder.parent / f".stopped.{os.getpid()}.tmp"
    first = 0
    while first < request.runs:
        stop = next((b for a, b in known if a == first), None)
        if stop is None:
            stop = min([first + block, request.runs, *(a for a, _ in known if a > first)])
        written = known.get((first, stop))
        last = written[-1].last if written else 0
        left = rounds_left(request.of_runs(first, stop)) * (request.horizon - last) // request.horizon
        yield Task(folder, options, first, stop, every, stop_file), left
        first = stop
