"""Plots over the variants of a policy, and tables as colours."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import matplotlib.pyplot as plt  # noqa: F401  # the example closes what it draws
import numpy as np
from matplotlib.colors import LogNorm, Normalize

from jaxbandit import metrics
from jaxbandit.arguments import as_floats, choice, excerpt, finite, list_of, truth
from jaxbandit.plotting.common import (
    axes_of,
    band,
    curve_style,
    finish,
    labels_of,
    quantiles_of,
    regret_axis,
    scenario_of,
    title_of,
)
from jaxbandit.plotting.ticks import stand_apart
from jaxbandit.texts import literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from jaxbandit.results.result import Result


def plot_parameter(
    result: Result,
    values: Sequence[float],
    labels: str | Sequence[str] | None = None,
    *,
    parameter: str = "value",
    lines: Sequence[str] | None = None,
    scenario: int | str = 0,
    quantiles: Sequence[float] = (),
    axis: Literal["linear", "log"] = "linear",
    logarithmic: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Mean final regret against a number of the variants, with its 95 % interval; dashed lines for `quantiles`.

    Args:
      result: of `simulate`.
      values: [V], the number in each variant, in any order.
      labels: which policies, each of V variants, a line for each; all by default.
      parameter: the name of the number.
      lines: [V] texts, such as the values of a second number: the variants of each text have a line of their own.
      scenario: its name, or its position.
      quantiles: of the runs' final regret, in [0, 1].
      axis: of the values.
      logarithmic: regret on a logarithmic axis.
      ax: drawn on; by default the current axes if nothing is on them, else those of a new figure.

    Raises:
      ValueError: there is no such label, or not one finite value (positive on a logarithmic axis) or text per variant.

    >>> import jaxbandit
    >>> policies = {"TV": [jaxbandit.TVKLUCB(scale=scale) for scale in (0.5, 1.0)]}
    >>> result = jaxbandit.simulate(jaxbandit.bernoulli([0.5, 0.4]), policies, runs=5, horizon=100)
    >>> ax = plot_parameter(result, [0.5, 1.0], parameter="scale")
    >>> ax.get_xlabel(), ax.lines[0].get_xdata().tolist()
    ('scale', [0.5, 1.0])
    >>> plt.close()
    """
    quantiles, chosen, scenario = quantiles_of(quantiles), labels_of(result, labels), scenario_of(result, scenario)
    choice("axis", axis, ("linear", "log"))
    truth("logarithmic", logarithmic)
    at = finite("values", values)
    texts = [""] * at.size if lines is None else list_of("lines", lines)
    if at.ndim != 1 or not at.size or (axis == "log" and at.min() <= 0):
        raise ValueError(f"values: {excerpt(values)}; give a list of finite numbers, positive on a logarithmic axis")
    if len(texts) != len(at) or not all(isinstance(text, str) for text in texts):
        raise ValueError(f"lines: {excerpt(lines)}; give {len(at)} texts, one for each value")
    for label in chosen:
        if (count := result.visits[label].shape[1]) != len(at):
            raise ValueError(f"values: {len(at)} of them; {label!r} has {count} variants")
    ax = axes_of(ax)
    for number, (label, text) in enumerate(itertools.product(chosen, dict.fromkeys(texts))):
        final = metrics.regret(result, label)[scenario, :, :, -1]  # [V, R]
        here = np.flatnonzero([other == text for other in texts])
        here = here[np.argsort(at[here], kind="stable")]
        style = curve_style(number)
        summary = metrics.summary(final[here])
        name = ", ".join(filter(None, [label if len(chosen) > 1 or not text else "", text]))
        ax.plot(at[here], summary.mean, **style, label=literal(name))
        band(ax, at[here], summary.low, summary.high, style["color"])
        for q in quantiles:
            ax.plot(at[here], np.quantile(final[here], q, axis=-1), color=style["color"], linestyle="--", linewidth=1)
    ax.set_xscale(axis)
    if axis == "log":  # by default ticks are powers of 10, and the values may hold none
        ax.set_xticks(np.unique(at), [f"{value:g}" for value in np.unique(at)])
        ax.minorticks_off()
    regret_axis(ax, result, logarithmic)
    ax.set_xlabel(literal(parameter))
    ax.set_ylabel(f"{metrics.regret_name(result)} after {result.times[-1]:,} rounds")
    return finish(ax, result, title_of(result, scenario, quantiles))


def plot_heatmap(
    values: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    logarithmic: bool = False,
    form: str | None = None,
    label: str = "",
    ax: Axes | None = None,
) -> Axes:
    """A table [R, C] as colours, from dark to bright, with every number in its cell, and a colour bar.

    Args:
      values: [R, C]; positive where `logarithmic`.
      rows, columns: their names.
      logarithmic: colours follow the logarithm of the values.
      form: of the numbers, as "{:.1f}"; by default three digits, and all of those before the point.
      label: what the numbers are, beside the colour bar.
      ax: drawn on; by default the current axes if nothing is on them, else those of a new figure.

    Raises:
      ValueError: the values are missing, not finite, not as many as their names, or not positive if `logarithmic`.
    """
    rows, columns = list_of("rows", rows), list_of("columns", columns)
    truth("logarithmic", logarithmic)
    values = as_floats("values", values)
    if values.shape != (len(rows), len(columns)) or not values.size:
        raise ValueError(f"values: shape {values.shape} is not that of {len(rows)} rows and {len(columns)} columns")
    if not np.isfinite(values).all() or (logarithmic and values.min() <= 0):
        raise ValueError(f"values: from {values.min()} to {values.max()}; give finite ones, positive if logarithmic")
    try:
        forms = {value: form or ("{:,.0f}" if abs(value) >= 99.95 else "{:.3g}") for value in values.flat}
        texts = {value: each.format(value) for value, each in forms.items()}
    except (AttributeError, LookupError, TypeError, ValueError):
        raise ValueError(f"form: {excerpt(form)} does not format a number, as '{{:.1f}}' does") from None
    ax = axes_of(ax)
    norm = LogNorm(values.min(), values.max()) if logarithmic else Normalize(values.min(), values.max())
    image = ax.imshow(values, cmap="cividis", norm=norm, aspect="auto")
    if values.min() < values.max():
        bar = ax.figure.colorbar(image, ax=ax, pad=0.02)
        bar.outline.set_visible(False)
        bar.set_label(literal(label), fontsize=8)
        bar.ax.tick_params(length=2, labelsize=7)
        if logarithmic:
            stand_apart(bar.ax.yaxis)
    for (i, j), value in np.ndenumerate(values):
        bright = norm(value) > 0.5
        ax.text(j, i, literal(texts[value]), ha="center", va="center", fontsize=7, color="black" if bright else "white")
    ax.set_xticks(range(len(columns)), [literal(name) for name in columns])
    ax.set_yticks(range(len(rows)), [literal(name) for name in rows])
    ax.tick_params(length=0, labelsize=7)
    ax.spines[:].set_visible(False)
    return ax
