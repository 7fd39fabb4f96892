"""Which form of its index TV-KL-UCB uses: that of transitions for arms judged Markovian, or that of the mean.

The paper calls these forms STP_PHASE and SM_PHASE. A recorder asks the policy after recorded rounds, and its answer
counts until it is asked again.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
from jax import Array
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.comparisons.growth import decades
from experiments.published.scenarios import adaptive
from jaxbandit import MarkovArms, Policy, Result, members, metrics
from jaxbandit.bounds.arms import TOLERANCE
from jaxbandit.plotting import COLOURS
from jaxbandit.reports.pictures import band, frameless, panels
from jaxbandit.reports.tables import Row, in_short
from jaxbandit.reports.verdicts import verdict

RECORD = "Markovian"  # name of the recorder
GONE = 1e-3  # a share below this one need not fall


def markovian(arms: Any, state: Any, t: Array, policy: Any) -> Array:
    """The arms that the policy judges to be Markovian in the round after t, [K]; a recorder of `simulate`."""
    return policy.markovian(state, t + 1)


def recorders(policies: dict[str, Policy]) -> dict[str, Any]:
    """The argument of `simulate` that asks those of the policies that judge arms."""
    asked = [label for label, policy in policies.items() if members.markovian(policy)]
    return {"record": {RECORD: dict.fromkeys(asked, markovian)}}


def groups(result: Result, arms: MarkovArms) -> dict[str, tuple[np.ndarray, bool]]:
    """The best arm and the others: which they are [K], and whether they are Markovian."""
    rows, best = np.asarray(arms.transition), metrics.best_arms(result)[0]
    differ = np.abs(rows - rows[:, :1]).max((1, 2)) > TOLERANCE
    return {name: (which, bool(differ[which].any())) for name, which in (("best", best), ("others", ~best))}


def judged_shares(times: np.ndarray, answers: np.ndarray, ends: list[int]) -> np.ndarray:
    """Share of the rounds between these ends in which an arm was judged Markovian, [D, R, K].

    Args:
      times: [T], after which the policy was asked; the first is at most the first end.
      answers: [R, T, K] bool; each holds from the next round until the policy is asked again.
      ends: [D + 1], rounds; a share is that of the rounds after one of them up to the next.
    """
    until = np.append(times[1:], max(ends[-1], times[-1]))
    rounds = [np.maximum(np.minimum(until, b) - np.maximum(times, a), 0) / (b - a) for a, b in itertools.pairwise(ends)]
    return np.einsum("dt,rtk->drk", np.array(rounds), answers)


def falls(last: np.ndarray, before: np.ndarray) -> str:
    """The verdict on "the share of the wrong form falls", from the last two decades of every run.

    >>> falls(np.full(9, 0.2), np.linspace(0.3, 0.4, 9)), falls(np.zeros(9), np.zeros(9)), falls(np.ones(9), np.ones(9))
    ('holds', 'holds', 'undecided')
    """
    if last.mean() < GONE:
        return "holds"
    s = metrics.summary(last - before)
    return verdict(float(s.low), float(s.high))


def phase_rows(result: Result, arms: MarkovArms) -> list[Row]:
    """Of the best arm and of the others: the share of the wrong form by decade, and the verdicts on it."""
    answers = result.recorded[RECORD][label := adaptive(arms)][0, 0]  # [R, T, K]
    ends = decades(int(result.times[-1]))
    rows: list[Row] = []
    for name, (which, differ) in groups(result, arms).items():
        shares = judged_shares(result.times, answers, ends)[..., which].mean(-1)  # [D, R]
        wrong = 1 - shares if differ else shares
        row: Row = {"policy": label, "of": name, "kind": "Markovian" if differ else "i.i.d."}
        row |= {f"{a:,} to {b:,}": in_short(share, ".1%") for (a, b), share in zip(itertools.pairwise(ends), wrong)}
        row["falls"] = falls(wrong[-1], wrong[-2]) if len(wrong) > 1 else "undecided"
        whole = np.diff(ends) @ wrong / (ends[-1] - ends[0])
        s = metrics.summary(whole - 0.5)
        rows.append(row | {"below half": verdict(float(s.low), float(s.high))})
    return rows


def draw_phases(results: Mapping[str, Result], arms: Mapping[str, MarkovArms]) -> Figure:
    """Share of the arms judged Markovian after a round, over runs, with its 95 % interval; a panel for each result."""
    columns = 3 if len(results) % 3 == 0 else 4
    rows = -(-len(results) // columns)
    figure, axes = panels(rows, columns, (4 * columns, 3.3 * rows), sharey=True, squeeze=False)
    figure.get_layout_engine().set(wspace=0.05)  # else the ticks of neighbours touch
    for spare in axes.flat[len(results) :]:
        spare.remove()
    for ax, (name, result) in zip(axes.flat, results.items()):
        _draw_panel(ax, name, result, arms[name])
    return figure


def _draw_panel(ax: Axes, name: str, result: Result, arms: MarkovArms) -> None:
    answers = result.recorded[RECORD][label := adaptive(arms)][0, 0]  # [R, T, K]
    colours = dict(zip(("best", "others"), (COLOURS[0], COLOURS[2])))
    for group, (which, differ) in groups(result, arms).items():
        words = f"{'best arm' if group == 'best' else 'others'}, {'Markovian' if differ else 'i.i.d.'}"
        band(ax, result.times, answers[:, :, which].mean(-1), label=words, color=colours[group])
    frameless(ax, f"{name}: {label}", xscale="log", xlim=(1, result.times[-1]), ylim=(-0.02, 1.02), xlabel="round t")
    if ax.get_subplotspec().is_first_col():
        ax.set_ylabel("arms judged Markovian")
    ax.yaxis.set_major_formatter("{x:.0%}")
    ax.legend(frameon=False, fontsize="small")
