"""What pictures share: colours, axes, titles, and the checks of what is drawn."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath

from jaxbandit import metrics
from jaxbandit.arguments import as_floats, has, integer, list_of, shown
from jaxbandit.metrics.counts import check_label, check_result
from jaxbandit.plotting.ticks import decades, plain_numbers
from jaxbandit.results.display import stopped, variant_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from jaxbandit.results.result import Result

COLOURS = ("#3f90da", "#ffa90e", "#bd1f01", "#94a4a2", "#832db6", "#a96b59", "#e76300", "#b9ac70")  # petroff8
MARKERS = "oDPvXs^*"  # in this order, so that similar shapes have colours of different lightness
STYLES = ("-", "-.", ":")  # of the first eight curves, the next eight and the eight after; quantiles are dashed
NEVER_NEGATIVE = ("pseudo-regret", "dynamic regret")
MOST_BREAKS = 30  # that a picture marks
MOST_INSIDE = 7  # entries of a legend that may lie among the curves
CHARACTER = 0.075  # inches of a legend that a character takes, or less
LINES = ((0, (4, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)), (0, (2, 2, 6, 2)))  # of bounds


class Curve(NamedTuple):
    """A variant of a policy in a scenario, and how it is drawn in every picture of a result."""

    name: str
    regret: np.ndarray  # [R, T], `metrics.regret`
    style: dict[str, Any]


def curve_style(number: int) -> dict[str, Any]:
    """Colour, marker and line of a picture's curve `number`, from 0, as arguments of `Axes.plot`.

    Eight curves differ in colour and marker, so that they can be told apart in grey, too; the next eight in the line.

    Raises:
      ValueError: the number is negative.

    >>> curve_style(0)["marker"], curve_style(8)["linestyle"]
    ('o', '-.')
    """
    turn, place = divmod(integer("number", number, 0), len(COLOURS))
    line, marker = STYLES[turn % len(STYLES)], MARKERS[(place + turn) % len(MARKERS)]
    return {"color": COLOURS[place], "linestyle": line, "marker": marker, "markersize": 5}


def apart(place: float) -> dict[str, Any]:
    """Markers spaced out along a line; `place`, in [0, 1), shifts them so that the markers of two lines lie apart."""
    return {"markevery": (0.12 * place, 0.12)}  # shares of the diagonal of the axes


def curves_of(result: Result, labels: str | Sequence[str] | None, scenario: int, variant: int | None) -> list[Curve]:
    """One curve for each variant of the policies, or for this one; the variants of a policy are shades of its colour.

    Raises:
      ValueError: there is no such label or variant.
    """
    chosen = labels_of(result, labels)
    curves = []
    for label in chosen:
        count, number = result.visits[label].shape[1], result.labels.index(label)
        shown = range(count) if variant is None else [variant_of(result, label, variant)]
        regret = metrics.regret(result, label)[scenario]
        for v in shown:
            style = curve_style(number) | apart(number / len(COLOURS) % 1 if count == 1 else v / count)
            if count > 1:
                style["color"] = _shade(style["color"], v / (count - 1))
            curves.append(Curve(name_of(result, label, v), regret[v], style))
    return curves


def variant_of(result: Result, label: str, variant: int) -> int:
    """The variant's index; 0 if the policy has only one, whatever the number.

    Raises:
      ValueError: there are several, and none has this number.
    """
    count = result.visits[label].shape[1]
    variant = integer("variant", variant)
    if count > 1 and not 0 <= variant < count:
        raise ValueError(f"variant: {variant}; {label!r} has variants 0 to {count - 1}")
    return variant if count > 1 else 0


def name_of(result: Result, label: str, variant: int) -> str:
    """A policy's label, with what tells this variant from the others."""
    names = variant_names(result, label)
    return f"{label}, {names[variant]}" if len(names) > 1 else label


def _shade(colour: str, place: float) -> tuple[float, float, float]:
    """The colour made as dark (place 0) or as light (1) as can still be seen on white.

    Steps are even to the eye, whose lightness is the cube root of the luminance, here from 0.05 to 0.4.
    """
    light = np.array(to_rgb(colour)) ** 2.2  # about what the screen shines
    luminance = float(light @ [0.2126, 0.7152, 0.0722])
    wanted = (0.05 ** (1 / 3) * (1 - place) + 0.4 ** (1 / 3) * place) ** 3
    white = max(0.0, (wanted - luminance) / (1 - luminance))
    red, green, blue = (min(1.0, wanted / luminance) * light * (1 - white) + white) ** (1 / 2.2)
    return float(red), float(green), float(blue)


def axes_of(ax: Axes | None) -> Axes:
    """The axes that are given; or the current ones while nothing is drawn on them, else those of a new figure.

    Raises:
      ValueError: what is given is not axes.
    """
    if ax is None:
        current = plt.gca()
        return plt.figure().add_subplot() if current.has_data() else current
    has("ax", ax, "axes of matplotlib", "plot", "set_title", "spines")
    return ax


