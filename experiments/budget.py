"""Budgets: how near the bound do rules come that act on M of K restless arms, all of which pay, as K grows?

Plays the atlas's arms with ever more of them, M / K as in the atlas, whose states are all seen, with Whittle's index,
the relaxation's priority rule, the myopic rule and random play. Prints and writes (CSV) how far each stays behind the
relaxation's bound, an arm and a round, in the second half of the rounds, with its 95 % interval; how that falls with K;
and what theory says of it: the shares of arms in each state then move without chance, and the gap falls exponentially
where they come to rest at what the relaxation would play (as 1 / sqrt(K) if no state is played in part), and stays
where they swing for ever or rest elsewhere. The best policy's gap stands beside where it is known. Then plays ten arms
with those that have to learn the chains. Draws gaps against K and against time, and puts all of it on one page,
report.html. About ten minutes on two cores. Of K arms with S states a run keeps 16 K S bytes of each policy: 32 runs of
1,000 machines with ten states 5 MB. Ctrl-C keeps what is done, and the same command continues.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from experiments.budgets import curves, gaps, problems
from experiments.budgets.gaps import Played
from experiments.command_line.experiment import begin, finish, play
from experiments.command_line.options import Simulation, main, names_in, option, quickly
from experiments.reports import page
from experiments.reports.pictures import Pictures
from experiments.reports.tables import Tables
from experiments.timing.machine import describe
from jaxbandit import Result

QUICK = {"runs": 4, "horizon": 100, "problems": "maternal health; swinging", "arms": "10 30", "rounds_of_learners": 200}
HOW_TO_READ = (
    "The gap is the relaxation's bound less what is collected, an arm and a round, in the second half of the rounds. "
    "No policy exceeds the bound, in which the budget is kept on average only, so that a part of the gap is nobody's "
    "fault. 'Limit' is the gap with ever more arms: the shares of arms in each state then move by a map without "
    "chance. The exponent is that of K between the fewest and the most arms whose gap is clear: -1/2 for a square "
    "root, ever lower for an exponential fall. 'Room' is how far chance may carry the share of arms of the state that "
    "is played in part before the rule plays in other states: the exponential fall begins where 1 / sqrt(K) is well "
    "below it. Where states tie, arms are played by their number, and the limit, in which they share the budget, says "
    "nothing."
)
LEARNERS = (
    "Ten arms (M as in the atlas). Learners are told what states pay and what plays cost, and see all states. The gap "
    "of a learner cannot fall below that of the rule it learns, Whittle's, by much."
)


@dataclasses.dataclass(frozen=True)
class Settings(Simulation):
    """Options of the experiment."""

    runs: int = option(32, "independent runs of every policy with the most arms; of fewer arms as many more")
    horizon: int = option(1000, "rounds of a run")
    problems: str = option("; ".join(problems.NAMES), "names in the atlas, with ; between them")
    arms: str = option("5 10 30 100 300 1000", "numbers of arms; those are left out of which no whole number is played")
    learners: int = option(10, "arms that learners play; 0 for none")
    rounds_of_learners: int = option(10_000, "rounds of a learner's run")
    quick: bool = option(False, "4 runs of 100 rounds of two problems, to see that everything works")

    def whole(self) -> Settings:
        """The settings to play with: with --quick, its own numbers."""
        return quickly(self, QUICK)

    def names(self) -> list[str]:
        """The problems asked for."""
        return names_in(self.problems, "--problems", problems.NAMES)

    def numbers(self) -> list[int]:
        """The numbers of arms asked for, the least first.

        Raises:
          ValueError: they are none.
        """
        words = self.arms.split()
        if not words or not all(word.isdecimal() and int(word) > 1 for word in words):
            raise ValueError(f"--arms: {self.arms!r} is not a list of numbers of at least 2, such as '10 30 100'")
        return sorted({int(word) for word in words})


def of_arms(settings: Settings) -> list[tuple[str, int]]:
    """The problems, each with the numbers of arms of which a whole number is played.

    Raises:
      ValueError: a problem has no such number.
    """
    numbers = settings.numbers()
    found = [(name, n) for name in settings.names() for n in numbers if 0 < problems.plays_of(name, n) < n]
    if missing := set(settings.names()) - {name for name, _ in found}:
        raise ValueError(f"--arms: of none of {settings.arms} a whole number is played in {', '.join(sorted(missing))}")
    return found


def of_learners(settings: Settings) -> list[tuple[str, int]]:
    """The problems that learners play, and the number of arms."""
    number = settings.learners
    return [
        (name, number)
        for name in settings.names()
        if number > 1 and 0 < problems.plays_of(name, number) < number and problems.learning(name, number)
    ]


def cases(settings: Settings) -> dict[str, Any]:
    """A case for each problem and number of arms, and one for the learners of each problem."""
    most, horizon, rounds = max(settings.numbers()), settings.horizon, settings.rounds_of_learners
    if horizon < 2:
        raise ValueError(f"--horizon: {horizon} rounds have no second half; play 2 or more")
    if rounds < 10:
        raise ValueError(f"--rounds-of-learners: {rounds} are too few to see anybody learn; play 10 or more")
    found = {}
    for name, number in of_arms(settings):
        found[told(name, number)] = {
            "scenarios": {name: problems.arms_of(name, number)},
            "policies": problems.knowing(name, number),
            "plays": problems.plays_of(name, number),
            "runs": settings.runs * most // number,
            "horizon": horizon,
            "times": [horizon // 2, horizon],
            "key": settings.key(),
        }
    stretches = sorted({int(t) for t in np.rint(np.geomspace(rounds / 1000, rounds, 13)) if t >= 1} | {rounds})
    for name, number in of_learners(settings):
        found[told(name, number, True)] = {
            "scenarios": {name: problems.arms_of(name, number)},
            "policies": problems.learning(name, number),
            "plays": problems.plays_of(name, number),
            "runs": settings.runs,
            "horizon": rounds,
            "times": stretches,
            "key": settings.key(),
        }
    return found


def told(name: str, number: int, learned: bool = False) -> str:
    """What a case is called."""
    return f"{name}, {number} arms{', learned' * learned}"


def parts(results: dict[str, Result], settings: Settings) -> tuple[Played, Played]:
    """What those play who know the chains, and what learners play, by problem and number of arms."""
    return (
        {each: results[told(*each)] for each in of_arms(settings)},
        {each: results[told(*each, True)] for each in of_learners(settings)},
    )


def tabulate(results: dict[str, Result], settings: Settings) -> Tables:
    """Gaps, how they fall, and what learners lose."""
    known, learned = parts(results, settings)
    found: Tables = {
        "gaps": ("Gap to the relaxation's bound, an arm and a round", gaps.rows(known)),
        "falls": ("How the gap falls with the number of arms K", gaps.falls(known)),
    }
    if learned:
        found["learned"] = "Those that learn the chains", gaps.learned_rows(learned)
    return found


def draw(results: dict[str, Result], settings: Settings) -> Pictures:
    """Gaps against the number of arms, and of learners against time."""
    known, learned = parts(results, settings)
    yield "gaps", curves.over_arms(known)
    if learned:
        yield "learned", curves.over_rounds(learned)


def report(path: Path, results: dict[str, Result], found: Tables, settings: Settings) -> None:
    """One page with every table and picture."""
    page.write(path, "Budgets: how near the bound", _parts(results, found, settings))


def _parts(results: dict[str, Result], found: Tables, settings: Settings) -> Iterator[str]:
    sizes = f"{settings.runs:,} runs with the most arms, {settings.horizon:,} rounds, seed {settings.seed}."
    yield page.paragraph(f"{sizes} {HOW_TO_READ}")
    captions = {"gaps": "Gap against the number of arms.", "learned": f"Gap against time. {LEARNERS}"}
    for name, figure in draw(results, settings):
        yield page.picture(figure, name, captions[name])
        plt.close(figure)
    for name in ("falls", "learned", "gaps"):
        if name in found:
            title, rows = found[name]
            yield page.heading(title)
            yield page.table(rows)
    yield page.paragraph(f"{describe()}.")


def run(settings: Settings) -> dict[str, Result]:
    """Play every problem, print what was seen and write the folder."""
    settings = settings.whole()
    planned = cases(settings)
    folder = begin("budget", settings, planned)
    results = play(planned, folder)
    print(f"{settings.runs:,} runs with the most arms, {settings.horizon:,} rounds")
    found = tabulate(results, settings)
    finish(folder, found, draw(results, settings))
    report(folder / "report.html", results, found, settings)
    print(f"report: {folder / 'report.html'}")
    return results


if __name__ == "__main__":
    main(run, Settings, "budget", __doc__)
