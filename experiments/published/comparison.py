"""A comparison of the paper's policies in one of its scenarios: what the commands `scenario1` to `scenario4` do."""

from __future__ import annotations

import dataclasses
import time

from experiments.published.claims import CLAIMS
from experiments.published.scenarios import environment, policies
from jaxbandit import Result, plotting
from jaxbandit.command_line.experiment import begin, finish, play
from jaxbandit.command_line.options import Simulation, option
from jaxbandit.reports.pictures import Pictures, panels
from jaxbandit.reports.tables import Tables, filled, final_table, paired_table
from jaxbandit.reports.verdicts import judge

ABOUT = """
Prints final regret with its spread (it has heavy tails: a few runs lock on a wrong arm), paired differences, and a
verdict on each of the paper's claims; writes figures, tables (CSV) and counts (result.npz). Ctrl-C keeps what is done,
and the same command continues.
"""


@dataclasses.dataclass(frozen=True)
class Settings(Simulation):
    """Options of a comparison of policies."""

    initial_state: int | str = option(0, 'state of every arm before its first play: a number, or "stationary"')
    shuffle: bool = option(False, "draw an order of the arms for each run (ties go to the first arm)")


def compare_policies(name: str, settings: Settings) -> Result:
    """Play the scenario `name`, print its tables and write its folder; what was stopped or killed continues."""
    module = name.replace(" ", "")
    case = {
        "scenarios": {name: environment(name, initial_state=settings.initial_state)},
        "policies": policies(name),
        "shuffle": settings.shuffle,
        **settings.size(),
    }
    kind = f"-start{settings.initial_state}{'-shuffled' if settings.shuffle else ''}"
    folder = begin(module, settings, {name: case}, default=settings.default_folder(module) + kind)
    continues = (folder / "counts").exists()
    began = time.perf_counter()
    result = play({name: case}, folder)[name]
    seconds = time.perf_counter() - began
    result.save(folder / "result.npz")
    print(filled(in_words(result, settings)))
    rounds = len(result.labels) * settings.runs * settings.horizon
    speed = "" if continues else f"{rounds / 1e6:,.3g} million rounds in {seconds:.1f} s, compilation included; "
    finish(folder, tabulate(result), draw(result), speed=speed)
    return result


def in_words(result: Result, settings: Settings) -> str:
    """What was played."""
    (name,) = result.scenarios
    start = settings.initial_state if settings.initial_state == "stationary" else f"state {settings.initial_state}"
    order = "drawn for each run" if settings.shuffle else "as listed"
    best = int(result.means[0].argmax())
    return (
        f"{name}: {settings.runs:,} runs of {settings.horizon:,} rounds, arms start {start}, order {order}; "
        f"best arm {best + 1}, mean {result.means[0, best]:.4f}"
    )


def tabulate(result: Result) -> Tables:
    """Final regret, its paired differences, and the verdicts on the paper's claims."""
    (name,) = result.scenarios
    return {
        "table": ("Final pseudo-regret", final_table(result)),
        "paired": ("Paired differences of final regret, run by run: first minus second", paired_table(result)),
        "claims": ("The paper's claims, judged on paired differences", judge(result, CLAIMS[name])),
    }


def draw(result: Result) -> Pictures:
    """Regret (all policies, and without UCB-SM), distribution of final regret, plays of the last policy's arms."""
    close = [label for label in result.labels if label != "UCB-SM"]
    drawings = {
        "regret": lambda ax: plotting.plot_regret(result, logarithmic=True, ax=ax),
        "regret_kl": lambda ax: plotting.plot_regret(result, close, quantiles=(0.9,), ax=ax),
        "distribution": lambda ax: plotting.plot_distribution(result, ax=ax),
        "plays": lambda ax: plotting.plot_pulls(result, result.labels[-1], ax=ax),
    }
    for name, drawing in drawings.items():
        figure, ax = panels(size=(7, 4.5))
        drawing(ax)
        yield name, figure
