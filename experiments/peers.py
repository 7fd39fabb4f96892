"""Is what we play what others play? Policies that other packages have as well, side by side, and how fast both are.

Independent arms: every policy that SMPyBandits has, too, on Bernoulli arms, five that are easy to tell apart, and ten
that hardly ever pay (Garivier and Cappe 2011), and on five Gaussian arms. Ties: there an arm is drawn anew each time,
here the first arm is played of an order drawn for each run. Where we say that one thing makes the difference, the
package's policy is also played with that one thing changed, in a row of its own.

Decision processes: UCRL2, PSRL and IMED-RL on RiverSwim with six states, beside scalar loops that we wrote from the
papers and numba compiles (extra `bench`), and beside those that statisticalrl-learners has.

Prints and writes (CSV) mean regret of both with 95 % intervals, the difference with an interval that holds for all rows
of a table together with 95 %, the verdict (agree, or differ, because ..), rounds per second of one processor, in what
the definitions differ, and what we found to be wrong in SMPyBandits; draws final regret.

The packages need other versions of NumPy and scipy than we do. So each plays in an environment of its own, which this
command makes in the folder --environments at the first call, by `python -m venv` and pip; or in that of a Python that
is given. Where one cannot be had, as without a network, it is left out. Ctrl-C keeps what is done, and the same command
continues; runs may grow.
"""

from __future__ import annotations

import dataclasses
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

import jaxbandit
from experiments.command_line.experiment import begin, finish, play
from experiments.command_line.options import Simulation, main, option
from experiments.other_packages import blocks, process_learners, smpybandits
from experiments.other_packages.differences import definition_rows, evidence_rows
from experiments.other_packages.side_by_side import compared, dots, in_words
from experiments.other_packages.smpybandits import NAME, Pair, Played, gaussian_pairs, pairs
from experiments.reports.pictures import Pictures, panels
from experiments.reports.tables import Row, Tables, in_short
from experiments.timing.stopwatch import processor_rate
from jaxbandit import Environment, Result, atlas, environments, metrics

# means, rounded as they are computed from laws
PROBLEMS: dict[str, list[float]] = {
    name: atlas[arms].arms.means().round(12).tolist()
    for name, arms in {"easy": "wide Bernoulli", "hard": "rare Bernoulli", "Gaussian": "wide Gaussian"}.items()
}
DEVIATION = {"Gaussian": 0.5}  # of the problems that are not Bernoulli
MORE = 10  # times as many runs are played here, as they take no time
TIMED = "easy"  # the problem whose rounds are timed

Theirs = dict[tuple[str, str], Played]  # by problem and policy; empty where the package cannot be had


@dataclasses.dataclass(frozen=True)
class Settings(Simulation):
    """Options of the experiment."""

    QUICK = Simulation.QUICK | {"horizon": 200, "process_horizon": 500}
    runs: int = option(500, f"independent runs there; {MORE} times as many here")
    horizon: int = option(1000, "rounds of a run on arms")
    process_horizon: int = option(20_000, "rounds of a run on a decision process")
    only_processes: bool = option(False, "decision processes only")
    environments: str = option("results/environments", "folder for the environments of other packages")
    python: str = option("", "a Python that has SMPyBandits, in the place of its environment")
    process_python: str = option("", "a Python that has statisticalrl-learners, in the place of its environment")


def arms_of(name: str) -> Environment:
    """Our arms of the problem."""
    means = PROBLEMS[name]
    return environments.gaussian(means, DEVIATION[name]) if name in DEVIATION else jaxbandit.bernoulli(means)


def pairs_of(name: str, horizon: int) -> list[Pair]:
    """The policies that both have for the problem."""
    return gaussian_pairs(horizon, DEVIATION[name]) if name in DEVIATION else pairs(horizon)


