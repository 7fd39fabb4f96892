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
from jaxbandit.stress.preparation import (
    NAME,
    check_numbers,
    check_policies,
    check_space,
    generator,
    progress_bar,
    sobol,
)
from jaxbandit.stress.spaces import Problem, Space, TwoStateSpace
from jaxbandit.stress.trials import TOGETHER, Interval, Trials, avoidable, interval

RUNS = 48  # of a problem, while the search goes on
RUNS_AGAIN = 192  # of the problems among which it chooses
WIDTH = 0.2  # of the first generation, in units of the box
APART = 0.1  # how far apart, in the box, the problems are that are reported


@described
class Found(NamedTuple):
    """A problem on which a policy fails.

    Fields:
      problem: its code and its arms.
      regrets: label to the mean regret at the horizon, on runs that the search never saw.
      avoidable: what the best policy of the panel would have saved, on these runs.
      best: label of that policy.
      believed: the avoidable regret that the search measured, which tends to be too large, because it chose by it.
      runs: on which the regrets rest; those of the search if it was stopped before they could be measured anew.
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
        rest = "new runs" if self.judged else "runs of the search itself, which was stopped: too large"
        rows = [f"  {label}: {each}" for label, each in self.regrets.items()]
        first = f"avoidable regret {self.avoidable} against {self.best}, {self.runs:,} {rest}"
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

    The search begins with the points of a Sobol sequence and goes on by CMA-ES from the two best of them. The best
    problems found are played again with more runs; those that are best then, and differ, are judged on new runs. All
    that is reported, but what the search believed, was measured on that. The same arguments find the same problems.

    With a panel of one policy it searches for the problems on which the first loses most to the second. Ctrl-C ends the
    search, and what it has found is judged; another one ends that, too. Twice within a second it raises
    KeyboardInterrupt.

    Args:
      policy: to be tested.
      space: what problems there are; two arms with two states by default.
      panel: the policies that it is compared with, by label; the space's own by default.
      budget: problems that the search plays, two fifths of them from the sequence.
      number: of problems that are reported.
      runs: with which they are judged.
      horizon: rounds.
      plays: arms a round.
      key: a `jax.random.key`, key(0) by default.
      folder: where everything played is kept; the same call continues after a stop.
      progress: show a bar, if the output is a terminal or a notebook.

    Returns:
      The problems, that of the largest avoidable regret first.

    Raises:
      ValueError: an argument is wrong, or a policy does not play the space.
      ImportError: the package `cmaes` is not installed (extra `search`).
      KeyboardInterrupt: by Ctrl-C twice, or where the search is part of a command.

    Warns:
      StoppedWarning: Ctrl-C came; what was still done.

    Source: CMA-ES is that of Hansen and Ostermeier 2001, by the package `cmaes`.

    >>> import jaxbandit
    >>> space, panel = TwoStateSpace(slowest=0.1), {"KL-UCB": jaxbandit.KLUCB()}
    >>> found = worst(jaxbandit.Uniform(), space, panel=panel, budget=64, number=2, runs=100, horizon=200)
    >>> len(found), found[0].best, found[0].avoidable.mean > 20
    (2, 'KL-UCB', True)
    """
    space = TwoStateSpace() if space is None else space
    with CtrlC(raises=False) as ctrl_c:
        arms = check_space(space)
        check_numbers(runs, folder, progress, budget=(budget, TOGETHER), number=(number, 1))
        panel = check_policies(arms, "panel", space.panel() if panel is None else panel, key, horizon, plays)
        if NAME in panel:
            raise ValueError(f"panel[{NAME!r}]: the tested policy has this label; choose another one")
        has("policy", policy, "a policy", "init", "scores", "update")
        every = panel | check_policies(arms, "policy", {NAME: policy}, key, horizon, plays)
        compared, key = tuple(panel), jax.random.key(0) if key is None else key
        _cmaes()
        with progress_bar(budget + TOGETHER + number, progress) as bar:
            trials = Trials(every, key, horizon, plays, folder, bar)
            chosen, searched = _search(space, key, budget, trials, compared, ctrl_c)
            few = _apart(chosen, number)
            problems = [space.problem(point) for _, point in few]
            try:
                regrets = trials.regrets(problems, runs, len(problems)) if few else {}
            except KeyboardInterrupt:
                if not ctrl_c.take():
                    raise
                regrets = {}
    if ctrl_c.came or not searched or (few and not regrets):
        done = "the search is complete" if searched else "the search is not complete"
        judged = "" if regrets else "; nothing is judged on new luck"
        warnings.warn(f"Ctrl-C came during a search: {done}{judged}", StoppedWarning, stacklevel=2)
    if not regrets:
        return [_unjudged(problem, value, compared) for problem, (value, _) in zip(problems, few)]
    found = [
        _judged(problem, {label: each[n] for label, each in regrets.items()}, compared, few[n][0], not searched)
        for n, problem in enumerate(problems)
    ]
    return sorted(found, key=lambda each: -each.avoidable.mean)


