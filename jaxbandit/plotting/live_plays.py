"""The plot of a player's log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jaxbandit.arguments import excerpt
from jaxbandit.live import History
from jaxbandit.plotting.common import COLOURS, apart, axes_of, curve_style, decorated

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_history(history: History, *, ax: Axes | None = None) -> Axes:
    """Plays of every arm of a player up to each round, with its mean reward.

    Args:
      history: of `live.Player.history`.
      ax: drawn on; by default the current axes if nothing is on them, else those of a new figure.

    Raises:
      ValueError: not a history, or one without plays.
    """
    if not isinstance(history, History):
        raise ValueError(f"history: {excerpt(history)} is not of Player.history()")
    if not len(history.round):
        raise ValueError("history: has no plays; there is nothing to draw")
    ax = axes_of(ax)
    rounds = np.arange(history.round[-1] + 1)
    for arm, name in enumerate(history.arms):
        played = np.bincount(history.round[history.arm == arm], minlength=len(rounds)).cumsum()
        rewards = history.reward[(history.arm == arm) & (history.learned >= 0)]
        mean = f", mean reward {rewards.mean():.4g}" if len(rewards) else ""
        style = curve_style(arm) | apart(arm / len(COLOURS) % 1)
        ax.plot(rounds, played, **style, markevery=max(len(rounds) // 8, 1), label=f"{name}{mean}")
    ax.set_xlim(0, rounds[-1])
    ax.set_ylim(bottom=0)
    ax.set_xlabel("round t")
    ax.set_ylabel("plays")
    waiting = int(((history.learned < 0) & ~history.forgotten).sum())
    return decorated(ax, [f"{len(history.round):,} plays, {waiting:,} without an answer"])
