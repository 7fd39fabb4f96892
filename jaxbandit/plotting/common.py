"""What pictures share: colours, axes, titles, and the checks of what is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import matplotlib.pyplot as plt
import numpy as np

from jaxbandit import metrics
from jaxbandit.arguments import as_floats, has, integer, list_of, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from jaxbandit.results.result import Result

COLOURS = ("#3f90da", "#ffa90e", "#bd1f01", "#94a4a2", "#832db6", "#a96b59", "#e76300", "#b9ac70")  # petroff8
MARKERS = "osD^vPX*"
LINES = ((0, (4, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)), (0, (2, 2, 6, 2)))  # of bounds


def axes_of(ax: Axes | None) -> Axes:
    """The axes that are given, or the current ones.

    Raises:
      ValueError: what is given is none.
    """
    if ax is None:
        return plt.gca()
    has("ax", ax, "axes of matplotlib", "plot", "set_title", "spines")
    return ax


def labels_of(result: Result, labels: Sequence[str] | None) -> Sequence[str]:
    """The labels that are given, or all.

    Raises:
      ValueError: one is not in the result.
    """
    metrics.check_result(result)
    if labels is None:
        return result.labels
    chosen = list_of("labels", labels)
    if not chosen:
        raise ValueError("labels: an empty list; leave it out for all policies")
    for label in chosen:
        metrics.check_label(result, label, "labels")
    return chosen


def check_scenario(result: Result, scenario: int) -> None:
    """Refuse what is no position among the scenarios.

    Raises:
      ValueError: what it is.
    """
    metrics.check_result(result)
    if not len(result.times):
        raise ValueError("result: stopped before its first recorded round; there is nothing to draw")
    integer("scenario", scenario, -len(result.scenarios), len(result.scenarios) - 1)


def quantiles_of(quantiles: Sequence[float]) -> list[float]:
    """The quantiles that are given.

    Raises:
      ValueError: they are no list of numbers in [0, 1].
    """
    found = as_floats("quantiles", quantiles)
    if found.ndim != 1 or not ((found >= 0) & (found <= 1)).all():
        raise ValueError(f"quantiles: {shown(quantiles)} is no list of numbers in [0, 1]")
    return [float(each) for each in found]


def positive(values: np.ndarray) -> np.ndarray:
    """Zeros left out, which a logarithmic axis would draw as a plunge."""
    return np.where(values > 0, values, np.nan)


def regret_axis(ax: Axes, result: Result, logarithmic: bool) -> None:
    """Regret upwards, from 0 unless it is one that may be negative."""
    if logarithmic:
        ax.set_yscale("log")
    elif metrics.regret_name(result) == "pseudo-regret":
        ax.set_ylim(bottom=0)


def colour_of(result: Result, label: str) -> str:
    """A policy has the same colour in every picture of a result."""
    metrics.check_label(result, label)
    return COLOURS[result.labels.index(label) % len(COLOURS)]


def title_of(result: Result, scenario: int, quantiles: Sequence[float]) -> str:
    """A title."""
    dashed = f"; dashed: {', '.join(f'{100 * q:g} % quantile' for q in quantiles)}" if quantiles else ""
    return f"{result.scenarios[scenario]}: mean of {runs_of(result)} runs, 95 % interval{dashed}"


def runs_of(result: Result) -> str:
    return f"{next(iter(result.visits.values())).shape[2]:,}"


def finish(ax: Axes, title: str, legend: Literal["best", "upper left"] = "best") -> Axes:
    ax.set_title(title, fontsize="medium")
    ax.grid(True, which="major", alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize="small", loc=legend)
    return ax
