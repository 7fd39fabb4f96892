"""What plots share: colours, axes, titles, and checks of arguments."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgb, to_rgba
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath

from jaxbandit import metrics
from jaxbandit.arguments import as_floats, excerpt, has, integer, list_of
from jaxbandit.metrics.counts import check_label, check_result
from jaxbandit.plotting.ticks import decades, plain_numbers
from jaxbandit.results.display import stopped, variant_names
from jaxbandit.texts import literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from jaxbandit.results.result import Result

COLOURS = ("#3f90da", "#ffa90e", "#bd1f01", "#94a4a2", "#832db6", "#a96b59", "#e76300", "#b9ac70")  # petroff8
MARKERS = "oDPvXs^*"  # in this order, so that similar shapes have colours of different lightness
STYLES = ("-", "-.", ":")  # of eight curves each, and of the variants of a policy; quantiles are dashed
NEVER_NEGATIVE = ("pseudo-regret", "dynamic regret")
MOST_BREAKS = 30  # that a plot marks
MOST_INSIDE = 7  # entries of a legend that is drawn among the curves
CHARACTER = 0.075  # inches, the largest width of a character in a legend
LINES = ((0, (4, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)), (0, (2, 2, 6, 2)))  # of bounds


class Curve(NamedTuple):
    """A variant of a policy in a scenario, and how every plot of a result draws it."""

    name: str
    values: np.ndarray  # [R, T], of a metric, `metrics.regret` unless another one is asked for
    style: dict[str, Any]


def curve_style(number: int) -> dict[str, Any]:
    """Colour, marker and line of a plot's curve `number`, from 0, as arguments of `Axes.plot`.

    Eight curves differ in colour and marker, so that they also differ in grey; the next eight have another line.

    Raises:
      ValueError: the number is negative.

    >>> curve_style(0)["marker"], curve_style(8)["linestyle"]
    ('o', '-.')
    """
    turn, place = divmod(integer("number", number, 0), len(COLOURS))
    line, marker = STYLES[turn % len(STYLES)], MARKERS[(place + turn) % len(MARKERS)]
    return {"color": COLOURS[place], "linestyle": line, "marker": marker, "markersize": 5}


def apart(place: float) -> dict[str, Any]:
    """Markers spaced out along a line; two lines with other places in [0, 1) have their markers apart."""
    return {"markevery": (0.12 * place, 0.12)}  # shares of the diagonal of the axes


def curves_of(
    result: Result,
    labels: str | Sequence[str] | None,
    scenario: int,
    variant: int | None,
    of: Callable[[Result, str], np.ndarray] = metrics.regret,
) -> list[Curve]:
    """A curve for each variant of the policies, or for one variant; variants of a policy are shades of its colour.

    Args:
      of: the metric, of a result and a label, [scenario, variant, run, time].
    """
    curves = []
    for label in labels_of(result, labels):
        count, number = result.visits[label].shape[1], result.labels.index(label)
        values = of(result, label)[scenario]
        for v in range(count) if variant is None else [variant_of(result, label, variant)]:
            style = curve_style(number) | apart(number / len(COLOURS) % 1 if count == 1 else v / count)
            if count > 1:
                style |= {"color": _shade(style["color"], v / (count - 1)), "linestyle": STYLES[v % len(STYLES)]}
            curves.append(Curve(literal(name_of(result, label, v)), values[v], style))
    return curves


def variant_of(result: Result, label: str, variant: int) -> int:
    """The index of a variant, or ValueError; 0 if the policy has only one, whatever the number."""
    count = result.visits[label].shape[1]
    variant = integer("variant", variant)
    if count > 1 and not 0 <= variant < count:
        raise ValueError(f"variant: {variant}; {label!r} has variants 0 to {count - 1}")
    return variant if count > 1 else 0


def name_of(result: Result, label: str, variant: int) -> str:
    """A policy's label, followed by what tells this variant from the others."""
    names = variant_names(result, label)
    return f"{label}, {names[variant]}" if len(names) > 1 else label


def _shade(colour: str, place: float) -> tuple[float, float, float]:
    """The colour from dark (place 0) to as light as is visible on white (1).

    Steps look even: perceived lightness is the cube root of the luminance, here from 0.05 to 0.4.
    """
    light = np.array(to_rgb(colour)) ** 2.2  # about the light that the screen emits
    luminance = float(light @ [0.2126, 0.7152, 0.0722])
    wanted = (0.05 ** (1 / 3) * (1 - place) + 0.4 ** (1 / 3) * place) ** 3
    white = max(0.0, (wanted - luminance) / (1 - luminance))
    red, green, blue = (min(1.0, wanted / luminance) * light * (1 - white) + white) ** (1 / 2.2)
    return float(red), float(green), float(blue)


def axes_of(ax: Axes | None) -> Axes:
    """The given axes; without any, the current ones while nothing is drawn on them, else those of a new figure."""
    if ax is None:
        current = plt.gca()
        return plt.figure().add_subplot() if current.has_data() else current
    has("ax", ax, "axes of matplotlib", "plot", "set_title", "spines")
    return ax


