"""Is what we play what others play? Independent arms, every policy that SMPyBandits has as well, side by side.

Plays both packages on Bernoulli arms, five that are easy to tell apart, and ten that hardly ever pay (Garivier and
Cappe 2011), and on five Gaussian arms. Prints and writes (CSV) mean regret of both with 95 % intervals, the difference
with an interval that holds for all rows together with 95 %, the verdict (agree, or differ, because ..), rounds per
second of one processor, in what the definitions differ, and what we found to be wrong in SMPyBandits; draws final
regret. Ties: there an arm is drawn anew each time, here the first arm is played of an order drawn for each run. Where
we say that one thing makes the difference, the package's policy is also played with that one thing changed, in a row of
its own.

SMPyBandits 0.9.7 needs an older scipy than we do. So it plays in an environment of its own, which this command makes in
the folder --environment at the first call, by `python -m venv` and pip; or in that of --python. Where it cannot be had,
as without a network, ours plays alone. Ctrl-C keeps what is done, and the same command continues; runs may grow.
"""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.ticker import LogLocator

import jaxbandit
from experiments.command_line.experiment import begin, finish, play
from experiments.command_line.options import Simulation, main, option
from experiments.other_packages import smpybandits
from experiments.other_packages.environment import make
from experiments.other_packages.smpybandits import NAME, Pair, Played, gaussian_pairs, pairs
from experiments.reports.pictures import Pictures, frameless, panels
from experiments.reports.tables import Row, Tables, in_short
from experiments.reports.verdicts import interval
from experiments.timing.stopwatch import processor_rate
from jaxbandit import Environment, Policy, Result, atlas, confidence, divergences, environments, families, metrics
from jaxbandit.plotting import COLOURS

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

    runs: int = option(500, f"independent runs there; {MORE} times as many here")
    horizon: int = option(1000, "rounds of a run")
    environment: str = option("results/environments/smpybandits", "folder for the environment of SMPyBandits")
    python: str = option("", "a Python that has SMPyBandits, in the place of that environment")


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
    size = settings.size() | {"runs": MORE * settings.runs, "times": times(settings.horizon), "shuffle": True}
    return {
        name: {
            "scenarios": {name: arms_of(name)},
            "policies": {pair.label: pair.ours for pair in pairs_of(name, settings.horizon)},
            **size,
        }
        for name in PROBLEMS
    }


def play_theirs(settings: Settings, folder: Path) -> Theirs:
    """What SMPyBandits plays, or nothing and why."""
    asked = {
        (name, pair.label): smpybandits.jobs(pair, name, means, settings.runs, DEVIATION.get(name))
        for name, means in PROBLEMS.items()
        for pair in pairs_of(name, settings.horizon)
    }
    try:
        python = Path(settings.python or make(Path(settings.environment), smpybandits.REQUIREMENTS))
    except OSError as error:
        print(f"{NAME} cannot be had ({error}); jaxbandit plays alone")
        return {}
    request = {"horizon": settings.horizon, "times": times(settings.horizon), "seed": settings.seed}
    smpybandits.play(python, request | {"jobs": [job for blocks in asked.values() for job in blocks]}, folder)
    return {key: smpybandits.read(folder, blocks) for key, blocks in asked.items()}


def regret_of(plays: np.ndarray, means: list[float]) -> np.ndarray:
    """Pseudo-regret [R] of plays [R, K]."""
    return np.asarray(plays @ (max(means) - np.asarray(means)), float)


def compare(ours: np.ndarray, theirs: np.ndarray, rows: int) -> tuple[float, float]:
    """Difference of two means, and half of its interval: Welch's, of 95 % for so many rows together (Bonferroni)."""
    from scipy.special import stdtrit

    errors = np.array([each.var(ddof=1) / len(each) for each in (ours, theirs)])
    if not errors.any():
        return float(ours.mean() - theirs.mean()), 0.0
    freedom = errors.sum() ** 2 / (errors**2 / [len(ours) - 1, len(theirs) - 1]).sum()
    return float(ours.mean() - theirs.mean()), float(stdtrit(freedom, 1 - 0.025 / rows) * np.sqrt(errors.sum()))


