"""Is what we play what others play? Policies that other packages have as well, side by side, and how fast both are.

Independent arms: every policy that SMPyBandits has, too, on Bernoulli arms, five that are easy to tell apart, and ten
that hardly ever pay (Garivier and Cappe 2011), and on five Gaussian arms. Ties: there an arm is drawn anew each time,
here the first arm is played of an order drawn for each run. Where one thing makes the difference, the package's policy
is also played with that one thing changed, in a row of its own.

Decision processes: UCRL2, PSRL and IMED-RL on RiverSwim with six states, beside scalar loops that we wrote from the
papers and numba compiles (extra `bench`), and beside those that statisticalrl-learners has.

Prints and writes (CSV) one table: mean regret of both with 95 % intervals, the difference with an interval that holds
for all rows together with 95 %, the verdict (agree, or differ, because ..), and on two of the problems rounds per
second of one processor. Draws final regret.

The packages need other versions of NumPy and scipy than we do. So each plays in an environment of its own, which this
command makes in the folder --environments at the first call, by `python -m venv` and pip; or in that of a Python that
is given. Where one cannot be had, as without a network, it is left out. Ctrl-C keeps what is done, and the same command
continues; runs may grow.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import t as student

import jaxbandit
from experiments.other_packages import packages
from experiments.other_packages.packages import Job, Package, Played
from experiments.other_packages.pairs import SMPYBANDITS, STATISTICALRL, Pair, on_arms, on_processes
from jaxbandit import Environment, Result, atlas, environments, metrics
from jaxbandit.command_line.experiment import begin_and_play, finish
from jaxbandit.command_line.options import Simulation, main, option
from jaxbandit.plotting import curve_style
from jaxbandit.reports.pictures import Pictures, frameless, panels
from jaxbandit.reports.tables import Row, in_short
from jaxbandit.reports.verdicts import interval
from jaxbandit.timing.stopwatch import processor_rate

ARMS = {"easy": "wide Bernoulli", "hard": "rare Bernoulli", "Gaussian": "wide Gaussian"}  # in the atlas
DEVIATION = {"Gaussian": 0.5}
PROCESS = "RiverSwim"
TIMED, TIMED_ROUNDS = ("easy", PROCESS), 20_000_000  # problems, and rounds of all runs together
MORE = 10  # times as many runs are played here, as they take no time
ROUNDING = 1e-9  # of rewards that were added in different orders

Theirs = dict[tuple[str, int], Played]  # by problem and number of the pair; without packages that cannot be had


@dataclasses.dataclass(frozen=True)
class Settings(Simulation):
    """Options of the experiment."""

    QUICK = Simulation.QUICK | {"horizon": 200, "process_horizon": 500}
    runs: int = option(500, f"independent runs there; {MORE} times as many here")
    horizon: int = option(1000, "rounds of a run on arms")
    process_horizon: int = option(20_000, "rounds of a run on a decision process")
    only_processes: bool = option(False, "decision processes only")
    environments: str = option("results/environments", "folder for the environments of other packages")
    python: str = option("", "a Python that has SMPyBandits, in place of its environment")
    process_python: str = option("", "a Python that has statisticalrl-learners, in place of its environment")


class Problem(NamedTuple):
    """What is played."""

    environment: Environment
    job: Job  # the same for other packages
    horizon: int
    pairs: list[Pair]


def problems(settings: Settings) -> dict[str, Problem]:
    """All of them, by name."""
    by_name = {}
    for name, arms in {} if settings.only_processes else ARMS.items():
        means = atlas[arms].arms.means().round(12).tolist()  # rounded, as they are computed from laws
        deviation, n = DEVIATION.get(name), settings.horizon
        made = jaxbandit.bernoulli(means) if deviation is None else environments.gaussian(means, deviation)
        by_name[name] = Problem(made, {"means": means, "deviation": deviation}, n, on_arms(n, deviation))
    process = environments.riverswim()
    job = {"moves": np.asarray(process.transition).tolist(), "reward": np.asarray(process.reward).tolist()}
    job |= {"best": float(process.comparator(1))}
    return by_name | {PROCESS: Problem(process, job, settings.process_horizon, on_processes())}


def cases(settings: Settings) -> dict[str, Any]:
    """A case for each problem, for us."""
    return {
        name: {
            "scenarios": {name: problem.environment},
            "policies": {pair.label: pair.ours for pair in problem.pairs},
            "shuffle": name != PROCESS,
            **settings.size(),
            **{"runs": MORE * settings.runs, "horizon": problem.horizon, "times": [problem.horizon]},
        }
        for name, problem in problems(settings).items()
    }


def play_theirs(settings: Settings, folder: Path) -> Theirs:
    """What other packages play."""
    asked: dict[Package, dict[tuple[str, int], list[Job]]] = {}
    for name, problem in problems(settings).items():
        for number, pair in enumerate(problem.pairs):
            job = problem.job | {"policy": pair.theirs, "arguments": pair.arguments}
            job |= {"horizon": problem.horizon, "seed": settings.seed}
            made = packages.blocks(f"{name}-{pair.label}", min(settings.runs, pair.most_runs), job, pair.package.block)
            asked.setdefault(pair.package, {})[name, number] = made
    theirs: Theirs = {}
    chosen = {SMPYBANDITS: settings.python, STATISTICALRL: settings.process_python}
    for package, jobs in asked.items():
        if python := packages.python_of(package, settings.environments, chosen.get(package, "")):
            place = folder / package.path.stem
            packages.play(package, python, [job for of_pair in jobs.values() for job in of_pair], place)
            theirs |= {key: packages.read(place, of_pair) for key, of_pair in jobs.items()}
    return theirs


def compare(ours: np.ndarray, theirs: np.ndarray, rows: int) -> tuple[float, float]:
    """Difference of two means, and half of its interval: Welch's, of 95 % for so many rows together (Bonferroni)."""
    difference = float(ours.mean() - theirs.mean())
    if not (np.ptp(ours) or np.ptp(theirs)):
        return difference, 0.0
    variances = np.array([runs.var(ddof=1) / len(runs) for runs in (ours, theirs)])
    degrees = variances.sum() ** 2 / (variances**2 / [len(ours) - 1, len(theirs) - 1]).sum()
    return difference, float(student.ppf(1 - 0.025 / rows, degrees) * np.sqrt(variances.sum()))


