"""The worst problems that a search found, played by everybody: tables, pictures, and all against all."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.figure import Figure

from experiments.judging.atlas_card import Cases
from experiments.judging.spaces import Chapter, digest
from experiments.reports.pictures import panels
from experiments.reports.tables import Row, in_short
from jaxbandit import Policy, Result, metrics, plotting
from jaxbandit.stress import Found

TESTED = "the policy"  # what `stress.worst` calls it


class Failures(NamedTuple):
    """The worst problems of one policy in one chapter."""

    label: str
    chapter: Chapter
    found: list[Found]

    @property
    def title(self) -> str:
        return f"{self.label}: {self.chapter.title}"


def rows_of(each: Failures) -> list[Row]:
    """A row for each problem, the largest avoidable regret first."""
    return [
        {
            "problem": f"{number}",
            "avoidable regret": found.avoidable.mean,
            "95% low": found.avoidable.low,
            "95% high": found.avoidable.high,
            "the search believed": found.believed,
            "its regret": found.regrets[TESTED].mean,
            "least regret": found.regrets[found.best].mean,
            "by": found.best,
            "code": found.problem.code,
        }
        for number, found in enumerate(each.found, 1)
    ]


def in_words(each: Failures) -> str:
    """The worst of the problems on which a policy certainly loses more than another one; or that none was found."""
    largest, title = each.found[0], each.chapter.title
    for found in each.found:
        if found.avoidable.low > 0:
            return (
                f"On the worst problem found ({title}) it loses {found.avoidable} more than {found.best}: "
                f"{found.problem.code}"
            )
    said = f"No problem was found ({title}) on which it certainly loses more than the best of the panel; "
    if largest.best == each.label:
        return f"{said}on all that the search chose, the least mean regret is its own."
    return f"{said}the largest difference is {largest.avoidable}, to {largest.best}."


def cases(each: Failures, policies: Mapping[str, Policy], runs: int, key: Any) -> Cases:
    """A case for each policy: the problems, played to the horizon with all rounds of a picture."""
    arms = {f"problem {number}": problem.arms for number, problem in enumerate(each.found, 1)}
    planned = {}
    for label, policy in policies.items():
        case = {"scenarios": arms, "policies": {label: policy}, "horizon": each.chapter.horizon}
        case |= {"runs": runs, "key": key}
        planned[f"{label}, {digest(case)}"] = case
    return planned


def joined(results: Sequence[Result]) -> Result:
    """Results of the same scenarios and rounds with one policy each, as one."""
    visits = {label: counts for result in results for label, counts in result.visits.items()}
    recorded: dict[str, dict[str, Any]] = {}
    for result in results:
        for name, by_label in result.recorded.items():
            recorded.setdefault(name, {}).update(by_label)
    return dataclasses.replace(results[0], visits=visits, recorded=recorded)


def picture(each: Failures, result: Result, number: int) -> Figure:
    """Mean regret over rounds of the policy and of the one that does best on a problem."""
    figure, ax = panels(size=(5.4, 3.2))
    best = each.found[number].best
    plotting.plot_regret(result, list(dict.fromkeys([each.label, best])), scenario=number, ax=ax)
    ax.set_title("")
    return figure


def all_against_all(every: Sequence[Failures], results: Sequence[Result]) -> list[Row]:
    """Row the policy, column whose worst problems: mean regret over these problems and half of its 95 % interval."""
    rows: list[Row] = []
    labels = dict.fromkeys([*(each.label for each in every), *(label for result in results for label in result.labels)])
    for label in labels:
        row: Row = {"policy": label}
        for each, result in zip(every, results, strict=True):
            played = label in result.labels
            row[f"worst of {each.label}"] = (
                # run j has the same random numbers on all of the problems: they are averaged within each run
                in_short(metrics.regret(result, label)[:, 0, :, -1].mean(0)) if played else "does not play"
            )
        rows.append(row)
    return rows