def times(horizon: int) -> list[int]:
    """The rounds that are recorded, the horizon last."""
    return sorted({max(1, horizon // part) for part in (100, 10, 3, 1)})


def cases(settings: Settings) -> dict[str, Any]:
    """A case for each problem, for us."""
    size = settings.size() | {"runs": MORE * settings.runs}
    found = {process_learners.PROCESS: process_learners.case(size | {"horizon": settings.process_horizon})}
    if settings.only_processes:
        return found
    arms = {
        name: {
            "scenarios": {name: arms_of(name)},
            "policies": {pair.label: pair.ours for pair in pairs_of(name, settings.horizon)},
            "times": times(settings.horizon),
            "shuffle": True,
            **size,
        }
        for name in PROBLEMS
    }
    return arms | found


def play_theirs(settings: Settings, folder: Path) -> Theirs:
    """What SMPyBandits plays, or nothing and why."""
    python = blocks.python_of(smpybandits.PACKAGE, settings.environments, settings.python)
    if python is None:
        return {}
    asked = {
        (name, pair.label): smpybandits.jobs(pair, name, means, settings.runs, DEVIATION.get(name))
        for name, means in PROBLEMS.items()
        for pair in pairs_of(name, settings.horizon)
    }
    request = {"horizon": settings.horizon, "times": times(settings.horizon), "seed": settings.seed}
    request |= {"jobs": [job for of_pair in asked.values() for job in of_pair]}
    blocks.play(smpybandits.PACKAGE, python, request, folder)
    return {key: smpybandits.read(folder, of_pair) for key, of_pair in asked.items()}


def regret_of(plays: np.ndarray, means: list[float]) -> np.ndarray:
    """Pseudo-regret [R] of plays [R, K]."""
    return np.asarray(plays @ (max(means) - np.asarray(means)), float)


def regret_rows(results: dict[str, Result], theirs: Theirs, horizon: int) -> list[Row]:
    """Mean final regret of both, their difference and the verdict."""
    rows: list[Row] = []
    for name, means in PROBLEMS.items():
        for pair in pairs_of(name, horizon):
            ours = metrics.pseudo_regret(results[name], pair.label)[0, 0, :, -1]
            row: Row = {"arms": name, "policy": pair.label, "jaxbandit": in_short(ours)}
            if theirs:
                other = regret_of(theirs[name, pair.label].plays[:, -1], means)
                row |= compared(ours, NAME, other, len(theirs), pair.why)
            rows.append(row)
    return rows


def speed_rows(theirs: Theirs, horizon: int) -> list[Row]:
    """Rounds a second of processor time."""
    rows: list[Row] = []
    arms = arms_of(TIMED)
    for pair in pairs_of(TIMED, horizon):
        ours = processor_rate(arms, pair.ours)
        row: Row = {"policy": pair.label, "jaxbandit": f"{ours:,.0f}"}
        if theirs:
            played = theirs[TIMED, pair.label]
            other = len(played.plays) * horizon / max(played.seconds, 1e-9)
            row |= {NAME: f"{other:,.0f}", "ratio": f"{ours / other:,.0f}"}
        rows.append(row)
    return rows


def tabulate(results: dict[str, Result], theirs: Theirs, found: dict[str, float], horizon: int) -> Tables:
    """All tables of arms; without SMPyBandits those of ours."""
    chance = "mean ± half of its 95 % interval"
    chance += f"; difference: 95 % for all {len(theirs)} rows together" if theirs else ""
    tables: Tables = {"table": (f"Regret after {horizon:,} rounds; {chance}", regret_rows(results, theirs, horizon))}
    tables["speed"] = (f"Rounds a second of one processor, {TIMED} arms", speed_rows(theirs, horizon))
    if theirs:
        kinds = {("Gaussian" if name in DEVIATION else "Bernoulli"): pairs_of(name, horizon) for name in PROBLEMS}
        tables["definitions"] = ("What is compared with what, but for ties", definition_rows(kinds))
        tables["evidence"] = (f"What we believe to be wrong in {NAME}", evidence_rows(found))
    return tables


def draw(results: dict[str, Result], theirs: Theirs, horizon: int) -> Pictures:
    """Mean final regret of both with their intervals, a panel for each problem."""
    labels = list(dict.fromkeys(pair.label for name in PROBLEMS for pair in pairs_of(name, horizon)))
    figure, axes = panels(1, len(PROBLEMS), (15, 6), sharey=True)
    for ax, (name, means) in zip(axes, PROBLEMS.items()):
        regrets = {}
        for label in results[name].labels:
            regrets[label] = {"jaxbandit": metrics.pseudo_regret(results[name], label)[0, 0, :, -1]}
            if theirs:
                regrets[label][NAME] = regret_of(theirs[name, label].plays[:, -1], means)
        dots(ax, regrets, labels, horizon)
        ax.set_title(f"{name}: {len(means)} arms")
    axes[0].invert_yaxis()
    axes[0].legend(frameon=False)
    figure.suptitle("The same policies in two packages: mean with its 95 % interval")
    yield "peers", figure


def run(settings: Settings) -> dict[str, Result]:
    """Play both, print the tables and write the folder."""
    planned = cases(settings)
    size = f"{'processes' if settings.only_processes else settings.horizon}-{settings.process_horizon}"
    out = f"results/peers/{size}-seed{settings.seed}"  # without the runs, which may grow
    fixed = ("horizon", "process_horizon", "only_processes", "seed")
    folder = begin("peers", settings, planned, default=out, fixed=fixed)
    results = play(planned, folder)
    theirs = {} if settings.only_processes else play_theirs(settings, folder / "theirs")
    beside = process_learners.play(
        settings.runs,
        settings.process_horizon,
        settings.seed,
        settings.environments,
        settings.process_python,
        folder / "learners",
    )
    process = results[process_learners.PROCESS]
    tables, pictures, words = process_learners.tabulate(process, beside), [process_learners.draw(process, beside)], ""
    if not settings.only_processes:
        evidence = smpybandits.evidence(folder / "theirs") if theirs else {}
        of_arms = tabulate(results, theirs, evidence, settings.horizon)
        words = f"Arms: {in_words(of_arms['table'][1], 'arms')}\n"
        tables = of_arms | tables
        pictures = [draw(results, theirs, settings.horizon), *pictures]
    words += f"Decision processes: {in_words(tables['processes'][1], 'beside')}"
    finish(folder, tables, chain.from_iterable(pictures), words)
    return results


if __name__ == "__main__":
    main(run, Settings, "peers", __doc__)
