"""After how many rounds do rules that stop know the best arm, beside the least that is possible?

Two, five and ten arms; plays are independent in some, and arms half as fast in others. Stopping rules, with `TopTwo`
sampling, are set to an error of at most 0.1, 0.01 and 0.001; sampling rules, with `ChainGLR`, to 0.01. Prints and
writes (CSV) mean rounds beside the lower bound, wrong answers with exact 95 % intervals, runs without an answer
(censored at the horizon), the shares of plays beside the best ones, and the price of not assuming independence; draws
rounds against the accepted error. --errors plays exact rules on 72 problems made to be hard, and nothing else, and
tests whether they are wrong more often than accepted. Ctrl-C keeps what is done, and the same command continues.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

import jaxbandit
from experiments.stopping import errors
from jaxbandit import MarkovArms, Result, bounds, metrics, plotting
from jaxbandit.command_line.experiment import begin_and_play, finish
from jaxbandit.command_line.options import Simulation, main, option
from jaxbandit.policies import (
    LUCB,
    BernoulliGLR,
    Blocks,
    ChainGLR,
    Identify,
    RoundRobin,
    SuccessiveElimination,
    TopTwo,
    TrackAndStop,
)
from jaxbandit.reports.pictures import Pictures, frameless, legend_below, panels
from jaxbandit.reports.tables import Row, Tables

DELTAS = (0.1, 0.01, 0.001)
DELTA = 0.01  # of the sampling rules
MEANS = {2: (0.6, 0.4), 5: (0.75, 0.45, 0.45, 0.35, 0.35), 10: (0.8,) + 4 * (0.45,) + 5 * (0.35,)}
SPEEDS = {"independent": 1.0, "half as fast": 0.5}
CHAIN, INDEPENDENT = "ChainGLR", "BernoulliGLR"
STOPPING = {  # one line for another rule
    CHAIN: ChainGLR(),
    "ChainGLR, heuristic": ChainGLR(threshold="heuristic"),
    "Blocks": Blocks(),
    INDEPENDENT: BernoulliGLR(),
}
SAMPLING = {  # one line for another rule
    "TopTwo": TopTwo(),
    "TrackAndStop": TrackAndStop(),
    "LUCB": LUCB(),
    "SuccessiveElimination": SuccessiveElimination(),
    "RoundRobin": RoundRobin(),
}


@dataclasses.dataclass(frozen=True)
class Settings(Simulation):
    """Options."""

    runs: int = option(400, "independent runs of every rule")
    horizon: int = option(20_000, "rounds after which a run is censored")
    errors: bool = option(False, "play exact rules on 72 problems made to be hard, and nothing else")


def arms_of(number: int, speed: float) -> MarkovArms:
    """Arms with the means of `MEANS` that make `speed` times the moves of independent plays."""
    means = np.array(MEANS[number])
    up, down = (speed * means).round(6), (speed * (1 - means)).round(6)
    return jaxbandit.two_state(up.tolist(), down.tolist(), initial_state="stationary")


def cases(settings: Simulation) -> dict[str, Any]:
    """For each number of arms the stopping rules with each delta, and the sampling rules."""
    common = settings.size() | {"until": "stopped", "times": [settings.horizon]}
    played: dict[str, Any] = {}
    for number in MEANS:
        stopping: dict[str, Any] = {
            label: [Identify(stopping=rule, delta=delta) for delta in DELTAS] for label, rule in STOPPING.items()
        }
        if number == 2:
            stopping["Blocks, joint"] = [Identify(stopping=Blocks(joint=True), delta=delta) for delta in DELTAS]
        sampling = {label: Identify(rule, delta=DELTA) for label, rule in SAMPLING.items()}
        scenarios = {name: arms_of(number, speed) for name, speed in SPEEDS.items()}
        for kind, policies in (("stopping", stopping), ("sampling", sampling)):
            played[f"{kind}, {number} arms"] = common | {"scenarios": scenarios, "policies": policies}
    return played


def rows_of(number: int, result: Result, first: str, deltas: tuple[float, ...]) -> list[Row]:
    """Rounds and errors of each rule, and its shares of plays beside those of the bound."""
    rows: list[Row] = []
    for c, (scenario, speed) in enumerate(SPEEDS.items()):
        bound = bounds.identification(arms_of(number, speed), "chains")
        for label in result.labels:
            of = metrics.identification(result, label)
            for v, delta in enumerate(deltas):
                least, mean = float(bound.at_least(delta)), float(of.mean[c, v])
                row: Row = {"arms": str(number), "plays": scenario, first: label, "delta": f"{delta:g}"}
                row |= {"mean rounds": mean, "error of the mean": float(of.error[c, v]), "lower bound": least}
                row |= {"times the bound": f"{mean / least:.2f}", "runs": str(of.runs[c, v])}
                row |= {"censored": str(of.censored[c, v]), "wrong": str(of.wrong[c, v])}
                row["interval"] = f"{of.wrong_low[c, v]:.2%} to {of.wrong_high[c, v]:.2%}"
                if first == "sampling":
                    plays = of.plays[c, v]
                    row |= {"best arm's plays": f"{plays[0]:.1%}", "of the bound": f"{bound.weights[0]:.1%}"}
                    row["plays given elsewhere"] = f"{np.abs(plays - bound.weights).sum() / 2:.1%}"
                rows.append(row)
    return rows


def prices(results: dict[str, Result]) -> list[Row]:
    """On independent arms: mean rounds of rules for all chains over those of one for independent plays."""
    rows: list[Row] = []
    for number in MEANS:
        arms, result = arms_of(number, 1.0), results[f"stopping, {number} arms"]
        ratio = bounds.identification(arms, "chains").time / bounds.identification(arms, "independent").time
        base = metrics.identification(result, INDEPENDENT)
        for label in (label for label in result.labels if label != INDEPENDENT):
            of = metrics.identification(result, label)
            for v, delta in enumerate(DELTAS):
                row: Row = {"arms": str(number), "stopping": label, "delta": f"{delta:g}"}
                row["rounds, times BernoulliGLR's"] = f"{of.mean[0, v] / base.mean[0, v]:.2f}"
                rows.append(row | {"ratio of the bounds": f"{ratio:.3f}", "censored": str(of.censored[0, v])})
    return rows


def tabulate(results: dict[str, Result]) -> Tables:
    """The tables of all cases."""
    stopping, sampling = (
        [row for number in MEANS for row in rows_of(number, results[f"{kind}, {number} arms"], kind, deltas)]
        for kind, deltas in (("stopping", DELTAS), ("sampling", (DELTA,)))
    )
    return {
        "stopping": ("Stopping rules, TopTwo sampling; BernoulliGLR is exact on independent plays alone", stopping),
        "sampling": (f"Sampling rules, ChainGLR, delta = {DELTA:g}", sampling),
        "price": ("The price of not assuming independence, on independent plays", prices(results)),
    }


def draw(results: dict[str, Result]) -> Pictures:
    """Mean rounds over the lower bound against delta, for each kind and number of arms."""
    figure, axes = panels(len(SPEEDS), len(MEANS), (11, 7), sharex=True, sharey="row")
    axes = np.reshape(axes, (len(SPEEDS), len(MEANS)))
    for column, number in enumerate(MEANS):
        result = results[f"stopping, {number} arms"]
        for c, (name, speed) in enumerate(SPEEDS.items()):
            ax, least = axes[c, column], bounds.identification(arms_of(number, speed), "chains").at_least(DELTAS)
            censored = 0
            for n, label in enumerate(result.labels):
                of = metrics.identification(result, label)
                ax.plot(DELTAS, of.mean[c] / least, **plotting.curve_style(n), label=label)
                censored = max(censored, int(of.censored[c].max()))
            ax.axhline(1, color="black", linestyle=":", label="lower bound for all chains")
            ax.set_xscale("log")
            ax.set_xlim(max(DELTAS) * 1.5, min(DELTAS) / 1.5)
            ax.set_xticks(DELTAS, [f"{delta:g}" for delta in DELTAS])
            ax.minorticks_off()
            none = f"; at most {censored} of {result.runs} runs censored" if censored else ""
            frameless(ax, f"{number} arms, {name}{none}")
        axes[-1, column].set_xlabel("accepted error delta")
    for ax in axes[:, 0]:
        ax.set_ylabel("mean rounds / lower bound")
        ax.set_ylim(0)  # of the whole row, once all its curves are there
    legend_below(figure)
    yield "identification", figure


def run(settings: Settings) -> dict[str, Result]:
    """Play, print the tables and write the folder."""
    size = f"{settings.runs}x{settings.horizon}-seed{settings.seed}"
    if settings.errors:
        folder, results = begin_and_play(
            "identification", settings, errors.cases(settings.size()), default=f"results/identification/errors-{size}"
        )
        rows = errors.table(results)
        words = errors.verdict(rows, settings.horizon)
        finish(folder, {"errors": ("Wrong answers of exact rules, most first", rows)}, words=words)
        return results
    folder, results = begin_and_play("identification", settings, cases(settings))
    finish(folder, tabulate(results), draw(results))
    return results


if __name__ == "__main__":
    main(run, Settings, "identification", __doc__)