def verdict(difference: float, half: float, why: str) -> str:
    """What the interval says.

    >>> verdict(0.5, 1.0, "x"), verdict(1.5, 1.0, "of x"), verdict(-1.5, 1.0, "")
    ('agree', 'differ, because of x', 'differ, and we do not know why')
    """
    if abs(difference) <= half + ROUNDING:
        return "agree"
    return f"differ, because {why}" if why else "differ, and we do not know why"


def table(results: dict[str, Result], theirs: Theirs, settings: Settings) -> list[Row]:
    """A row for each pair: who else plays it, regret of both, the verdict, and where it is timed the speed of both."""
    rows: list[Row] = []
    for name, problem in problems(settings).items():
        timed = {pair.label: pair.ours for pair in problem.pairs if name in TIMED}
        size = {"runs": max(1, TIMED_ROUNDS // problem.horizon), "rounds": problem.horizon}
        rates = {label: processor_rate(problem.environment, policy, **size) for label, policy in timed.items()}
        for number, pair in enumerate(problem.pairs):
            arguments = ", ".join(f"{key}={value}" for key, value in pair.arguments.items())
            ours = metrics.regret(results[name], pair.label)[0, 0, :, -1]
            row: Row = {"problem": name, "policy": pair.label, "beside": pair.package.name}
            row |= {"as": f"{pair.theirs}({arguments})", "jaxbandit": in_short(ours)}
            row |= dict.fromkeys(("there", "difference", "verdict", "rounds/s", "rounds/s there", "ratio"), "-")
            if played := theirs.get((name, number)):
                difference, half = compare(ours, played.regret, len(theirs))
                ends = (round(end, 6) + 0.0 for end in (difference, difference - half, difference + half))  # no -0.0
                row |= {"there": in_short(played.regret), "difference": interval(*ends)}
                row["verdict"] = verdict(difference, half, pair.why)
            if here := rates.get(pair.label):
                row["rounds/s"] = f"{here:,.0f}"
                if played:
                    rate = len(played.regret) * problem.horizon / max(played.seconds, 1e-9)
                    row |= {"rounds/s there": f"{rate:,.0f}", "ratio": f"{here / rate:,.1f}"}
            rows.append(row)
    return rows


def in_words(rows: list[Row]) -> str:
    """How many rows agree, and which do not."""
    compared = [row for row in rows if row["verdict"] != "-"]
    apart = [f"{row['policy']} ({row['problem']}, {row['beside']})" for row in compared if row["verdict"] != "agree"]
    if not compared:
        return "No other package has played, and there is nothing to compare."
    return f"{len(compared) - len(apart)} of {len(compared)} rows agree; not: {', '.join(apart) or 'none'}."


def draw(results: dict[str, Result], theirs: Theirs, settings: Settings) -> Pictures:
    """Mean final regret with its 95 % interval: a panel for each problem, a mark for each player."""
    every = problems(settings)
    figure, axes = panels(1, len(every), (6.5 * len(every), 6), squeeze=False)
    for ax, (name, problem) in zip(axes[0], every.items()):
        result = results[name]
        players = {"jaxbandit": {label: metrics.regret(result, label)[0, 0, :, -1] for label in result.labels}}
        for number, pair in enumerate(problem.pairs):
            if played := theirs.get((name, number)):
                players.setdefault(pair.package.name, {})[pair.label] = played.regret
        for place, (player, regrets) in enumerate(players.items()):
            summaries = [metrics.summary(regret) for regret in regrets.values()]
            mean, half = [s.mean for s in summaries], [s.high - s.mean for s in summaries]
            rows = [result.labels.index(label) + 0.14 * place for label in regrets]
            style = curve_style(place) | {"linestyle": "none", "markersize": 4, "label": player}
            ax.errorbar(mean, rows, xerr=half, capsize=3, **style)
        ax.set(title=name, xlabel=f"regret after {problem.horizon:,} rounds", xscale="log")
        ax.set_yticks(range(len(result.labels)), result.labels)
        ax.invert_yaxis()
        ax.legend(frameon=False)
        frameless(ax)
    figure.suptitle("The same policies in several packages: mean with its 95 % interval")
    yield "peers", figure


def run(settings: Settings) -> dict[str, Result]:
    """Play all, print the table and write the folder."""
    size = f"{'processes' if settings.only_processes else settings.horizon}-{settings.process_horizon}"
    out = f"results/peers/{size}-seed{settings.seed}"  # without the runs, which may grow
    fixed = ("horizon", "process_horizon", "only_processes", "seed")
    folder, results = begin_and_play("peers", settings, cases(settings), default=out, fixed=fixed)
    theirs = play_theirs(settings, folder / "theirs")
    rows = table(results, theirs, settings)
    title = "Final regret and rounds a second of one processor; mean ± half of its 95 % interval, differences 95 % for "
    finish(folder, {"table": (title + "all rows together", rows)}, draw(results, theirs, settings), in_words(rows))
    return results


if __name__ == "__main__":
    main(run, Settings, "peers", __doc__)
