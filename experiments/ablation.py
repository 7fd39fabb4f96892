"""What each choice inside TV-KL-UCB is worth, on all four scenarios, in one sweep that can be stopped and continued.

Every combination of: samples (whose plays set the radius: the arm's or the state's), clock of the test (rounds or the
arm's plays), distance of the test, estimated row of a state not yet left, exploration function. Prints the best and the
paper's own, writes all of them (CSV) and draws heat maps of the median and the mean of final regret.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np

import jaxbandit
from experiments.published.scenarios import SCENARIOS, environment
from jaxbandit import TVKLUCB, Result, metrics, plotting
from jaxbandit.command_line.experiment import begin, finish, play
from jaxbandit.command_line.options import Simulation, main, simulation
from jaxbandit.divergences import Distance
from jaxbandit.reports.pictures import Pictures, panels
from jaxbandit.reports.tables import Row, mean_and_interval, moments, write

Settings = simulation(horizon=10_000)
SAMPLES, CLOCKS = ("arm", "state"), ("round", "arm")
UNVISITED = (1.0, 0.0)
EXPLORATION = (None, 0.0, 3.0)
DISTANCES: dict[Distance, str] = {
    "total_variation": "total variation",
    "squared_hellinger": "squared Hellinger",
    "jensen_shannon": "Jensen-Shannon",
    "kl": "KL",
}
SHORT = {None: "1 + t log²t", 0.0: "t", 3.0: "t log³t"}
PAPER = ("arm", "round", "total variation", 1.0, SHORT[None])


class Choice(NamedTuple):
    """One combination, and its final regret in one scenario."""

    scenario: str
    samples: str
    clock: str
    distance: str
    unvisited: float
    exploration: str
    regret: np.ndarray  # [run]
    linear: float

    @property
    def is_paper(self) -> bool:
        return self[1:6] == PAPER


def cases(settings: Simulation) -> dict[str, Any]:
    """A case for each combination of what changes the program; numbers are variants of a case."""
    size = settings.size()

    def case(problem: str, samples: str, clock: str, distance: Distance) -> dict[str, Any]:
        def variant(unvisited: float, exploration: float | None) -> TVKLUCB:
            fixed: dict[str, Any] = {"samples": samples, "clock": clock, "distance": distance}
            return TVKLUCB(exploration=exploration, unvisited=unvisited, **fixed)

        labels = {"paper's f": EXPLORATION[:1], "log t + c log log t": EXPLORATION[1:]}
        policies = {label: [variant(u, e) for e in values for u in UNVISITED] for label, values in labels.items()}
        times = [settings.horizon // 2, settings.horizon]
        return {"scenarios": {problem: environment(problem)}, "policies": policies, "times": times, **size}

    return jaxbandit.grid(case, problem=SCENARIOS, samples=SAMPLES, clock=CLOCKS, distance=DISTANCES)


def choices(results: dict[str, Result]) -> Iterator[Choice]:
    """Every combination of the results, in the order of `cases` and its variants."""
    axes = product(SCENARIOS, SAMPLES, CLOCKS, DISTANCES)
    for (scenario, samples, clock, distance), result in zip(axes, results.values(), strict=True):
        variants = [
            (label, v) for label in result.labels for v in range(result.visits[label].shape[1])
        ]  # exploration outside, unvisited inside
        for (label, v), (exploration, unvisited) in zip(variants, product(EXPLORATION, UNVISITED), strict=True):
            regret = metrics.pseudo_regret(result, label)[0, v, :, -1]
            linear = float(metrics.linear_share(result, label)[0, v])
            yield Choice(scenario, samples, clock, DISTANCES[distance], unvisited, SHORT[exploration], regret, linear)


def table(choices: list[Choice]) -> list[Row]:
    """Every combination with its final regret and its paired difference from the paper's."""
    papers = {choice.scenario: choice.regret for choice in choices if choice.is_paper}
    rows: list[Row] = []
    for choice in choices:
        difference = metrics.summary(choice.regret - papers[choice.scenario])
        row: Row = {"scenario": choice.scenario, "samples": choice.samples, "clock": choice.clock}
        row |= {"distance": choice.distance, "row not visited": f"{choice.unvisited:g}", "f(t)": choice.exploration}
        row |= moments(choice.regret) | {"linear share": choice.linear}
        rows.append(row | mean_and_interval(difference, "minus the paper's", "its "))
    return rows


def highlights(choices: list[Choice], rows: list[Row]) -> list[Row]:
    """Of each scenario the paper's choice, and those of least mean and median: the best of many, so they flatter."""
    columns = ("scenario", "samples", "clock", "distance", "row not visited", "f(t)", "mean", "median", "linear share")
    chosen: list[Row] = []
    for scenario in SCENARIOS:
        here = [row for row in rows if row["scenario"] == scenario]
        (paper,) = (row for choice, row in zip(choices, rows) if choice.is_paper and choice.scenario == scenario)
        for name, row in (
            ("the paper's", paper),
            ("least mean", min(here, key=lambda row: row["mean"])),
            ("least median", min(here, key=lambda row: row["median"])),
        ):
            chosen.append({"choice": name, **{column: row[column] for column in columns}})
    return chosen


def draw(choices: list[Choice], settings: Simulation) -> Pictures:
    """Heat maps of the median and the mean: a panel for each scenario."""
    columns = [f"{SHORT[e]}\nrow {u:g}" for e, u in product(EXPLORATION, UNVISITED)]
    for name, statistic in (("median", np.median), ("mean", np.mean)):
        figure, axes = panels(2, 2, (13, 11), sharex=True, sharey=True)
        for ax, scenario in zip(axes.flat, SCENARIOS, strict=True):
            here = [choice for choice in choices if choice.scenario == scenario]
            values = np.reshape([statistic(choice.regret) for choice in here], (-1, len(columns)))
            rows = [f"{c.samples} | {c.clock} | {c.distance}" for c in here[:: len(columns)]]
            plotting.plot_heatmap(np.maximum(values, 1e-3), rows, columns, logarithmic=True, ax=ax)
            ax.set_title(f"{scenario}: paper's choice {values.flat[[c.is_paper for c in here].index(True)]:,.0f}")
        about = f"pseudo-regret after {settings.horizon:,} rounds, {settings.runs:,} runs of TV-KL-UCB"
        axes_names = "Down: samples | clock | distance. Across: f(t), estimated row of a state not yet left"
        figure.suptitle(f"{name.capitalize()} of {about}. {axes_names}")
        yield f"ablation_{name}", figure


def run(settings: Simulation) -> list[Choice]:
    """Play, print the highlights and write the folder."""
    planned = cases(settings)
    folder = begin("ablation", settings, planned)
    played = list(choices(play(planned, folder)))
    rows = table(played)
    write(rows, folder / "ablation.csv")
    print(f"{len(planned)} cases, {len(played)} variants, {settings.runs:,} runs of {settings.horizon:,} rounds")
    best = f"Final pseudo-regret: the paper's choice, best of all {len(played) // len(SCENARIOS)} (so flattered)"
    finish(folder, {"highlights": (best, highlights(played, rows))}, draw(played, settings))
    return played


if __name__ == "__main__":
    main(run, Settings, "ablation", __doc__)
