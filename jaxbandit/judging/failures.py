"""The worst problems that a search found, played by everybody: tables, pictures, and all against all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from jaxbandit import Result, metrics, plotting
from jaxbandit.judging.judged_spaces import Chapter
from jaxbandit.judging.standings import Standing, columns, standing
from jaxbandit.reports.pictures import panels
from jaxbandit.reports.tables import Row, in_short, mean_and_interval
from jaxbandit.stress import Found

TESTED = "the policy"  # what `stress.worst` calls it


class Failures(NamedTuple):
    """The worst problems of one policy in one chapter, and what everybody loses there, on runs of their own.

    Fields:
      label, chapter: whose they are, and where they were searched for.
      problems: the largest avoidable regret first.
      result: of everybody, a scenario for each problem.
    """

    label: str
    chapter: Chapter
    problems: list[Found]
    result: Result

    @property
    def title(self) -> str:
        return f"{self.label}: {self.chapter.title}"

    def regrets(self, number: int) -> dict[str, np.ndarray]:
        """Final regret of everybody on a problem, label to [R]."""
        return {label: metrics.regret(self.result, label)[number, 0, :, -1] for label in self.result.labels}

    def standings(self, label: str = "") -> list[Standing]:
        """Where a policy stands on each problem, by default the one whose they are."""
        comparisons = len(self.problems) * (len(self.result.labels) - 1)
        return [
            standing(label or self.label, self.regrets(number), comparisons) for number in range(len(self.problems))
        ]


def found_rows(problems: Sequence[Found]) -> list[Row]:
    """A row for each problem of a search, by the runs on which it judged them itself."""
    rows: list[Row] = []
    for number, problem in enumerate(problems, 1):
        row: Row = {"problem": f"{number}", **mean_and_interval(problem.avoidable, "avoidable regret")}
        row |= {"the search believed": problem.believed, "its regret": problem.regrets[TESTED].mean}
        row |= {"least regret": problem.regrets[problem.best].mean, "by": problem.best}
        rows.append(row | {"code": problem.problem.code})
    return rows


def rows_of(failures: Failures) -> list[Row]:
    """A row for each problem, in the order of the search."""
    rows: list[Row] = []
    for number, (problem, stands) in enumerate(zip(failures.problems, failures.standings(), strict=True)):
        row: Row = {"problem": f"{number + 1}", "regret": float(failures.regrets(number)[failures.label].mean())}
        row |= columns(stands)
        rows.append(row | {"the search believed": problem.believed, "code": problem.problem.code})
    return rows


def in_words(failures: Failures) -> str:
    """The problem on which a policy certainly loses most, compared with others; or that none was found."""
    every, title = failures.standings(), failures.chapter.title
    certain = [number for number, stands in enumerate(every) if stands.ahead]
    if certain:
        worst = max(certain, key=lambda number: every[number].more.mean)
        more, code = every[worst].more, failures.problems[worst].problem.code
        return f"On the worst problem found ({title}) it loses {more} more than {every[worst].best}: {code}"
    none = f"No problem was found ({title}) on which it certainly loses more than another policy; "
    largest = max(every, key=lambda stands: stands.more.mean)
    if largest.more.mean <= 0:
        return f"{none}on all that the search chose, the least mean regret is its own."
    return f"{none}the largest difference is {largest.more}, to {largest.best}."


def picture(failures: Failures, number: int) -> Figure:
    """Mean regret over rounds of the policy and of the one that does best on a problem."""
    figure, ax = panels(size=(5.4, 3.2))
    labels = [failures.label, failures.standings()[number].best]
    plotting.plot_regret(failures.result, labels, scenario=number, ax=ax)
    ax.set_title("")
    return figure


def all_against_all(every: Sequence[Failures]) -> list[Row]:
    """Row the policy, column whose worst problems: mean regret over these problems and half of its 95 % interval."""

    def cell(failures: Failures, label: str) -> str:
        if label not in failures.result.labels:
            return "does not play"
        # run j has the same random numbers on all of the problems: they are averaged within each run
        return in_short(metrics.regret(failures.result, label)[:, 0, :, -1].mean(0))

    labels = dict.fromkeys(label for failures in every for label in failures.result.labels)
    return [
        {"policy": label, **{f"worst of {failures.label}": cell(failures, label) for failures in every}}
        for label in labels
    ]
