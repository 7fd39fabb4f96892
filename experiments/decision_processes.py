"""Decision processes: who learns where to go, and what it costs.

Plays RiverSwim in the numbers of several papers, a process whose states are all met again, a random one and episodes of
20 rounds, with optimistic policies, posterior sampling, IMED-RL and a player who knows the process. Prints and writes
(CSV) final regret, its tail, how it grows, and in which order the policies stand; how often IMED-RL fails where states
are hardly ever met again; and what plain loops of the same policies lose. Draws a picture of each process, and puts
all of it on one page, report.html. About five minutes on two cores; --processes plays single ones, also the large
'RiverSwim 25' and 'four rooms', and --quick shows in a minute that everything works. Ctrl-C keeps what is done, and the
same command continues.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from experiments.comparisons import growth
from experiments.processes import curves, losses, problems
from jaxbandit import Result
from jaxbandit.command_line.experiment import begin_and_play, finish
from jaxbandit.command_line.options import Simulation, main, names_in, option
from jaxbandit.reports.page import Report
from jaxbandit.reports.pictures import Pictures
from jaxbandit.reports.tables import Tables
from jaxbandit.timing.machine import describe

HOW_TO_READ = (
    "Regret is the best gain times the rounds, minus what was collected; in episodes, what the best policy collects "
    "from where they begin, minus what was collected. It has a spread even where nothing is lost; 'beyond known' is "
    "what a run loses beyond the player who knows the process and has the same random numbers. Policies stand in the "
    "order of their mean; the last column says whether a policy has less than the next one beyond chance, by the 95 % "
    "interval of their difference run by run. The exponent is that with which the mean beyond known grows in the last "
    "decade of rounds: 1 where a constant share is lost, 1/2 for a square root, 0.1 to 0.2 for a logarithm. A run is "
    "linear if it loses a tenth or more of what is to be had in the second half."
)
CAPTION = "Left, mean regret over rounds; right, the share of runs that lose x or more."
LINEAR = (
    "IMED-RL is made for processes in which every state is met again whatever is played. Here that is so, but hardly: "
    "a run in which the good end was not met early stays at the other one. A run loses a fifth if its regret is a "
    "fifth or more of what the best policy collects."
)


@dataclasses.dataclass(frozen=True)
class Settings(Simulation):
    """Options of the experiment."""

    QUICK = Simulation.QUICK | {"processes": f"RiverSwim, {problems.EPISODES}"}
    runs: int = option(100, "independent runs of every policy")
    processes: str = option(
        ", ".join(problems.SMALL), f"which, with commas between them, of {', '.join(problems.NAMES)}"
    )


def cases(settings: Settings) -> dict[str, Any]:
    """A case for each process."""
    names = names_in(settings.processes, "--processes", problems.NAMES)
    size = settings.size() | {"times": growth.times(settings.horizon)}
    policies = {name: problems.policies(name, settings.horizon) for name in names}
    return {name: {"scenarios": {name: problems.process(name)}, "policies": policies[name], **size} for name in names}


def tabulate(results: dict[str, Result]) -> Tables:
    """Final regret on every process, the linear runs of IMED-RL, and plain loops beside RiverSwim."""
    tables: Tables = {}
    for name, result in results.items():
        tables[file_name(name)] = f"{name}: final regret", losses.final_rows(result)
    if linear := losses.linear_rows(results):
        tables["linear"] = "Runs of IMED-RL that fail where states are hardly met again", linear
    if "RiverSwim" in results and (loops := losses.loop_rows(results["RiverSwim"])):
        runs = problems.LOOP_RUNS
        tables["loops"] = f"RiverSwim: mean regret beside {runs} runs of plain loops", loops
    return tables


def draw(results: dict[str, Result]) -> Pictures:
    """Regret over rounds and over runs, a picture for each process."""
    for name, result in results.items():
        yield file_name(name), curves.picture(result)


def file_name(name: str) -> str:
    return re.sub(r"\W+", "_", name)


def run(settings: Settings) -> dict[str, Result]:
    """Play every process, print what was seen and write the folder."""
    folder, results = begin_and_play("decision_processes", settings, cases(settings))
    print(f"{settings.runs:,} runs of {settings.horizon:,} rounds")
    tables = tabulate(results)
    size = f"{settings.runs:,} runs of {settings.horizon:,} rounds, seed {settings.seed}."
    captions = {file_name(name): (name, CAPTION) for name in results}
    report = Report("Decision processes: what learners lose", f"{size} {HOW_TO_READ}", captions)
    words = f"{LINEAR}\n" * ("linear" in tables) + f"{describe()}."
    finish(folder, tables, draw(results), words, report=report)
    return results


if __name__ == "__main__":
    main(run, Settings, "decision_processes", __doc__)
