"""The search for problems on which a policy fails."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxbandit.arguments import has
from jaxbandit.base import Environment, Policy, described
from jaxbandit.interruption import CtrlC, StoppedWarning
from jaxbandit.stress import preparation as prepare
from jaxbandit.stress.spaces import Problem, Space, TwoStateSpace
from jaxbandit.stress.trials import TOGETHER, Interval, Trials, avoidable, interval

RUNS = 48  # of a problem during the search
RUNS_AGAIN = 192  # of the best problems, among which it chooses
WIDTH = 0.2  # of the first generation, in units of the box
APART = 0.1  # the least distance in the box between reported problems


@described
class Found(NamedTuple):
    """A problem on which a policy fails.

    Fields:
      problem: its code and its arms.
      regrets: label to the mean regret at the horizon, on runs that the search did not use.
      avoidable: regret minus that of the best policy of the panel, on these runs.
      best: label of that policy.
      believed: the avoidable regret in the search, which tends to be too large because the search selects by it.
      runs: number of runs that were measured; those of the search if it was stopped before there were new ones.
      judged: whether these runs are new.
      stopped: whether Ctrl-C ended the search before it had played its budget.
    """

    problem: Problem
    regrets: dict[str, Interval]
    avoidable: Interval
    best: str
    believed: float
    runs: int
    judged: bool
    stopped: bool = False

    @property
    def arms(self) -> Environment:
        """The arms of the problem."""
        return self.problem.arms

    def __str__(self) -> str:
        origin = "new runs" if self.judged else "runs of the search itself, which was stopped: too large"
        rows = [f"  {label}: {mean}" for label, mean in self.regrets.items()]
        first = f"avoidable regret {self.avoidable} against {self.best}, {self.runs:,} {origin}"
        return "\n".join([self.problem.code, f"{first}; the search believed {self.believed:,.1f}", *rows])


def worst(
    policy: Policy,
    space: Space | None = None,
    *,
    panel: Mapping[str, Policy] | None = None,
    budget: int = 640,
    number: int = 5,
    runs: int = 1000,
    horizon: int = 10_000,
    plays: int = 1,
    key: Any = None,
    folder: str | os.PathLike[str] | None = None,
    progress: bool = True,
) -> list[Found]:
    """Search a space for the problems on which a policy loses most to the best policy of a panel.

    The search begins with the points of a Sobol sequence and continues by CMA-ES from the two best of them. The best
    problems are played again with more runs; those that are best then, and differ, are judged on new runs. Everything
    reported, except `believed`, was measured on these new runs. The same arguments find the same problems.

    With a panel of one policy it finds the problems on which the tested policy loses most to that one. Ctrl-C ends the
    search, and the problems found are judged; a second Ctrl-C ends that, too. Two within a second raise
    KeyboardInterrupt.

    Args:
      policy: to be tested.
      space: the space of problems; two arms with two states by default.
      panel: the policies that it is compared with, by label; the space's own by default.
      budget: problems that the search plays, two fifths of them from the sequence.
      number: of problems that are reported.
      runs: of each problem that is judged.
      horizon: rounds.
      plays: arms a round.
      key: a `jax.random.key`, key(0) by default.
      folder: keeps what was played; the same call continues after a stop.
      progress: show a bar, if the output is a terminal or a notebook.

    Returns:
      The problems, by decreasing avoidable regret.

    Raises:
      ValueError: an argument is wrong, or a policy cannot play the space.
      ImportError: the package `cmaes` is not installed (extra `search`).
      KeyboardInterrupt: by Ctrl-C twice, or once where the search is part of a command.

    Warns:
      StoppedWarning: Ctrl-C came; says what was still done.

    Source: CMA-ES is that of Hansen and Ostermeier 2001, by the package `cmaes`.

    >>> import jaxbandit
    >>> space, panel = TwoStateSpace(slowest=0.1), {"UCB1": jaxbandit.UCB1(0.1)}
    >>> failures = worst(jaxbandit.Uniform(), space, panel=panel, budget=64, number=2, runs=100, horizon=200)
    >>> len(failures), failures[0].best, failures[0].avoidable.mean > 20
    (2, 'UCB1', True)
    """
    space = TwoStateSpace() if space is None else space
    with CtrlC(raises=False) as ctrl_c:
        arms = prepare.check_space(space)
        prepare.check_numbers(runs, folder, progress, budget=(budget, TOGETHER), number=(number, 1))
        panel = prepare.check_policies(arms, "panel", space.panel() if panel is None else panel, key, horizon, plays)
        if prepare.NAME in panel:
            raise ValueError(f"panel[{prepare.NAME!r}]: the tested policy has this label; choose another one")
        has("policy", policy, "a policy", "init", "scores", "update")
        players = panel | prepare.check_policies(arms, "policy", {prepare.NAME: policy}, key, horizon, plays)
        compared, key = tuple(panel), jax.random.key(0) if key is None else key
        _cmaes()
        with prepare.progress_bar(budget + TOGETHER + number, progress) as bar:
            trials = Trials(players, key, horizon, plays, folder, bar)
            chosen, complete = _search(space, key, budget, trials, compared, ctrl_c)
            chosen = _apart(chosen, number)
            problems = [space.problem(point) for _, point in chosen]
            regrets = {}
            try:
                if chosen:
                    regrets = trials.regrets(problems, runs, len(problems))
            except KeyboardInterrupt:
                if not ctrl_c.take():
                    raise
    if ctrl_c.came or not complete or (chosen and not regrets):
        done = "the search is complete" if complete else "the search is not complete"
        judged = "" if regrets else "; nothing is judged on new runs"
        warnings.warn(f"Ctrl-C came during a search: {done}{judged}", StoppedWarning, stacklevel=2)
    failures = []
    for n, (problem, (value, _)) in enumerate(zip(problems, chosen)):
        if regrets:
            best = min(compared, key=lambda label: regrets[label][n].mean())
            means = {label: interval(values[n]) for label, values in regrets.items()}
            saved = interval(regrets[prepare.NAME][n] - regrets[best][n])
            failures.append(Found(problem, means, saved, best, value, runs, judged=True, stopped=not complete))
        else:
            unknown = Interval(value, np.nan, np.nan)
            best = " or ".join(compared)
            failures.append(Found(problem, {}, unknown, best, value, RUNS, judged=False, stopped=True))
    return sorted(failures, key=lambda failure: -failure.avoidable.mean)


def _search(
    space: Space, key: Any, budget: int, trials: Trials, panel: tuple[str, ...], ctrl_c: CtrlC
) -> tuple[list[tuple[float, np.ndarray]], bool]:
    """The avoidable regret and the point of each candidate, and whether the search is complete."""
    points: list[np.ndarray] = []
    believed: list[float] = []

    def losses(generation: np.ndarray, runs: int) -> np.ndarray:
        return avoidable(trials.regrets(list(map(space.problem, generation)), runs), prepare.NAME, panel)

    try:
        for generation in _generations(space, key, budget, points, believed):
            believed.extend(losses(generation, RUNS))
            points.extend(generation)
        best = np.array(points)[np.argsort(believed)[::-1][:TOGETHER]]
        return list(zip(losses(best, RUNS_AGAIN).tolist(), best, strict=True)), True
    except KeyboardInterrupt:
        if not ctrl_c.take():
            raise
        return list(zip(believed, points)), False


def _generations(
    space: Space, key: Any, budget: int, points: list[np.ndarray], believed: list[float]
) -> Iterator[np.ndarray]:
    """Points [N, dimension] to be played next, from the points played before and their avoidable regret."""
    first = max(TOGETHER, 2 * budget // 5 // TOGETHER * TOGETHER)
    yield prepare.sobol(space, prepare.generator(key), first)
    generations = (budget - first) // TOGETHER
    starts = [point for _, point in _apart(list(zip(believed, points)), 2)]
    random = prepare.generator(key)
    for n, start in enumerate(starts):
        seed = int(random.integers(2**31))
        bounds = np.tile([0.0, 1.0], (space.dimension, 1))
        search = _cmaes().CMA(mean=start, sigma=WIDTH, bounds=bounds, seed=seed, population_size=TOGETHER)
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


def _cmaes() -> Any:
    try:
        import cmaes
    except ImportError as error:
        raise ImportError('cmaes is not installed; pip install -e ".[search]"') from error
    return cmaes
