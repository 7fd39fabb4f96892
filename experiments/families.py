"""One-parameter families of chains: whose regret grows as the family's lower bound does, with one or two plays a round.

Plays two families of five arms each (two states; three states), to a million rounds: KL-UCB, Moulos's policy and IMED
that know the family, KL-UCB on the sample mean as if rewards were independent, TV-KL-UCB and IMED-MC, which has to be
good for all chains. (The IMED policies are played with one play a round.) A decade's growth is what regret gains in it,
per log t, run by run. Prints and writes (CSV) growth in the last decades beside two constants, the bound for policies
that are good for the family and the larger one for policies good for all chains (known for one play a round), and for
each a verdict in words that only say what was measured. Draws growth against time. Ctrl-C keeps what is done, and the
same command continues; runs may grow.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import jaxbandit
from experiments.comparisons.growth import decades, draw_growth, growth_cells, growth_of, linear_runs, times, verdict
from experiments.comparisons.study import Results, Study
from jaxbandit import Family, MarkovArms, Policy, atlas, bounds
from jaxbandit.command_line.options import Simulation, main, simulation
from jaxbandit.families import chain_family
from jaxbandit.named_problems.entries import FAMILIES
from jaxbandit.reports.pictures import Pictures
from jaxbandit.reports.tables import Row, Tables

Settings = simulation(runs=32, horizon=1_000_000)
SHOWN = 3  # decades in the table
DELTA = 0.1  # Moulos's least share of rounds of a leader, half of the largest for five arms


class Problem(NamedTuple):
    """Arms of one family, and how many of them are played a round."""

    arms: MarkovArms
    family: Family
    plays: int


@cache
def problems() -> dict[str, Problem]:
    """Both families with one and two plays a round, by name."""
    return {
        f"{name}, M = {plays}": Problem(atlas[name].arms, chain_family(generator, reward), plays)
        for name, (generator, reward) in FAMILIES.items()
        for plays in (1, 2)
    }


def policies(problem: Problem) -> dict[str, Policy]:
    """By label; those that know the family first."""
    family = problem.family
    one_play = {"IMED, family": jaxbandit.IMED(family=family), "IMEDMC": jaxbandit.IMEDMC()}
    return {
        "KLUCB, family": jaxbandit.KLUCB(family=family),
        "Moulos": jaxbandit.RoundRobinKLUCB(family=family, exploration=3.0, delta=DELTA),
        "KLUCB": jaxbandit.KLUCB(),
        "TVKLUCB": jaxbandit.TVKLUCB(),
        **(one_play if problem.plays == 1 else {}),
    }


@cache
def limits(name: str) -> dict[str, float]:
    """Constants of lower bounds, by whom they are for: the family's and, for one play a round, that of all chains."""
    problem = problems()[name]
    constants = {"good for the family": float(bounds.family_lower(problem.arms, problem.family, problem.plays).total)}
    if problem.plays == 1:
        constants["good for all chains"] = float(bounds.lower(problem.arms).total)
    return constants


def growth_table(results: Results) -> list[Row]:
    """Of every policy in every problem: growth in the last decades, regret over log t, the bounds and the verdicts."""
    rows: list[Row] = []
    for name, result in results.items():
        of_family, *of_all = limits(name).values()
        ends = decades(int(result.times[-1]))[-SHOWN - 1 :]
        for label in result.labels:
            growth, linear = growth_of(result, label), linear_runs(result, label)
            row: Row = {"problem": name, "policy": label, **growth_cells(result, label, ends, 2)}
            row |= {"family's bound": f"{of_family:,.2f}"}
            row |= {"growth in the last decade": verdict(growth, of_family, linear)}
            row |= {"all chains' bound": f"{of_all[0]:,.2f}" if of_all else ""}
            rows.append(row | {"beside it": verdict(growth, of_all[0], linear) if of_all else ""})
    return rows


def tabulate(results: Results, settings: Simulation) -> Tables:
    """Growth of regret."""
    result = next(iter(results.values()))
    size = f"{result.runs:,} runs to round {result.times[-1]:,}"
    title = f"Growth of pseudo-regret per log t, mean of {size} ± half of its 95 % interval"
    return {"growth": (title, growth_table(results))}


def draw(results: Results, settings: Simulation) -> Pictures:
    """Growth against time, a panel for each problem."""
    order = list(policies(next(iter(problems().values()))))
    yield "families", draw_growth(results, {name: limits(name) for name in results}, order)


STUDY = Study(
    "families",
    lambda: {name: problem.arms for name, problem in problems().items()},
    lambda name, *_: policies(problems()[name]),
    tabulate,
    draw,
    times=times,
    options=lambda name: {"plays": problems()[name].plays},
)
run = STUDY.run

if __name__ == "__main__":
    main(run, Settings, "families", __doc__)
