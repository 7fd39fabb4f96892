"""Restless arms, which move in every round, played or not: who is best where, and do policies made for them pay?

Plays the paper's scenarios with restless arms that start as their stationary laws say, and scenario 1 with all arms ten
times slower. The paper's policies, IMED-MC and UCB1 take what they see for rested arms; RCA and DSEE are made for
restless ones, and play an arm in long blocks; the myopic rule and Whittle's index of beliefs (two states) know the
chains, but not where arms stand. Prints and writes (CSV) weak regret with its 95 % interval and the mean of the worst 5
% of runs, which learner has least after every decade of rounds, and from which round on RCA and DSEE have less than
each other policy; draws weak regret against time. Ctrl-C keeps what is done, and the same command continues; runs may
grow.

Weak regret is what is lost beside a player who plays the best arm in every round, from what that arm pays in the same
run. It can be negative, and linear, for a player who leaves an arm in a bad state for one in a good state; policies
that explore much come to play so without knowing it, as they keep the indices of all arms close together.
"""

from __future__ import annotations

from typing import Any

import jaxbandit
from experiments.comparisons.curves import curves
from experiments.comparisons.growth import times
from experiments.comparisons.weak_regret import BEST, best_rows, final_rows, overtaking_rows, weak_regret
from experiments.published.scenarios import OTHERS, SCENARIOS, SLOWER
from jaxbandit import Myopic, Policy, Result, WhittleBelief, atlas
from jaxbandit.command_line.experiment import begin_and_play, finish
from jaxbandit.command_line.options import Simulation, main, simulation
from jaxbandit.environments import RestlessArms
from jaxbandit.reports.pictures import Pictures
from jaxbandit.reports.tables import Tables, of_all

Settings = simulation(horizon=300_000)
MADE_FOR_THEM: dict[str, Policy] = {"RCA": jaxbandit.RCA(), "DSEE": jaxbandit.DSEE()}
LEARNERS: dict[str, Policy] = {
    **OTHERS,
    "TV-KL-UCB": jaxbandit.TVKLUCB(),
    "UCB1": jaxbandit.UCB1(),
    "IMED-MC": jaxbandit.IMEDMC(),
    **MADE_FOR_THEM,
}
DISCOUNT = 0.99  # of Whittle's index; about the next 100 rounds count
TICKS = [-100_000, -10_000, -1_000, -100, 0, 100, 1_000, 10_000, 100_000]
KNOWING = ("Myopic, chains known", "Whittle, chains known")


def environments() -> dict[str, RestlessArms]:
    """Restless arms by name."""
    return {name: atlas[f"restless {name}"].arms for name in SCENARIOS} | {SLOWER: atlas["restless tenth"].arms}


def policies(arms: RestlessArms) -> dict[str, Policy]:
    """All that play these arms, in the order of their colours; the best arm alone comes first."""
    knowing: list[Policy] = [Myopic.of(arms)]
    if arms.reward.shape[1] == 2:
        knowing.append(WhittleBelief.of(arms, DISCOUNT))
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


def draw(results: dict[str, Result], size: str) -> Pictures:
    """Mean weak regret against time, a panel for each environment."""
    lines = {
        name: {label: (result.times, values.T) for label, values in weak_regret(result).items()}
        for name, result in results.items()
    }
    title = f"Weak regret: mean of {size}, with its 95 % interval"
    figure = curves(lines, 3, "weak regret", title, xscale="log", xlabel="round t")
    for ax in figure.axes:
        ax.set_yscale("symlog", linthresh=100, linscale=0.5)  # linear up to there, as weak regret may be negative
        limits = ax.get_ylim()
        ax.set_yticks(TICKS, [f"{tick:,}" for tick in TICKS])
        ax.set_ylim(limits)
    yield "restless", figure


def run(settings: Simulation) -> dict[str, Result]:
    """Play, print the tables and write the folder."""
    folder, results = begin_and_play("restless", settings, cases(settings), grows=True)
    pictures = draw(results, f"{settings.runs:,} runs of {settings.horizon:,} rounds")
    finish(folder, tabulate(results), pictures)
    return results


if __name__ == "__main__":
    main(run, Settings, "restless", __doc__)