def verdict(difference: float, half: float, why: str) -> str:
    """What the interval says.

    >>> verdict(0.5, 1.0, "x"), verdict(1.5, 1.0, "of x"), verdict(-1.5, 1.0, "")
    ('agree', 'differ, because of x', 'differ, and we do not know why')
    """
    if abs(difference) <= half:
        return "agree"
    return f"differ, because {why}" if why else "differ, and we do not know why"


def regret_rows(results: dict[str, Result], theirs: Theirs, horizon: int) -> list[Row]:
    """Mean final regret of both, their difference and the verdict."""
    rows: list[Row] = []
    for name, means in PROBLEMS.items():
        for pair in pairs_of(name, horizon):
            ours = metrics.pseudo_regret(results[name], pair.label)[0, 0, :, -1]
            row: Row = {"arms": name, "policy": pair.label, "jaxbandit": in_short(ours)}
            if theirs:
                other = regret_of(theirs[name, pair.label].plays[:, -1], means)
                difference, half = compare(ours, other, len(theirs))
                row[NAME] = in_short(other)
                row["difference"] = interval(difference, difference - half, difference + half)
                row["verdict"] = verdict(difference, half, pair.why)
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


def definition_rows(horizon: int) -> list[Row]:
    """What stands beside what, and in what they differ."""

    def named(pair: Pair) -> str:
        return f"{pair.theirs}({', '.join(f'{name}={value}' for name, value in pair.arguments.items())})"

    return [
        {
            "arms": kind,
            "policy": pair.label,
            NAME: named(pair),
            "jaxbandit": in_code(pair.ours),
            "difference": pair.why or "none",
        }
        for kind, name in {("Gaussian" if name in DEVIATION else "Bernoulli"): name for name in PROBLEMS}.items()
        for pair in pairs_of(name, horizon)
    ]


def in_code(policy: Policy) -> str:
    """The policy as it is made, without what is as usual.

    >>> in_code(jaxbandit.KLUCB(exploration=0.0, clock="arm"))
    "KLUCB(exploration=0.0, clock='arm')"
    """
    given = {
        field.name: getattr(policy, field.name)
        for field in dataclasses.fields(policy)  # type: ignore[arg-type]
        if getattr(policy, field.name) != field.default
    }
    return f"{type(policy).__name__}({', '.join(f'{name}={value!r}' for name, value in given.items())})"


def evidence_rows(found: dict[str, float]) -> list[Row]:
    """What its functions return and what is right, so that anyone can look."""
    divergence = float(divergences.bernoulli_kl(0.2, 0.5))
    bound = float(confidence.kl_lower(0.5, 0.2))
    gaussian = float(confidence.family_upper(0.5, 0.2, families.Gaussian(0.25)))

    def row(what: str, returned: str, right: str, follows: str) -> Row:
        return {"in SMPyBandits": what, "returns": f"{found[returned]:.4f}", "right": right, "what follows": follows}

    return [
        row("IMED's Dinf(0.2, 0.5)", "Dinf(0.2, 0.5)", f"{divergence:.4f}", "IMED plays all arms equally often"),
        row("kllcbBern(0.5, 0.2)", "kllcbBern(0.5, 0.2)", f"{bound:.4f}", "no lower bound: the mean itself"),
        row(
            "klUCB's call klucbGauss(0.5, 0.2, tolerance)",
            "klucbGauss(0.5, 0.2, 1e-4)",
            f"{gaussian:.4f}",
            "bounds of Gaussian arms far too low, since the tolerance, 1e-4, stands for the variance, 1/4",
        ),
        row(
            "1,000 seeds of its Evaluator on several processors",
            "runs of 1000 with the seed of another",
            "0",
            "some runs are one run twice, and intervals a little too short",
        ),
    ]


