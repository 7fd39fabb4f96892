"""The judgement as tables, as pictures, and as one page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from jaxbandit.judging import failures
from jaxbandit.judging.judgement import Judgement
from jaxbandit.reports import page
from jaxbandit.reports.pictures import Pictures
from jaxbandit.reports.tables import Row, Tables, mean_and_interval
from jaxbandit.stress import Survey

NAMED = (
    "Mean regret after {horizon:,} rounds with its 95 % interval; median, 90 % quantile and mean of the worst 5 % of "
    "{runs:,} runs (a quarter as many where arms have more than two states, a twentieth for processes with many "
    "states); the share of runs whose regret is still linear, which means that a tenth or more of the plays in the "
    "second half go to worse arms, or in a decision process that a tenth or more of what is to be had is lost then "
    "(not said of restless arms, where playing worse arms may be right); the rank in the panel, which is without "
    "IMED-MC where arms have more than two states, as it is slow there, of learners where there is a decision "
    "process, and of random play and a player who knows the chains where all arms pay; and, where there is a lower "
    "bound, the mean over the bound's curve, its constant times log t. In the long run no policy that is good for all "
    "such arms stays below that curve; at this horizon one may."
)
RANK = (
    "A rank says no more than the runs do. One policy has certainly less regret than another where the interval of "
    "their difference, paired run by run, excludes 0. These are Student's intervals, of 95 % for the whole panel on "
    "one problem: on about one problem in twenty a rank may be wrong, and on more where the runs are few and regret "
    "has a heavy tail. The rank '1 to 3 of 5' says that two others are not told apart from the policy, and that nobody "
    "has certainly less."
)
AVOIDABLE = (
    "The 95 % interval of a mean covers the draw of the problems and the chance of the runs, and so does that of how "
    "much more a policy loses than the first of the table, which is paired problem by problem. Avoidable regret is the "
    "mean regret less the least one of the panel on the same problem, with the same random numbers: what choosing "
    "better would have saved. Nobody in this comparison knows the arms: the policies of a space's panel are made "
    "before its problems are drawn."
)
WORST = (
    "A search looked for the problems with the largest avoidable regret, and those reported were judged on runs that "
    "it never saw. What the search believed stands beside that; it tends to be too large, because it chose by that. "
    "The code makes the very same arms, after: import jaxbandit."
)


def tables(judgement: Judgement) -> Tables:
    """All tables by file name, in the page's order."""
    every: Tables = {}
    for label, rows in judgement.cards.items():
        if rows:
            every[_file("atlas", label)] = f"Named problems: {label}", rows
    for number, (chapter, survey) in enumerate(judgement.surveys, 1):
        every[f"space_{number}"] = f"Mean over a space: {chapter.title}", survey_rows(survey)
    for number, (search, _) in enumerate(judgement.worst or [], 1):
        every[f"worst_{number}"] = f"Worst problems found of {search.title}", failures.rows_of(search)
    of_chapter = groupby(judgement.worst or [], key=lambda worst: worst[0].chapter.title)
    for number, (title, group) in enumerate(of_chapter, 1):
        if len(several := list(group)) > 1:
            rows = failures.all_against_all(*zip(*several, strict=True))
            about = "mean regret on the worst problems of each ± half of its 95 % interval"
            every[f"all_{number}"] = f"All against all: {about}, {title}", rows
    if judgement.speed:
        every["speed"] = "Speed on the same arms, in the same run", judgement.speed
    return every


def survey_rows(survey: Survey) -> list[Row]:
    """A row for each policy, that of the least mean regret first; how much more than that one the others have."""
    rows: list[Row] = []
    labels = sorted(survey.regrets, key=lambda label: float(survey.regrets[label].mean()))
    for label in labels:
        avoidable = survey.avoidable(label)
        median, most, largest = map(float, np.quantile(avoidable, [0.5, 0.9, 1]))
        row: Row = {"policy": label, **mean_and_interval(survey.mean(label), "mean regret")}
        row |= mean_and_interval(survey.difference(label, labels[0]), "more than the first", "more: ")
        row |= {"avoidable: mean": float(avoidable.mean()), "median": median}
        rows.append(row | {"90% quantile": most, "largest": largest})
    return rows


def pictures(judgement: Judgement) -> Pictures:
    """Regret over rounds on every one of the worst problems."""
    for number, (search, result) in enumerate(judgement.worst or [], 1):
        for place in range(len(search.problems)):
            yield f"worst_{number}_{place + 1}", failures.picture(search, result, place)


def write(path: Path, judgement: Judgement, about: str, command: str) -> None:
    """The page."""
    parts = _parts(judgement, tables(judgement), about, command)
    page.write(path, f"What {' and '.join(judgement.policies)} can do", parts)


def _parts(judgement: Judgement, every: Tables, about: str, command: str) -> Iterator[str]:
    yield page.paragraph(about)
    yield page.command(command)
    for label in judgement.policies:
        yield page.heading(f"In short: {label}" if len(judgement.policies) > 1 else "In short")
        yield from map(page.paragraph, judgement.in_words(label))
    yield page.heading("1. The contract")
    for label, (_, verdict) in judgement.contract.items():
        yield page.paragraph(f"{label} {verdict}.")
    yield page.heading("2. Named problems")
    yield page.paragraph(NAMED.format(horizon=judgement.horizon, runs=judgement.runs))
    yield page.paragraph(RANK)
    for label, rows in judgement.cards.items():
        if rows:
            title, rows = every[_file("atlas", label)]
            yield page.heading(title, 3)
            yield page.table(rows)
        if judgement.left_out[label]:
            yield page.paragraph(f"Not played by {label}: {_reasons(judgement.left_out[label])}.")
    yield page.heading("3. Mean over a space of problems")
    yield page.paragraph(
        AVOIDABLE if judgement.surveys else "None of the policies plays a space of problems that there is."
    )
    yield from _titled(every, "space_")
    yield page.heading("4. The worst problems found")
    if judgement.worst:
        yield page.paragraph(WORST)
        yield from _worst(judgement)
        yield from _titled(every, "all_")
    else:
        none = "None of the policies plays a space of problems that there is." if judgement.worst is not None else ""
        yield page.paragraph(none or 'The package cmaes is not installed: pip install -e ".[search]".')
    yield page.heading("5. Speed")
    yield from _titled(every, "speed")


def _worst(judgement: Judgement) -> Iterator[str]:
    for search, result in judgement.worst or []:
        yield page.heading(search.title, 3)
        rows = [{name: value for name, value in row.items() if name != "code"} for row in failures.rows_of(search)]
        yield page.table(rows)
        for number, problem in enumerate(search.problems):
            yield page.command(problem.problem.code)
            figure = failures.picture(search, result, number)
            size = f"mean regret over rounds with its 95 % interval, {judgement.runs:,} runs"
            yield page.picture(figure, f"Problem {number + 1}", f"{search.label} beside {problem.best}, {size}.")
            plt.close(figure)


def _titled(every: Tables, beginning: str) -> list[str]:
    return page.titled({name: table for name, table in every.items() if name.startswith(beginning)})


def _reasons(left_out: dict[str, str]) -> str:
    """The problems that are not played, those with one reason together."""
    together: dict[str, list[str]] = {}
    for name, reason in left_out.items():
        together.setdefault(reason, []).append(name)
    return "; ".join(f"{', '.join(names)} ({reason})" for reason, names in together.items())


def _file(kind: str, label: str) -> str:
    return f"{kind}_" + re.sub(r"[^\w.=]+", "_", label).strip("_")
