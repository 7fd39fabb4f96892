"""I.i.d. arms with the means of scenarios 1 and 3: what TV-KL-UCB's test of independence costs and saves there.

Prints and writes (CSV) final regret and, arm by arm, how much of the play falls in the transition phase, in which the
arm is judged Markovian; draws that share against time. The policy is asked about 300 times, in rounds spaced evenly in
log (every round at first, then each time t has grown by about 3 %), and a play counts as in the phase if the arm was
judged Markovian at the last question.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import jaxbandit
from experiments.published.phases import RECORD, recorders
from jaxbandit import MarkovArms, Result, atlas, metrics
from jaxbandit.command_line.experiment import begin, finish
from jaxbandit.command_line.options import Simulation, main, simulation
from jaxbandit.plotting import COLOURS
from jaxbandit.reports.pictures import Pictures, frameless, panels
from jaxbandit.reports.tables import Row, Tables, final_table, of_all

Settings = simulation(horizon=20_000)
OTHERS = {"KL-UCB-SM": jaxbandit.KLUCB(), "KL-UCB-MC": jaxbandit.KLUCBMC()}
ADAPTIVE = {"TV-KL-UCB": jaxbandit.TVKLUCB(), "TV-KL-UCB, arm's clock": jaxbandit.TVKLUCB(clock="arm")}
PHASE = "its plays in the transition phase"

Judged = dict[str, np.ndarray]  # label to bool [Q, K, R], whether an arm was judged Markovian at each question


def questions(horizon: int) -> np.ndarray:
    """The rounds before which the policy is asked, and the round after the last; [Q + 1]."""
    return np.unique(np.rint(np.geomspace(1, horizon + 1, 400)).astype(np.int32))


def compare(name: str, arms: MarkovArms, settings: Simulation) -> tuple[Result, Judged]:
    """All policies, recorded before every question, and what the adaptive ones answered."""
    asked = questions(settings.horizon)
    size = recorders(ADAPTIVE) | settings.size()  # asked after the round before the question
    result = jaxbandit.simulate({name: arms}, OTHERS | ADAPTIVE, times=asked[1:] - 1, **size)
    judged = {}
    for label, answers in result.recorded[RECORD].items():
        policy = ADAPTIVE[label]
        first = np.broadcast_to(policy.markovian(policy.init(arms.reward), 1), answers.shape[-1:])
        later = np.moveaxis(answers[0, 0, :, :-1], 0, -1)
        judged[label] = np.concatenate([np.broadcast_to(first[None, :, None], (1, *later.shape[1:])), later])
    return result, judged


def plays_between(result: Result, label: str) -> np.ndarray:
    """Plays of every arm from each question to the next, [Q, K, R]."""
    plays = np.moveaxis(result.visits[label][0, 0].sum(-1), 0, -1)
    return np.diff(plays, axis=0, prepend=0)


def arm_table(result: Result, judged: Judged) -> list[Row]:
    """How much of each arm's play, and of the time, it was judged Markovian, over all runs."""
    lengths = np.diff(result.times, prepend=0)
    rows: list[Row] = []
    for label, markovian in judged.items():
        plays = plays_between(result, label)
        in_phase = (plays * markovian).sum((0, 2)) / plays.sum((0, 2))
        time = np.einsum("q,qkr->k", lengths, markovian) / lengths.sum() / markovian.shape[2]
        for arm, mean in enumerate(result.means[0]):
            gap = result.means.max() - mean
            row: Row = {"policy": label, "arm": str(arm + 1), "arm's mean": float(mean), "gap": float(gap)}
            rows.append(row | {PHASE: float(in_phase[arm]), "rounds judged Markovian": float(time[arm])})
    return rows


def share_until(result: Result, judged: Judged, label: str) -> np.ndarray:
    """Share of all plays until each recorded round that fell in the transition phase, [Q]."""
    plays = plays_between(result, label)
    return np.cumsum((plays * judged[label]).sum((1, 2))) / np.cumsum(plays.sum((1, 2)))


def cases(settings: Simulation) -> dict[str, Any]:
    """Both scenarios' means as i.i.d. arms."""
    scenes = {f"{name}'s means": atlas[f"i.i.d. {name}"].arms for name in ("scenario 1", "scenario 3")}
    policies = OTHERS | ADAPTIVE
    return {name: {"scenarios": {name: arms}, "policies": policies} | settings.size() for name, arms in scenes.items()}


def tabulate(played: dict[str, tuple[Result, Judged]]) -> Tables:
    """Final regret, and each arm's share of the transition phase."""
    return {
        "table": ("Final pseudo-regret", of_all("arms", {name: final_table(seen[0]) for name, seen in played.items()})),
        "phases": (
            "Plays and rounds of each arm while it is judged Markovian",
            of_all("arms", {name: arm_table(*seen) for name, seen in played.items()}),
        ),
    }


def in_words(name: str, result: Result, judged: Judged) -> str:
    """What was seen, in sentences that only say what was measured."""
    shares = [f"{share_until(result, judged, label)[-1]:.1%} ({label})" for label in judged]
    against = []
    for other in OTHERS:
        s = metrics.summary(metrics.paired_difference(result, "TV-KL-UCB", other)[0, 0])
        against.append(f"minus {other}'s is {s.mean:,.1f} ({s.low:,.1f} to {s.high:,.1f})")
    return (
        f"{name}: {' and '.join(shares)} of all plays were made on an arm judged Markovian.\n"
        f"TV-KL-UCB's mean final regret {', '.join(against)}."
    )


def draw(played: dict[str, tuple[Result, Judged]]) -> Pictures:
    """The share of all plays so far in the transition phase against time, a panel for each environment."""
    figure, axes = panels(len(played), 1, (8, 7), sharex=True, sharey=True)
    for ax, (name, (result, judged)) in zip(axes, played.items(), strict=True):
        shares = {label: share_until(result, judged, label) for label in judged}
        top = max(shares, key=lambda label: shares[label][-1])
        for label, colour, line in zip(shares, (COLOURS[0], COLOURS[2]), ("-", "--")):
            ax.plot(result.times, shares[label], line, color=colour)
            place = (6, 10 if label == top else 0)  # points; the lines may end close together
            text, end = f"{label}: {shares[label][-1]:.1%}", (result.times[-1], shares[label][-1])
            ax.annotate(text, end, place, textcoords="offset points", va="center", color=colour)
        ax.set_xscale("log")
        ax.set_title(name, fontsize="medium")
        ax.set_ylabel("plays so far in the transition phase")
        ax.yaxis.set_major_formatter("{x:.0%}")
        frameless(ax)
    axes[-1].set_xlim(1, result.times[-1])
    axes[-1].set_ylim(0)
    axes[-1].set_xlabel("round t")
    yield "phases", figure


def run(settings: Simulation) -> dict[str, tuple[Result, Judged]]:
    """Play both scenarios' means as i.i.d. arms, print what was seen and write the folder."""
    planned = cases(settings)
    folder = begin("iid", settings, planned)
    played = {name: compare(name, case["scenarios"][name], settings) for name, case in planned.items()}
    print(f"i.i.d. arms: {settings.runs:,} runs of {settings.horizon:,} rounds")
    words = "\n\n".join(in_words(name, *seen) for name, seen in played.items())
    finish(folder, tabulate(played), draw(played), words)
    return played


if __name__ == "__main__":
    main(run, Settings, "iid", __doc__)
