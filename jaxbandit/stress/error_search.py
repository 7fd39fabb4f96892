"""The search for problems on which a policy that stops answers wrongly more often than it accepts."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxbandit import members
from jaxbandit.arguments import excerpt, has
from jaxbandit.base import Environment, Policy, described
from jaxbandit.interruption import CtrlC
from jaxbandit.stress import preparation as prepare
from jaxbandit.stress.point_search import RUNS, choose, cmaes
from jaxbandit.stress.spaces import Problem, Space
from jaxbandit.stress.trials import TOGETHER, Interval, Trials

CHANCE = 0.05  # of one or more wrong claims of a search
STOPPING = 1e-3  # of a wrong answer, what an answer is worth to the search: where no run stops none can be wrong
LOOKED_AT = 8  # problems of which one has to have a single best arm


@described
class WrongAnswers(NamedTuple):
    """A problem on which a policy that stops was tested for wrong answers.

    Fields:
      problem: its code and its arms.
      runs: number of runs that were measured; those of the search if it was stopped before there were new ones.
      wrong: runs that answered an arm of less than the largest mean.
      censored: runs without an answer at the horizon; they are neither right nor wrong.
      share: wrong answers among all runs and its exact 95 % interval (Clopper-Pearson), NaN where no runs are new.
      delta: the error that the policy accepts.
      p_value: the probability of so many wrong answers or more, if each run is wrong with probability delta.
      certain: whether the policy is wrong more often than delta. Problems are tested in the order in which the search
        ranked them, up to the first whose p-value is above 0.05, so that the chance of any wrong claim is at most 0.05.
      believed: the share in the search, which tends to be too large because the search selects by it.
      judged: whether the runs are new.
      stopped: whether Ctrl-C ended the search before it had played its budget.
    """

    problem: Problem
    runs: int
    wrong: int
    censored: int
    share: Interval
    delta: float
    p_value: float
    certain: bool
    believed: float
    judged: bool
    stopped: bool = False

    @property
    def arms(self) -> Environment:
        """The arms of the problem."""
        return self.problem.arms

    def __str__(self) -> str:
        if not self.judged:
            believed = f"the search, which was stopped, believed {self.believed:.1%} wrong: too large"
            return f"{self.problem.code}\n  {believed}"
        verdict = "more often than accepted" if self.certain else "not shown to be more often than accepted"
        return (
            f"{self.problem.code}\n"
            f"  wrong in {self.wrong:,} of {self.runs:,} new runs, {self.share.mean:.1%} ({self.share.low:.1%} to "
            f"{self.share.high:.1%}), delta {self.delta:g}, p {self.p_value:.2g}: {verdict}\n"
            f"  {self.censored:,} runs without an answer; the search believed {self.believed:.1%}"
        )


def most_wrong(
    policy: Policy,
    space: Space,
    *,
    budget: int,
    number: int,
    runs: int,
    horizon: int,
    key: Any,
    folder: str | os.PathLike[str] | None,
    progress: bool,
) -> list[WrongAnswers]:
    """The problems on which the policy's answers are wrong most often; arguments as those of `worst`."""
    with CtrlC(raises=False) as ctrl_c:
        arms = prepare.check_space(space)
        prepare.check_numbers(runs, folder, progress, budget=(budget, TOGETHER), number=(number, 1))
        has("policy", policy, "a policy", "init", "scores", "update")
        delta = members.accepted_error(policy)
        if members.stops(policy) is None or delta is None:
            raise ValueError(
                f'policy: {excerpt(policy)} does not stop with an error rate; objective="wrong answers" is for '
                "policies such as policies.Identify(delta=0.1)"
            )
        _check_best_arms(space, key)
        prepare.check_policies(arms, "policy", {prepare.NAME: policy}, key, horizon, 1, "stopped")
        cmaes()
        key = jax.random.key(0) if key is None else key
        with prepare.progress_bar(budget + TOGETHER + number, progress) as bar:
            believed: dict[str, float] = {}
            trials = Trials({prepare.NAME: policy}, key, horizon, 1, folder, bar, until="stopped")

            def shares(problems: list[Problem], runs: int) -> np.ndarray:
                ends = trials.endings(prepare.NAME, problems, runs)
                believed.update(zip((problem.code for problem in problems), (ends.wrong / runs).tolist()))
                return (ends.wrong + STOPPING * (runs - ends.censored)) / runs

            chosen = choose(
                space,
                key,
                budget,
                number,
                shares,
                lambda problems: trials.endings(prepare.NAME, problems, runs, len(problems)),
                ctrl_c,
            )
    tested, certain = [], True
    for n, problem in enumerate(chosen.problems):
        value = believed[problem.code]
        if chosen.judged is None:
            unknown = Interval(value, np.nan, np.nan)
            tested.append(WrongAnswers(problem, RUNS, 0, 0, unknown, delta, 1.0, False, value, False, True))
            continue
        wrong, censored = int(chosen.judged.wrong[n]), int(chosen.judged.censored[n])
        share = Interval(wrong / runs, float(chosen.judged.low[n]), float(chosen.judged.high[n]))
        p_value = more_often(wrong, runs, delta)
        certain = certain and p_value <= CHANCE
        tested.append(
            WrongAnswers(
                problem, runs, wrong, censored, share, delta, p_value, certain, value, True, not chosen.complete
            )
        )
    return tested


def more_often(wrong: int, runs: int, delta: float) -> float:
    """The probability of `wrong` or more of so many runs, if each is wrong with probability `delta`.

    >>> round(more_often(2, 3, 0.5), 3)
    0.5
    """
    from scipy.stats import binom  # slow to import, so it waits until it is needed

    return float(binom.sf(wrong - 1, runs, delta))


def _check_best_arms(space: Space, key: Any) -> None:
    """Raise ValueError if each of some problems of the space has several best arms, between which no rule can err."""
    points = prepare.sobol(space, prepare.generator(jax.random.key(0) if key is None else key), LOOKED_AT)
    means = [np.sort(np.asarray(space.problem(point).arms.means())) for point in points]
    if all(of[-1] == of[-2] for of in means):
        raise ValueError(
            f"space: all problems of {excerpt(space)} have several best arms, each of which is a right answer"
        )
