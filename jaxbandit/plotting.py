"""Pictures of a result: each function draws on an axes and returns it; no global setting is touched."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LogNorm, Normalize

from jaxbandit import metrics

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from jaxbandit.bounds import Bound
    from jaxbandit.results.result import Result

COLOURS = ("#3f90da", "#ffa90e", "#bd1f01", "#94a4a2", "#832db6", "#a96b59", "#e76300", "#b9ac70")  # petroff8
MARKERS = "osD^vPX*"
LINES = ((0, (4, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)), (0, (2, 2, 6, 2)))  # of bounds


def plot_regret(
    result: Result,
    labels: Sequence[str] | None = None,
    *,
    scenario: int = 0,
    variant: int = 0,
    quantiles: Sequence[float] = (),
    bounds: Sequence[Bound] = (),
    normalised: bool = False,
    logarithmic: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Mean regret (`metrics.regret`) over rounds with its 95 % interval; dashed lines for `quantiles` over runs.

    Args:
      result: of `simulate`.
      labels: which policies; all by default.
      scenario, variant: positions on these axes; a policy of one variant is drawn whatever the variant.
      quantiles: of the runs' regret, in [0, 1].
      bounds: of `jaxbandit.bounds`, drawn in black; asymptotic ones as constant times log t.
      normalised: regret divided by log t, to which the constants of asymptotic bounds are to be compared.
      logarithmic: regret on a logarithmic axis too.
      ax: drawn on; the current one by default.

    Raises:
      ValueError: there is no such label or variant, or nothing is recorded that can be drawn.
    """
    ax = _axes(ax)
    shown = result.times >= (2 if normalised else 1)
    times = result.times[shown]
    unit = np.log(times) if normalised else np.ones(len(times))
    if not shown.any():
        raise ValueError("normalised: only round 1 is recorded, where log t is 0")
    for label in result.labels if labels is None else labels:
        colour = _colour(result, label)
        regret = metrics.of_variant(metrics.regret(result, label)[scenario], variant, label).T  # [T, R]
        summary = metrics.summary(regret)
        mean, low, high = (each[shown] / unit for each in summary[:3])
        ax.plot(times, _positive(mean) if logarithmic else mean, color=colour, label=label)
        ax.fill_between(times, low, high, color=colour, alpha=0.2, linewidth=0)
        for q in quantiles:
            height = np.quantile(regret, q, axis=-1)[shown] / unit
            ax.plot(times, _positive(height) if logarithmic else height, color=colour, linestyle="--", linewidth=1)
    for bound, line in zip(bounds, itertools.cycle(LINES)):
        if bound.times is None:
            at, values = times, bound.total * np.log(times)
        else:
            inside = bound.times >= (2 if normalised else 1)
            at, values = bound.times[inside], bound.total[inside]
        height = values / np.log(at) if normalised else values
        name = f"{bound.label} ({bound.holds_for})"
        ax.plot(at, height, color="black", linestyle=line, linewidth=1.2, label=name)
    ax.set_xscale("log")
    _regret_axis(ax, result, logarithmic)
    ax.set_xlim(max(1, times[0]), times[-1])
    ax.set_xlabel("round t")
    ax.set_ylabel(metrics.regret_name(result) + (" / log t" if normalised else ""))
    return _finish(ax, _means(result, scenario, quantiles))


def plot_pulls(result: Result, label: str, *, scenario: int = 0, variant: int = 0, ax: Axes | None = None) -> Axes:
    """Mean number of plays of every arm over rounds, both axes logarithmic; the best arms are drawn thicker."""
    ax = _axes(ax)
    metrics.check_label(result, label)
    plays = metrics.of_variant(result.visits[label][scenario], variant, label).sum(-1).mean(0)  # [T, K]
    means, best_arms = result.means[scenario], metrics.best_arms(result)[scenario]
    for arm in range(plays.shape[1]):
        best = best_arms[arm]
        ax.plot(
            result.times,
            _positive(plays[:, arm]),
            color=COLOURS[arm % len(COLOURS)],
            linewidth=2.5 if best else 1.2,
            label=f"arm {arm + 1}{' (best)' if best else ''}, mean {means[arm]:.4f}",
        )
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(max(1, result.times[0]), result.times[-1])
    ax.set_xlabel("round t")
    ax.set_ylabel("plays")
    return _finish(ax, f"{result.scenarios[scenario]}: {label}, mean plays of {_runs(result)} runs")


