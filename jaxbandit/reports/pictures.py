"""Pictures as files: no screen is asked for."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jaxbandit import metrics
from jaxbandit.reports.tables import put
from jaxbandit.texts import literal

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from jaxbandit.plotting.ticks import plain_numbers

Pictures = Iterable[tuple[str, Figure]]  # file names without their end; drawn one at a time where it is a generator


def panels(rows: int = 1, columns: int = 1, size: tuple[float, float] | None = None, **options: Any) -> Any:
    """A figure and its axes as `plt.subplots` gives them, laid out so that nothing overlaps."""
    size = size or (6.5 * columns, 4.3 * rows)
    return plt.subplots(rows, columns, figsize=size, layout="constrained", **options)


def frameless(ax: Axes, title: str = "", **settings: Any) -> None:
    """A light grid in the place of the frame, and a title and other settings of the axes."""
    if title:
        ax.set_title(literal(title), fontsize="medium")
    ax.set(**settings)
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)


def band(ax: Axes, x: Any, values: np.ndarray, **style: Any) -> None:
    """The mean of values [run, x] as a line, and its 95 % interval in the same colour."""
    s = metrics.summary(values.T)
    ax.plot(x, s.mean, **style)
    ax.fill_between(x, s.low, s.high, color=style["color"], alpha=0.2, linewidth=0)


def legend_below(figure: Figure) -> None:
    """One legend under all panels in place of theirs."""
    handles = {label: handle for ax in figure.axes for handle, label in zip(*ax.get_legend_handles_labels())}
    for ax in figure.axes:
        if legend := ax.get_legend():
            legend.remove()
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=5, frameon=False)


def write_numbers(figure: Figure) -> None:
    """Numbers of all axes as the library's pictures have them."""
    for ax in figure.axes:
        plain_numbers(ax)


def save(figure: Figure, path: Path) -> None:
    """Write a figure as .png and .pdf, and close it."""
    write_numbers(figure)
    for kind in ("png", "pdf"):
        with io.BytesIO() as file, matplotlib.rc_context({"pdf.fonttype": 42}):  # journals refuse the default, Type 3
            figure.savefig(file, format=kind, dpi=150)
            put(Path(f"{path}.{kind}"), file.getvalue())  # not with_suffix, which would cut a name at its last point
    plt.close(figure)
