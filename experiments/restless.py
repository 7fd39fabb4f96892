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

from collections.abc import Iterable
from typing import Any

import numpy as np

import jaxbandit
from experiments.comparisons.curves import curves
from experiments.comparisons.growth import decades, times
from experiments.published.scenarios import OTHERS, SCENARIOS, SLOWER
from jaxbandit import Myopic, Policy, Result, WhittleBelief, atlas, metrics
from jaxbandit.command_line.experiment import begin_and_play, finish
from jaxbandit.command_line.options import Simulation, main, simulation
from jaxbandit.environments import RestlessArms
from jaxbandit.reports.pictures import Pictures
from jaxbandit.reports.tables import Row, Tables, in_short, moments, of_all

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
BEST = "best arm, known"  # the label of the policy that plays it
SHOWN = 3  # decades in the table of the best


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


def weak_regret(result: Result) -> dict[str, np.ndarray]:
    """What each run of a policy collects less than the best arm alone does in the same run, [run, time].

    Where arms move alike, played or not, from their stationary laws, its mean is that of realised regret. It is far
    less spread out, as both have the same random numbers.
    """
    regret = {label: metrics.regret(result, label)[0, 0] for label in result.labels}
    return {label: values - regret[BEST] for label, values in regret.items() if label != BEST}


def final_rows(result: Result) -> list[Row]:
    """Weak regret of every policy at the end."""
    return [
        {
            "policy": label,
            **moments(values[:, -1], "weak regret"),
            "pseudo-regret": float(metrics.pseudo_regret(result, label)[0, 0, :, -1].mean()),
            "best arm's share": float(metrics.best_share(result, label)[0, 0, :, -1].mean()),
        }
        for label, values in weak_regret(result).items()
    ]


def best_rows(result: Result, labels: Iterable[str]) -> list[Row]:
    """Which of the policies has least, and by how much less than the second, after the last decades of rounds."""
    regret = {label: values for label, values in weak_regret(result).items() if label in labels}
    rows: list[Row] = []
    for end in decades(int(result.times[-1]))[-SHOWN:]:
        values = {label: each[:, np.searchsorted(result.times, end)] for label, each in regret.items()}
        first, second = sorted(values, key=lambda label: float(values[label].mean()))[:2]
        apart = values[first] - values[second]
        row: Row = {"rounds": f"{end:,}", "least": first, "weak regret": in_short(values[first]), "second": second}
        clear = bool(metrics.summary(apart).high < 0)
        rows.append(row | {"difference": in_short(apart), "beyond chance": "yes" if clear else "no"})
    return rows


def overtaken(mine: np.ndarray, other: np.ndarray, times: np.ndarray) -> int | None:
    """The first of the times from which on `mine` [T] is below `other` [T]; None if it is not at the last.

    >>> overtaken(np.array([3.0, 1.0, 5.0, 6.0]), np.array([2.0, 2.0, 6.0, 7.0]), np.array([1, 10, 20, 30]))
    10
    >>> overtaken(np.array([1.0, 2.0]), np.array([2.0, 2.0]), np.array([1, 10]))
    """
    behind = np.flatnonzero(~(mine < other))
    start = behind[-1] + 1 if len(behind) else 0
    return int(times[start]) if start < len(times) else None


def overtaking_rows(result: Result, overtakers: Iterable[str]) -> list[Row]:
    """From which round on these have less on average than each policy, and how much less at the end."""
    regret = weak_regret(result)
    rows: list[Row] = []
    for label, values in regret.items():
        row: Row = {"than": label}
        for mine in overtakers:
            since = overtaken(regret[mine].mean(0), values.mean(0), result.times)
            row[f"{mine} has less from round"] = "" if mine == label else "never" if since is None else f"{since:,}"
            row[f"{mine} less it, at the end"] = "" if mine == label else in_short((regret[mine] - values)[:, -1])
        rows.append(row)
    return rows


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
