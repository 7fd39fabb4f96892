"""The judgement as tables, as pictures, and as one page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from jaxbandit.judging import failures, overview
from jaxbandit.judging.atlas_card import Line
from jaxbandit.judging.judgement import Judgement
from jaxbandit.judging.standings import columns, standing_over
from jaxbandit.reports import page
from jaxbandit.reports.pictures import Pictures
from jaxbandit.reports.tables import Row, Tables, mean_and_interval, together
from jaxbandit.reports.tables import write as write_rows
from jaxbandit.stress import Survey

CAPTION = (
    "A row is a problem: mean regret after {horizon:,} rounds over the least of the others (the panel{judged}), on a "
    "logarithmic axis. Filled: another one certainly has less, or, left of 1, all others certainly have more; hollow: "
    "neither is certain. The intervals of a policy's named problems hold together with a probability of 95 %, and so "
    "do those of its worst ones, as far as means of so many runs are normal; a dotted one rests on few runs and may be "
    "too short. {missing}Numbers: overview.csv."
)
NAMED = (
    "The standing among all that played the problem; regret over the least of the others, and whose that is; mean "
    "regret after {horizon:,} rounds with its 95 % interval, and the mean of the worst 5 % of {runs:,} runs (a quarter "
    "as many where arms have more than two states, a twentieth for processes with many states, but at least 20); the "
    "share of runs whose regret is still linear, which means that a tenth or more of the plays in the second half go "
    "to worse arms, or in a decision process that a tenth or more of what is to be had is lost then (not said of "
    "restless arms, where playing worse arms may be right); and, where there is a lower bound, the mean over the "
    "bound's curve, its constant times log t. In the long run no policy that is good for all such arms stays below "
    "that curve; at this horizon one may. The panel is without IMED-MC where arms have more than two states, as it is "
    "slow there, of learners where there is a decision process, and of random play and a player who knows the chains "
    "where all arms pay."
)
STANDING = (
    "A rank, such as '2 of 5', is given where all differences to the others are certain. 'Among the best 3 of 5' says "
    "that two others certainly have more regret; 'not the best', that one certainly has less; 'undecided', that nobody "
    "is told apart. Certain is what an interval of the difference, paired run by run, says. These are Student's "
    "intervals, whose chance of error, 5 %, is divided among all comparisons of a policy's named problems "
    "(Bonferroni), and among those of its random problems and of its worst ones; runs so few that even a sign test "
    "could not tell claim nothing. The interval of a ratio is Fieller's, of the same pairs. Where regret has a heavy "
    "tail, what happens less often than once in so many runs is not seen, and means may be too small."
)
AVOIDABLE = (
    "The 95 % interval of a mean covers the draw of the problems and the chance of the runs; so do those of how much "
    "more a policy loses than the least of the others, which are paired problem by problem. Avoidable regret is the "
    "mean regret less the least one of the panel on the same problem, with the same random numbers: what choosing "
    "better would have saved. Nobody in this comparison knows the arms: the policies of a space's panel are made "
    "before its problems are drawn."
)
WORST = (
    "A search looked for the problems with the largest avoidable regret, and all numbers of those reported are of "
    "runs that it never saw. What the search believed stands beside that; it tends to be too large, because it chose "
    "by that. The code makes the very same arms, after: import jaxbandit."
)


def tables(judgement: Judgement) -> Tables:
    """All tables by file name, in the page's order."""
    every: Tables = {}
    for label, lines in judgement.cards.items():
        if lines:
            every[_file("atlas", label)] = f"Named problems: {label}", list(map(_row, lines))
    for number, (chapter, survey) in enumerate(judgement.surveys, 1):
        every[f"space_{number}"] = f"Mean over a space: {chapter.title}", survey_rows(survey)
    for number, search in enumerate(judgement.worst or [], 1):
        every[f"worst_{number}"] = f"Worst problems found of {search.title}", failures.rows_of(search)
    of_chapter = groupby(judgement.worst or [], key=lambda search: search.chapter.title)
    for number, (title, group) in enumerate(of_chapter, 1):
        if len(several := list(group)) > 1:
            about = "mean regret on the worst problems of each ± half of its 95 % interval"
            every[f"all_{number}"] = f"All against all: {about}, {title}", failures.all_against_all(several)
    if judgement.speed:
        every["speed"] = "Speed on the same arms, in the same run", judgement.speed
    return every


def _row(line: Line) -> Row:
    """A named problem's row; what else is known of it is in the numbers of the picture."""
    row: Row = {"problem": line.problem}
    row |= {name: value for name, value in columns(line.standing).items() if not name.startswith(("more", "least"))}
    row |= {name: line.regret[name] for name in ("mean", "95% low", "95% high", "worst 5%")}
    row |= {"linear share": "" if line.linear is None else line.linear}
    return row | {"times the lower bound": "" if line.bound is None else line.bound}


