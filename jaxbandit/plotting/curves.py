"""Plots over rounds and over runs."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from jaxbandit import metrics
from jaxbandit.arguments import has, integer, list_of, truth
from jaxbandit.metrics.counts import check_label, has_best_arm, kind
from jaxbandit.plotting.common import (
    COLOURS,
    LINES,
    NEVER_NEGATIVE,
    apart,
    axes_of,
    band,
    breaks_of,
    curve_style,
    curves_of,
    finish,
    name_of,
    positive,
    quantiles_of,
    regret_axis,
    scenario_of,
    title_of,
    variant_of,
)
from jaxbandit.plotting.ticks import decades
from jaxbandit.texts import literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from jaxbandit.bounds import Bound
    from jaxbandit.results.result import Result


def plot_regret(
    result: Result,
    labels: str | Sequence[str] | None = None,
    *,
    scenario: int | str = 0,
    variant: int | None = None,
    quantiles: Sequence[float] = (),
    bounds: Sequence[Bound] = (),
    normalised: bool = False,
    logarithmic: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Mean regret (`metrics.regret`) over rounds with its 95 % interval; dashed lines for `quantiles` over runs.

    Dotted vertical lines mark the rounds in which arms change, if they are few.

    Args:
      result: of `simulate`.
      labels: of one policy or a list; all by default.
      scenario: its name, or its position.
      variant: position on this axis, the same for every policy that has several; by default each is a curve of its own.
      quantiles: of the runs' regret, in [0, 1].
      bounds: of `jaxbandit.bounds`, drawn in black; asymptotic ones as constant times log t.
      normalised: regret divided by log t, for comparison with the constants of asymptotic bounds.
      logarithmic: regret on a logarithmic axis.
      ax: drawn on; by default the current axes if nothing is on them, else those of a new figure.

    Raises:
      ValueError: there is no such label or variant, or nothing is recorded that can be drawn.
    """
    quantiles, scenario, lines = quantiles_of(quantiles), scenario_of(result, scenario), _bounds(bounds)
    curves = curves_of(result, labels, scenario, variant)
    truth("normalised", normalised)
    truth("logarithmic", logarithmic)
    drawn = result.times >= (2 if normalised else 1)
    times = result.times[drawn]
    unit = np.log(times) if normalised else np.ones(len(times))
    if not drawn.any():
        raise ValueError("normalised: only round 1 is recorded, where log t is 0")
    ax = axes_of(ax)
    for name, regret, style in curves:
        summary = metrics.summary(regret.T)
        mean, low, high = (values[drawn] / unit for values in summary[:3])
        ax.plot(times, positive(mean) if logarithmic else mean, **style, label=name)
        band(ax, times, low, high, style["color"])
        for q in quantiles:
            height = np.quantile(regret, q, axis=0)[drawn] / unit
            ax.plot(
                times, positive(height) if logarithmic else height, color=style["color"], linestyle="--", linewidth=1
            )
    for bound, line in zip(lines, itertools.cycle(LINES)):
        if bound.times is None:
            at, values = times, bound.total * np.log(times)
        else:
            inside = bound.times >= (2 if normalised else 1)
            at, values = bound.times[inside], bound.total[inside]
        height = values / np.log(at) if normalised else values
        name = literal(f"{bound.label} ({bound.holds_for})")
        ax.plot(at, height, color="black", linestyle=line, linewidth=1.2, label=name)
    for number in breaks_of(result, scenario):
        ax.axvline(number, color="grey", linestyle=":", linewidth=1)
    decades(ax, "x")
    regret_axis(ax, result, logarithmic)
    ax.set_xlim(max(1, times[0]), times[-1])
    ax.set_xlabel("round t")
    ax.set_ylabel(metrics.regret_name(result) + (" / log t" if normalised else ""))
    return finish(ax, result, title_of(result, scenario, quantiles))


