"""The worst problems that a search found, played by everybody: tables, pictures, and all against all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.figure import Figure

from jaxbandit import Result, metrics, plotting
from jaxbandit.judging.judged_spaces import Chapter
from jaxbandit.reports.pictures import panels
from jaxbandit.reports.tables import Row, in_short, mean_and_interval
from jaxbandit.stress import Found

TESTED = "the policy"  # what `stress.worst` calls it


class Failures(NamedTuple):
    """The worst problems of one policy in one chapter."""

    label: str
    chapter: Chapter
    problems: list[Found]

    @property
    def title(self) -> str:
        return f"{self.label}: {self.chapter.title}"


def rows_of(failures: Failures) -> list[Row]:
    """A row for each problem, the largest avoidable regret first."""
    rows: list[Row] = []
    for number, problem in enumerate(failures.problems, 1):
        row: Row = {"problem": f"{number}", **mean_and_interval(problem.avoidable, "avoidable regret")}
        row |= {"the search believed": problem.believed, "its regret": problem.regrets[TESTED].mean}
        row |= {"least regret": problem.regrets[problem.best].mean, "by": problem.best}
        rows.append(row | {"code": problem.problem.code})
    return rows


def in_words(failures: Failures) -> str:
    """The worst of the problems on which a policy certainly loses more than another one; or that none was found."""
    largest, title = failures.problems[0], failures.chapter.title
    for worst in failures.problems:
        if worst.avoidable.low > 0:
            more = f"{worst.avoidable} more than {worst.best}: {worst.problem.code}"
            return f"On the worst problem found ({title}) it loses {more}"
    none = f"No problem was found ({title}) on which it certainly loses more than the best of the panel; "
    if largest.best == failures.label:
        return f"{none}on all that the search chose, the least mean regret is its own."
    return f"{none}the largest difference is {largest.avoidable}, to {largest.best}."


def picture(failures: Failures, result: Result, number: int) -> Figure:
    """Mean regret over rounds of the policy and of the one that does best on a problem."""
    figure, ax = panels(size=(5.4, 3.2))
    best = failures.problems[number].best
    plotting.plot_regret(result, list(dict.fromkeys([failures.label, best])), scenario=number, ax=ax)
    ax.set_title("")
    return figure


def all_against_all(every: Sequence[Failures], results: Sequence[Result]) -> list[Row]:
    """Row the policy, column whose worst problems: mean regret over these problems and half of its 95 % interval."""
    columns = {f"worst of {failures.label}": result for failures, result in zip(every, results, strict=True)}

    def cell(result: Result, label: str) -> str:
        if label not in result.labels:
            return "does not play"
        # run j has the same random numbers on all of the problems: they are averaged within each run
        return in_short(metrics.regret(result, label)[:, 0, :, -1].mean(0))

    labels = dict.fromkeys(label for result in results for label in result.labels)
    return [{"policy": label, **{name: cell(result, label) for name, result in columns.items()}} for label in labels]
