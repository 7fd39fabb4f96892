"""How regret grows beside the tight lower bound, decade by decade, to ten million rounds.

Plays IMED-MC and JointKLUCB, IMED and the paper's policies on i.i.d. arms, scenario 1 and scenario 3 (three states; to
a tenth of the rounds, without JointKLUCB, which takes milliseconds a round there), with --full to all of them and also
on scenario 1's chains moving a tenth as often. A decade's growth is what regret gains in it, per log t, run by run.
Prints and writes (CSV) the growth in the last decades beside the constant of the bound for policies that are good for
all chains (a policy that stays below it is not one of these), and a verdict in words that only say what was measured.
Draws growth against time. Ctrl-C keeps what is done, and the same command continues; runs may grow. --lemmas checks the
lemmas of docs/optimality.md with numbers, and plays nothing else.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import jaxbandit
from experiments.comparisons import lemmas
from experiments.comparisons.growth import decades, draw_growth, growth_cells, growth_of, linear_runs, times, verdict
from experiments.published.scenarios import INDEPENDENT, POLICIES, SLOWER, WHOLE_CHAIN, playable
from jaxbandit import MarkovArms, Result, atlas, bounds
from jaxbandit.bounds import Bound
from jaxbandit.command_line.experiment import begin, begin_and_play, finish
from jaxbandit.command_line.options import Simulation, main, option
from jaxbandit.reports.tables import Row, Tables

SHOWN = 4  # decades in the table
JOINT = "JointKLUCB, log(t/T)"
PLAYED = {
    **POLICIES,
    "IMED": jaxbandit.IMED(),
    **WHOLE_CHAIN,
    JOINT: jaxbandit.JointKLUCB(exploration=0.0, clock="arm"),
    "JointKLUCB, log f": jaxbandit.JointKLUCB(),
}
OF_TWO_STATES = (JOINT, "JointKLUCB, log f")  # with three states they take milliseconds a round


@dataclasses.dataclass(frozen=True)
class Settings(Simulation):
    """Options of the comparison with the lower bound."""

    runs: int = option(32, "independent runs of every policy")
    horizon: int = option(10_000_000, "rounds of a run")
    full: bool = option(False, "scenario 1 a tenth as fast, too, and more rounds in scenario 3")
    lemmas: bool = option(False, "check the proof's lemmas with numbers, and play nothing else")


def environments() -> dict[str, MarkovArms]:
    """By name; the first three have the same means."""
    names = {INDEPENDENT: "i.i.d. scenario 1", "scenario 1": "scenario 1", SLOWER: "tenth", "scenario 3": "scenario 3"}
    return {name: atlas[named].arms for name, named in names.items()}


def cases(settings: Settings) -> dict[str, Any]:
    """A case for each environment."""

    def case(name: str, arms: MarkovArms) -> dict[str, Any]:
        states, horizon, policies = arms.reward.shape[1], settings.horizon, PLAYED
        if states > 2:
            policies = {label: policy for label, policy in PLAYED.items() if label not in OF_TWO_STATES}
            horizon = horizon if settings.full else max(100, horizon // 10)
        size = settings.size() | {"horizon": horizon, "times": times(horizon)}
        return {"scenarios": {name: arms}, "policies": playable(policies, states), **size}

    chosen = {name: arms for name, arms in environments().items() if settings.full or name != SLOWER}
    return {name: case(name, arms) for name, arms in chosen.items()}


def limits(name: str) -> list[Bound]:
    """Of the regret of policies good for all chains; where arms are i.i.d., also of those that are good for these."""
    arms = environments()[name]
    return [bounds.lower(arms), *([bounds.lai_robbins(arms)] if name == INDEPENDENT else [])]


def growth_table(results: dict[str, Result]) -> list[Row]:
    """Of every policy in every environment: growth in the last decades, regret over log t, and the verdict."""
    ends = decades(max(int(result.times[-1]) for result in results.values()))[-SHOWN - 1 :]
    rows: list[Row] = []
    for name, result in results.items():
        bound, *others = [float(each.total) for each in limits(name)]
        for label in result.labels:
            row: Row = {"environment": name, "policy": label, **growth_cells(result, label, ends, 1)}
            row["bound"] = f"{bound:,.2f}" + "".join(f" ({other:,.2f})" for other in others)
            words = verdict(growth_of(result, label), bound, linear_runs(result, label))
            rows.append(row | {"growth in its last decade": words})
    return rows


def tabulate(results: dict[str, Result]) -> Tables:
    """Growth over the last decades of rounds."""
    sizes = "; ".join(f"{name}: {result.runs:,} runs to {result.times[-1]:,}" for name, result in results.items())
    title = "Growth of pseudo-regret per log t in the last decades of rounds"
    chance = "mean ± half of its 95 % interval, runs paired"
    brackets = "in brackets the bound for policies good for i.i.d. arms"
    return {"growth": (f"{title}, {chance}\n({sizes}; {brackets})", growth_table(results))}


def run(settings: Settings) -> dict[str, Result]:
    """Play, or check the lemmas; print the tables and write the folder."""
    if settings.lemmas:
        folder = begin("optimality", settings, {}, f"results/optimality/lemmas-seed{settings.seed}", ("lemmas", "seed"))
        rows = lemmas.check(seed=settings.seed)
        finish(folder, {"lemmas": ("Checks of the lemmas of docs/optimality.md", rows)})
        return {}
    out = f"results/optimality/{settings.horizon}-seed{settings.seed}{'-full' if settings.full else ''}"
    fixed = ("lemmas", "horizon", "seed", "full")
    folder, results = begin_and_play("optimality", settings, cases(settings), default=out, fixed=fixed)
    constants = {name: {bound.holds_for: float(bound.total) for bound in limits(name)} for name in results}
    finish(folder, tabulate(results), [("optimality", draw_growth(results, constants, list(PLAYED)))])
    return results


if __name__ == "__main__":
    main(run, Settings, "optimality", __doc__)
