"""A sweep that a TOML file describes: scenarios, policies with grids of their fields, and how much to play.

Prints and writes (CSV) final regret of every variant, draws the regret over time of each policy's best variant and, for
grids of one or two numbers, regret against them. What is played already is kept: more runs, another scenario or another
policy in the file play only what is new. Ctrl-C keeps what is done, and the same command continues.

In the repository experiments/specs/example.toml is a file to start from.
"""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from matplotlib.figure import Figure

from jaxbandit import Result, metrics, plotting
from jaxbandit.command_line.experiment import begin, finish, play
from jaxbandit.command_line.grids.landscape import a_panel_each, heatmaps, lines
from jaxbandit.command_line.grids.policy_grid import Grid
from jaxbandit.command_line.grids.toml_file import SweepFile, read
from jaxbandit.command_line.options import Quick, argument, option
from jaxbandit.reports.pictures import Pictures
from jaxbandit.reports.tables import Row, final_table, put, show
from jaxbandit.simulation.asking.request import check
from jaxbandit.simulation.progress import rounds_left

IN_SHORT = "to see that everything works: 8 runs of 500 rounds, in a folder of their own"


@dataclasses.dataclass(frozen=True)
class Settings(Quick):
    """Options of a sweep."""

    QUICK: ClassVar[dict[str, Any]] = {}
    spec: str = argument("TOML file")
    out: str = option("", "folder for figures, tables and counts; default: results/sweep/, a folder for each file name")
    list: bool = option(False, "print the cases and how many rounds they have, and play nothing")
    quick: bool = dataclasses.field(default=False, kw_only=True, metadata={"help": IN_SHORT})


def cases_table(asked: SweepFile) -> list[Row]:
    """What is to be played."""
    return [
        {
            "scenario": scenario,
            "policy": policy,
            "variants": f"{sum(map(len, case['policies'].values())):,}",
            "million rounds": f"{rounds_left(check(**case)) / 1e6:,.4g}",
        }
        for (scenario, policy), case in asked.cases().items()
    ]


def by_variant(asked: SweepFile, results: dict[tuple[str, str], Result]) -> dict[str, Result]:
    """A result of each scenario in which every variant has a label."""
    whole = {}
    for scenario in asked.scenarios:
        visits = {
            variant.label: results[scenario, grid.name].visits[variant.entry][:, [variant.position]]
            for grid in asked.grids
            for variant in grid.variants()
        }
        whole[scenario] = replace(results[scenario, asked.grids[0].name], visits=visits)
    return whole


def table(asked: SweepFile, whole: dict[str, Result]) -> list[Row]:
    """Final regret of every variant in every scenario, a column for each field of a grid."""
    variants = [(grid.name, variant) for grid in asked.grids for variant in grid.variants()]
    axes = dict.fromkeys(axis for grid in asked.grids for axis in grid.axes)
    rows: list[Row] = []
    for scenario, result in whole.items():
        for (policy, variant), row in zip(variants, final_table(result), strict=True):
            fields: Row = {axis: str(variant.fields.get(axis, "")) for axis in axes}
            del row["policy"]
            rows.append({"scenario": scenario, "policy": policy, **fields, **row})
    return rows


def best(grid: Grid, result: Result) -> str:
    """Label of the variant with the least mean final regret."""
    labels = [variant.label for variant in grid.variants()]
    return min(labels, key=lambda label: metrics.pseudo_regret(result, label)[0, 0, :, -1].mean())


def draw(asked: SweepFile, results: dict[tuple[str, str], Result]) -> Pictures:
    """Regret over time; regret against the numbers of every grid that has one or two."""
    yield "regret", regret(asked, by_variant(asked, results))
    for grid in asked.grids:
        played = [results[scenario, grid.name] for scenario in asked.scenarios]
        if len(grid.numbers) == 1:
            yield f"parameter_{grid.name}", lines(grid, played)
        elif len(grid.numbers) == 2:
            for entry in grid.entries():
                yield f"parameter_{entry}", heatmaps(grid, entry, played)
        elif grid.numbers:
            print(f"\n{grid.name}: {len(grid.numbers)} numbers are too many for a picture; see table.csv")


def regret(asked: SweepFile, whole: dict[str, Result]) -> Figure:
    """Regret over time of every policy's best variant, a panel for each scenario."""
    figure, axes = a_panel_each(len(whole))
    for ax, result in zip(axes, whole.values(), strict=True):
        visits = {}
        for grid in asked.grids:
            label, count = best(grid, result), len(grid.variants())
            visits[label + (f" (least mean of {count})" if count > 1 else "")] = result.visits[label]
        chosen = replace(result, visits=visits)
        means = [metrics.pseudo_regret(chosen, label)[0, 0, :, -1].mean() for label in visits]
        far_apart = max(means) > 10 * min(means)  # on a linear axis the small ones would be one line
        plotting.plot_regret(chosen, quantiles=(0.5,), logarithmic=far_apart, ax=ax)
    return figure


def run(settings: Settings) -> dict[str, Result]:
    """Play what the file asks for, print the table and write the folder."""
    path = Path(settings.spec)
    asked = read(path, settings.quick)
    print(show(cases_table(asked)))
    if settings.list:
        return {}
    cases = {f"{scenario}: {policy}": case for (scenario, policy), case in asked.cases().items()}
    folder = begin("sweep", settings, cases, default=f"results/sweep/{path.stem}{'-quick' * settings.quick}", fixed=())
    results = dict(zip(asked.cases(), play(cases, folder).values(), strict=True))
    put(folder / "spec.toml", path.read_bytes())
    whole = by_variant(asked, results)
    first = next(iter(whole.values()))
    title = f"Final pseudo-regret, {first.runs:,} runs of {first.horizon:,} rounds"
    finish(folder, {"table": (title, table(asked, whole))}, draw(asked, results))
    return whole
