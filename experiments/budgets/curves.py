"""Pictures of gaps to the relaxation's bound, on two logarithmic axes."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter

from experiments.budgets import gaps, problems
from experiments.budgets.gaps import Played
from experiments.budgets.limit import limit_of
from jaxbandit import metrics
from jaxbandit.plotting import curve_style
from jaxbandit.reports.pictures import frameless, panels

COLUMNS = 4
LEARNERS = (problems.POSTERIOR, problems.OPTIMIST, problems.BOLDER)
ORDER = (*problems.KNOWING, *LEARNERS, problems.LAST_SEEN, *problems.STEERING)  # of colours
WIDE = {problems.WHITTLE: 4.0, problems.PRIORITY: 2.4}  # lines, as those of several rules often are one


def over_arms(played: Played, unseen: Played, steered: Played) -> Figure:
    """The gap against the number of arms, a panel for each problem; a dotted line is its limit for many arms.

    Of those who see only the arms that they play (`unseen`), Whittle's rule stands beside those who see all. Those who
    steer the shares of arms have dashed lines.
    """
    names = list(dict.fromkeys(name for name, _ in played))
    figure, axes = _grid(names)
    handles: dict[str, Line2D] = {}
    slope: dict[str, Line2D] = {}
    for ax, name in zip(axes, names):
        numbers = np.array([number for each, number in played if each == name])
        blind, steering = [problems.LAST_SEEN] * (name in problems.UNSEEN), _labels(steered, name)
        for place, label in enumerate((*problems.KNOWING, *blind, *steering)):
            results = played if label in problems.KNOWING else unseen if label in blind else steered
            summaries = [metrics.summary(gaps.late(results[name, n], label, name, n)) for n in numbers]
            mean, low, high = (np.array([getattr(s, field) for s in summaries]) for field in ("mean", "low", "high"))
            handles[label] = _draw(ax, numbers * 1.03**place, mean, low, high, _style(label))
            if label in problems.KNOWING:
                _limit(ax, name, label, int(numbers[-1]))
        _finish(ax, name, "arms K")
        ax.set_xlim(0.8 * numbers.min(), 1.25 * numbers.max())
        if len(numbers) > 1:
            slope["as 1 / sqrt(K)"] = _square_root(ax)
    handles |= slope | {"limit for many arms": Line2D([], [], color="black", linestyle=":")}
    _words(figure, axes, len(names), handles, "gap to the bound, per arm and round")
    return figure


def _labels(played: Played, name: str) -> tuple[str, ...]:
    """The policies that play the problem."""
    return next((result.labels for (each, _), result in played.items() if each == name), ())


def over_rounds(played: Played) -> Figure:
    """The gap of those that learn in each stretch of rounds, a panel for each problem."""
    names = [name for name, _ in played]
    figure, axes = _grid(names)
    handles: dict[str, Line2D] = {}
    for ax, ((name, number), result) in zip(axes, played.items()):
        middle = np.sqrt(result.times[1:] * result.times[:-1])
        for label in result.labels:
            s = metrics.summary(gaps.gaps(result, label, name, number).T)
            handles[label] = _draw(ax, middle, s.mean, s.low, s.high, _style(label))
        _finish(ax, f"{name}, {number} arms", "round t")
        ax.set_xlim(0.8 * middle[0], 1.25 * middle[-1])
    _words(figure, axes, len(names), handles, "gap to the bound, per arm and round")
    return figure


def _grid(names: list[str]) -> tuple[Figure, list[Axes]]:
    places = len(names) + 1  # one is for the legend
    columns = min(places, COLUMNS)
    rows = -(-places // columns)
    figure, axes = panels(rows, columns, (4.1 * columns, 3.7 * rows), squeeze=False)
    return figure, list(axes.flat)


def _style(label: str) -> dict[str, Any]:
    return curve_style(ORDER.index(label)) | {"markevery": None, "linewidth": WIDE.get(label, 1.2)}


def _draw(
    ax: Axes, x: np.ndarray, mean: np.ndarray, low: np.ndarray, high: np.ndarray, style: dict[str, Any]
) -> Line2D:
    """A line through the gaps whose interval lies above 0; for the others a triangle at the interval's upper end."""
    clear = low > 0
    (line,) = ax.plot(np.where(clear, x, np.nan), np.where(clear, mean, np.nan), **style)
    ax.vlines(x[clear], low[clear], high[clear], color=style["color"], linewidth=1.2)
    rest = ~clear & (high > 0)
    ax.plot(x[rest], high[rest], "v", color=style["color"], markersize=4, markerfacecolor="white")
    return line


def _finish(ax: Axes, title: str, below: str) -> None:
    ax.set(xscale="log", yscale="log", xlabel=below)
    ax.set_ylim(10 ** np.floor(np.log10(ax.get_ylim()[0])), None)  # a power of ten, which has a number at the axis
    ax.yaxis.set_minor_formatter(NullFormatter())
    frameless(ax, title)


def _limit(ax: Axes, name: str, label: str, number: int) -> None:
    """A dotted line at the limit for many arms, where that is known and is not nothing."""
    limit = limit_of(name, label)
    if not limit.tied and limit.gap > gaps.NOTHING * abs(problems.bound(name, number)):
        ax.axhline(limit.gap, color=_style(label)["color"], linestyle=":", linewidth=1)


def _square_root(ax: Axes) -> Line2D:
    """A line that falls as 1 / sqrt(K) from the upper end of the picture, whose limits stay."""
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    ends = np.array([left, right])
    (line,) = ax.plot(ends, high / 2 * np.sqrt(left / ends), color="grey", linestyle="--", linewidth=0.8)
    ax.set(xlim=(left, right), ylim=(low, high))
    return line


def _words(figure: Figure, axes: list[Axes], used: int, handles: dict[str, Line2D], left: str) -> None:
    """The legend in the place that is left, with what the triangles are."""
    open_triangle = Line2D([], [], color="grey", marker="v", markerfacecolor="white", linestyle="")
    entries = handles | {"interval contains 0: its upper end": open_triangle}
    for spare in axes[used:]:
        spare.axis("off")
    axes[used].legend(entries.values(), entries.keys(), loc="center", frameon=False)
    figure.supylabel(left, fontsize="medium")
