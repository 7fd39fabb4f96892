"""Is there a policy that is good on all random arms with two states? What was tried, whether it helped or not.

Plays the library's policies for chains with other numbers, and others that were made for this question
(experiments/robust/tried.py), on random problems of two and of five arms for 10,000 and for 100,000 rounds, twice: on
problems by which one may choose, and on others by which the choice is judged. Then on three named problems that a good
policy must not lose: scenario 1, independent arms that pay often ("i.i.d. high") and scenario 1 with a slow best arm
("best20"). Prints and writes (CSV) mean regret over the least of all policies in each space and over that of IMED-MC on
the named problems, and says which policies are within a tenth of the best everywhere. Ctrl-C keeps what is done, and
the same command continues.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np

import jaxbandit
from experiments.command_line.experiment import begin, finish
from experiments.command_line.options import Simulation, main, option
from experiments.reports.tables import Row, Tables, in_short
from experiments.robust.tried import Eliminating, Expecting, Sieved, Tempered
from jaxbandit import IMED, IMEDMC, KLUCB, MOSS, TVKLUCB, UCB1, Policy, ThompsonMC, atlas, metrics, stress
from jaxbandit.metrics import Summary, summary

SPACES = ((2, 10_000), (5, 10_000), (2, 100_000), (5, 100_000))  # arms and rounds
NAMED = ("scenario 1", "i.i.d. high", "best20")
NAMED_ROUNDS = 10_000
NEAR = 1.1  # times the best: within a tenth
LIBRARY: dict[str, Policy] = {
    **{"KLUCB": KLUCB(), "TVKLUCB": TVKLUCB(), "IMED": IMED(), "IMEDMC": IMEDMC()},
    **{"UCB1": UCB1(), "UCB1, bonus 1": UCB1(bonus=1.0), "UCB1, bonus 3": UCB1(bonus=3.0), "MOSS": MOSS()},
    **{f"IMEDMC, exponent {each:g}": IMEDMC(exponent=each) for each in (0.4, 0.45, 0.5, 0.55, 0.6, 0.7)},
    **{f"ThompsonMC, {a:g}, {b:g}": ThompsonMC(a, b) for a, b in ((1, 1), (1, 3), (1, 10), (0.5, 1), (2, 2))},
}
SIEVES = (  # exponent, factor, share, scale
    *((0.5, 2.0), (0.5, 4.0), (0.7, 3.0), (0.7, 6.0), (1.0, 10.0)),
    *((0.5, 1.0, 0.5), (0.6, 1.0, 0.5), (0.7, 3.0, 0.5), (0.8, 10.0, 0.5), (1.0, 20.0, 0.5)),
    *((1.0, 5.0, 0.5), (1.0, 5.0, 1.0), (1.0, 10.0, 0.5), (1.0, 10.0, 1.0)),
    *((0.5, 1.0, 0.0, 1.5), (0.5, 1.0, 0.0, 2.0), (1.0, 5.0, 0.5, 1.5), (1.0, 5.0, 0.5, 2.0)),
    *((1.0, 5.0, 0.75, 2.0), (1.0, 5.0, 1.0, 1.5), (1.0, 5.0, 1.0, 2.0), (1.0, 10.0, 0.5, 1.5)),
)
TRIED: dict[str, Policy] = {
    **{f"Sieved{numbers}": Sieved(*numbers) for numbers in SIEVES},
    **{
        f"Expecting{numbers}": Expecting(*numbers)
        for numbers in ((0.5, 0.0), (1.0, 0.0), (1.0, 0.5), (1.0, 1.0), (2.0, 1.0))
    },
    **{f"Tempered{numbers}": Tempered(*numbers) for numbers in ((1.0, 1.0, 2.0), (1.0, 3.0, 3.0), (1.0, 10.0, 3.0))},
    **{f"Eliminating({width:g})": Eliminating(width) for width in (0.5, 1.0, 2.0)},
}


@dataclasses.dataclass(frozen=True)
class Settings(Simulation):
    """Options of the comparison."""

    QUICK = Simulation.QUICK | {"runs": 2, "horizon": 10_000, "problems": 4, "named": 8}
    runs: int = option(32, "independent runs of each random problem")
    horizon: int = option(100_000, "of the spaces with 10,000 and 100,000 rounds those up to here")
    problems: int = option(128, "random problems of each space in each half; a quarter for 100,000 rounds")
    named: int = option(1000, "independent runs of each named problem")


Regrets = dict[tuple[int, int], dict[str, np.ndarray]]  # by arms and rounds, by policy: mean of each problem [N]


class Played(NamedTuple):
    """Everything that was played."""

    chosen: Regrets  # the half by which one may choose
    judged: Regrets
    named: dict[str, dict[str, Summary]]  # by problem and policy


def play(policies: dict[str, Policy], settings: Settings, folder: Path) -> Played:
    """Both halves of every space and the named problems, policy by policy: one more costs only its own play."""
    halves = []
    for name, key in zip(("to choose by", "to judge by"), jax.random.split(settings.key())):
        regrets: Regrets = {}
        for arms, rounds in (space for space in SPACES if space[1] <= settings.horizon):
            print(f"random problems {name}: {arms} arms, {rounds:,} rounds", flush=True)
            asked = {"problems": max(2, settings.problems // (4 if rounds > 10_000 else 1)), "runs": settings.runs}
            place = folder / f"{name}, {arms} arms, {rounds} rounds"
            for label, policy in policies.items():
                one = {label: policy}
                asked |= {"panel": one, "horizon": rounds, "key": key, "folder": place / label}
                found = stress.over(stress.TwoStateSpace(arms=arms), one, **asked)
                regrets.setdefault((arms, rounds), {})[label] = found.regrets[label].mean(-1)
        halves.append(regrets)
    case = {"scenarios": {name: atlas[name].arms for name in NAMED}, "times": [NAMED_ROUNDS], "horizon": NAMED_ROUNDS}
    case |= {"runs": settings.named, "key": settings.key()}
    results = jaxbandit.sweep(
        {label: case | {"policies": {label: policies[label]}} for label in policies}, folder / "named"
    )
    finals = {label: metrics.pseudo_regret(result, label)[:, 0, :, -1] for label, result in results.items()}
    named = {name: {label: summary(each[n]) for label, each in finals.items()} for n, name in enumerate(NAMED)}
    return Played(*halves, named)


def ratios(regrets: Regrets) -> dict[str, dict[tuple[int, int], float]]:
    """Mean regret of each policy over the least of all policies in the same space."""
    found: dict[str, dict[tuple[int, int], float]] = {}
    for space, each in regrets.items():
        least = min(values.mean() for values in each.values())
        for label, values in each.items():
            found.setdefault(label, {})[space] = float(values.mean() / least)
    return found


def rows_of(played: Played) -> list[Row]:
    """A row for each policy, the one nearest to the best in the half to choose by first; all numbers of the other."""
    chosen, judged = ratios(played.chosen), ratios(played.judged)
    rows: list[Row] = []
    for label in sorted(chosen, key=lambda label: max(chosen[label].values())):
        row: Row = {"policy": label}
        for (arms, rounds), each in played.judged.items():
            row[f"K = {arms}, {rounds:,}"] = f"{in_short(each[label])}  {judged[label][arms, rounds]:.2f}"
        for name, finals in played.named.items():
            half = float(finals[label].high - finals[label].mean)
            row[name] = f"{finals[label].mean:,.1f} ± {half:,.1f}  {_over_imed_mc(finals, label):.2f}"
        row["chosen by"] = f"{max(chosen[label].values()):.2f}"
        row["at worst"] = f"{max(judged[label].values()):.2f}"
        row["near everywhere"] = "yes" if is_near(played, label) else "no"
        rows.append(row)
    return rows


def is_near(played: Played, label: str) -> bool:
    """Whether a policy is within a tenth of the best in every space, and of IMED-MC on every named problem."""
    named = [_over_imed_mc(each, label) for each in played.named.values()]
    return max(*ratios(played.judged)[label].values(), *named) <= NEAR


def _over_imed_mc(each: dict[str, Summary], label: str) -> float:
    return float(each[label].mean / each["IMEDMC"].mean)


def in_words(played: Played) -> str:
    """Who is near the best everywhere, and who is nearest in the spaces alone."""
    chosen, judged = ratios(played.chosen), ratios(played.judged)
    near = [label for label in judged if is_near(played, label)]
    best = min(chosen, key=lambda label: max(chosen[label].values()))
    safe = [label for label in chosen if max(_over_imed_mc(each, label) for each in played.named.values()) <= NEAR]
    kept = min(safe, key=lambda label: max(chosen[label].values()))
    return (
        f"Within a tenth of the best in every space and of IMED-MC on all named problems: "
        f"{', '.join(near) or 'none'}.\n"
        f"Nearest to the best in the spaces, by the half to choose by: {best}; in the other half it has at most "
        f"{max(judged[best].values()):.2f} times the least mean regret.\n"
        f"Nearest of those within a tenth of IMED-MC on the named problems: {kept}; in the other half at most "
        f"{max(judged[kept].values()):.2f} times."
    )


def tabulate(played: Played) -> Tables:
    """One table of everything."""
    title = "Mean regret ± half of its 95 % interval, and times the least of all (named problems: times IMED-MC's)"
    return {"table": (title, rows_of(played))}


def run(settings: Settings) -> Played:
    """Play, print the table and write the folder."""
    if settings.horizon < min(rounds for _, rounds in SPACES):
        raise ValueError(f"horizon: {settings.horizon} is below 10,000, the rounds of the first space")
    folder = begin("candidates", settings, {})
    played = play(LIBRARY | TRIED, settings, folder / "counts")
    finish(folder, tabulate(played), words=in_words(played))
    return played


if __name__ == "__main__":
    main(run, Settings, "candidates", __doc__)