def tabulate(results: dict[str, Result], theirs: Theirs, found: dict[str, float], horizon: int) -> Tables:
    """All tables; without SMPyBandits those of ours."""
    chance = "mean ± half of its 95 % interval"
    chance += f"; difference: 95 % for all {len(theirs)} rows together" if theirs else ""
    tables: Tables = {"table": (f"Regret after {horizon:,} rounds; {chance}", regret_rows(results, theirs, horizon))}
    tables["speed"] = (f"Rounds a second of one processor, {TIMED} arms", speed_rows(theirs, horizon))
    if theirs:
        tables["definitions"] = ("What is compared with what, but for ties", definition_rows(horizon))
        tables["evidence"] = (f"What we believe to be wrong in {NAME}", evidence_rows(found))
    return tables


def draw(results: dict[str, Result], theirs: Theirs, horizon: int) -> Pictures:
    """Mean final regret of both with their intervals, a panel for each problem."""
    labels = list(dict.fromkeys(pair.label for name in PROBLEMS for pair in pairs_of(name, horizon)))
    figure, axes = panels(1, len(PROBLEMS), (15, 6), sharey=True)
    for ax, (name, means) in zip(axes, PROBLEMS.items()):
        for row, label in enumerate(labels):
            if label not in results[name].labels:
                continue
            seen = {"jaxbandit": metrics.pseudo_regret(results[name], label)[0, 0, :, -1]}
            if theirs:
                seen[NAME] = regret_of(theirs[name, label].plays[:, -1], means)
            for (who, values), colour, marker, up in zip(seen.items(), COLOURS, "os", (-0.14, 0.14)):
                s = metrics.summary(values)
                said = who if row == 0 else None
                half = [[s.mean - s.low], [s.high - s.mean]]
                ax.errorbar(
                    s.mean, row + up, xerr=half, color=colour, marker=marker, markersize=4, capsize=3, label=said
                )
        ax.set_xscale("log")
        ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 4, 6)))
        ax.xaxis.set_major_formatter("{x:g}")
        ax.minorticks_off()
        ax.set_title(f"{name}: {len(means)} arms")
        ax.set_xlabel(f"regret after {horizon:,} rounds")
        frameless(ax)
    axes[0].set_yticks(range(len(labels)), labels)
    axes[0].invert_yaxis()
    axes[0].legend(frameon=False)
    figure.suptitle("The same policies in two packages: mean with its 95 % interval")
    yield "peers", figure


def in_words(rows: list[Row]) -> str:
    """How many rows agree, and which do not."""
    apart = [f"{row['policy']} ({row['arms']})" for row in rows if str(row.get("verdict", "agree")) != "agree"]
    if not rows or "verdict" not in rows[0]:
        return f"{NAME} has not played: there is nothing to compare."
    return f"{len(rows) - len(apart)} of {len(rows)} rows agree; not: {', '.join(apart) or 'none'}."


def run(settings: Settings) -> dict[str, Result]:
    """Play both, print the tables and write the folder."""
    planned = cases(settings)
    out = f"results/peers/{settings.horizon}-seed{settings.seed}"  # without the runs, which may grow
    folder = begin("peers", settings, planned, default=out, fixed=("horizon", "seed"))
    results = play(planned, folder)
    try:
        theirs = play_theirs(settings, folder / "theirs")
    except KeyboardInterrupt:
        print("stopped; what is done is kept, and the same command continues")
        sys.exit(130)
    tables = tabulate(results, theirs, smpybandits.evidence(folder / "theirs") if theirs else {}, settings.horizon)
    finish(folder, tables, draw(results, theirs, settings.horizon), in_words(tables["table"][1]))
    return results


if __name__ == "__main__":
    main(run, Settings, "peers", __doc__)
