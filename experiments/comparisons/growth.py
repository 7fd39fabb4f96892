"""How regret grows from decade to decade of rounds, beside the constant of log t that bounds it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jaxbandit import Result, metrics
from jaxbandit.plotting import curve_style
from jaxbandit.reports.pictures import frameless, panels
from jaxbandit.reports.tables import Row, in_short

RESAMPLES = 2000
FIRST = 100  # where the first decade of a picture begins
TOP = 2.2  # times the constant, where the picture ends


class Growth(NamedTuple):
    """Growth of regret per log t in the decades of rounds, oldest first."""

    times: np.ndarray  # [D + 1], the ends of decades
    values: np.ndarray  # [D, R], of every run


def decades(horizon: int) -> list[int]:
    """The ends of decades that lead up to the horizon, the first at 10 or more.

    >>> decades(10_000), decades(2_500)
    ([10, 100, 1000, 10000], [25, 250, 2500])
    """
    ends = [horizon]
    while ends[-1] >= 100:
        ends.append(ends[-1] // 10)
    return ends[::-1]


def times(horizon: int) -> list[int]:
    """Rounds to record: ten a decade with the ends of decades among them, and the middle."""
    between = np.rint(horizon / np.power(10, np.arange(0, np.log10(horizon), 0.1))).astype(int)
    return sorted({*between.tolist(), *decades(horizon), max(1, horizon // 2), horizon})


def growth_of(result: Result, label: str, scenario: int = 0) -> Growth:
    """(R(b) - R(a)) / (log b - log a) of every decade from a to b, run by run."""
    ends = np.array(decades(int(result.times[-1])))
    at = np.searchsorted(result.times, ends)
    if not (result.times[at] == ends).all():
        raise ValueError(f"result: its times lack an end of a decade, one of {ends.tolist()}")
    regret = metrics.pseudo_regret(result, label)[scenario, 0][:, at]  # [R, D + 1]
    return Growth(ends, (np.diff(regret, axis=1) / np.diff(np.log(ends))).T)


def growth_cells(result: Result, label: str, ends: list[int], digits: int) -> Row:
    """Growth of a policy in the decades between these ends, as far as it played them, and its regret over log t."""
    growth, form = growth_of(result, label), f",.{digits}f"
    cells = {int(end): in_short(values, form) for end, values in zip(growth.times[1:], growth.values)}
    row: Row = {f"{start:,} to {end:,}": cells.get(end, "") for start, end in itertools.pairwise(ends)}
    final = metrics.pseudo_regret(result, label)[0, 0, :, -1] / np.log(result.times[-1])
    return row | {"R / log t": in_short(final, form)}


def side(low: float, high: float, constant: float) -> str:
    """Where an interval lies.

    >>> side(1, 2, 3), side(4, 5, 3), side(2, 4, 3)
    ('below', 'above', 'at')
    """
    return "below" if high < constant else "above" if low > constant else "at"


def verdict(growth: Growth, constant: float, linear: int) -> str:
    """Where growth is in the last decade, from which side it comes, whether it rises or falls, and linear runs.

    Its interval is that of 95 %. The side is that of the last decade whose
    interval does not hold it. Growth rises or falls where the interval of the paired difference of the last two
    decades says so.
    """
    s = metrics.summary(growth.values)
    sides = [side(low, high, constant) for low, high in zip(s.low, s.high, strict=True)]
    apart = [each for each in sides if each != "at"]
    words = ["interval holds the constant" if sides[-1] == "at" else sides[-1]]
    if sides[-1] == "at":
        words.append(f"from {apart[-1]}" if apart else "never apart from it")
    if len(sides) > 1:
        change = metrics.summary(growth.values[-1] - growth.values[-2])
        words.append({"below": "falling", "above": "rising", "at": "level"}[side(change.low, change.high, 0)])
    if linear:
        words.append(f"{linear} of {growth.values.shape[1]} runs linear")
    return ", ".join(words)


def draw_growth(results: Mapping[str, Result], limits: Mapping[str, dict[str, float]], order: list[str]) -> Figure:
    """Mean growth of every policy in every decade, a panel for each result, and constants as lines.

    Args:
      limits: of each result constants by their names; growth is to be compared with the first.
      order: labels in the order of their colours.
    """
    figure, axes = panels(2, 2, (15, 10.5))
    for spare in axes.flat[len(results) :]:
        spare.remove()
    for ax, (name, result) in zip(axes.flat, results.items()):
        lines = limits[name]
        top = TOP * next(iter(lines.values()))
        _draw_panel(ax, result, {whom: line for whom, line in lines.items() if line < top}, order)
        words = "".join(f"\n({whom} {line:,.2f}, beyond the picture)" for whom, line in lines.items() if line >= top)
        title = f"{name}: growth of regret per log t, by decade; {result.runs} runs{words}"
        ax.set_title(title, fontsize="medium")
    return figure


def _draw_panel(ax: Axes, result: Result, constants: dict[str, float], order: list[str]) -> None:
    """Mean growth with its 95 % interval against the middle of the decade.

    Policies with linear runs, and those that end far above the constant, are named and not drawn: their growth would
    make all others one line.
    """
    growths = {label: growth_of(result, label) for label in result.labels}
    linear = {label: linear_runs(result, label) for label in result.labels}
    top = TOP * next(iter(constants.values()))
    last = {label: float(growth.values[-1].mean()) for label, growth in growths.items()}
    drawn = [label for label in growths if not linear[label] and last[label] <= top]
    for label in drawn:
        growth = growths[label]
        late = growth.times[:-1] >= FIRST
        middle = np.sqrt(growth.times[:-1] * growth.times[1:])[late]
        dodged = middle * 1.04 ** (drawn.index(label) - (len(drawn) - 1) / 2)
        s = metrics.summary(growth.values[late])
        ax.errorbar(dodged, s.mean, s.high - s.mean, label=label, linewidth=1.2, **curve_style(order.index(label)))
    for line, (name, constant) in zip(("-", "--"), constants.items()):
        ax.axhline(constant, color="black", linestyle=line, linewidth=1, label=f"{name} {constant:,.2f}")
    ax.legend(fontsize=7.5, loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    out = [
        f"{label}: {last[label]:,.0f}" + (f", {linear[label]} of {result.runs} runs linear" if linear[label] else "")
        for label in growths
        if label not in drawn
    ]
    if out:
        words = "\n".join(["not drawn (growth in the last decade):", *out])
        ax.text(0.02, 0.98, words, fontsize=6.5, transform=ax.transAxes, va="top", color="dimgrey",
                bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.85})  # fmt: skip
    frameless(ax, xscale="log", ylim=(0, top), xlim=(FIRST, None), xlabel="round t")


def slope(x: np.ndarray, samples: Sequence[np.ndarray], seed: int = 0) -> str:
    """The slope of log mean regret against x by least squares, and the interval of 2,000 bootstrap samples of runs.

    Run j has the same random numbers in every sample [R], so that the same runs are drawn in all of them. "-" where a
    mean is not positive.

    >>> slope(np.log([10, 100]), [np.full(5, 2.0), np.full(5, 20.0)])
    '1.00 (1.00 to 1.00)'
    """
    centred = (x - x.mean()) / np.sum((x - x.mean()) ** 2)
    drawn = np.random.default_rng(seed).integers(len(samples[0]), size=(RESAMPLES, len(samples[0])))
    means = np.array([[sample.mean(), *sample[drawn].mean(1)] for sample in samples])
    if (means <= 0).any():
        return "-"
    slopes = centred @ np.log(means)
    low, high = np.quantile(slopes[1:], [0.025, 0.975])
    return f"{slopes[0]:.2f} ({low:.2f} to {high:.2f})"


def linear_runs(result: Result, label: str) -> int:
    """How many runs are linear."""
    return round(float(metrics.linear_share(result, label)[0, 0]) * result.runs)
