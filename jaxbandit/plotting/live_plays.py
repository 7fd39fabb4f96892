"""The plots of a player's log, and of what it says of other policies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jaxbandit.arguments import choice, excerpt
from jaxbandit.live import Evaluation, History
from jaxbandit.plotting.common import COLOURS, apart, axes_of, curve_style, decorated
from jaxbandit.texts import literal

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
        ax.plot(rounds, played, **style, label=literal(f"{name}{mean}"))
    ax.set_xlim(0, rounds[-1])
    ax.set_ylim(bottom=0)
    ax.set_xlabel("round t")
    ax.set_ylabel("plays")
    waiting = int(((history.learned < 0) & ~history.forgotten).sum())
    return decorated(ax, [f"{len(history.round):,} plays, {waiting:,} without an answer"])


def plot_evaluation(evaluation: Evaluation, *, method: str = "doubly robust", ax: Axes | None = None) -> Axes:
    """What each policy would have earned a round: a dot, with its interval (thick) and the empirical Bernstein one.

    The dot is hollow where the evaluation warns. A dashed line is at the mean reward of the log.

    Args:
      evaluation: of `live.evaluate`.
      method: "IPS", "self-normalised" or "doubly robust".
      ax: drawn on; by default the current axes if nothing is on them, else those of a new figure.

    Raises:
      ValueError: not an evaluation, or a method that it does not have.
    """
    if not isinstance(evaluation, Evaluation):
        raise ValueError(f"evaluation: {excerpt(evaluation)} is not of live.evaluate(..)")
    choice("method", method, evaluation.methods)
    ax = axes_of(ax)
    column, places = evaluation.methods.index(method), -np.arange(len(evaluation.policies))
    colour = COLOURS[0]
    ax.hlines(places, evaluation.bernstein_low, evaluation.bernstein_high, color=colour, lw=1.2, label="Bernstein")
    low, high = evaluation.low[:, column], evaluation.high[:, column]
    label = "bootstrap" if evaluation.interval == "bootstrap" else "_the same"  # not in the legend
    ax.hlines(places, low, high, color=colour, lw=6, alpha=0.45, label=label)
    for doubtful, face, said in ((False, colour, "estimate"), (True, "white", "estimate, with a warning")):
        chosen = np.array([bool(notes) == doubtful for notes in evaluation.notes])
        if chosen.any():
            dots: dict[str, Any] = {"marker": "o", "ls": "", "color": colour, "markerfacecolor": face, "zorder": 3}
            ax.plot(evaluation.mean[chosen, column], places[chosen], **dots, label=said)
    ax.axvline(evaluation.logged_mean, color="0.3", ls="--", lw=1, label="the log itself")
    ax.set_yticks(places, [literal(label) for label in evaluation.policies])
    ax.set_ylim(-len(places) + 0.4, 0.6)
    ax.set_xlabel("mean reward a round")
    share = f"{100 * (1 - evaluation.level):g} % intervals"
    return decorated(ax, [f"{evaluation.rounds:,} rounds of a log, {method}, {share}"])
