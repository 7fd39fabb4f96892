"""A search of a space for the problems on which something is largest: points of a Sobol sequence, then CMA-ES."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from jaxbandit.interruption import CtrlC, StoppedWarning
from jaxbandit.stress import preparation as prepare
from jaxbandit.stress.spaces import Problem, Space
from jaxbandit.stress.trials import TOGETHER

RUNS = 48  # of a problem during the search
RUNS_AGAIN = 192  # of the best problems, among which it chooses
WIDTH = 0.2  # of the first generation, in units of the box
APART = 0.1  # the least distance in the box between reported problems

Values = Callable[[list[Problem], int], np.ndarray]  # what is sought, of problems that are played so many times each


class Chosen(NamedTuple):
    """The problems that a search chose, the largest value first.

    Fields:
      problems: that differ by `APART` or more.
      believed: the value of each in the search, which tends to be too large because the search selects by it.
      judged: what `judge` says of them on new runs; None if Ctrl-C came first.
      complete: whether the search played its budget.
    """

    problems: list[Problem]
    believed: list[float]
    judged: Any
    complete: bool


def choose(
    space: Space,
    key: Any,
    budget: int,
    number: int,
    values: Values,
    judge: Callable[[list[Problem]], Any],
    ctrl_c: CtrlC,
) -> Chosen:
    """Search, and judge the best problems on new runs; warn if Ctrl-C came."""
    candidates, complete = _search(space, key, budget, values, ctrl_c)
    best = _apart(candidates, number)
    problems, judged = [space.problem(point) for _, point in best], None
    try:
        if best:
            judged = judge(problems)
    except KeyboardInterrupt:
        if not ctrl_c.take():
            raise
    if ctrl_c.came or not complete or (best and judged is None):
        done = "the search is complete" if complete else "the search is not complete"
        unjudged = "; nothing is judged on new runs" if judged is None else ""
        warnings.warn(f"Ctrl-C came during a search: {done}{unjudged}", StoppedWarning, stacklevel=3)
    return Chosen(problems, [value for value, _ in best], judged, complete)


def cmaes() -> Any:
    """The package, or an ImportError that says how to install it."""
    try:
        import cmaes
    except ImportError as error:
        raise ImportError('cmaes is not installed; pip install -e ".[search]"') from error
    return cmaes


def _search(
    space: Space, key: Any, budget: int, values: Values, ctrl_c: CtrlC
) -> tuple[list[tuple[float, np.ndarray]], bool]:
    """The value and the point of each candidate, and whether the search is complete."""
    points: list[np.ndarray] = []
    believed: list[float] = []

    def at(generation: np.ndarray, runs: int) -> np.ndarray:
        return values(list(map(space.problem, generation)), runs)

    try:
        for generation in _generations(space, key, budget, points, believed):
            believed.extend(at(generation, RUNS))
            points.extend(generation)
        best = np.array(points)[np.argsort(believed)[::-1][:TOGETHER]]
        return list(zip(at(best, RUNS_AGAIN).tolist(), best, strict=True)), True
    except KeyboardInterrupt:
        if not ctrl_c.take():
            raise
        return list(zip(believed, points)), False


def _generations(
    space: Space, key: Any, budget: int, points: list[np.ndarray], believed: list[float]
) -> Iterator[np.ndarray]:
    """Points [N, dimension] to be played next, from the points played before and their values."""
    first = max(TOGETHER, 2 * budget // 5 // TOGETHER * TOGETHER)
    yield prepare.sobol(space, prepare.generator(key), first)
    generations = (budget - first) // TOGETHER
    starts = [point for _, point in _apart(list(zip(believed, points)), 2)]
    random = prepare.generator(key)
    for n, start in enumerate(starts):
        seed = int(random.integers(2**31))
        bounds = np.tile([0.0, 1.0], (space.dimension, 1))
        search = cmaes().CMA(mean=start, sigma=WIDTH, bounds=bounds, seed=seed, population_size=TOGETHER)
        for _ in range((generations + 1 - n) // 2):
            generation = np.array([search.ask() for _ in range(TOGETHER)])
            yield generation
            search.tell([(point, -value) for point, value in zip(generation, believed[-TOGETHER:], strict=True)])
            if search.should_stop():
                break


def _apart(candidates: list[tuple[float, np.ndarray]], number: int) -> list[tuple[float, np.ndarray]]:
    """The candidates of the largest values, none within `APART` of a better one."""
    chosen: list[tuple[float, np.ndarray]] = []
    for value, point in sorted(candidates, key=lambda pair: -pair[0]):
        if len(chosen) < number and all(np.abs(point - other).max() > APART for _, other in chosen):
            chosen.append((value, point))
    return chosen
