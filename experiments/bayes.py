"""How far is everybody from the best there can be, over horizon and prior?

Draws pairs of arms from four priors: Bernoulli arms whose means are uniform or mostly small, and chains of two states
whose rows are uniform or sticky. Every policy of the library that needs no argument and plays such arms plays all of
them, and so do the policies that know the prior: the Bayes optimum (its table is for the largest horizon), and Gittins
index policies. Prints and writes (CSV) Bayes regret as a multiple of the least that is possible
(jaxbandit.bounds.bayes_optimum) at each horizon, with 95 % intervals over the pairs. The longest horizon is 200 rounds
for Bernoulli arms and 60 for chains. The default takes about ten minutes on two cores. Ctrl-C keeps what is done, and
the same command continues.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

import jaxbandit
from experiments.comparisons.study import playing_two_states
from jaxbandit import Policy, Result, metrics
from jaxbandit.bounds import bayes_optimum
from jaxbandit.command_line.experiment import begin_and_play, finish
from jaxbandit.command_line.options import Simulation, main, option
from jaxbandit.reports.tables import Row, Tables
from jaxbandit.stress import PriorSpace

PRIORS = {
    "Bernoulli, uniform": [[1, 1], [1, 1]],
    "Bernoulli, mostly small": [[9, 1], [9, 1]],
    "chains, uniform rows": [[[1, 1], [1, 1]]] * 2,
    "chains, sticky": [[[4, 1], [1, 4]]] * 2,
}
HORIZONS = {2: (10, 20, 50, 100, 200), 3: (10, 20, 40, 60)}  # by the axes of the prior
DISCOUNTS = (0.9, 0.98)
OPTIMUM = "BayesOptimal"


@dataclasses.dataclass(frozen=True)
class Settings(Simulation):
    """Options of the comparison."""

    QUICK = Simulation.QUICK | {"runs": 4, "horizon": 10, "problems": 20}
    runs: int = option(16, "independent runs of each pair of arms")
    horizon: int = option(200, "of the horizons up to 200 (60 for chains), those up to here; at least 10")
    problems: int = option(2000, "pairs of arms drawn from each prior")


def policies(name: str, horizon: int) -> dict[str, Policy]:
    """Everybody, those that know the prior first."""
    prior = PRIORS[name]
    depth = min(horizon, 200 if np.ndim(prior) == 2 else 60)
    knowing = {f"BayesGittins({b})": jaxbandit.BayesGittins.of(prior[:1], b, depth) for b in DISCOUNTS}
    return {OPTIMUM: jaxbandit.BayesOptimal.of(prior, horizon)} | knowing | playing_two_states()


def cases(settings: Settings) -> dict[str, Any]:
    """A case for each prior, with all its pairs of arms."""
    if settings.horizon < 10:
        raise ValueError(f"horizon: {settings.horizon} is below 10, the shortest horizon that is compared")
    made = {}
    for number, (name, prior) in enumerate(PRIORS.items()):
        space, random = PriorSpace(prior), np.random.default_rng([settings.seed, number])
        arms = {str(n): space.problem(random.random(space.dimension)).arms for n in range(settings.problems)}
        times = [n for n in HORIZONS[np.ndim(prior)] if n <= settings.horizon]
        made[name] = {"scenarios": arms, "policies": policies(name, times[-1]), "times": times} | settings.size()
        made[name] |= {"horizon": times[-1], "random_numbers": "independent"}
    return made


def multiples(result: Result, label: str, least: np.ndarray) -> metrics.Summary:
    """The Bayes regret of a policy at each horizon, divided by the least."""
    return metrics.Summary(*(field[0] / least for field in metrics.bayes_regret(result, label)))


def rows_of(result: Result, least: np.ndarray) -> list[Row]:
    """The least regret, and each policy as a multiple of it, the best at the last horizon first."""
    table = {label: multiples(result, label, least) for label in result.labels}
    rows: list[Row] = [{"policy": "least regret"} | {f"n = {n}": f"{x:.3f}" for n, x in zip(result.times, least)}]
    for label in sorted(table, key=lambda label: table[label].mean[-1]):
        row: Row = {"policy": label}
        for n, mean, high in zip(result.times, table[label].mean, table[label].high):
            only_last = label == OPTIMUM and n < result.times[-1]  # its table is not that of shorter horizons
            row[f"n = {n}"] = "" if only_last else f"{mean:.2f} ± {high - mean:.2f}"
        rows.append(row)
    return rows


def run(settings: Settings) -> dict[str, Result]:
    """Play all policies on arms from every prior, print what was seen and write the folder."""
    folder, results = begin_and_play("bayes", settings, cases(settings))
    print(f"{settings.problems:,} pairs of arms from each prior, {settings.runs} runs of each")
    tables: Tables = {}
    for name, result in results.items():
        least = np.array([bayes_optimum(PRIORS[name], int(n)).regret for n in result.times])
        title = f"{name}: multiples of the least Bayes regret"
        tables[name.replace(", ", "_").replace(" ", "_")] = title, rows_of(result, least)
    finish(folder, tables)
    return results


if __name__ == "__main__":
    main(run, Settings, "bayes", __doc__)