def plot_distribution(
    result: Result, labels: Sequence[str] | None = None, *, scenario: int = 0, variant: int = 0, ax: Axes | None = None
) -> Axes:
    """Share of runs whose final regret is at least x, axes logarithmic (for realised regret one), to show the tail.

    Raises:
      ValueError: there is no such label or variant; a policy of one variant is drawn whatever the variant.
    """
    ax = _axes(ax)
    least, scale = (0.1, "log") if metrics.regret_name(result) == "pseudo-regret" else (-np.inf, "linear")
    for label in result.labels if labels is None else labels:
        final = np.sort(metrics.of_variant(metrics.regret(result, label)[scenario], variant, label)[:, -1])
        share = 1 - np.arange(len(final)) / len(final)
        ax.step(np.maximum(final, least), share, where="pre", color=_colour(result, label), label=label)
    ax.set_xscale(scale)
    ax.set_yscale("log")
    ax.set_xlabel(f"{metrics.regret_name(result)} x after {result.times[-1]:,} rounds")
    ax.set_ylabel("share of runs with at least x")
    return _finish(ax, f"{result.scenarios[scenario]}: final regret of {_runs(result)} runs")


def plot_batches(
    result: Result, label: str, batch: int = 100, *, scenario: int = 0, variant: int = 0, ax: Axes | None = None
) -> Axes:
    """Mean final regret of every `batch` runs with its 95 % interval, sorted; red where it misses the mean of all runs.

    Raises:
      ValueError: there is no such label, or the runs make no batch of 2 or more.
    """
    ax = _axes(ax)
    final = metrics.of_variant(metrics.regret(result, label)[scenario], variant, label)[:, -1]
    if not 2 <= batch <= len(final):
        raise ValueError(f"batch: {batch}; give a number of runs, 2 to {len(final)}")
    summary = metrics.summary(final[: len(final) // batch * batch].reshape(-1, batch))
    missed = (summary.low > final.mean()) | (summary.high < final.mean())
    at = np.argsort(np.argsort(summary.mean)) + 1
    for which, colour, name in ((~missed, COLOURS[0], "holds the mean of all"), (missed, COLOURS[2], "misses it")):
        ax.vlines(at[which], summary.low[which], summary.high[which], color=colour, label=f"{which.sum()}: {name}")
    ax.plot(at, summary.mean, "k.", markersize=3)
    ax.axhline(final.mean(), color="black", linewidth=1)
    ax.set_xlabel(f"batch of {batch:,} runs, by its mean")
    ax.set_ylabel(f"{metrics.regret_name(result)} after {result.times[-1]:,} rounds")
    return _finish(ax, f"{result.scenarios[scenario]}: {label}, {_runs(result)} runs", legend="upper left")


def plot_parameter(
    result: Result,
    values: Sequence[float],
    labels: Sequence[str] | None = None,
    *,
    parameter: str = "value",
    lines: Sequence[str] | None = None,
    scenario: int = 0,
    quantiles: Sequence[float] = (),
    axis: Literal["linear", "log"] = "linear",
    logarithmic: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Mean final regret against a number of the variants, with its 95 % interval; dashed lines for `quantiles`.

    Args:
      result: of `simulate`.
      values: [V], the number in each variant, in any order.
      labels: which policies, each of V variants and with a line of its own; all by default.
      parameter: what the number is called.
      lines: [V] texts, as of a second number: the variants of each text have a line of their own.
      scenario: position on this axis.
      quantiles: of the runs' final regret, in [0, 1].
      axis: of the values.
      logarithmic: regret on a logarithmic axis.
      ax: drawn on; the current one by default.

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
    ax = _axes(ax)
    at = np.asarray(values, float)
    texts = [""] * len(at) if lines is None else list(lines)
    if at.ndim != 1 or not at.size or not np.isfinite(at).all() or (axis == "log" and at.min() <= 0):
        raise ValueError(f"values: {values!r}; give a list of finite numbers, positive on a logarithmic axis")
    if len(texts) != len(at):
        raise ValueError(f"lines: {len(texts)} texts for {len(at)} values; give one each")
    chosen = result.labels if labels is None else labels
    for number, (label, text) in enumerate(itertools.product(chosen, dict.fromkeys(texts))):
        final = metrics.regret(result, label)[scenario, :, :, -1]  # [V, R]
        if len(final) != len(at):
            raise ValueError(f"values: {len(at)} of them; {label!r} has {len(final)} variants")
        here = np.flatnonzero([each == text for each in texts])
        here = here[np.argsort(at[here], kind="stable")]
        colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
        summary = metrics.summary(final[here])
        name = ", ".join(filter(None, [label if len(chosen) > 1 or not text else "", text]))
        ax.plot(at[here], summary.mean, color=colour, marker=marker, markersize=5, label=name)
        ax.fill_between(at[here], summary.low, summary.high, color=colour, alpha=0.2, linewidth=0)
        for q in quantiles:
            ax.plot(at[here], np.quantile(final[here], q, axis=-1), color=colour, linestyle="--", linewidth=1)
    ax.set_xscale(axis)
    if axis == "log":  # its own ticks are powers of 10, of which a grid may hold none
        ax.set_xticks(np.unique(at), [f"{value:g}" for value in np.unique(at)])
        ax.minorticks_off()
    _regret_axis(ax, result, logarithmic)
    ax.set_xlabel(parameter)
    ax.set_ylabel(f"{metrics.regret_name(result)} after {result.times[-1]:,} rounds")
    return _finish(ax, _means(result, scenario, quantiles))


def plot_heatmap(
    values: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    logarithmic: bool = False,
    form: str = "{:,.0f}",
    ax: Axes | None = None,
) -> Axes:
    """A table [R, C] as colours, dark to bright, with every number written into its cell.

    Args:
      values: [R, C]; positive where `logarithmic`.
      rows, columns: their names.
      logarithmic: colours follow the logarithm.
      form: of the numbers.
      ax: drawn on; the current one by default.

    Raises:
      ValueError: the values are none, not finite, not as many as their names, or not positive where they have to be.
    """
    ax = _axes(ax)
    values = np.asarray(values, float)
    if values.shape != (len(rows), len(columns)) or not values.size:
        raise ValueError(f"values: shape {values.shape} is not that of {len(rows)} rows and {len(columns)} columns")
    if not np.isfinite(values).all() or (logarithmic and values.min() <= 0):
        raise ValueError(f"values: from {values.min()} to {values.max()}; give finite ones, positive if logarithmic")
    norm = LogNorm(values.min(), values.max()) if logarithmic else Normalize(values.min(), values.max())
    ax.imshow(values, cmap="cividis", norm=norm, aspect="auto")
    for (i, j), value in np.ndenumerate(values):
        bright = norm(value) > 0.5
        ax.text(j, i, form.format(value), ha="center", va="center", fontsize=7, color="black" if bright else "white")
    ax.set_xticks(range(len(columns)), columns)
    ax.set_yticks(range(len(rows)), rows)
    ax.tick_params(length=0, labelsize=7)
    ax.spines[:].set_visible(False)
    return ax


def _positive(values: np.ndarray) -> np.ndarray:
    """Zeros left out, which a logarithmic axis would draw as a plunge."""
    return np.where(values > 0, values, np.nan)


def _regret_axis(ax: Axes, result: Result, logarithmic: bool) -> None:
    """Regret upwards, from 0 unless it is one that may be negative."""
    if logarithmic:
        ax.set_yscale("log")
    elif metrics.regret_name(result) == "pseudo-regret":
        ax.set_ylim(bottom=0)


def _axes(ax: Axes | None) -> Axes:
    return plt.gca() if ax is None else ax


def _colour(result: Result, label: str) -> str:
    """A policy has the same colour in every picture of a result."""
    metrics.check_label(result, label)
    return COLOURS[result.labels.index(label) % len(COLOURS)]


def _means(result: Result, scenario: int, quantiles: Sequence[float]) -> str:
    """A title."""
    dashed = f"; dashed: {', '.join(f'{100 * q:g} % quantile' for q in quantiles)}" if quantiles else ""
    return f"{result.scenarios[scenario]}: mean of {_runs(result)} runs, 95 % interval{dashed}"


def _runs(result: Result) -> str:
    return f"{next(iter(result.visits.values())).shape[2]:,}"


def _finish(ax: Axes, title: str, legend: Literal["best", "upper left"] = "best") -> Axes:
    ax.set_title(title, fontsize="medium")
    ax.grid(True, which="major", alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize="small", loc=legend)
    return ax
