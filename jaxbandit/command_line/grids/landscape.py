"""Pictures of regret over a grid: lines against one number, maps of two, a map with the chosen cell framed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

import jaxbandit
from jaxbandit import Result, metrics, plotting
from jaxbandit.command_line.grids.policy_grid import Grid
from jaxbandit.reports.pictures import panels
from jaxbandit.texts import literal


def a_panel_each(number: int) -> tuple[Figure, list[Axes]]:
    """A figure with so many panels, two in a row."""
    figure, axes = panels(math.ceil(number / 2), min(number, 2), squeeze=False)
    for ax in axes.flat[number:]:
        ax.remove()
    return figure, list(axes.flat[:number])


def lines(grid: Grid, played: list[Result]) -> Figure:
    """Regret against the grid's number, a panel for each scenario and a line for each choice."""
    ((number, values),) = grid.numbers.items()
    wide = min(values) > 0 and max(values) >= 8 * min(values)
    figure, axes = a_panel_each(len(played))
    for ax, result in zip(axes, played, strict=True):
        options: dict[str, Any] = {
            "parameter": f"{number} of {grid.policy.__name__}",
            "axis": "log" if wide else "linear",
        }
        plotting.plot_parameter(result, values, quantiles=(0.5,), ax=ax, **options)
    return figure


def heatmaps(grid: Grid, entry: str, played: list[Result]) -> Figure:
    """Mean and median regret against the grid's two numbers, a column for each scenario."""
    (down, rows), (across, columns) = grid.numbers.items()
    figure, axes = panels(2, len(played), squeeze=False)
    statistics: dict[str, Any] = {"mean": np.mean, "median": np.median}
    for (name, statistic), row in zip(statistics.items(), axes, strict=True):
        for ax, result in zip(row, played, strict=True):
            final = metrics.pseudo_regret(result, entry)[0, :, :, -1]
            values = statistic(final, axis=-1).reshape(len(rows), len(columns))
            names = [[f"{value:g}" for value in axis] for axis in (rows, columns)]
            plotting.plot_heatmap(values, *names, logarithmic=values.min() > 0, label="pseudo-regret", ax=ax)
            ax.set_title(literal(f"{result.scenarios[0]}: {name}"), fontsize="medium")
            ax.set(xlabel=literal(across), ylabel=literal(down))
    runs = final.shape[-1]
    figure.suptitle(f"{literal(entry)}: pseudo-regret after {result.horizon:,} rounds, {runs:,} runs")
    return figure


def framed(grid: Grid, maps: dict[str, tuple[str | None, np.ndarray]], chosen: int) -> Figure:
    """A map of each title's form and values [candidate], the default first; the chosen candidate framed."""
    *down, across = grid.axes
    rows = list(jaxbandit.grid(dict, **{axis: grid.axes[axis] for axis in down}))
    columns = [str(value) for value in grid.axes[across]]
    size = (max(10, 2.5 + 0.7 * len(columns) * len(maps)), 1.5 + 0.28 * len(rows))
    figure, axes = panels(1, len(maps), size, sharey=True)
    for ax, (title, (form, values)) in zip(axes, maps.items(), strict=True):
        table = np.maximum(values[1:], 1e-3).reshape(len(rows), len(columns))
        plotting.plot_heatmap(table, rows, columns, logarithmic=True, form=form, ax=ax)
        ax.set_title(literal(title), fontsize="medium")
        ax.set_xlabel(literal(across))
        i, j = divmod(chosen - 1, len(columns))
        for colour, width in (("white", 4), (plotting.COLOURS[2], 2)) if chosen else ():
            frame: dict[str, Any] = {"fill": False, "edgecolor": colour, "linewidth": width, "clip_on": False}
            ax.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, **frame))
    return figure