def labels_of(result: Result, labels: str | Sequence[str] | None) -> Sequence[str]:
    """One or several labels as a list, or all; raise ValueError unless the result has them."""
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
    """The position of a scenario, by name or position; raise ValueError if it is missing or nothing is recorded."""
    check_result(result)
    if not len(result.times):
        raise ValueError("result: stopped before its first recorded round; there is nothing to draw")
    if not isinstance(scenario, str):
        return integer("scenario", scenario, -len(result.scenarios), len(result.scenarios) - 1)
    if scenario not in result.scenarios:
        raise ValueError(f"scenario: {scenario!r} is not in the result; it has {', '.join(result.scenarios)}")
    return result.scenarios.index(scenario)


def quantiles_of(quantiles: Sequence[float]) -> list[float]:
    """The quantiles as a list; raise ValueError unless they are numbers in [0, 1]."""
    numbers = as_floats("quantiles", quantiles)
    if numbers.ndim != 1 or not ((numbers >= 0) & (numbers <= 1)).all():
        raise ValueError(f"quantiles: {excerpt(quantiles)} is not a list of numbers in [0, 1]")
    return numbers.tolist()


def positive(values: np.ndarray) -> np.ndarray:
    """The values with NaN for those that a logarithmic axis cannot show."""
    return np.where(values > 0, values, np.nan)


def regret_axis(ax: Axes, result: Result, logarithmic: bool) -> None:
    """Let the axis of regret begin at 0, unless it is logarithmic or regret may be negative."""
    if logarithmic:
        decades(ax, "y")
    elif metrics.regret_name(result) in NEVER_NEGATIVE:
        ax.set_ylim(bottom=0)


def breaks_of(result: Result, scenario: int) -> list[int]:
    """The rounds in which the arms of a scenario change, if they are known and few."""
    declared = result.provenance.get("scenarios", {}).get(result.scenarios[scenario], {})
    breaks = [number for number in declared.get("breaks", []) if number <= result.times[-1]]
    return breaks if len(breaks) <= MOST_BREAKS else []


def title_of(result: Result, scenario: int, quantiles: Sequence[float]) -> str:
    dashed = f"; dashed: {', '.join(f'{100 * q:g} % quantile' for q in quantiles)}" if quantiles else ""
    return f"{result.scenarios[scenario]}: mean of {result.runs:,} runs, 95 % interval{dashed}"


def band(ax: Axes, x: Any, low: Any, high: Any, colour: Any) -> None:
    """An interval along a line, with edges that show where two bands overlap."""
    ax.fill_between(x, low, high, facecolor=to_rgba(colour, 0.2), edgecolor=to_rgba(colour, 0.6), linewidth=0.5)


def _wrapped(title: str, inches: float) -> str:
    """A title in lines of about this width at most, which end where clauses do, or else between two words."""
    hard = "\N{NO-BREAK SPACE}"
    letters = max(12, int(0.95 * len(title) * inches / _width(title)))
    clauses = textwrap.wrap(re.sub(r"(?<![;:,]) |(?<=:) (?=\d)", hard, title), letters, break_long_words=False)
    lines = [textwrap.fill(clause.replace(hard, " ").replace(" %", f"{hard}%"), letters) for clause in clauses]
    return "\n".join(lines).replace(hard, " ")


def _width(title: str) -> float:
    """Inches in medium letters."""
    return max(0.1, float(TextPath((0, 0), title, prop=FontProperties(size="medium")).get_extents().width) / 72)


def finish(ax: Axes, result: Result, title: str, legend: Literal["best", "upper left"] = "best") -> Axes:
    """Title, grid, numbers and legend; the title says if the result was stopped."""
    return decorated(ax, [title, stopped(result)], legend)


def decorated(ax: Axes, titles: Sequence[str], legend: Literal["best", "upper left"] = "best") -> Axes:
    """Title, grid, numbers and legend; a long legend goes below the axes."""
    inches = ax.bbox.width / ax.figure.dpi
    lines, size = [literal(title) for title in titles if title], "medium"
    if max(map(_width, lines)) > inches:  # small letters are narrower by an eighth or more, at any number of dots
        lines, size = [_wrapped(line, 8 / 7 * inches) for line in lines], "small"
    ax.set_title("\n".join(lines), fontsize=size)
    ax.grid(True, which="major", alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    plain_numbers(ax)
    names = ax.get_legend_handles_labels()[1]
    if len(names) <= MOST_INSIDE:
        ax.legend(frameon=False, fontsize="small", loc=legend)
        return ax
    columns = min(max(int(inches / (0.6 + CHARACTER * max(map(len, names)))), 1), 4)
    below: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "borderaxespad": 5}
    ax.legend(frameon=False, fontsize="small", ncols=columns, **below)
    figure = ax.figure.figure
    if figure.get_layout_engine() is None:  # makes room for the legend
        figure.set_layout_engine("constrained")
    return ax