def labels_of(result: Result, labels: str | Sequence[str] | None) -> Sequence[str]:
    """The labels that are given, one or several, or all.

    Raises:
      ValueError: one is not in the result.
    """
    check_result(result)
    if labels is None:
        return result.labels
    chosen = [labels] if isinstance(labels, str) else list_of("labels", labels)
    if not chosen:
        raise ValueError("labels: an empty list; leave it out for all policies")
    for label in chosen:
        check_label(result, label, "labels")
    return chosen


def scenario_of(result: Result, scenario: int | str) -> int:
    """The position of a scenario that is given by its name, or by its position.

    Raises:
      ValueError: there is no such scenario, or nothing is recorded.
    """
    check_result(result)
    if not len(result.times):
        raise ValueError("result: stopped before its first recorded round; there is nothing to draw")
    if not isinstance(scenario, str):
        return integer("scenario", scenario, -len(result.scenarios), len(result.scenarios) - 1)
    if scenario not in result.scenarios:
        raise ValueError(f"scenario: {scenario!r} is not in the result; it has {', '.join(result.scenarios)}")
    return result.scenarios.index(scenario)


def quantiles_of(quantiles: Sequence[float]) -> list[float]:
    """The quantiles that are given.

    Raises:
      ValueError: they are not a list of numbers in [0, 1].
    """
    found = as_floats("quantiles", quantiles)
    if found.ndim != 1 or not ((found >= 0) & (found <= 1)).all():
        raise ValueError(f"quantiles: {shown(quantiles)} is not a list of numbers in [0, 1]")
    return [float(each) for each in found]


def positive(values: np.ndarray) -> np.ndarray:
    """The values without zeros, which a logarithmic axis would draw as a plunge."""
    return np.where(values > 0, values, np.nan)


def regret_axis(ax: Axes, result: Result, logarithmic: bool) -> None:
    """Set the axis of regret: it begins at 0, unless it is logarithmic or the regret may be negative."""
    if logarithmic:
        decades(ax, "y")
    elif metrics.regret_name(result) in NEVER_NEGATIVE:
        ax.set_ylim(bottom=0)


def breaks_of(result: Result, scenario: int) -> list[int]:
    """The rounds in which the arms of a scenario change, if they are few; the result tells them."""
    told = result.provenance.get("scenarios", {}).get(result.scenarios[scenario], {})
    breaks = [number for number in told.get("breaks", []) if number <= result.times[-1]]
    return breaks if len(breaks) <= MOST_BREAKS else []


def title_of(result: Result, scenario: int, quantiles: Sequence[float]) -> str:
    """A title."""
    dashed = f"; dashed: {', '.join(f'{100 * q:g} % quantile' for q in quantiles)}" if quantiles else ""
    return f"{result.scenarios[scenario]}: mean of {runs_of(result)} runs, 95 % interval{dashed}"


def runs_of(result: Result) -> str:
    return f"{result.runs:,}"


def _wrapped(title: str, inches: float) -> str:
    """A title in lines of at most about this width, none of which ends before a percent sign."""
    width = TextPath((0, 0), title, prop=FontProperties(size="medium")).get_extents().width / 72
    if width <= inches:
        return title
    lines = textwrap.wrap(title.replace(" %", "\N{NO-BREAK SPACE}%"), max(20, int(0.95 * len(title) * inches / width)))
    return "\n".join(lines).replace("\N{NO-BREAK SPACE}", " ")


def finish(ax: Axes, result: Result, title: str, legend: Literal["best", "upper left"] = "best") -> Axes:
    """Title, grid, numbers and legend; a long legend goes below the axes, where it hides no curve.

    The title says it if the result was stopped.
    """
    inches = ax.bbox.width / ax.figure.dpi
    mark = stopped(result)
    ax.set_title("\n".join(_wrapped(line, inches) for line in (title, mark) if line), fontsize="medium")
    ax.grid(True, which="major", alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    plain_numbers(ax)
    names = ax.get_legend_handles_labels()[1]
    if len(names) <= MOST_INSIDE:
        ax.legend(frameon=False, fontsize="small", loc=legend)
        return ax
    columns = int(inches / (0.6 + CHARACTER * max(map(len, names))))
    place: dict[str, Any] = {
        "loc": "upper center",
        "bbox_to_anchor": (0.5, 0.0),
        "borderaxespad": 5,
    }  # below the numbers and the label
    ax.legend(frameon=False, fontsize="small", ncols=min(max(columns, 1), 4), **place)
    root = ax.figure.figure
    if root.get_layout_engine() is None:  # room for the legend
        root.set_layout_engine("constrained")
    return ax
