"""Discounted reward, and what it costs not to know the chains: the price of learning, in the paper's scenarios.

A player who knows the chains collects the most by playing the largest Gittins index; how much that is on average is
computed exactly, and no policy has a larger mean. Plays that rule, and policies that have to learn: TV-KL-UCB and
KL-UCB-SM, which are made for the long run, the Gittins rule of estimated chains, and that of chains drawn from what is
known (anew in every round). Each scenario is played from state 0 and from states that have settled, which the
player sees only by playing, with discounts .9, .99 and .999: about the first 10, 100 and 1,000 rounds count. Prints and
writes (CSV) the share of the optimum that each policy falls short of, with its 95 % interval, and draws it. Ctrl-C
keeps what is done, and the same command continues; runs may grow.
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any, NamedTuple

import jax
import numpy as np

import jaxbandit
from experiments.comparisons.curves import Curves, curves
from experiments.published.scenarios import SCENARIOS, environment
from jaxbandit import Gittins, MarkovArms, PlugInGittins, PosteriorGittins, Result, indices, metrics
from jaxbandit.command_line.experiment import begin_and_play, finish
from jaxbandit.command_line.options import Quick, Simulation, main, option
from jaxbandit.reports.pictures import Pictures
from jaxbandit.reports.tables import Row, Tables, in_short

DISCOUNTS = (0.9, 0.99, 0.999)
STARTS: dict[str, int | str] = {"state 0": 0, "settled": "stationary"}
KNOWN, ALONE = "Gittins, chains known", "best arm alone, known"


@dataclasses.dataclass(frozen=True)
class Settings(Quick):
    """Options of the experiment."""

    QUICK = Quick.QUICK | {"error": 0.2}
    runs: int = option(1000, "independent runs of every policy")
    error: float = option(0.002, "of a discounted sum, as a share of 1 / (1 - discount), at most")
    seed: int = option(0, "of the random key")
    out: str = option("", "folder for figures, tables and counts; default: results/known_chains/SEED and ERROR")

    def key(self) -> jax.Array:
        """The random key of the seed."""
        return Simulation(seed=self.seed).key()


class Problem(NamedTuple):
    """What a case plays."""

    scenario: str
    start: str
    discount: float

    @property
    def arms(self) -> MarkovArms:
        return environment(self.scenario, initial_state=STARTS[self.start])


def problems() -> dict[str, Problem]:
    """All of them, by the name of their case."""
    every = itertools.starmap(Problem, itertools.product(SCENARIOS, STARTS, DISCOUNTS))
    return {", ".join(map(str, each)): each for each in every}


def policies(problem: Problem) -> dict[str, Any]:
    """The rule that knows the chains, and those that learn."""
    return {
        KNOWN: Gittins.of(problem.arms, problem.discount),
        "Gittins of estimates": PlugInGittins(problem.discount),
        "Gittins of drawn chains": PosteriorGittins(problem.discount),
        "TV-KL-UCB": jaxbandit.TVKLUCB(),
        "KL-UCB-SM": jaxbandit.KLUCB(),
    }


def cases(settings: Settings) -> dict[str, Any]:
    """A case for each problem, which records the rounds that its discount asks for."""

    def case(problem: Problem) -> dict[str, Any]:
        times = indices.rounds_to_record(problem.discount, settings.error)
        size = {"key": settings.key(), "runs": settings.runs, "horizon": int(times[-1]), "times": times}
        return {"scenarios": {problem.scenario: problem.arms}, "policies": policies(problem), **size}

    return {name: case(problem) for name, problem in problems().items()}


def optimum(problem: Problem) -> float:
    """What the player who knows the chains collects on average."""
    arms = problem.arms
    return indices.gittins_value(arms.transition, arms.reward, problem.discount, arms.initial)


def missed(result: Result, problem: Problem) -> dict[str, np.ndarray]:
    """By policy, the share of the optimum that each run does not collect, [run].

    Of the rule that knows the chains it is measured from the optimum itself; of the others from what that rule collects
    in the same run, which has the same mean and the same random numbers.
    """
    collected = {label: metrics.discounted_reward(result, label, problem.discount)[0, 0] for label in result.labels}
    best = optimum(problem)
    return {
        label: ((best if label == KNOWN else collected[KNOWN]) - values) / best for label, values in collected.items()
    }


def missed_alone(problem: Problem) -> float:
    """The share of the optimum that the best arm alone, known, does not collect on average; exact."""
    arms = problem.arms
    moves, paid = problem.discount * arms.transition, arms.transition @ arms.reward[..., None]
    values = np.linalg.solve(np.eye(moves.shape[-1]) - moves, paid)[..., 0]
    return max(0.0, 1 - float(np.sum(arms.initial * values, axis=-1).max()) / optimum(problem))


def tabulate(results: dict[str, Result]) -> Tables:
    """A row for each problem."""
    rows: list[Row] = []
    for name, problem in problems().items():
        row: Row = {"scenario": problem.scenario, "start": problem.start, "discount": f"{problem.discount:g}"}
        row |= {"optimum": f"{optimum(problem):,.3f}", ALONE: f"{missed_alone(problem):.2%}"}
        shares = missed(results[name], problem)
        rows.append(row | {label: in_short(values, ".2%") for label, values in shares.items()})
    what, chance = "Share of the optimum that is not collected", "mean ± half of its 95 % interval, runs paired"
    exact = (
        "0 but for chance and the error of the sums for the rule that knows the chains, exact for the best arm alone"
    )
    return {"missed": (f"{what}, {chance}\n({exact})", rows)}


def draw(results: dict[str, Result]) -> Pictures:
    """The share missed against the discount; a column for each scenario, a row for each start."""
    lines: dict[str, Curves] = {}
    for start, scenario in itertools.product(STARTS, SCENARIOS):
        here = {name: problem for name, problem in problems().items() if problem[:2] == (scenario, start)}
        rounds = [1 / (1 - problem.discount) for problem in here.values()]
        seen = [missed(results[name], problem) for name, problem in here.items()]
        drawn: dict[str, Any] = {label: (rounds, [100 * shares[label] for shares in seen]) for label in seen[0]}
        drawn[ALONE] = rounds, [100 * missed_alone(problem) for problem in here.values()]
        lines[f"{scenario}, from {'state 0' if start == 'state 0' else 'settled states'}"] = drawn
    axes = {"xscale": "log", "xlabel": "1 / (1 - discount), rounds"}
    yield "known_chains", curves(lines, len(SCENARIOS), "% of the optimum missed", **axes)


def run(settings: Settings) -> dict[str, Result]:
    """Play, print the table and write the folder."""
    out = f"results/known_chains/seed{settings.seed}-error{settings.error:g}"  # without the runs, which may grow
    fixed = ("seed", "error")
    folder, results = begin_and_play("known_chains", settings, cases(settings), default=out, fixed=fixed)
    print(f"{settings.runs:,} runs")
    finish(folder, tabulate(results), draw(results))
    return results


if __name__ == "__main__":
    main(run, Settings, "known_chains", __doc__)
