"""Restless arms, which move in every round, played or not: who is best where, and do policies made for them pay?

Plays the paper's scenarios with restless arms that start as their stationary laws say, and scenario 1 with all arms ten
times slower. The paper's policies, IMED-MC and UCB1 take what they see for rested arms; RCA and DSEE are made for
restless ones, and play an arm in long blocks; the myopic rule and Whittle's index of beliefs (two states) know the
chains, but not where arms stand. Prints and writes (CSV) weak regret with its 95 % interval and the mean of the worst 5
% of runs, which learner has least after every decade of rounds, and from which round on RCA and DSEE have less than
each other policy; draws weak regret against time and at the end, and puts everything on one page (report.html). Ctrl-C
keeps what is done, and the same command continues; runs may grow.
"""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

import jaxbandit
from experiments.comparisons.growth import times
from experiments.comparisons.weak_regret import BEST, best_rows, final_rows, overtakes, overtaking_rows, weak_regret
from experiments.published.scenarios import OTHERS, SCENARIOS, SLOWER
from jaxbandit import Myopic, Policy, Result, WhittleBelief, atlas, metrics
from jaxbandit.command_line.experiment import begin_and_play, finish
from jaxbandit.command_line.options import Simulation, main, simulation
from jaxbandit.environments import RestlessArms
from jaxbandit.plotting import curve_style
from jaxbandit.reports.page import Report
from jaxbandit.reports.pictures import band, frameless, legend_below, panels
from jaxbandit.reports.tables import Tables, in_short, of_all

Settings = simulation(horizon=300_000)
MADE_FOR_THEM: dict[str, Policy] = {"RCA": jaxbandit.RCA(), "DSEE": jaxbandit.DSEE()}
LEARNERS: dict[str, Policy] = {
    **OTHERS,
    "TV-KL-UCB": jaxbandit.TVKLUCB(),
    "UCB1": jaxbandit.UCB1(),
    "IMED-MC": jaxbandit.IMEDMC(),
    **MADE_FOR_THEM,
}
KNOWING = ("Myopic, chains known", "Whittle, chains known")
DISCOUNT = 0.99  # of Whittle's index; about the next 100 rounds count
AXIS: dict[str, Any] = {"linthresh": 100, "linscale": 0.5}  # linear up to there, as weak regret may be negative
TICKS = [-100_000, -10_000, -1_000, 0, 1_000, 10_000, 100_000]

INTRODUCTION = (
    "Weak regret is what is lost beside a player who plays the best arm in every round. It is measured run by run from "
    "what that arm pays in the same run: as arms move whether they are played or not, it is the same path, and the "
    "mean is that of regret against the long-run reward. Weak regret can be negative, and linear, for a player who "
    "leaves an arm in a bad state for one in a good state collects more than any single arm pays. The more slowly arms "
    "move, the longer a good state lasts. Policies that explore much come to play so without knowing it: they keep the "
    "indices of all arms close together, so that an arm which pays stays ahead, and falls behind when it does not."
)


def environments() -> dict[str, RestlessArms]:
    """Restless arms by name."""
    return {name: atlas[f"restless {name}"].arms for name in SCENARIOS} | {SLOWER: atlas["restless tenth"].arms}


def policies(arms: RestlessArms) -> dict[str, Policy]:
    """All that play these arms, in the order of their colours; the best arm alone comes first."""
    two = arms.reward.shape[1] == 2
    knowing: list[Policy] = [Myopic.of(arms), *([WhittleBelief.of(arms, DISCOUNT)] if two else [])]
    return {BEST: jaxbandit.Oracle(arms.means()), **LEARNERS, **dict(zip(KNOWING, knowing))}


def cases(settings: Simulation) -> dict[str, Any]:
    """A case for each environment."""
    size = settings.size() | {"times": times(settings.horizon)}
    return {
        name: {"scenarios": {name: arms}, "policies": policies(arms), **size} for name, arms in environments().items()
    }


def tabulate(results: dict[str, Result]) -> Tables:
    """Weak regret at the end, the best learner after every decade, and where RCA and DSEE overtake."""
    chance = "mean ± half of its 95 % interval, runs paired"
    finals = {name: final_rows(result) for name, result in results.items()}
    best = {name: best_rows(result, LEARNERS) for name, result in results.items()}
    overtaking = {name: overtaking_rows(result, MADE_FOR_THEM) for name, result in results.items()}
    when = f"From when on RCA and DSEE have less (never: not within the horizon); {chance}"
    return {
        "table": ("Final weak regret, from what the best arm pays in the same run", of_all("scenario", finals)),
        "best": (f"Which learner has the least weak regret; {chance}", of_all("scenario", best)),
        "overtaking": (when, of_all("scenario", overtaking)),
    }