def survey_rows(survey: Survey) -> list[Row]:
    """A row for each policy, that of the least mean regret first."""
    rows: list[Row] = []
    for label in sorted(survey.regrets, key=lambda label: float(survey.regrets[label].mean())):
        median, most, largest = map(float, np.quantile(avoidable := survey.avoidable(label), [0.5, 0.9, 1]))
        row: Row = {"policy": label, **mean_and_interval(survey.mean(label), "mean regret")}
        stands = columns(standing_over(survey, label))
        row |= {name: stands[name] for name in stands if not name.startswith("least")}
        row |= {"avoidable: mean": float(avoidable.mean()), "median": median}
        rows.append(row | {"90% quantile": most, "largest": largest})
    return rows


def pictures(judgement: Judgement) -> Pictures:
    """The overview, and regret over rounds on every one of the worst problems."""
    yield "overview", overview.picture(overview.dots_of(judgement), list(judgement.policies))
    for number, search in enumerate(judgement.worst or [], 1):
        for place in range(len(search.problems)):
            yield f"worst_{number}_{place + 1}", failures.picture(search, place)


def write(path: Path, judgement: Judgement, about: str, command: str) -> None:
    """The page, and beside it the numbers of its first picture."""
    dots = overview.dots_of(judgement)
    write_rows(overview.rows_of(dots), path.with_name("overview.csv"))
    parts = _parts(judgement, dots, tables(judgement), about, command)
    page.write(path, f"What {' and '.join(judgement.policies)} can do", parts)


def _parts(
    judgement: Judgement, dots: Sequence[overview.Dot], every: Tables, about: str, command: str
) -> Iterator[str]:
    if judgement.quick:
        yield page.paragraph(judgement.quick)
    figure = overview.picture(dots, list(judgement.policies))
    yield page.picture(figure, "Regret over the least of the others", _caption(judgement, dots))
    plt.close(figure)
    several = len(judgement.policies) > 1
    for label in judgement.policies:
        if several:
            yield page.heading(label)
        yield from map(page.paragraph, judgement.in_short(label))
    for label, lines in judgement.cards.items():
        title = f"Named problems: {label}" if several else "Named problems"
        yield page.details(f"{title} ({len(lines)})", _named(judgement, label, every))
    for name, (title, rows) in every.items():
        if name.startswith("space_"):
            yield page.details(title, [page.table(together(rows)), page.paragraph(AVOIDABLE)])
    if judgement.worst:
        yield page.details("The worst problems found", _worst(judgement, every))
    yield page.details("More in words, and the contract", _more(judgement))
    yield page.details("How standings and intervals are meant", [page.paragraph(STANDING)])
    if judgement.speed:
        yield page.details("Speed", page.titled({"speed": every["speed"]}))
    yield page.details("How this page was made", [page.paragraph(about), page.command(command)])


def _caption(judgement: Judgement, dots: Sequence[overview.Dot]) -> str:
    missing = list(dict.fromkeys(dot.problem for dot in dots if dot.standing.times is None))
    judged = " and the other policies judged" if len(judgement.policies) > 1 else ""
    without = (
        f"Without a ratio, because a mean regret is not certainly above 0: {', '.join(missing)}. " if missing else ""
    )
    return CAPTION.format(horizon=judgement.horizon, judged=judged, missing=without)


def _named(judgement: Judgement, label: str, every: Tables) -> Iterator[str]:
    if judgement.cards[label]:
        yield page.table(together(every[_file("atlas", label)][1]))
        yield page.paragraph(NAMED.format(horizon=judgement.horizon, runs=judgement.runs))
    if judgement.left_out[label]:
        yield page.paragraph(f"Not played by {label}: {_reasons(judgement.left_out[label])}.")


def _more(judgement: Judgement) -> Iterator[str]:
    for label, (_, verdict) in judgement.contract.items():
        yield page.paragraph(f"{label} {verdict}.")
        yield from map(page.paragraph, judgement.in_words(label)[len(judgement.in_short(label)) + 1 :])


def _worst(judgement: Judgement, every: Tables) -> Iterator[str]:
    yield page.paragraph(WORST)
    for search in judgement.worst or []:
        yield page.heading(search.title, 3)
        rows = [{name: value for name, value in row.items() if name != "code"} for row in failures.rows_of(search)]
        yield page.table(together(rows))
        for number, (problem, stands) in enumerate(zip(search.problems, search.standings(), strict=True)):
            yield page.command(problem.problem.code)
            figure = failures.picture(search, number)
            size = f"mean regret over rounds with its 95 % interval, {judgement.runs:,} runs"
            yield page.picture(figure, f"Problem {number + 1}", f"{search.label} beside {stands.best}, {size}.")
            plt.close(figure)
    yield from page.titled({name: table for name, table in every.items() if name.startswith("all_")})


def _reasons(left_out: dict[str, str]) -> str:
    """The problems that are not played, those with one reason together."""
    together: dict[str, list[str]] = {}
    for name, reason in left_out.items():
        together.setdefault(reason, []).append(name)
    return "; ".join(f"{', '.join(names)} ({reason})" for reason, names in together.items())


def _file(kind: str, label: str) -> str:
    return f"{kind}_" + re.sub(r"[^\w.=]+", "_", label).strip("_")
