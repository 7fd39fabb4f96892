"""A picture of several panels: means with their 95 % intervals, a colour for each policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from jaxbandit import metrics
from jaxbandit.plotting import curve_style
from jaxbandit.reports.pictures import frameless, legend_below, panels

FEW = 20  # points that have bars; more have a band
Curves = Mapping[str, tuple[Any, Any]]  # by label x, and there values [x, run], a line [x], or mean, low, high, ..


def curves(titles: Mapping[str, Curves], columns: int = 4, ylabel: str = "", title: str = "", **axes: Any) -> Figure:
    """A panel for each title; `axes` are settings of every panel."""
    columns = min(columns, len(titles))
    rows = -(-len(titles) // columns)
    figure, places = panels(rows, columns, (max(4 * columns, 12), 3.4 * rows + 0.8), squeeze=False)
    order = list(dict.fromkeys(label for lines in titles.values() for label in lines))
    for spare in places.flat[len(titles) :]:
        spare.remove()
    for ax, (name, lines) in zip(places.flat, titles.items()):
        for label, (x, values) in lines.items():
            style = curve_style(order.index(label)) | {"label": label}
            if not isinstance(values, tuple):
                if np.ndim(values[0]) == 0:
                    ax.plot(x, values, color="black", linestyle=":", label=label)
                    continue
                values = tuple(np.array([metrics.summary(np.asarray(each))[:3] for each in values]).T)
            mean, low, high = values[:3]
            if len(x) > FEW:
                ax.plot(x, mean, **style | {"markevery": 0.1})
                ax.fill_between(x, low, high, color=style["color"], alpha=0.2, linewidth=0)
            else:
                ax.errorbar(x, mean, [mean - low, high - mean], **style)
        frameless(ax, name, **axes)
    figure.supylabel(ylabel, fontsize="medium")
    figure.suptitle(title)
    legend_below(figure)
    return figure
