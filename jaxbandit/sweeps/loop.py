"""`sweep`: named cases into a folder that survives anything."""

from __future__ import annotations

import errno
import inspect
import itertools
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path
from typing import Any

from jaxbandit.arguments import integer, list_of, number, shown, truth
from jaxbandit.arguments import path as as_path
from jaxbandit.interruption import CtrlC, stop_if_interrupted
from jaxbandit.results.named_axes import NAMES
from jaxbandit.results.result import Result
from jaxbandit.simulation.asking.request import Request, check
from jaxbandit.simulation.progress import progress_bar, rounds_left
from jaxbandit.simulation.telling.fingerprint import fingerprint
from jaxbandit.simulation.telling.free_memory import check_memory
from jaxbandit.sweeps import files, storage
from jaxbandit.sweeps.tasks import CUTTING, Options, Task, play, without
from jaxbandit.sweeps.workers import play_all

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
    """Simulate every case into a folder: what is done is skipped, what was stopped continues, what changed is refused.

    The counts are those of `simulate` with the same arguments, bit for bit, however often the sweep was interrupted and
    whatever executor played it. Runs may be added later: 1,000 now and `runs=10_000` tomorrow plays the other 9,000.
    Cases may be added and left out. All keys are `jax.random.key(0)` unless given, so that run j has the same random
    numbers in every case: differences between cases are paired run by run, and the standard error of an average over
    cases is that of the averages within each run. Independent cases need keys of their own.

    A block of runs is written every `every` seconds, to files that are never changed again; no file is half written.
    Ctrl-C writes what is done and raises KeyboardInterrupt; the same call continues, also after kill -9. Where nothing
    is left to play, the folder is only read, and may be one that cannot be written.

    Args:
      cases: name to the arguments of `simulate` (but `progress` and `resume`). `grid` makes them from axes.
      folder: made if it is not there. Of two sweeps at once on one folder the second is refused.
      executor: a `concurrent.futures.Executor` whose workers see the folder; each task is a block of runs of a case.
      block: runs of a file and of a task; give fewer for more workers.
      every: seconds between two files of a block.
      progress: show a bar, if the output is a terminal or a notebook.

    Returns:
      name to `Result`, complete; not to be continued by `simulate(resume=...)`.

    Raises:
      ValueError: an argument is wrong or has changed (which one), or a file is damaged or foreign (its name).
      OSError: the folder cannot be written, or another sweep is at work on it (BlockingIOError).
      RuntimeError: a worker of the executor died.
      KeyboardInterrupt: by Ctrl-C, at whatever moment it came.

    >>> import jaxbandit, tempfile
    >>> arms = jaxbandit.two_state([0.5, 0.4], [0.4, 0.55])
    >>> def case(exponent):
    ...     policies = {"TV": jaxbandit.TVKLUCB(exponent=exponent)}
    ...     return {"scenarios": arms, "policies": policies, "runs": 4, "horizon": 50, "times": [50]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results = sweep(grid(case, exponent=[0.2, 0.3]), folder)
    >>> {name: result.visits["TV"].shape for name, result in results.items()}
    {'exponent=0.2': (1, 1, 4, 1, 2, 2), 'exponent=0.3': (1, 1, 4, 1, 2, 2)}
    """
    try:
        with CtrlC():
            return _sweep(cases, folder, executor, block, every, progress)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("stopped; what is written is kept, and the same call continues") from None


def _sweep(
    cases: Mapping[str, Options],
    folder: str | os.PathLike[str],
    executor: Executor | None,
    block: int,
    every: float,
    progress: bool,
) -> dict[str, Result]:
    """`sweep`, but for the words with which it is stopped."""
    block = integer("block", block, 1)
    every = number("every", every, 0, math.inf, above=True)
    truth("progress", progress)
    if executor is not None and not isinstance(executor, Executor):
        raise ValueError(
            f"executor: {shown(executor)} is not a concurrent.futures.Executor; for Dask, client.get_executor()"
        )
    requests = _check(cases, executor)
    check_memory("cases", list(requests.values()), playing=False)
    for request in requests.values():
        check_memory("block", [request.of_runs(0, min(block, request.runs))], playing=True)
    path = as_path("folder", folder).resolve()
    with storage.locked(path) as writable:
        folders = storage.open_cases(path, requests, writable)
        asked = {name: storage.asked_of(request) for name, request in requests.items()}
        tasks = [
            (name, task, rounds)
            for name, request in requests.items()
            for task, rounds in _tasks(folders[name], dict(cases[name]), request, block, every)
        ]
        left = sum(rounds for _, _, rounds in tasks)
        if left and not writable:
            unfinished = next(name for name, _, rounds in tasks if rounds)
            reason = f"cannot be written, and cases[{unfinished!r}] is not finished; choose another folder"
            raise PermissionError(errno.EACCES, reason, str(path))
        total = max(left, sum(rounds_left(request) for request in requests.values()))
        with progress_bar(total, progress, total - left) as bar:
            if executor is not None:
                play_all(executor, [(task, rounds) for _, task, rounds in tasks if rounds], bar)
            else:
                for name, task, rounds in tasks:
                    if rounds:
                        bar.set_description(name)
                        play(task, requests[name], bar)
        return {name: _assemble(folders[name], request, asked[name]) for name, request in requests.items()}


