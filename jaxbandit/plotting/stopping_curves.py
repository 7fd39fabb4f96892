"""How many runs have not stopped yet, round by round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxbandit import bounds
from jaxbandit.arguments import has, number
from jaxbandit.metrics.stopping_times import ends_of
from jaxbandit.plotting.common import axes_of, curves_of, finish, scenario_of
from jaxbandit.plotting.ticks import decades

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from jaxbandit.results.result import Result


def plot_stopping(
    result: Result,
    labels: str | Sequence[str] | None = None,
    *,
    scenario: int | str = 0,
    variant: int | None = None,
    arms: Any = None,
    delta: float = 0.1,
    ax: Axes | None = None,
) -> Axes:
    """Share of runs that go on after each round, the axis of rounds logarithmic; a curve that ends above 0 is censored.

    Args:
      result: of `simulate(.., until="stopped")`.
      labels: of one policy or a list; all by default.
      scenario: its name, or its position.
      variant: position on this axis, the same for every policy that has several; by default each is a curve of its own.
      arms: of this scenario: a vertical line marks the least expected rounds, `bounds.identification(arms).at_least`.
      delta: in (0, 1/2], the probability of an error for which that line holds.
      ax: drawn on; by default the current axes if nothing is on them, else those of a new figure.

    Raises:
      ValueError: there is no such label or variant, the runs do not end when their policy stops, delta is out
        of range, or there is no bound for the arms.
    """
    scenario = scenario_of(result, scenario)
    curves = curves_of(result, labels, scenario, variant, lambda of, label: ends_of(of, label)[..., None])
    if arms is not None:
        has("arms", arms, "an environment", "reward", "means")
    delta = number("delta", delta, 0, 0.5, above=True)
    least = None if arms is None else float(bounds.identification(arms).at_least(delta))
    ax, last = axes_of(ax), int(result.times[-1])
    for name, ends, style in curves:
        rounds = np.sort(ends[ends > 0])
        share = 1 - np.arange(len(rounds) + 1) / len(ends)
        at = np.concatenate([[1], rounds, [last] if len(rounds) < len(ends) else []])
        ax.step(at, np.concatenate([share, share[-1:]])[: len(at)], where="post", **style, label=name)
    if least is not None:
        ax.axvline(least, color="black", linestyle="--", linewidth=1.2, label=f"least mean for delta {delta:g}")
    decades(ax, "x")
    ax.set_ylim(0, 1.02)
    ax.set_xlabel("round t")
    ax.set_ylabel("share of runs that go on after round t")
    return finish(ax, result, f"{result.scenarios[scenario]}: stopping times of {result.runs:,} runs")
