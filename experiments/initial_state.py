"""Scenarios 2 and 4 with every arm starting in state 0, in each other state, or drawn from its stationary law.

All arms but the best stay where they are for thousands of plays (scenario 2) or hundreds (scenario 4), so that the
start decides much of the regret. Prints and writes
(CSV) final regret and the verdicts on the paper's claims for every start, and draws regret against time. Ctrl-C keeps
what is done, and the same command continues.
"""

from __future__ import annotations

from typing import Any

from experiments.published.claims import CLAIMS
from experiments.published.scenarios import SCENARIOS, policies, starts
from jaxbandit import Result, plotting
from jaxbandit.command_line.experiment import begin_and_play, finish
from jaxbandit.command_line.options import Simulation, main
from jaxbandit.reports.pictures import Pictures, legend_below, panels
from jaxbandit.reports.tables import Tables, final_table
from jaxbandit.reports.verdicts import judge

NAMES = ("scenario 2", "scenario 4")


def cases(settings: Simulation) -> dict[str, Any]:
    """A case for each scenario, with all its starts."""
    return {
        name: {"scenarios": starts(SCENARIOS[name]), "policies": policies(name), **settings.size()} for name in NAMES
    }


def tabulate(results: dict[str, Result]) -> Tables:
    """Final regret and verdicts for every start."""
    finals, verdicts = [], []
    for name, result in results.items():
        for number, start in enumerate(result.scenarios):
            about = {"scenario": name, "start": start}
            finals += [about | row for row in final_table(result, number)]
            verdicts += [about | row for row in judge(result, CLAIMS[name], number)]
    return {
        "table": ("Final pseudo-regret", finals),
        "claims": ("The paper's claims, judged on paired differences", verdicts),
    }


def draw(results: dict[str, Result]) -> Pictures:
    """Regret of every policy; a picture for each scenario, a panel for each start."""
    for name, result in results.items():
        figure, axes = panels(1, len(result.scenarios), (4.2 * len(result.scenarios), 4.8), sharey=True)
        figure.get_layout_engine().set(wspace=0.05)  # else the ticks of neighbours touch
        for number, (ax, start) in enumerate(zip(axes, result.scenarios, strict=True)):
            plotting.plot_regret(result, scenario=number, quantiles=(0.5,), logarithmic=True, ax=ax)
            ax.set_title(start)
            ax.set_ylabel(ax.get_ylabel() if number == 0 else "")
        runs = result.visits[result.labels[0]].shape[2]
        figure.suptitle(f"{name}: mean of {runs:,} runs, 95 % interval; dashed: median")
        legend_below(figure)
        yield f"initial_state_{name.split()[1]}", figure


def run(settings: Simulation) -> dict[str, Result]:
    """Play both scenarios from every start, print what was seen and write the folder."""
    folder, results = begin_and_play("initial_state", settings, cases(settings))
    print(f"{settings.runs:,} runs of {settings.horizon:,} rounds")
    finish(folder, tabulate(results), draw(results))
    return results


if __name__ == "__main__":
    main(run, Simulation, "initial_state", __doc__)
