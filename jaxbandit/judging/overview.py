"""The picture at the beginning of the page: on every problem, regret over the least regret of the others."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jaxbandit.judging.judgement import Judgement
from jaxbandit.judging.standings import Standing, columns, standing_over
from jaxbandit.plotting import curve_style
from jaxbandit.reports.pictures import frameless, panels
from jaxbandit.reports.tables import Row
from jaxbandit.stress import Interval
from jaxbandit.texts import literal

WIDTH = 4.4  # inches: narrow enough for the letters to be read on a telephone
STEP, BETWEEN = 0.15, 0.14  # inches a row, and between kinds
APART = 0.04  # inches between the dots of a row
LEAST = 0.32  # inches of a kind, for its name of two lines
LETTER = 0.018  # of the axis, the width of a letter of a name


class Dot(NamedTuple):
    """Where a judged policy stands on a problem."""

    kind: str
    problem: str
    policy: str
    runs: int
    standing: Standing

    @property
    def times(self) -> Interval:
        """Regret over the least of the others; zeros where there is no such ratio."""
        return self.standing.times or Interval(0.0, 0.0, 0.0)


def dots_of(judgement: Judgement) -> list[Dot]:
    """All that the picture shows, kind by kind, the least ratio first, and the dots of a problem together."""
    dots = [
        Dot(line.kind, line.problem, label, line.runs, line.standing)
        for label, lines in judgement.cards.items()
        for line in lines
    ]
    for chapter, survey in judgement.surveys:
        for label in chapter.policies:
            played = int(survey.regrets[label].size)
            dots.append(Dot("random arms, mean", chapter.title, label, played, standing_over(survey, label)))
    for failures in judgement.worst or []:
        for label in judgement.policies:
            kind = f"worst of {failures.label}" if len(judgement.policies) > 1 else "worst found"
            for number, stands in enumerate(failures.standings(label) if label in failures.result.labels else [], 1):
                dots.append(Dot(kind, f"worst {number} of {failures.title}", label, judgement.runs, stands))
    kinds, places = list(dict.fromkeys(dot.kind for dot in dots)), list(judgement.policies)
    largest: dict[str, float] = {}
    for dot in dots:
        largest[dot.problem] = max(largest.get(dot.problem, 0.0), dot.times.mean)

    def place(dot: Dot) -> tuple[int, float, str, int]:
        return kinds.index(dot.kind), largest[dot.problem], dot.problem, places.index(dot.policy)

    return sorted(dots, key=place)


def rows_of(dots: Sequence[Dot]) -> list[Row]:
    """The numbers of the picture."""
    rows: list[Row] = []
    for dot in dots:
        row: Row = {"kind": dot.kind, "problem": dot.problem, "policy": dot.policy, "runs": dot.runs}
        row |= columns(dot.standing)
        certain = {"certainly less": dot.standing.ahead, "certainly more": dot.standing.behind}
        row |= {name: "; ".join(labels) for name, labels in (certain | {"not told apart": dot.standing.open}).items()}
        rows.append(row | {"largest share of a run": dot.standing.share})
    return rows


def picture(dots: Sequence[Dot], policies: Sequence[str]) -> Figure:
    """A row for each problem that has a ratio, a dot and an interval for each policy, kind by kind."""
    shown = [dot for dot in dots if dot.standing.times]
    rows = [list(group) for _, group in groupby(shown, key=lambda dot: (dot.kind, dot.problem))]
    places, kinds, height = _places(rows, len(policies))
    figure, ax = panels(size=(WIDTH, height + 0.9 + 0.17 * len(policies) * (len(policies) > 1)))
    frameless(ax, xscale="log", ylim=(height, 0))
    ax.set_xlabel("regret over the least regret of the others", fontsize="small")
    ax.set_xlim(*_ends(shown))
    ax.grid(axis="y", visible=False)
    ax.axvline(1, color="#555555", linewidth=1, zorder=0)
    ax.set_yticks(
        [middle for _, middle, _ in kinds],
        [textwrap.fill(literal(kind), 14, break_on_hyphens=False) for kind, _, _ in kinds],
    )
    ax.tick_params(labelsize="small")
    ax.tick_params(axis="y", length=0)
    for _, _, end in kinds[:-1]:
        ax.axhline(end, color="#dddddd", linewidth=0.8, zorder=0)
    for row, place in zip(rows, places, strict=True):
        for dot in row:
            number = list(policies).index(dot.policy)
            _draw(ax, dot, number, place + APART * (number - (len(policies) - 1) / 2))
        _write_name(ax, row, place)
    if len(policies) > 1:
        for number, label in enumerate(policies):
            ax.plot([], [], **curve_style(number) | {"linestyle": "none"}, label=literal(label))
        figure.legend(loc="outside upper left", frameon=False, fontsize="small")
    return figure


def _draw(ax: Axes, dot: Dot, number: int, height: float) -> None:
    colour, marker = (curve_style(number)[name] for name in ("color", "marker"))
    line = ":" if dot.standing.heavy else "-"
    ends = np.clip([dot.times.low, dot.times.high], *ax.get_xlim())
    ax.plot(ends, [height, height], linestyle=line, linewidth=1.2, color=colour, alpha=0.7)
    face = colour if dot.standing.is_told else "white"
    ax.plot(dot.times.mean, height, marker, markersize=4.5, color=colour, markerfacecolor=face, clip_on=False)


def _places(rows: Sequence[Sequence[Dot]], policies: int) -> tuple[list[float], list[tuple[str, float, float]], float]:
    """The height of each row, and of each kind its middle and end; and of all of it: in inches from the top."""
    places: list[float] = []
    kinds: list[tuple[str, float, float]] = []
    end = 0.0
    for kind, group in groupby(rows, key=lambda row: row[0].kind):
        steps = [APART * (policies - 1) + STEP for _ in group]
        room = max(sum(steps), LEAST)
        begin = end + BETWEEN / 2 + (room - sum(steps)) / 2
        places += (begin + np.cumsum(steps) - np.array(steps) / 2).tolist()
        kinds.append((kind, end + (BETWEEN + room) / 2, end + BETWEEN + room))
        end += BETWEEN + room
    return places, kinds, max(end, LEAST)


def _ends(dots: Sequence[Dot]) -> tuple[float, float]:
    """The axis: all dots, and of intervals as much as is not much wider than they are apart."""
    every = [dot.times for dot in dots]
    low, high = min([0.8, *(each.mean for each in every)]), max([1.25, *(each.mean for each in every)])
    least, most = min([low, *(each.low for each in every)]), max([high, *(each.high for each in every)])
    return max(least, low / 3) / 1.1, min(most, high * 3) * 1.1


def _write_name(ax: Axes, row: Sequence[Dot], height: float) -> None:
    """A problem's name, at that side of its intervals on which there is room; if there is none, right of the first."""
    low, high = np.log(ax.get_xlim())
    kind, problem = row[0][:2]
    name = literal(problem.partition(" of ")[0] if kind.startswith("worst") else problem)
    room = LETTER * len(name) * (high - low)
    left = np.log(max(min(each.times.low for each in row), np.exp(low)))
    right = np.log(min(max(each.times.high for each in row), np.exp(high)))
    if high - right < room and left - low < room:
        right = np.log(min(each.times.high for each in row))
    on_right = high - right > room
    offset, side = (4, "left") if on_right else (-4, "right")
    place = np.exp(right if on_right else left), height
    ax.annotate(name, place, (offset, 0), textcoords="offset points", ha=side, va="center", fontsize=8)