def plot_best_arm_share(
    result: Result,
    labels: str | Sequence[str] | None = None,
    *,
    scenario: int | str = 0,
    variant: int | None = None,
    cumulative: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Mean share of plays that go to one of the M best arms (`metrics.best_share`), with its 95 % interval.

    Args:
      result: of `simulate`.
      labels: of one policy or a list; all by default.
      scenario: its name, or its position.
      variant: position on this axis, the same for every policy that has several; by default each is a curve of its own.
      cumulative: of all plays so far, instead of those since the recorded round before.
      ax: drawn on; by default the current axes if nothing is on them, else those of a new figure.

    Raises:
      ValueError: there is no such label or variant, nothing is recorded, or no arm is the best in every round.
    """
    scenario, recent = scenario_of(result, scenario), not truth("cumulative", cumulative)
    curves = curves_of(result, labels, scenario, variant, partial(metrics.best_share, recent=recent))
    ax = axes_of(ax)
    for name, share, style in curves:
        mean, low, high = np.clip(metrics.summary(share.T)[:3], 0, 1)
        ax.plot(result.times, mean, **style, label=name)
        band(ax, result.times, low, high, style["color"])
    decades(ax, "x")
    ax.set_xlim(max(1, result.times[0]), result.times[-1])
    ax.set_ylim(0, 1.02)
    ax.set_xlabel("round t")
    ax.set_ylabel(f"plays of the best arm{'s' * (result.plays > 1)}" + ", of all so far" * (not recent))
    return finish(ax, result, title_of(result, scenario, ()))


def plot_pulls(
    result: Result, label: str, *, scenario: int | str = 0, variant: int = 0, ax: Axes | None = None
) -> Axes:
    """Mean number of plays of every arm over rounds, both axes logarithmic; the best arms have thicker lines.

    Arms are numbered from 1, as in the paper, although code numbers them from 0; those of a player have their names.
    The title names the variant.
    """
    check_label(result, label)
    scenario, number = scenario_of(result, scenario), variant_of(result, label, variant)
    ax = axes_of(ax)
    plays = result.visits[label][scenario, number].sum(-1).mean(0)  # [T, K]
    known, names = kind(result).known, result.provenance.get("arms", {})
    best_arms = metrics.best_arms(result)[scenario] & has_best_arm(result)
    for arm, (best, mean) in enumerate(zip(best_arms, result.means[scenario])):
        name = f"arm {arm + 1}{' (best)' if best else ''}, mean {mean:.4f}" if known else names[arm]
        style = curve_style(arm) | apart(arm / len(COLOURS) % 1) | {"linewidth": 2.5 if best else 1.2}
        ax.plot(result.times, positive(plays[:, arm]), **style, label=literal(name))
    decades(ax, "x")
    decades(ax, "y")
    ax.set_xlim(max(1, result.times[0]), result.times[-1])
    ax.set_xlabel("round t")
    ax.set_ylabel("plays")
    name = name_of(result, label, number)
    return finish(ax, result, f"{result.scenarios[scenario]}: {name}, mean plays of {result.runs:,} runs")


def plot_distribution(
    result: Result,
    labels: str | Sequence[str] | None = None,
    *,
    scenario: int | str = 0,
    variant: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Share of runs whose final regret is at least x, which shows the tail.

    Both axes are logarithmic; if regret may be negative, its axis is linear.

    Args:
      result: of `simulate`.
      labels: of one policy or a list; all by default.
      scenario: its name, or its position.
      variant: position on this axis, the same for every policy that has several; by default each is a curve of its own.
      ax: drawn on; by default the current axes if nothing is on them, else those of a new figure.

    Raises:
      ValueError: there is no such label or variant.
    """
    scenario = scenario_of(result, scenario)
    curves = curves_of(result, labels, scenario, variant)
    ax = axes_of(ax)
    logarithmic = metrics.regret_name(result) in NEVER_NEGATIVE
    for name, regret, style in curves:
        final = np.sort(regret[:, -1])
        share = 1 - np.arange(len(final)) / len(final)
        ax.step(np.maximum(final, 0.1) if logarithmic else final, share, where="pre", **style, label=name)
    if logarithmic:
        decades(ax, "x")
    decades(ax, "y")
    ax.set_xlabel(f"{metrics.regret_name(result)} x after {result.times[-1]:,} rounds")
    ax.set_ylabel("share of runs with at least x")
    return finish(ax, result, f"{result.scenarios[scenario]}: final regret of {result.runs:,} runs")


def plot_batches(
    result: Result, label: str, batch: int = 100, *, scenario: int | str = 0, variant: int = 0, ax: Axes | None = None
) -> Axes:
    """Mean final regret of every `batch` runs with its 95 % interval, sorted; red where it misses the mean of all runs.

    The title names the variant.

    Raises:
      ValueError: there is no such label or variant, or `batch` lies outside 2 to the number of runs.
    """
    check_label(result, label)
    scenario, number = scenario_of(result, scenario), variant_of(result, label, variant)
    integer("batch", batch)
    final = metrics.regret(result, label)[scenario, number, :, -1]
    if not 2 <= batch <= len(final):
        raise ValueError(f"batch: {batch}; give a number of runs, 2 to {len(final)}")
    summary = metrics.summary(final[: len(final) // batch * batch].reshape(-1, batch))
    missed = (summary.low > final.mean()) | (summary.high < final.mean())
    at = np.argsort(np.argsort(summary.mean)) + 1
    ax = axes_of(ax)
    for which, colour, name in ((~missed, COLOURS[0], "holds the mean of all"), (missed, COLOURS[2], "misses it")):
        ax.vlines(at[which], summary.low[which], summary.high[which], color=colour, label=f"{which.sum()}: {name}")
    ax.plot(at, summary.mean, "k.", markersize=3)
    ax.axhline(final.mean(), color="black", linewidth=1)
    ax.set_xlabel(f"batch of {batch:,} runs, by its mean")
    ax.set_ylabel(f"{metrics.regret_name(result)} after {result.times[-1]:,} rounds")
    name = name_of(result, label, number)
    return finish(ax, result, f"{result.scenarios[scenario]}: {name}, {result.runs:,} runs", legend="upper left")


def _bounds(bounds: Sequence[Bound]) -> list[Bound]:
    """The bounds as a list; raise ValueError unless they are bounds."""
    checked = list_of("bounds", bounds)
    for bound in checked:
        has("bounds", bound, "a list of bounds, of jaxbandit.bounds,", "label", "holds_for", "total", "times")
    return checked