def in_words(results: dict[str, Result]) -> list[str]:
    """A sentence for each environment: the best learner, those that know the chains, and whom RCA and DSEE beat."""
    sentences = []
    for name, result in results.items():
        end, regret = best_rows(result, LEARNERS)[-1], weak_regret(result)
        clear = "" if end["beyond chance"] == "yes" else "not "
        words = [
            f"{name}, after {end['rounds']} rounds: of the learners {end['least']} has the least weak regret, "
            f"{end['weak regret']}, {clear}beyond chance less than {end['second']}",
            "; ".join(f"{label}: {in_short(regret[label][:, -1])}" for label in KNOWING if label in regret),
        ]
        gains = [label for label in LEARNERS if label in regret and metrics.summary(regret[label][:, -1]).high < 0]
        words.append(f"Below zero, beyond chance, is that of {', '.join(gains) or 'none of them'}")
        for mine in MADE_FOR_THEM:
            words.append(
                f"{mine} has, beyond chance, less than {', '.join(overtakes(result, mine, LEARNERS)) or 'none'}"
            )
        sentences.append(". ".join(words) + ".")
    return sentences


def _style(label: str) -> dict[str, Any]:
    """The colour and the line of a policy; knowledge has its own."""
    if label in KNOWING:
        return ({"color": "black", "linewidth": 1.0}, {"color": "limegreen", "linestyle": ":", "linewidth": 2.4})[
            KNOWING.index(label)
        ]
    wide = 2.4 if label in MADE_FOR_THEM else 1.3
    return curve_style(list(LEARNERS).index(label)) | {"linewidth": wide, "markevery": 0.12}


def draw_over_time(results: dict[str, Result], size: str) -> Figure:
    """Mean weak regret against time, a panel for each environment."""
    figure, axes = panels(2, 3, (16, 9.5), sharex=True, sharey=True)
    for spare in axes.flat[len(results) :]:
        spare.remove()
    for ax, (name, result) in zip(axes.flat, results.items()):
        for label, values in weak_regret(result).items():
            band(ax, result.times, values, label=label, **_style(label))
        ax.axhline(0, color="grey", linewidth=0.8)
        ax.set_xscale("log")
        ax.set_yscale("symlog", **AXIS)
        ax.set_yticks(TICKS, [f"{tick:,}" for tick in TICKS])
        ax.minorticks_off()
        ax.tick_params(labelbottom=True)
        frameless(ax, name, xlim=(10, result.times[-1]), xlabel="round t")
    for ax in axes[:, 0]:
        ax.set_ylabel("weak regret")
    figure.suptitle(f"Weak regret: mean of {size}, with its 95 % interval")
    legend_below(figure)
    return figure


def draw_finals(results: dict[str, Result], size: str) -> Figure:
    """Of every policy the mean at the end with its interval, and the mean of the worst 5 % of runs."""
    labels = [*LEARNERS, *KNOWING]
    figure, axes = panels(1, len(results), (17, 5.6), sharex=True, sharey=True)
    for ax, (name, result) in zip(axes, results.items()):
        for label, values in weak_regret(result).items():
            row, colour, s = labels.index(label), _style(label)["color"], metrics.summary(values[:, -1])
            ax.errorbar(s.mean, row, xerr=s.high - s.mean, color=colour, marker="o", capsize=3)
            ax.plot(s.worst, row, color=colour, marker="|", markersize=12)
            ax.plot([s.mean, s.worst], [row, row], color=colour, linewidth=0.8, alpha=0.6)
        ax.axvline(0, color="grey", linewidth=0.8)
        ax.set_xscale("symlog", **AXIS)
        ax.set_xticks(TICKS, [f"{tick:,}" for tick in TICKS], rotation=60)
        ax.minorticks_off()
        frameless(ax, name, xlabel="weak regret")
    figure.suptitle(f"Final weak regret, {size}: mean with its 95 % interval (dots), mean of the worst 5 % (strokes)")
    axes[0].set_yticks(range(len(labels)), labels)
    axes[0].invert_yaxis()
    return figure


def run(settings: Simulation) -> dict[str, Result]:
    """Play, print the tables and write the folder."""
    folder, results = begin_and_play("restless", settings, cases(settings), grows=True)
    size = f"{settings.runs:,} runs of {settings.horizon:,} rounds"
    captions = {
        "restless": ("Weak regret over time", f"Linear from -{AXIS['linthresh']} to {AXIS['linthresh']}."),
        "finals": ("Weak regret at the end", "Runs are paired with those of the best arm alone."),
    }
    report = Report("Restless arms", f"{INTRODUCTION} Here: {size}, seed {settings.seed}.", captions)
    pictures = [("restless", draw_over_time(results, size)), ("finals", draw_finals(results, size))]
    finish(folder, tabulate(results), pictures, "\n".join(in_words(results)), report=report)
    return results


if __name__ == "__main__":
    main(run, Settings, "restless", __doc__)