def _assemble(folder: Path, request: Request, asked: dict[str, Any]) -> Result:
    whole = files.assemble(folder, asked, request.runs)
    return replace(whole, means=request.means, reward=request.reward, fingerprint=fingerprint(request))


def grid(make: Callable[..., Options], **axes: Iterable[Any]) -> dict[str, Options]:
    """A case for every combination of the axes' values, the last axis fastest.

    Args:
      make: the arguments of `simulate` from one value of each axis, by name.
      axes: name to values.

    Returns:
      name, such as "exponent=0.2, runs=100", to case; 0.7999999999999999, of `numpy.arange`, is called 0.8. In the
      order of `itertools.product`: so the results' numbers can be reshaped to the lengths of the axes.

    Raises:
      ValueError: two combinations have the same name, or an axis has the name of one that every result has, as
        "scenario" or "run": `to_xarray` could not tell them apart.

    >>> list(grid(lambda a, b: {}, a=[1, 2], b=["x"]))
    ['a=1, b=x', 'a=2, b=x']
    """
    _check_call(make, axes)
    for axis in axes:
        if axis in NAMES:
            raise ValueError(f"{axis}: every result has an axis or a variable of that name; give the grid's another")
    values = {axis: list_of(axis, each) for axis, each in axes.items()}
    named = [list(zip(names_of(each), each, strict=True)) for each in values.values()]
    cases = {}
    for chosen in itertools.product(*named):
        name = ", ".join(f"{axis}={text}" for axis, (text, _) in zip(axes, chosen, strict=True))
        if name in cases:
            raise ValueError(f"axes: two combinations are called {name!r}; give values that differ as text")
        cases[name] = make(**{axis: value for axis, (_, value) in zip(axes, chosen, strict=True)})
    return cases


def names_of(values: list[Any]) -> list[str]:
    """What the values of an axis are called: by their text, floats without the rounding of NumPy's ranges.

    A name follows from its own value alone, so that a folder knows its cases when others are added.
    """
    return [_name_of(value) for value in values]


def _name_of(value: Any) -> str:
    if isinstance(value, float):
        short = float(f"{value:.12g}")
        if math.isclose(short, value, rel_tol=1e-14):
            return str(short)
    return str(value)


def _check_call(make: Callable[..., Options], axes: Iterable[str]) -> None:
    """Refuse what cannot be called with these arguments by name."""
    if not callable(make):
        raise ValueError(f"make: {shown(make)} is not a function that makes the arguments of simulate")
    try:
        inspect.signature(make).bind(**dict.fromkeys(axes))
    except TypeError:
        raise ValueError(f"make: {shown(make)} does not take the arguments {', '.join(axes)}") from None
    except ValueError:  # a function that is not written in Python has no signature, but may take them
        pass


def _check(cases: Mapping[str, Options], executor: Executor | None) -> dict[str, Request]:
    """Every case as a request, before anything is written."""
    if not isinstance(cases, Mapping) or not cases:
        raise ValueError("cases: give a dict from name to the arguments of simulate")
    requests = {}
    for name, options in cases.items():
        if not isinstance(name, str) or not isinstance(options, Mapping):
            raise ValueError(f"cases[{shown(name)}]: give a text and a dict of the arguments of simulate")
        for argument in ("progress", "resume"):
            if argument in options:
                raise ValueError(f"cases[{name!r}]: {argument} is the sweep's own; leave it out")
        if executor is not None and "devices" in options:
            raise ValueError(f"cases[{name!r}]: devices of this process mean nothing to an executor's; leave them out")
        if isinstance(options.get("runs"), range):
            raise ValueError(f"cases[{name!r}]: runs: give their number, from run 0")
        known = inspect.signature(check).parameters
        for argument in options:
            if argument not in (*known, *CUTTING):
                raise ValueError(f"cases[{name!r}]: {shown(argument)} is not an argument of simulate")
        for argument in ("scenarios", "policies"):
            if argument not in options:
                raise ValueError(f"cases[{name!r}]: {argument} is missing")
        stop_if_interrupted()
        try:
            requests[name] = check(**without(options, CUTTING))
        except (TypeError, ValueError) as error:
            raise ValueError(f"cases[{name!r}]: {error}") from error
    return requests


def _tasks(
    folder: Path, options: dict[str, Any], request: Request, block: int, every: float
) -> Iterator[tuple[Task, int]]:
    """The blocks of runs of a case, in the folder or new, in order, and the rounds that each still lacks."""
    known = files.pieces_of(folder)
    ended = folder.parent / f".stopped.{os.getpid()}.tmp"
    first = 0
    while first < request.runs:
        stop = next((b for a, b in known if a == first), None)
        if stop is None:
            stop = min([first + block, request.runs, *(a for a, _ in known if a > first)])
        written = known.get((first, stop))
        last = written[-1].last if written else 0
        left = rounds_left(request.of_runs(first, stop)) * (request.horizon - last) // request.horizon
        yield Task(folder, options, first, stop, every, ended), left
        first = stop
