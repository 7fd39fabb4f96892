"""Budgets: how near the bound do rules come that act on M of K restless arms, all of which pay, as K grows?

Plays the atlas's arms in growing numbers, with M / K as in the atlas and all states seen, by Whittle's index, the
relaxation's priority rule, the myopic rule and random play; and by policies that steer the shares of arms in each state
towards the relaxation's: follow-the-virtual-advice, the two-set policy (arms of one kind) and LP-update with plans of
five rounds. "collapsing" is also played by those who see only the arms that they play ("unseen"; the bound is that for
players who see all). Ten arms are also played by policies that have to learn the chains. Prints and writes (CSV) the
gap: the relaxation's bound less what is collected, per arm and round, in the second half of the rounds, with its 95 %
interval. The relaxation keeps the budget only on average, and no policy collects more than it; the best policy's gap
stands beside it where it is known. About 40 minutes on two cores. For K arms with S states a run keeps 16 K S bytes of
each policy: 32 runs of 1,000 machines with ten states 5 MB. Ctrl-C keeps what is done, and the same command continues.

How the gap falls with K, beside what theory says: with many arms the share of arms in each state hardly fluctuates. If
the shares settle where the relaxation would have them, the gap of an index rule falls exponentially, or as 1 / sqrt(K)
if no state is played in part; that begins only when the fluctuations, about 1 / sqrt(K), are well below 'room': in the
state of which some arms are played and others are not, the share of all arms that are played, or that are not if these
are fewer. If the shares swing or rest elsewhere, the gap stays. 'Limit' is the gap without fluctuations; none is given
if states tie for the last plays. 'Exponent' is the power of K with which the gap changes from the fewest to the most
arms with a clear gap. What theory says of those that steer is proved under more conditions.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from experiments.budgets import gaps, problems
from experiments.budgets.gaps import Played
from jaxbandit import Policy, Result
from jaxbandit.command_line.experiment import begin, finish, play
from jaxbandit.command_line.options import Simulation, main, names_in, numbers_in, option
from jaxbandit.reports.tables import Tables
from jaxbandit.timing.machine import describe


@dataclasses.dataclass(frozen=True)
class Settings(Simulation):
    """Options of the experiment."""

    QUICK = Simulation.QUICK | {
        **{"runs": 4, "runs_steered": 4, "horizon": 100, "rounds_of_learners": 200},
        **{"scenarios": "maternal health, swinging", "sizes": "10, 30"},
    }
    runs: int = option(32, "independent runs of every policy with the most arms; of fewer arms as many more")
    runs_steered: int = option(64, "independent runs of those that steer; 0 to leave them out")
    horizon: int = option(1000, "rounds of a run")
    scenarios: str = option(", ".join(problems.NAMES), "of the atlas, with commas between them")
    sizes: str = option("5, 10, 30, 100, 300, 1000", "numbers of arms that give a whole number of plays, with commas")
    learners: int = option(10, "arms that learners play; 0 for no learners")
    rounds_of_learners: int = option(10_000, "rounds of a learner's run")

    def names(self) -> list[str]:
        """The problems asked for."""
        return names_in(self.scenarios, "--scenarios", problems.NAMES)


def of_arms(settings: Settings) -> list[tuple[str, int]]:
    """The problems, each with the numbers of arms that it can be played with."""
    names, numbers = settings.names(), numbers_in(settings.sizes, "--sizes", 2)
    pairs = [(name, number) for name in names for number in numbers if problems.playable(name, number)]
    if missing := set(names) - {name for name, _ in pairs}:
        none = f"give no whole number of plays in {', '.join(sorted(missing))}"
        raise ValueError(f"--sizes: {settings.sizes} arms {none}; try 10 or 30")
    return pairs


def of_unseen(settings: Settings) -> list[tuple[str, int]]:
    """Those of them that are also played by those who see only the arms that they play."""
    return [(name, number) for name, number in of_arms(settings) if name in problems.UNSEEN]


def of_learners(settings: Settings) -> list[tuple[str, int]]:
    """The problems that learners play, and the number of arms."""
    out = not_learned(settings)
    return [(name, settings.learners) for name in settings.names() if settings.learners and name not in out]


def not_learned(settings: Settings) -> dict[str, str]:
    """The problems that learners do not play although they are asked for, and why."""
    names, number = settings.names(), settings.learners
    if not number:
        return {}
    few = {name: "no whole number of plays" for name in names if not problems.playable(name, number)}
    if len(few) == len(names):
        none = "arms give no whole number of plays in any of the problems"
        raise ValueError(f"--learners: {number} {none}; try 10, or 0 for no learners")
    return {name: reason for name in names if (reason := problems.not_for_learners(name))} | few


def cases(settings: Settings) -> dict[str, Any]:
    """A case for each problem and number of arms, one more if its arms are also played unseen, and one for learners."""
    for name, least, why in (
        ("runs", 2, "an interval needs them"),
        ("runs_steered", 2 * (settings.runs_steered != 0), "an interval needs them, or 0"),
        ("horizon", 2, "the second half counts"),
        ("rounds_of_learners", 10, "with fewer nobody learns"),
    ):
        if (value := getattr(settings, name)) < least:
            raise ValueError(f"--{name.replace('_', '-')}: {value}; give at least {least}, as {why}")
    known, learned = of_arms(settings), of_learners(settings)
    most, rounds = max(numbers_in(settings.sizes, "--sizes", 2)), settings.rounds_of_learners
    stretches = sorted({int(t) for t in np.rint(np.geomspace(rounds / 1000, rounds, 13)) if t >= 1} | {rounds})

    def case(name: str, number: int, policies: dict[str, Policy], observed: bool = True) -> dict[str, Any]:
        arms = {"scenarios": {name: problems.arms_of(name, number, observed)}, "plays": problems.plays_of(name, number)}
        times = [settings.horizon // 2, settings.horizon]
        return settings.size() | arms | {"policies": policies, "runs": settings.runs * most // number, "times": times}

    planned = {case_name(*each): case(*each, problems.knowing(*each)) for each in known}
    for each in known if settings.runs_steered else ():
        planned[case_name(*each, "steered")] = case(*each, problems.steering(*each)) | {"runs": settings.runs_steered}
    for each in of_unseen(settings):
        planned[case_name(*each, "unseen")] = case(*each, problems.not_seeing(*each), observed=False)
    for each in learned:
        longer = {"runs": settings.runs, "horizon": rounds, "times": stretches}
        planned[case_name(*each, "learned")] = case(*each, problems.learning(*each)) | longer
    return planned


def case_name(name: str, number: int, how: str = "") -> str:
    """What a case is called: `how` is "steered", "unseen", "learned" or empty."""
    return f"{name}, {number} arms" + f", {how}" * bool(how)


def parts(results: dict[str, Result], settings: Settings) -> tuple[Played, Played, Played, Played]:
    """Results by problem and number of arms: of known chains, of those that steer, who see little, and who learn."""
    known = of_arms(settings)
    return (
        {each: results[case_name(*each)] for each in known},
        {each: results[case_name(*each, "steered")] for each in known if settings.runs_steered},
        {each: results[case_name(*each, "unseen")] for each in of_unseen(settings)},
        {each: results[case_name(*each, "learned")] for each in of_learners(settings)},
    )


def tabulate(results: dict[str, Result], settings: Settings) -> Tables:
    """Gaps, how they fall, and what learners lose."""
    known, steered, unseen, learned = parts(results, settings)
    every = gaps.rows(known) + gaps.rows(steered) + gaps.rows(unseen, False)
    tables: Tables = {
        "gaps": ("Gap to the relaxation's bound, per arm and round", every),
        "falls": ("How the gap falls with the number of arms K", gaps.falls(known, steered)),
    }
    if learned:
        tables["learned"] = "Those that learn the chains", gaps.learned_rows(learned)
    return tables


def run(settings: Settings) -> dict[str, Result]:
    """Play every problem, print what was seen and write the folder."""
    planned = cases(settings)
    folder = begin("budget", settings, planned)
    if out := not_learned(settings):
        print("not played by learners: " + ", ".join(f"{name} ({why})" for name, why in out.items()))
    results = play(planned, folder)
    print(f"{settings.runs:,} runs with the most arms, {settings.horizon:,} rounds")
    finish(folder, tabulate(results, settings), words=f"{describe()}.")
    return results


if __name__ == "__main__":
    main(run, Settings, "budget", __doc__)
