"""Arms that change: who follows, at what price.

Four parts, each with a table (printed and CSV) and a picture:

- growth: dynamic regret of arms that drift and of the lower bound's arms over five numbers of rounds and three
  variation budgets; its exponents with their intervals, beside 2/3 of the rounds and 1/3 of the budget.
- thesis: a published table of policies on two problems with four changes, beside the same policies here.
- changes: mean regret over random arms that change 1 to 100 times.
- chains: TV-KL-UCB, KL-UCB and IMED-MC, with a discount and with windows, on the chains of scenario 1 that take turns.

Ctrl-C keeps what is done, and the same command continues.
"""

from __future__ import annotations

import dataclasses
from itertools import chain
from typing import Any

from experiments.change import chains, growth, segments, thesis
from jaxbandit import Result
from jaxbandit.command_line.experiment import begin_and_play, finish
from jaxbandit.command_line.options import Simulation, main, option


@dataclasses.dataclass(frozen=True)
class Settings(Simulation):
    """Options of the experiment."""

    QUICK = Simulation.QUICK | {"horizon": 160, "problems": 2, "runs_of_problem": 2}
    problems: int = option(64, "random arms for each number of changes")
    runs_of_problem: int = option(16, "runs of each of them")


def cases(settings: Settings) -> dict[str, Any]:
    """What is played of growth, the thesis's table and the chains."""
    if settings.horizon < 2 * growth.SHORTEST:
        raise ValueError(f"--horizon: {settings.horizon} is too short for changes; give at least {2 * growth.SHORTEST}")
    size = settings.size()
    return growth.cases(settings.horizon, size) | thesis.cases(size) | chains.cases(size)


def run(settings: Settings) -> dict[str, Result]:
    """Play all four parts, print what was seen and write the folder."""
    folder, results = begin_and_play("changing", settings, cases(settings))
    rounds = min(settings.horizon, segments.ROUNDS)
    surveys = segments.play(settings.problems, settings.runs_of_problem, settings.key(), folder / "changes", rounds)
    of_thesis = {name: results[name] for name in thesis.PROBLEMS}
    of_chains = {name: results[name] for name in chains.NAMES}
    print(f"{settings.runs:,} runs; {thesis.numbers()}")
    finish(
        folder,
        {
            "growth": ("Exponents of mean dynamic regret", growth.exponents(results, settings.horizon)),
            "thesis": ("A published table, and the same policies here", thesis.table(of_thesis)),
            "changes": (f"Mean dynamic regret after {rounds:,} rounds over random arms", segments.table(surveys)),
            "chains": (f"Final dynamic regret after {settings.horizon:,} rounds", chains.table(of_chains)),
        },
        chain(
            growth.draw(results, settings.horizon),
            thesis.draw(of_thesis),
            segments.draw(surveys),
            chains.draw(of_chains),
        ),
    )
    return results


if __name__ == "__main__":
    main(run, Settings, "changing", __doc__)
