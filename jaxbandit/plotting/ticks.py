"""Numbers on axes: written as 1,000, and few enough that none touches its neighbour."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from matplotlib.ticker import (
    LogFormatterSciNotation,
    LogLocator,
    MaxNLocator,
    NullLocator,
    ScalarFormatter,
    StrMethodFormatter,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

NUMBER = "{x:,.10g}"


class Decades(LogLocator):
    """Ticks at powers of ten; on a short axis also at 2 and 5 times these, or evenly spaced if only one is left."""

    def tick_values(self, vmin: float, vmax: float) -> Any:
        near, room = 0 < vmin < vmax < 100 * vmin, self._room(vmin, vmax)
        for subs in ((1.0, 2.0, 5.0), (1.0,)) if near else ((1.0,),):
            self.set_params(subs=subs)
            ticks = np.asarray(super().tick_values(vmin, vmax))
            inside = int(((vmin <= ticks) & (ticks <= vmax)).sum())
            if inside <= room:
                return ticks if inside > 1 or not near else MaxNLocator(min(4, room)).tick_values(vmin, vmax)
        return ticks[np.rint(np.log10(ticks)) % math.ceil(inside / room) == 0]

    def _room(self, vmin: float, vmax: float) -> int:
        """How many numbers fit, beside each other on a horizontal axis."""
        lines: int = self.axis.get_tick_space()  # type: ignore[union-attr]  # two or three times the size of a letter
        if self.axis.axis_name == "y":  # type: ignore[union-attr]
            return max(lines, 2)
        letters = max(5, len(f"{vmax:,.0f}") if _are_plain(vmin, vmax) else 0)
        return max(int(3 * lines / (1 + 0.62 * letters)), 2)


class Plain(LogFormatterSciNotation):
    """Write 1,000 for 10^3 on an axis where all such numbers are short."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        low, high = self.axis.get_view_interval()  # type: ignore[union-attr]
        return NUMBER.format(x=x) if _are_plain(low, high) else str(super().__call__(x, pos))


def _are_plain(low: float, high: float) -> bool:
    """Whether all numbers of an axis are short when written in full."""
    return low > 1e-4 and high < 1.1e7


def decades(ax: Axes, which: Literal["x", "y"]) -> None:
    """Make an axis logarithmic, with numbers that do not overlap however short it is."""
    ax.set(**{f"{which}scale": "log"})
    stand_apart(ax.xaxis if which == "x" else ax.yaxis)


def stand_apart(axis: Axis) -> None:
    """Put few numbers on a logarithmic axis, so that they do not overlap."""
    axis.set_major_locator(Decades())
    axis.set_major_formatter(Plain(minor_thresholds=(math.inf, math.inf)))
    axis.set_minor_locator(NullLocator())


def plain_numbers(ax: Axes) -> None:
    """Write the numbers of both axes as all plots do, unless they were changed from matplotlib's default."""
    for axis in (ax.xaxis, ax.yaxis):
        kind = type(axis.get_major_formatter())
        if kind is LogFormatterSciNotation:
            stand_apart(axis)
        elif kind is ScalarFormatter:
            axis.set_major_formatter(StrMethodFormatter(NUMBER))
