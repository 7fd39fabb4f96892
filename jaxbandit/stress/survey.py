"""Policies over a space of problems: mean regret, and how much of it was avoidable."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxbandit.base import Policy, described
from jaxbandit.interruption import CtrlC
from jaxbandit.stress import preparation as prepare
from jaxbandit.stress.spaces import Problem, Space
from jaxbandit.stress.trials import Interval, Trials, avoidable, interval
from jaxbandit.texts import terminal_width


def means_of_parts(values: np.ndarray) -> np.ndarray:
    """The means of values [N] at the points of `points_in_parts`, one for each of the parts, which are independent."""
    parts = min(prepare.PARTS, len(values))
    return np.array([values[part::parts].mean() for part in range(parts)])


def interval_over_parts(values: np.ndarray) -> Interval:
    """The mean of values [N] at the points of `points_in_parts`, with Student's interval from the parts' means."""
    between = interval(means_of_parts(values))
    mean = float(values.mean())  # parts may differ in length by one
    return Interval(mean, mean - (between.mean - between.low), mean + (between.high - between.mean))


@described
class Survey(NamedTuple):
    """Regret of policies on problems drawn from a space.

    Fields:
      problems: the N problems drawn.
      regrets: label to [N, runs], at the horizon; of the policies and of the panel.
      labels: of the policies.
      panel: labels of the policies that they are compared with.
    """

    problems: tuple[Problem, ...]
    regrets: dict[str, np.ndarray]
    labels: tuple[str, ...]
    panel: tuple[str, ...]

    def mean(self, label: str) -> Interval:
        """Mean regret over the space, with its 95 % interval.

        The problems are eight independent sequences of points, and all runs are independent; so the interval is
        Student's, from the means of these parts. It accounts for the draw of the problems as well as of the runs.
        """
        return interval_over_parts(self.regrets[label].mean(-1))

    def difference(self, label: str, other: str) -> Interval:
        """Mean regret of `label` less that of `other` over the space, with its 95 % interval, as of `mean`.

        It is paired: both played the same problems with common random numbers.
        """
        return interval_over_parts((self.regrets[label] - self.regrets[other]).mean(-1))

    def avoidable(self, label: str) -> np.ndarray:
        """Mean regret minus the least of the panel on the same problem, [N]; negative where the panel is worse."""
        return avoidable(self.regrets, label, self.panel)

    def __str__(self) -> str:
        """A line for each policy, the least regret first; two tables where a line is wider than the terminal."""
        width = max(map(len, self.regrets))
        first = [f"{'':{width}}  {'mean regret (95 %)':>28}"]
        second = [f"avoidable: {'mean':>8} {'median':>8} {'90 %':>8} {'worst':>8}"]
        labels = sorted(self.regrets, key=lambda label: self.regrets[label].mean())
        for label in labels:
            avoidable = self.avoidable(label)
            numbers = (avoidable.mean(), *np.quantile(avoidable, [0.5, 0.9, 1]))
            first.append(f"{label:{width}}  {self.mean(label)!s:>28}")
            second.append(f"{'':10} " + " ".join(f"{number:8,.1f}" for number in numbers))
        if len(first[0]) + 2 + len(second[0]) <= terminal_width():
            return "\n".join(map("  ".join, zip(first, second, strict=True)))
        named = [f"{label:{width}}  {numbers}" for label, numbers in zip(("", *labels), second, strict=True)]
        return "\n".join([*first, "", *named])


def over(
    space: Space,
    policies: Mapping[str, Policy],
    *,
    panel: Mapping[str, Policy] | None = None,
    problems: int = 256,
    runs: int = 64,
    horizon: int = 10_000,
    plays: int = 1,
    key: Any = None,
    folder: str | os.PathLike[str] | None = None,
    progress: bool = True,
) -> Survey:
    """Play policies on problems drawn from a space: their mean regret, and how much less the panel loses.

    The problems are the points of eight independent scrambled Sobol sequences, each of which fills the space more
    evenly than independent draws do. On one problem all policies have common random numbers; different problems have
    independent ones. The interval of a mean over the space is Student's, from the means of the eight sequences.

    Args:
      space: the space of problems.
      policies: by label.
      panel: the policies that they are compared with; the space's own by default.
      problems: how many are drawn.
      runs: of each problem.
      horizon: rounds.
      plays: arms a round.
      key: a `jax.random.key`, key(0) by default.
      folder: keeps what was played; the same call continues after a stop.
      progress: show a bar, if the output is a terminal or a notebook.

    Raises:
      ValueError: an argument is wrong, or a policy cannot play the space.
      KeyboardInterrupt: by Ctrl-C.

    >>> import jaxbandit
    >>> space, panel = jaxbandit.stress.TwoStateSpace(), {"bold": jaxbandit.UCB1(0.1)}
    >>> survey = over(space, {"UCB1": jaxbandit.UCB1()}, panel=panel, problems=4, runs=8, horizon=100)
    >>> survey.labels, survey.panel, survey.avoidable("UCB1").shape
    (('UCB1',), ('bold',), (4,))
    """
    with CtrlC():
        arms = prepare.check_space(space)
        prepare.check_numbers(runs, folder, progress, problems=(problems, 2))
        policies = prepare.check_policies(arms, "policies", policies, key, horizon, plays)
        panel = prepare.check_policies(arms, "panel", space.panel() if panel is None else panel, key, horizon, plays)
        players, key = prepare.merged(policies, panel), jax.random.key(0) if key is None else key
        drawn = tuple(map(space.problem, prepare.points_in_parts(space, key, problems)))
        with prepare.progress_bar(problems, progress) as bar:
            regrets = Trials(players, key, horizon, plays, folder, bar, "independent").regrets(drawn, runs)
    return Survey(drawn, regrets, tuple(policies), tuple(panel))
