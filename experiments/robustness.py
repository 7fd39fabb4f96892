"""Which policy is robust? Mean regret over random arms with two states, and the worst problem that a search finds.

Plays every policy of the library that needs no argument and plays such arms, on random problems of two and five arms
(jaxbandit.stress.TwoStateSpace), for 1,000, 10,000 and 100,000 rounds. Then it searches, for each policy and number
of arms, for the problem on which the policy loses most to the best policy of a panel (jaxbandit.stress.worst), and lets
all policies play the worst problems of all. Prints and writes (CSV) mean regret over each space, the worst problem of
each policy as code, and all against all: row the policy, column whose worst problem. Draws all against all as tables of
colours, and mean over the space against worst found as one picture. Ctrl-C keeps what is done, and the same command
continues. The default takes about half an hour on two cores.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

import jaxbandit
from experiments.comparisons.study import Matrix, draw_matrix, playing_two_states
from jaxbandit import Policy, metrics, stress
from jaxbandit.command_line.experiment import begin, finish
from jaxbandit.command_line.options import Simulation, main, option
from jaxbandit.judging.judged_spaces import relabelled
from jaxbandit.plotting import COLOURS
from jaxbandit.reports.pictures import frameless, panels
from jaxbandit.reports.tables import Row, Tables, mean_and_interval
from jaxbandit.stress import Found, Survey

ARMS = (2, 5)
HORIZONS = (1_000, 10_000, 100_000)


@dataclasses.dataclass(frozen=True)
class Settings(Simulation):
    """Options of the comparison."""

    QUICK = Simulation.QUICK | {"runs": 4, "horizon": 1000, "problems": 4, "budget": 32, "judged": 8, "most": 1000}
    runs: int = option(32, "independent runs of each random problem")
    horizon: int = option(10_000, "rounds in which the search for the worst problems plays")
    problems: int = option(128, "random problems of each space; a quarter of them for 100,000 rounds")
    budget: int = option(256, "problems that the search for a policy's worst one plays")
    judged: int = option(1000, "new runs on which the worst problems are judged, and all against all")
    most: int = option(100_000, "of the horizons 1,000, 10,000 and 100,000 those up to here")


class Worst(NamedTuple):
    """The worst problems of all policies with so many arms, and all policies on each of them."""

    problems: dict[str, Found]  # by policy
    against: Matrix  # whose environments are the problems, by policy


Surveys = dict[tuple[int, int], Survey]  # by arms and horizon


def survey(policies: dict[str, Policy], settings: Settings, folder: Path) -> Surveys:
    """Every policy in every space."""
    surveys = {}
    for arms, horizon in ((arms, each) for arms in ARMS for each in HORIZONS if each <= settings.most):
        problems = max(2, settings.problems // (4 if horizon > 10_000 else 1))
        print(f"{problems} random problems of {arms} arms, {horizon:,} rounds", flush=True)
        size = {"problems": problems, "runs": settings.runs, "horizon": horizon, "key": settings.key()}
        space, panel = stress.TwoStateSpace(arms=arms), relabelled(stress.TwoStateSpace().panel(), policies)
        place = folder / f"{arms} arms, {horizon} rounds"
        surveys[arms, horizon] = stress.over(space, policies, panel=panel, folder=place, **size)
    return surveys


def search(policies: dict[str, Policy], arms: int, settings: Settings, folder: Path) -> Worst:
    """Of each policy the worst problem, then all policies on all of these."""
    problems: dict[str, Found] = {}
    size = {"horizon": settings.horizon, "key": settings.key(), "runs": settings.judged}
    space, panel = stress.TwoStateSpace(arms=arms), relabelled(stress.TwoStateSpace().panel(), policies)
    for label, policy in policies.items():
        print(f"the worst problem of {label} with {arms} arms", flush=True)
        place = folder / f"worst of {label}, {arms} arms"
        worst = stress.worst(policy, space, panel=panel, budget=settings.budget, number=1, folder=place, **size)
        if not worst or worst[0].stopped:
            raise KeyboardInterrupt
        problems[label] = worst[0]
    name, found = f"all against all, {arms} arms", {label: each.arms for label, each in problems.items()}
    case = {"scenarios": found, "policies": policies, "times": [settings.horizon], **size}
    result = jaxbandit.sweep({name: case}, folder / name)[name]
    means = np.array([metrics.regret(result, label)[:, 0, :, -1].mean(-1) for label in policies])
    columns = [(label, "") for label in problems]
    return Worst(problems, Matrix(list(policies), columns, np.maximum(means, 1e-9), np.zeros_like(means)))


def mean_rows(surveys: Surveys) -> list[Row]:
    """Of each policy its mean regret over each space, with half of its 95 % interval, the best of two arms first."""
    first = next(iter(surveys.values()))
    rows: list[Row] = []
    for label in sorted(first.labels, key=lambda label: first.mean(label).mean):
        means = {name: survey.mean(label) for name, survey in surveys.items()}
        cells = {
            f"K = {arms}, {n:,} rounds": f"{m.mean:,.0f} ± {m.high - m.mean:,.0f}" for (arms, n), m in means.items()
        }
        rows.append({"policy": label, **cells})
    return rows


def worst_rows(worst: Worst) -> list[Row]:
    """Of each policy its worst problem, the least avoidable regret first."""
    rows: list[Row] = []
    for label, each in sorted(worst.problems.items(), key=lambda item: item[1].avoidable.mean):
        row: Row = {"policy": label, **mean_and_interval(each.avoidable, "avoidable")}
        row |= {"the search believed": each.believed, "least": each.regrets[each.best].mean, "by": each.best}
        rows.append(row | {"problem": each.problem.code.removeprefix("jaxbandit.environments.")})
    return rows


def tabulate(surveys: Surveys, worst: dict[int, Worst], settings: Settings) -> Tables:
    """Mean over the spaces; of each number of arms the worst problems, and all against all."""
    tables: Tables = {"mean": ("Mean regret over the space, ± half of its 95 % interval", mean_rows(surveys))}
    for arms, each in worst.items():
        size = f"K = {arms}, {settings.horizon:,} rounds"
        tables[f"worst_{arms}"] = (f"The worst problem found of each policy, {size}", worst_rows(each))
        rows: list[Row] = [
            {"policy": label, **dict(zip(each.problems, row.tolist()))}
            for label, row in zip(each.against.policies, each.against.mean)
        ]
        tables[f"against_{arms}"] = f"Mean regret on the worst problem of each policy, {size}", rows
    return tables


def draw_trade_off(surveys: Surveys, worst: dict[int, Worst], settings: Settings) -> Figure:
    """Mean over the space against the worst found, both in units of the panel's least mean over the space."""
    figure, axes = panels(1, len(worst), (8.5 * len(worst), 6.5), squeeze=False)
    for ax, (arms, each) in zip(axes[0], worst.items(), strict=True):
        space = surveys[arms, settings.horizon]
        unit = min(space.mean(label).mean for label in space.panel)
        points = {
            label: (space.mean(label).mean / unit, max(problem.avoidable.mean / unit, 1e-2))
            for label, problem in each.problems.items()
        }
        ax.set(xscale="log", yscale="log")
        order = sorted(points, key=lambda label: points[label][1])
        for place, label in zip(np.linspace(0.02, 0.98, len(order)), order, strict=True):
            colour = COLOURS[2] if label in space.panel else COLOURS[0]
            ax.plot(*points[label], "o", color=colour)
            line = {"arrowstyle": "-", "color": colour, "alpha": 0.35, "linewidth": 0.8}
            beside = {"xytext": (1.04, place), "textcoords": "axes fraction", "va": "center"}
            ax.annotate(label, points[label], color=colour, arrowprops=line, **beside)
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axis.set_major_formatter("{x:g}")
            axis.set_minor_locator(NullLocator())
        words = {"xlabel": "mean regret over the space", "ylabel": "avoidable regret on the worst problem found"}
        frameless(ax, f"{arms} arms, {settings.horizon:,} rounds; unit {unit:,.0f}", **words)
    figure.suptitle("In units of the least mean regret that a policy of the panel (red) has over the space")
    return figure


def run(settings: Settings) -> tuple[Surveys, dict[int, Worst]]:
    """Play, print the tables and write the folder."""
    if settings.horizon not in HORIZONS or settings.horizon > settings.most:
        raise ValueError(f"horizon: {settings.horizon} is not one of {', '.join(map(str, HORIZONS))} up to --most")
    folder, policies = begin("robustness", settings, {}), playing_two_states()
    surveys = survey(policies, settings, folder / "counts")
    worst = {arms: search(policies, arms, settings, folder / "counts") for arms in ARMS}
    parts = {f"{arms} arms: whose worst problem": each.against for arms, each in worst.items()}
    all_against_all = draw_matrix(parts, {"all": len(policies)})
    pictures = [("robustness", draw_trade_off(surveys, worst, settings)), ("against", all_against_all)]
    finish(folder, tabulate(surveys, worst, settings), pictures)
    return surveys, worst


if __name__ == "__main__":
    main(run, Settings, "robustness", __doc__)
