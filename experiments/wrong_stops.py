"""How often is a test for independent rewards wrong on sticky arms, and what does one for Markov arms cost there?

Two arms with means 1/2 and 2/5, played in turn from their stationary laws until a likelihood ratio says which one is
better, with a probability of an error of at most 0.1. In the first pair plays are independent; in the others arms move
less and less, while the means stay. `BernoulliGLR` takes the plays for independent ones; `ChainGLR`, which has a
twentieth of the runs, learns how sticky they are. A run that has not stopped at the horizon has no answer: it is
censored. Prints and writes (CSV) how often each rule is wrong, with exact 95 % intervals, how long it takes, and the
same of scalar loops of the first rule; draws both. Ctrl-C keeps what is done, and the same command continues.
"""

from __future__ import annotations

from typing import Any

import jaxbandit
from jaxbandit import Result, bounds, metrics, plotting
from jaxbandit.command_line.experiment import begin_and_play, finish
from jaxbandit.command_line.options import Simulation, main, simulation
from jaxbandit.policies import BernoulliGLR, ChainGLR, Identify, RoundRobin
from jaxbandit.reports.pictures import Pictures, frameless, panels
from jaxbandit.reports.tables import Row, Tables

Settings = simulation(runs=2000, horizon=200_000)
DELTA = 0.1
INDEPENDENT = "for independent plays"
RULES = {INDEPENDENT: BernoulliGLR(), "for Markov arms": ChainGLR()}
LOOPS = {0.5: (0.0055, 1685.1), 0.25: (0.1065, 1045.6), 0.05: (0.3787, 134.0), 0.01: (0.4168, 86.4)}
LOOP_RUNS = 4000  # a scalar loop in C, of the first rule: of each probability of a move the share wrong and mean rounds


def pair(move: float) -> jaxbandit.MarkovArms:
    """Two arms of means 1/2 and 2/5, the first of which leaves either state with probability `move`."""
    return jaxbandit.two_state([move, 0.8 * move], [move, 1.2 * move], initial_state="stationary")


def cases(settings: Simulation) -> dict[str, Any]:
    """All pairs of arms for each rule."""
    scenarios = {f"the better arm moves with {move:g}": pair(move) for move in LOOPS}
    size = settings.size() | {"until": "stopped", "times": [settings.horizon], "scenarios": scenarios}
    return {
        label: {"policies": {label: Identify(RoundRobin(), rule, DELTA)}} | size | {"runs": runs}
        for (label, rule), runs in zip(RULES.items(), (settings.runs, max(2, settings.runs // 20)))
    }


def rows_of(label: str, result: Result) -> list[Row]:
    """Errors and stopping times of a rule on each pair of arms."""
    summary, rows = metrics.identification(result, label), []
    for c, (move, (wrong, rounds)) in enumerate(LOOPS.items()):
        of = metrics.IdentificationSummary(*(field[c, 0] for field in summary))
        row: Row = {"rule": label, "move": f"{move:g}", "runs": str(of.runs), "wrong": str(of.wrong)}
        row |= {"wrong share": f"{of.wrong_share:.2%}", "interval": f"{of.wrong_low:.2%} to {of.wrong_high:.2%}"}
        row |= {"censored": str(of.censored), "mean rounds": float(of.mean), "error of the mean": float(of.error)}
        row["lower bound"] = float(bounds.identification(pair(move), "chains").at_least(DELTA))
        independent = label == INDEPENDENT
        row |= {"loop, wrong": f"{wrong:.2%}" if independent else "", "loop, rounds": rounds if independent else ""}
        rows.append(row)
    return rows


def draw(results: dict[str, Result]) -> Pictures:
    """Shares of wrong answers, and mean rounds, over the probability with which the better arm moves."""
    figure, (above, below) = panels(2, 1, (7.5, 7), sharex=True)
    moves = list(LOOPS)
    for number, (label, result) in enumerate(results.items()):
        summary, style = metrics.identification(result, label), plotting.curve_style(number)
        wrong, low, high = (field[:, 0] for field in (summary.wrong_share, summary.wrong_low, summary.wrong_high))
        name = f"{label} ({type(RULES[label]).__name__})"
        above.errorbar(moves, wrong, [wrong - low, high - wrong], **style, capsize=3, label=name)
        below.plot(moves, summary.mean[:, 0], **style, label=name)
        for c, share in enumerate(summary.censored[:, 0] / result.runs):
            for ax, height in ((above, high[c]), (below, summary.mean[c, 0])) if share else ():
                text = f"{share:.0%} of runs have no answer"
                ax.annotate(text, (moves[c], height), (4, 6), textcoords="offset points", ha="right", fontsize="small")
    least = [float(bounds.identification(pair(move), "chains").at_least(DELTA)) for move in moves]
    below.plot(moves, least, color="black", linestyle=":", label="least mean of a rule that is right on all chains")
    above.axhline(DELTA, color="black", linestyle="--", linewidth=1.2, label=f"accepted: {DELTA:g}")
    above.set_ylim(-0.01)
    above.yaxis.set_major_formatter("{x:.0%}")
    below.set_xscale("log")
    below.set_yscale("log")
    below.set_xlim(max(LOOPS) * 1.3, min(LOOPS) / 1.3)  # ever more sticky to the right
    below.set_xticks(moves, [f"{move:g}" for move in moves])
    below.minorticks_off()
    frameless(above, ylabel="runs that answer the wrong arm")
    frameless(below, ylabel=f"mean rounds, cut at {next(iter(results.values())).horizon:,}")
    below.set_xlabel("probability that a play of the better arm moves it (more sticky to the right)")
    for ax in (above, below):
        ax.legend(frameon=False, fontsize="small")
    counts = " and ".join(f"{result.runs:,}" for result in results.values())
    figure.suptitle(f"Stopping when the evidence suffices: {counts} runs, 95 % intervals")
    yield "wrong_stops", figure


def run(settings: Simulation) -> dict[str, Result]:
    """Play both rules on every pair of arms, print what was seen and write the folder."""
    folder, results = begin_and_play("wrong_stops", settings, cases(settings))
    print(f"{settings.runs:,} runs of at most {settings.horizon:,} rounds")
    rows = [row for label, result in results.items() for row in rows_of(label, result)]
    tables: Tables = {"table": (f"Wrong answers where {DELTA:g} are accepted, and stopping times", rows)}
    finish(folder, tables, draw(results))
    return results


if __name__ == "__main__":
    main(run, Settings, "wrong_stops", __doc__)
