"""The search for problems on which a policy fails."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, overload

import jax
import numpy as np

from jaxbandit.arguments import choice, excerpt, has
from jaxbandit.base import Environment, Policy, described
from jaxbandit.interruption import CtrlC
from jaxbandit.stress import preparation as prepare
from jaxbandit.stress.error_search import WrongAnswers, most_wrong
from jaxbandit.stress.point_search import RUNS, choose, cmaes
from jaxbandit.stress.spaces import Problem, Space, TwoStateSpace
from jaxbandit.stress.trials import TOGETHER, Interval, Trials, avoidable, interval


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


@overload
def worst(
    policy: Policy,
    space: Space | None = None,
    *,
    objective: Literal["regret"] = "regret",
    panel: Mapping[str, Policy] | None = None,
    budget: int = 640,
    number: int = 5,
    runs: int = 1000,
    horizon: int = 10_000,
    plays: int = 1,
    key: Any = None,
    folder: str | os.PathLike[str] | None = None,
    progress: bool = True,
) -> list[Found]: ...


@overload
def worst(
    policy: Policy,
    space: Space | None = None,
    *,
    objective: Literal["wrong answers"],
    budget: int = 640,
    number: int = 5,
    runs: int = 1000,
    horizon: int = 10_000,
    key: Any = None,
    folder: str | os.PathLike[str] | None = None,
    progress: bool = True,
) -> list[WrongAnswers]: ...


def worst(
    policy: Policy,
    space: Space | None = None,
    *,
    objective: Literal["regret", "wrong answers"] = "regret",
    panel: Mapping[str, Policy] | None = None,
    budget: int = 640,
    number: int = 5,
    runs: int = 1000,
    horizon: int = 10_000,
    plays: int = 1,
    key: Any = None,
    folder: str | os.PathLike[str] | None = None,
    progress: bool = True,
) -> list[Found] | list[WrongAnswers]:
    """Search for the problems on which a policy loses most to the best of a panel, or answers wrongly most often.

    The search begins with the points of a Sobol sequence and continues by CMA-ES from the two best of them. The best
    problems are played again with more runs; those that are best then, and differ, are judged on new runs. Everything
    reported, except `believed`, was measured on these new runs. The same arguments find the same problems.

    With objective="wrong answers" the policy is one that stops, and the search is for problems on which more of its
    answers are wrong than it accepts. That it finds none proves nothing; a problem that is `certain` disproves a rule.

    With a panel of one policy it finds the problems on which the tested policy loses most to that one. Ctrl-C ends the
    search, and the problems found are judged; a second Ctrl-C ends that, too. Two within a second raise
    KeyboardInterrupt.

    Args:
      policy: to be tested.
      space: the space of problems; two arms with two states by default.
      objective: "regret", or "wrong answers" for policies such as `policies.Identify`.
      panel: the policies that it is compared with, by label; the space's own by default. For regret alone.
      budget: problems that the search plays, two fifths of them from the sequence.
      number: of problems that are reported.
      runs: of each problem that is judged.
      horizon: rounds; for a policy that stops, those after which a run is censored.
      plays: arms a round.
      key: a `jax.random.key`, key(0) by default.
      folder: keeps what was played; the same call continues after a stop.
      progress: show a bar, if the output is a terminal or a notebook.

    Returns:
      The problems, by decreasing avoidable regret; or `WrongAnswers`, in the order in which the search ranked them.

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
    choice("objective", objective, ("regret", "wrong answers"))
    space = TwoStateSpace() if space is None else space
    if objective == "wrong answers":
        if panel is not None:
            raise ValueError('panel: leave it out; with objective="wrong answers" nothing is compared')
        if plays != 1:
            raise ValueError(f'plays: {excerpt(plays)}; with objective="wrong answers" one arm is played a round')
        size: dict[str, Any] = {"budget": budget, "number": number, "runs": runs, "horizon": horizon}
        return most_wrong(policy, space, **size, key=key, folder=folder, progress=progress)
    with CtrlC(raises=False) as ctrl_c:
        arms = prepare.check_space(space)
        prepare.check_numbers(runs, folder, progress, budget=(budget, TOGETHER), number=(number, 1))
        panel = prepare.check_policies(arms, "panel", space.panel() if panel is None else panel, key, horizon, plays)
        if prepare.NAME in panel:
            raise ValueError(f"panel[{prepare.NAME!r}]: the tested policy has this label; choose another one")
        has("policy", policy, "a policy", "init", "scores", "update")
        players = panel | prepare.check_policies(arms, "policy", {prepare.NAME: policy}, key, horizon, plays)
        compared, key = tuple(panel), jax.random.key(0) if key is None else key
        cmaes()
        with prepare.progress_bar(budget + TOGETHER + number, progress) as bar:
            trials = Trials(players, key, horizon, plays, folder, bar)

            def losses(problems: list[Problem], runs: int) -> np.ndarray:
                return avoidable(trials.regrets(problems, runs), prepare.NAME, compared)

            def regrets_of(problems: list[Problem]) -> dict[str, np.ndarray]:
                return trials.regrets(problems, runs, len(problems))

            chosen = choose(space, key, budget, number, losses, regrets_of, ctrl_c)
    regrets, failures = chosen.judged, []
    for n, (problem, value) in enumerate(zip(chosen.problems, chosen.believed, strict=True)):
        if regrets:
            best = min(compared, key=lambda label: regrets[label][n].mean())
            means = {label: interval(values[n]) for label, values in regrets.items()}
            saved = interval(regrets[prepare.NAME][n] - regrets[best][n])
            failures.append(Found(problem, means, saved, best, value, runs, judged=True, stopped=not chosen.complete))
        else:
            unknown = Interval(value, np.nan, np.nan)
            best = " or ".join(compared)
            failures.append(Found(problem, {}, unknown, best, value, RUNS, judged=False, stopped=True))
    return sorted(failures, key=lambda failure: -failure.avoidable.mean)
