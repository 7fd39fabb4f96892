"""After how many rounds do rules that stop know the best arm, beside the least that is possible?

Two, five and ten arms; plays are independent in some, and arms half as fast in others. Stopping rules, with `TopTwo`
sampling, are set to an error of at most 0.1, 0.01 and 0.001; sampling rules, with `ChainGLR`, to 0.01. Prints and
writes (CSV) mean rounds beside the lower bound, wrong answers with exact 95 % intervals, runs without an answer
(censored at the horizon), the shares of plays beside the best ones, and the price of not assuming independence; draws
rounds against the accepted error. Ctrl-C keeps what is done, and the same command continues. Two options play
something else, and nothing besides:

- --errors plays exact rules on 72 problems made to be hard, and tests whether they are wrong more often than accepted.
- --sticky asks how often a test for independent rewards is wrong on sticky arms, and what one for Markov arms costs
  there: two arms with means 1/2 and 2/5, played in turn from their stationary laws until a likelihood ratio says which
  one is better, with an error of at most 0.1. In the first pair plays are independent; in the others arms move less and
  less. `ChainGLR`, which has a twentieth of the runs, learns how sticky they are. Scalar loops of `BernoulliGLR` stand
  beside it, for --runs 2000 --horizon 200000.
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np

import jaxbandit
from experiments.comparisons.curves import Curves, curves
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
from jaxbandit.reports.pictures import Pictures, frameless, panels
from jaxbandit.reports.tables import Row, Tables

DELTAS = (0.1, 0.01, 0.001)
DELTA = 0.01  # of the sampling rules
MEANS = {2: (0.6, 0.4), 5: (0.75, 0.45, 0.45, 0.35, 0.35), 10: (0.8,) + 4 * (0.45,) + 5 * (0.35,)}
SPEEDS = {"independent": 1.0, "half as fast": 0.5}
CHAIN, INDEPENDENT = "ChainGLR", "BernoulliGLR"
STOPPING = {CHAIN: ChainGLR(), "ChainGLR, heuristic": ChainGLR(threshold="heuristic"), "Blocks": Blocks()}
STOPPING[INDEPENDENT] = BernoulliGLR()
SAMPLERS = (TopTwo(), TrackAndStop(), LUCB(), SuccessiveElimination(), RoundRobin())
SAMPLING = {type(rule).__name__: rule for rule in SAMPLERS}
# problems made to be hard
ACCEPTED = 0.1  # there, and on sticky arms
EXACT = {"ChainGLR": ChainGLR(), "Blocks": Blocks()}  # for chains with two states: one line for another rule
KINDS = ("random", "near tie", "sticky", "alternating", "extreme", "far start")
EACH = 4  # problems of each of 2, 3 and 5 arms and each kind
# sticky arms
RULES = {"for independent plays": BernoulliGLR(), "for Markov arms": ChainGLR()}
LOOPS = {0.5: (0.0055, 1685.1), 0.25: (0.1065, 1045.6), 0.05: (0.3787, 134.0), 0.01: (0.4168, 86.4)}
LOOP_RUNS = 4000  # a scalar loop in C, of the first rule: of each probability of a move the share wrong and mean rounds


@dataclasses.dataclass(frozen=True)
class Settings(Simulation):
    """Options."""

    runs: int = option(400, "independent runs of every rule")
    horizon: int = option(20_000, "rounds after which a run is censored")
    errors: bool = option(False, "play exact rules on 72 problems made to be hard, and nothing else")
    sticky: bool = option(False, "play two rules on ever more sticky arms, and nothing else")


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
        rules: dict[str, Any] = STOPPING | ({"Blocks, joint": Blocks(joint=True)} if number == 2 else {})
        stopping = {label: [Identify(stopping=rule, delta=delta) for delta in DELTAS] for label, rule in rules.items()}
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

    def rows(kind: str, deltas: tuple[float, ...]) -> list[Row]:
        return [row for number in MEANS for row in rows_of(number, results[f"{kind}, {number} arms"], kind, deltas)]

    exact = "Stopping rules, TopTwo sampling; BernoulliGLR is exact on independent plays alone"
    return {
        "stopping": (exact, rows("stopping", DELTAS)),
        "sampling": (f"Sampling rules, ChainGLR, delta = {DELTA:g}", rows("sampling", (DELTA,))),
        "price": ("The price of not assuming independence, on independent plays", prices(results)),
    }


def draw(results: dict[str, Result]) -> Pictures:
    """Mean rounds over the lower bound against delta, a row for each kind and a column for each number of arms."""
    lines: dict[str, Curves] = {}
    for (c, (name, speed)), number in itertools.product(enumerate(SPEEDS.items()), MEANS):
        result, censored, drawn = results[f"stopping, {number} arms"], 0, {}
        least = bounds.identification(arms_of(number, speed), "chains").at_least(DELTAS)
        for label in result.labels:
            of = metrics.identification(result, label)
            drawn[label] = DELTAS, 3 * (of.mean[c] / least,)
            censored = max(censored, int(of.censored[c].max()))
        none = f"; at most {censored} of {result.runs} runs censored" if censored else ""
        bound = {"lower bound for all chains": (DELTAS, np.ones(len(DELTAS)))}
        lines[f"{number} arms, {name}{none}"] = drawn | bound
    axes = {"xscale": "log", "xlabel": "accepted error delta", "ylim": (0, None)}
    figure = curves(lines, len(MEANS), "mean rounds / lower bound", **axes)
    for ax in figure.axes:
        ax.set_xlim(max(DELTAS) * 1.5, min(DELTAS) / 1.5)
        ax.set_xticks(DELTAS, [f"{delta:g}" for delta in DELTAS])
        ax.minorticks_off()
    yield "identification", figure


def problem(kind: str, arms: int, seed: int) -> MarkovArms:
    """Arms of a kind, drawn with the seed.

    random: probabilities of moves uniform in (.02, 1). The others draw means in (.2, .8), and how much of the largest
    possible moves arms make. near tie: the best mean is larger by .01 than all others, and speeds differ. sticky: arms
    move with a twentieth. alternating: one state is always left. extreme: each state is left always, or in every
    fiftieth play. far start: sticky arms, of which the best one starts in the state that pays 0, the others in 1.
    """
    draw = np.random.default_rng([KINDS.index(kind), arms, seed])
    means = draw.uniform(0.2, 0.8, arms)
    if kind == "near tie":
        means = means[0] - 0.01 * (np.arange(arms) > 0)
    share = draw.uniform(0.1, 1, arms)
    if kind in ("sticky", "far start"):
        share = np.full(arms, 0.05)
    elif kind == "alternating":
        share = np.ones(arms)
    fastest = share / np.maximum(means, 1 - means)
    up, down = (fastest * means).round(6), (fastest * (1 - means)).round(6)  # no 1 - 1e-17, too rare to be drawn
    if kind == "random":
        up, down = draw.uniform(0.02, 1, (2, arms))
    elif kind == "extreme":
        up, down = np.where(draw.random((2, arms)) < 0.5, 1.0, draw.uniform(0.02, 0.03, (2, arms)))
    start: Any = "stationary"
    if kind == "far start":
        start = (np.arange(arms) != means.argmax()).astype(int).tolist()
    return jaxbandit.two_state(up.tolist(), down.tolist(), initial_state=start)


def hard_cases(size: dict[str, Any], each: int = EACH) -> dict[str, Any]:
    """A case for each number of arms: all its problems, all exact rules."""
    policies = {label: Identify(stopping=rule, delta=ACCEPTED) for label, rule in EXACT.items()}
    common = {"policies": policies} | size | {"until": "stopped", "times": [size["horizon"]]}
    return {
        f"errors, {arms} arms": common
        | {"scenarios": {f"{kind} {seed}": problem(kind, arms, seed) for kind in KINDS for seed in range(each)}}
        for arms in (2, 3, 5)
    }


def errors_table(results: dict[str, Result]) -> list[Row]:
    """For each rule and problem the share of wrong answers and its exact one-sided p-value, the least first.

    The p-value is the probability of so many wrong answers or more if each run is wrong with probability delta, times
    the number of rows (Bonferroni): below 0.05 a rule is not exact, with a chance of at most 0.05 that this is said of
    any rule that is.
    """
    from scipy.stats import binom  # slow to import, so it waits until it is needed

    rows: list[Row] = []
    tests = sum(len(result.labels) * len(result.scenarios) for result in results.values())
    for case, result in results.items():
        for label in result.labels:
            of = metrics.identification(result, label)
            for s, name in enumerate(result.scenarios):
                wrong, runs = int(of.wrong[s, 0]), int(of.runs[s, 0])
                p_value = min(1.0, tests * float(binom.sf(wrong - 1, runs, ACCEPTED)))
                row: Row = {"rule": label, "arms": case.split()[1], "problem": name, "runs": str(runs)}
                row |= {"wrong": str(wrong), "wrong share": f"{wrong / runs:.2%}"}
                row |= {"interval": f"{of.wrong_low[s, 0]:.2%} to {of.wrong_high[s, 0]:.2%}"}
                rows.append(row | {"censored": str(of.censored[s, 0]), "p, all rows": f"{p_value:.3g}"})
    return sorted(rows, key=lambda row: -int(row["wrong"]))


def pair(move: float) -> jaxbandit.MarkovArms:
    """Two arms of means 1/2 and 2/5, the first of which leaves either state with probability `move`."""
    return jaxbandit.two_state([move, 0.8 * move], [move, 1.2 * move], initial_state="stationary")


def sticky_cases(settings: Settings) -> dict[str, Any]:
    """All pairs of arms for each rule."""
    scenarios = {f"the better arm moves with {move:g}": pair(move) for move in LOOPS}
    size = settings.size() | {"until": "stopped", "times": [settings.horizon], "scenarios": scenarios}
    return {
        label: size | {"policies": {label: Identify(RoundRobin(), rule, ACCEPTED)}, "runs": runs}
        for (label, rule), runs in zip(RULES.items(), (settings.runs, max(2, settings.runs // 20)))
    }


def sticky_rows(label: str, result: Result) -> list[Row]:
    """Errors and stopping times of a rule on each pair of arms."""
    summary, rows = metrics.identification(result, label), []
    for c, (move, (wrong, rounds)) in enumerate(LOOPS.items()):
        of = metrics.IdentificationSummary(*(field[c, 0] for field in summary))
        row: Row = {"rule": label, "move": f"{move:g}", "runs": str(of.runs), "wrong": str(of.wrong)}
        row |= {"wrong share": f"{of.wrong_share:.2%}", "interval": f"{of.wrong_low:.2%} to {of.wrong_high:.2%}"}
        row |= {"censored": str(of.censored), "mean rounds": float(of.mean), "error of the mean": float(of.error)}
        row["lower bound"] = float(bounds.identification(pair(move), "chains").at_least(ACCEPTED))
        independent = label == next(iter(RULES))
        row |= {"loop, wrong": f"{wrong:.2%}" if independent else "", "loop, rounds": rounds if independent else ""}
        rows.append(row)
    return rows


def draw_sticky(results: dict[str, Result]) -> Pictures:
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
    least = [float(bounds.identification(pair(move), "chains").at_least(ACCEPTED)) for move in moves]
    below.plot(moves, least, color="black", linestyle=":", label="least mean of a rule that is right on all chains")
    above.axhline(ACCEPTED, color="black", linestyle="--", linewidth=1.2, label=f"accepted: {ACCEPTED:g}")
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


def run(settings: Settings) -> dict[str, Result]:
    """Play, print the tables and write the folder."""
    if settings.errors and settings.sticky:
        raise ValueError("--errors: leave it out, or --sticky")
    planned, kind = cases(settings), ""
    if settings.errors:
        planned, kind = hard_cases(settings.size()), "errors-"
    elif settings.sticky:
        planned, kind = sticky_cases(settings), "sticky-"
    default = f"results/identification/{kind}{settings.runs}x{settings.horizon}-seed{settings.seed}"
    folder, results = begin_and_play("identification", settings, planned, default=default)
    if settings.errors:
        title = f"Wrong answers of exact rules, most first; delta = {ACCEPTED:g}"
        finish(folder, {"errors": (title, errors_table(results))})
    elif settings.sticky:
        rows = [row for label, result in results.items() for row in sticky_rows(label, result)]
        print(f"{settings.runs:,} runs of at most {settings.horizon:,} rounds")
        title = f"Wrong answers where {ACCEPTED:g} are accepted, and stopping times"
        finish(folder, {"sticky": (title, rows)}, draw_sticky(results))
    else:
        finish(folder, tabulate(results), draw(results))
    return results


if __name__ == "__main__":
    main(run, Settings, "identification", __doc__)
