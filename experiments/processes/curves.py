"""Pictures of what is lost on decision processes."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.processes import losses, problems
from jaxbandit import Result
from jaxbandit.plotting import curve_style
from jaxbandit.reports.pictures import band, frameless, legend_below, panels

LEAST = 1.0  # regret below it is not drawn


def picture(result: Result) -> Figure:
    """What is lost beyond the player who knows the process: its mean over rounds, and the share of runs that lose x."""
    figure, (ax, tail) = panels(1, 2, (13, 5))
    labels = [label for label in result.labels if label != problems.KNOWN]
    lost = {label: losses.beyond_known(result, label) for label in labels}
    draw_means(ax, lost, result.times, labels)
    ax.set(ylim=(LEAST, None), xlim=(1, None), ylabel="mean regret beyond the player who knows")
    for number, label in enumerate(labels):
        final, style = np.sort(np.maximum(lost[label][:, -1], LEAST)), curve_style(number)
        style["markevery"] = (number % 5 / 25, 0.2)
        tail.step(final, 1 - np.arange(len(final)) / len(final), where="pre", **style)
    tail.set(xscale="log", ylim=(0, 1.03), xlim=(LEAST, None))
    tail.set(
        xlabel=f"regret x beyond the player who knows, after {result.times[-1]:,} rounds",
        ylabel="share of runs that lose x or more",
    )
    frameless(tail)
    runs = result.visits[labels[0]].shape[2]
    figure.suptitle(f"{result.scenarios[0]}: mean of {runs:,} runs with its 95 % interval, and the runs")
    legend_below(figure)
    return figure


def side_by_side(regrets: dict[str, dict[str, np.ndarray]], times: np.ndarray) -> Figure:
    """Mean regret over rounds with its 95 % interval, a panel for each of the things that are played.

    Whoever never loses is left out.

    Args:
      regrets: by what is played and by policy, [run, time].
      times: [T], the rounds.
    """
    figure, axes = panels(1, len(regrets), (14, 5.2), sharey=True)
    lost = {name: {label: each for label, each in of.items() if each.any()} for name, of in regrets.items()}
    labels = list(dict.fromkeys(label for of_name in lost.values() for label in of_name))
    for ax, (name, of_name) in zip(axes, lost.items(), strict=True):
        draw_means(ax, of_name, times, labels)
        ax.set(title=name, xlim=(10, None))
    axes[0].set(ylabel="mean regret", ylim=(LEAST, None))
    legend_below(figure)
    return figure


def draw_means(ax: Axes, lost: dict[str, np.ndarray], times: np.ndarray, labels: list[str]) -> None:
    """The mean of each policy over rounds and its 95 % interval, on two logarithmic axes.

    Args:
      ax: drawn on.
      lost: by policy, [run, time].
      times: [T].
      labels: policies in the order of their colours.
    """
    for label, values in lost.items():
        style = curve_style(labels.index(label)) | {"label": label}
        style["markevery"] = (0.02 * labels.index(label) % 0.12, 0.12)
        band(ax, times, values, **style)
    frameless(ax, xscale="log", yscale="log", xlabel="round t")
