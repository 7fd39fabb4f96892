"""A sweep that a TOML file describes: scenarios, policies with grids of their fields, and how much to play.

Prints and writes (CSV) final regret of every variant, draws the regret over time of each policy's best variant and, for
grids of one or two numbers, regret against them. What is played already is kept: more runs, another scenario or another
policy in the file play only what is new. Ctrl-C keeps what is done, and the same command continues.

experiments/specs/example.toml is a file to start from.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import replace
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from experiments.command_line.experiment import play
from experiments.command_line.folder import prepare
from experiments.command_line.options import argument, main, option
from experiments.grids.toml_file import Specification, read
from experiments.grids.variants import Grid
from experiments.published.comparison import save
from experiments.reports.tables import Row, final_table, publish, show
from jaxbandit import Result, metrics, plotting
from jaxbandit.arguments import check
from jaxbandit.results import whole_file
from jaxbandit.simulation import rounds_left


@dataclasses.dataclass(frozen=True)
class Settings:
    """Options of a sweep."""

    spec: str = argument("TOML file")
    out: str = option("", "folder for figures, tables and counts; default: results/sweep/, a folder for each file name")
    list: bool = option(False, "print the cases and how many rounds they have, and play nothing")


def cases_table(specification: Specification) -> list[Row]:
    """What is to be played."""
    return [
        {
            "scenario": scenario,
            "policy": policy,
            "variants": f"{sum(map(len, case['policies'].values())):,}",
            "million rounds": f"{rounds_left(check(**case)) / 1e6:,.4g}",
        }
        for (scenario, policy), case in specification.cases().items()
    ]


def by_variant(specification: Specification, results: dict[tuple[str, str], Result]) -> dict[str, Result]:
    """A result of each scenario in which every variant has a label."""
    whole = {}
    for scenario in specification.scenarios:
        visits = {
            variant.label: results[scenario, grid.name].visits[variant.entry][:, [variant.position]]
            for grid in specification.grids
            for variant in grid.variants()
        }
        whole[scenario] = replace(results[scenario, specification.grids[0].name], visits=visits)
    return whole


def table(specification: Specification, whole: dict[str, Result]) -> list[Row]:
    """Final regret of every variant in every scenario, a column for each field of a grid."""
    variants = [(grid.name, variant) for grid in specification.grids for variant in grid.variants()]
    axes = dict.fromkeys(axis for grid in specification.grids for axis in grid.axes)
    rows: list[Row] = []
    for scenario, result in whole.items():
        for (policy, variant), row in zip(variants, final_table(result), strict=True):
            fields = {axis: str(variant.fields.get(axis, "")) for axis in axes}
            rows.append({"scenario": scenario, "policy": policy, **fields} | dict(list(row.items())[1:]))
    return rows


def best(grid: Grid, result: Result) -> str:
    """Label of the variant with the least mean final regret."""
    labels = [variant.label for variant in grid.variants()]
    return min(labels, key=lambda label: metrics.pseudo_regret(result, label)[0, 0, :, -1].mean())


def draw(specification: Specification, results: dict[tuple[str, str], Result], folder: Path) -> None:
    """Regret over time; regret against the numbers of every grid that has one or two."""
    whole = by_variant(specification, results)
    save(regret(specification, whole), folder / "regret")
    for grid in specification.grids:
        played = [results[scenario, grid.name] for scenario in specification.scenarios]
        if len(grid.numbers) == 1:
            save(lines(grid, played), folder / f"parameter_{grid.name}")
        elif len(grid.numbers) == 2:
            for entry in grid.entries():
                save(heatmaps(grid, entry, played), folder / f"parameter_{entry}")
        elif grid.numbers:
            print(f"\n{grid.name}: {len(grid.numbers)} numbers are too many for a picture; see table.csv")


def regret(specification: Specification, whole: dict[str, Result]) -> Figure:
    """Regret over time of every policy's best variant, a panel for each scenario."""
    figure, axes = _panels(math.ceil(len(whole) / 2), min(len(whole), 2))
    for ax, result in zip(axes.flat, whole.values()):
        visits = {}
        for grid in specification.grids:
            label, count = best(grid, result), len(grid.variants())
            visits[label + (f" (least mean of {count})" if count > 1 else "")] = result.visits[label]
        shown = replace(result, visits=visits)
        means = [metrics.pseudo_regret(shown, label)[0, 0, :, -1].mean() for label in visits]
        far_apart = max(means) > 10 * min(means)  # on a linear axis the small ones would be one line
        plotting.plot_regret(shown, quantiles=(0.5,), logarithmic=far_apart, ax=ax)
    for ax in axes.flat[len(whole) :]:
        ax.remove()
    return figure


def lines(grid: Grid, played: list[Result]) -> Figure:
    """Regret against the grid's number, a panel for each scenario and a line for each choice."""
    ((number, values),) = grid.numbers.items()
    wide = min(values) > 0 and max(values) >= 8 * min(values)
    figure, axes = _panels(math.ceil(len(played) / 2), min(len(played), 2))
    for ax, result in zip(axes.flat, played):
        options = {"parameter": f"{number} of {grid.policy.__name__}", "axis": "log" if wide else "linear"}
        plotting.plot_parameter(result, values, quantiles=(0.5,), ax=ax, **options)
    for ax in axes.flat[len(played) :]:
        ax.remove()
    return figure


def heatmaps(grid: Grid, entry: str, played: list[Result]) -> Figure:
    """Mean and median regret against the grid's two numbers, a column for each scenario."""
    (down, rows), (across, columns) = grid.numbers.items()
    figure, axes = _panels(2, len(played))
    for (name, statistic), row in zip((("mean", np.mean), ("median", np.median)), axes, strict=True):
        for ax, result in zip(row, played, strict=True):
            final = metrics.pseudo_regret(result, entry)[0, :, :, -1]
            values = statistic(final, axis=-1).reshape(len(rows), len(columns))
            names = [[f"{value:g}" for value in axis] for axis in (rows, columns)]
            plotting.plot_heatmap(values, *names, logarithmic=values.min() > 0, ax=ax)
            ax.set_title(f"{result.scenarios[0]}: {name}", fontsize="medium")
            ax.set_xlabel(across)
            ax.set_ylabel(down)
    runs = final.shape[-1]
    figure.suptitle(f"{entry}: pseudo-regret after {result.horizon:,} rounds, {runs:,} runs")
    return figure


def _panels(rows: int, columns: int) -> tuple[Figure, np.ndarray]:
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    size = (6.5 * columns, 4.3 * rows)
    figure, axes = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
    return figure, axes


def run(settings: Settings) -> dict[str, Result]:
    """Play what the file describes, print the table and write the folder."""
    path = Path(settings.spec)
    specification = read(path)
    planned = cases_table(specification)
    print(show(planned))
    if settings.list:
        return {}
    folder = prepare(settings.out or f"results/sweep/{path.stem}", "sweep", {})
    cases = {f"{scenario}: {policy}": case for (scenario, policy), case in specification.cases().items()}
    played = play(cases, folder)
    results = dict(zip(specification.cases(), played.values(), strict=True))
    whole = by_variant(specification, results)
    first = next(iter(whole.values()))
    runs = next(iter(first.visits.values())).shape[2]
    title = f"Final pseudo-regret, {runs:,} runs of {first.horizon:,} rounds"
    publish({"table": (title, table(specification, whole))}, folder)
    draw(specification, results, folder)
    with whole_file(folder / "spec.toml") as file:
        file.write(path.read_bytes())
    print(f"\nwritten to {folder}/")
    return whole


if __name__ == "__main__":
    main(run, Settings, "sweep", __doc__)
