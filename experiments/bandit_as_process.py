"""Arms as one decision process: what is it worth to know that an arm which is not played stands still?

The first arms of scenario 1 are played by policies for rested arms, and by policies for decision processes, for which
the states of all arms together are one state and which arm to play is the action. The best gain of the process is the
mean of the best arm. So both kinds of player are measured alike: the rounds times the best mean, minus the means of the
arms that were played. The rounds times the best mean minus what was collected stands beside it, and differs from it on
average by no more than the span of a bias.

In 'joint states' a play pays what the arm showed before it, and players know what states pay, as those of the arms do.
In 'joint states, mean pay' (environments.as_decision_process) a play pays the mean of what may be shown next, and
players learn what that is. Policies see the arms in an order that is drawn for each run, as some settle ties by it.
Prints and writes (CSV) a table and draws regret over rounds. Ctrl-C keeps what is done, and the same command continues.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from experiments.comparisons import growth
from experiments.processes import curves, structure
from jaxbandit import IMEDMC, KLUCB, TVKLUCB, Result, decision_processes
from jaxbandit.command_line.experiment import begin_and_play, finish
from jaxbandit.command_line.options import Simulation, main, option
from jaxbandit.environments import as_decision_process


@dataclasses.dataclass(frozen=True)
class Settings(Simulation):
    """Options of the experiment."""

    runs: int = option(200, "independent runs of every policy")
    arms: int = option(2, f"how many of scenario 1's arms, 2 to {structure.MOST_ARMS}, with 4 to 32 joint states")


def cases(settings: Settings) -> dict[str, Any]:
    """The arms, and two processes made of them."""
    size = settings.size() | {"times": growth.times(settings.horizon), "shuffle": True}
    if not 2 <= settings.arms <= structure.MOST_ARMS:
        raise ValueError(f"--arms: {settings.arms}; give 2 to {structure.MOST_ARMS}")
    arms = structure.arms_of(settings.arms)
    policies = {"IMED-MC": IMEDMC(), "TV-KL-UCB": TVKLUCB(), "KL-UCB": KLUCB()}
    planned = {structure.ARMS: {"scenarios": {structure.ARMS: arms}, "policies": policies, **size}}
    made = {structure.JOINT: (structure.joint(arms), "known"), structure.MEANS: (as_decision_process(arms), "learned")}
    for name, (process, rewards) in made.items():
        policies = structure.policies_of_process(process, rewards)
        planned[name] = {"scenarios": {name: process}, "policies": policies, **size}
    return planned


def run(settings: Settings) -> dict[str, Result]:
    """Play all three, print what was seen and write the folder."""
    planned = cases(settings)
    folder, results = begin_and_play("bandit_as_process", settings, planned)
    processes = [planned[name]["scenarios"][name] for name in (structure.JOINT, structure.MEANS)]
    spans = [decision_processes.optimal(process.transition, process.reward).span for process in processes]
    words = f"Spans of the best biases: {structure.JOINT} {spans[0]:.2f}, {structure.MEANS} {spans[1]:.2f}."
    size = f"{settings.arms} arms, {settings.runs:,} runs of {settings.horizon:,} rounds"
    title = f"What is lost with and without knowing that arms stand still: {size}"
    regrets = {
        name: {label: structure.regret_of_plays(result, label) for label in result.labels}
        for name, result in results.items()
    }
    figure = curves.side_by_side(regrets, results[structure.ARMS].times)
    finish(folder, {"table": (title, structure.rows(results))}, [("regret", figure)], words)
    return results


if __name__ == "__main__":
    main(run, Settings, "bandit_as_process", __doc__)