def _search(
    space: Space, key: Any, budget: int, trials: Trials, panel: tuple[str, ...], ctrl_c: CtrlC
) -> tuple[list[tuple[float, np.ndarray]], bool]:
    """The problems that the search has found, as what is believed of each and its point; whether it is complete."""
    points: list[np.ndarray] = []
    believed: list[float] = []

    def losses(asked: np.ndarray, runs: int) -> np.ndarray:
        return avoidable(trials.regrets(list(map(space.problem, asked)), runs), NAME, panel)

    try:
        asked: np.ndarray
        for asked in _generations(space, key, budget, points, believed):
            believed.extend(losses(asked, RUNS))
            points.extend(asked)
        best = np.array(points)[np.argsort(believed)[::-1][:TOGETHER]]
        return list(zip(losses(best, RUNS_AGAIN).tolist(), best, strict=True)), True
    except KeyboardInterrupt:
        if not ctrl_c.take():
            raise
        return list(zip(believed, points)), False


def _generations(
    space: Space, key: Any, budget: int, points: list[np.ndarray], believed: list[float]
) -> Iterator[np.ndarray]:
    """Points [N, dimension] to be played next, from all played before and what was believed of them."""
    first = max(TOGETHER, 2 * budget // 5 // TOGETHER * TOGETHER)
    yield sobol(space, key, first)
    generations = (budget - first) // TOGETHER
    starts = [point for _, point in _apart(list(zip(believed, points)), 2)]
    random = generator(key)
    for n, start in enumerate(starts):
        seed = int(random.integers(2**31))
        bounds = np.tile([0.0, 1.0], (space.dimension, 1))
        search = _cmaes().CMA(mean=start, sigma=WIDTH, bounds=bounds, seed=seed, population_size=TOGETHER)
        for _ in range((generations + 1 - n) // 2):
            asked = np.array([search.ask() for _ in range(TOGETHER)])
            yield asked
            search.tell([(point, -value) for point, value in zip(asked, believed[-TOGETHER:], strict=True)])
            if search.should_stop():
                break


def _apart(found: list[tuple[float, np.ndarray]], number: int) -> list[tuple[float, np.ndarray]]:
    """The points of the largest values, none within `APART` of a better one."""
    chosen: list[tuple[float, np.ndarray]] = []
    for value, point in sorted(found, key=lambda pair: -pair[0]):
        if len(chosen) < number and all(np.abs(point - other).max() > APART for _, other in chosen):
            chosen.append((value, point))
    return chosen


def _judged(
    problem: Problem, regrets: Mapping[str, np.ndarray], panel: tuple[str, ...], believed: float, stopped: bool
) -> Found:
    best = min(panel, key=lambda label: regrets[label].mean())
    saved = interval(regrets[NAME] - regrets[best])
    means = {label: interval(each) for label, each in regrets.items()}
    return Found(problem, means, saved, best, believed, len(regrets[NAME]), True, stopped)


def _unjudged(problem: Problem, believed: float, panel: tuple[str, ...]) -> Found:
    nothing = Interval(believed, np.nan, np.nan)
    return Found(problem, {}, nothing, " or ".join(panel), believed, RUNS, judged=False, stopped=True)


def _cmaes() -> Any:
    try:
        import cmaes
    except ImportError as error:
        raise ImportError('cmaes is not installed; pip install -e ".[search]"') from error
    return cmaes
