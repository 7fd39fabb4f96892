"""Numbers for a policy: chosen on some runs, judged on others, so that luck in the choice is not reported as a gain.

Plays every combination of the policy's grid on the training runs of all scenarios and takes the one of least criterion,
as a share of the default's, geometric mean over scenarios. The least of many is flattered by chance; therefore the
chosen values then meet the default ones on held-out runs, pair by pair. "chosen beats default" holds or does not hold
where the 95 % interval of the paired difference excludes 0. Prints and writes (CSV) both, draws the grid and the
distribution of regret on held-out runs. Another criterion, more runs or more scenarios go on with what is played.
"""

from __future__ import annotations

import dataclasses
import sys
import tomllib
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

import jaxbandit
from experiments.command_line.experiment import check_cases, play
from experiments.command_line.folder import prepare
from experiments.command_line.options import Simulation, main, option
from experiments.grids.criterion import choose, difference, in_words, measure, shares
from experiments.grids.variants import NONE, Grid, make_grid
from experiments.published.comparison import save
from experiments.published.scenarios import SCENARIOS, environment
from experiments.reports.tables import Row, final_table, publish, write
from experiments.reports.verdicts import Claim, interval, judge, verdict
from jaxbandit import MarkovArms, Result, metrics

DEFAULT, CHOSEN = "default", "chosen"
EXPLORATION = [NONE, 0, 1, 3]
GRIDS: dict[str, dict[str, list[Any]]] = {
    "TVKLUCB": {
        "exploration": EXPLORATION,
        "exponent": [0.1, 0.15, 0.2, 0.25, 0.3, 0.4],
        "scale": [0.25, 0.5, 1, 2, 4],
    },
    "KLUCBMC": {"exploration": EXPLORATION, "unvisited": [0, 0.5, 1]},
    "KLUCB": {"exploration": [NONE, 0, 0.5, 1, 2, 3]},
    "RoundRobinKLUCB": {"exploration": EXPLORATION, "delta": [0, 0.05, 0.1, 0.2]},
    "UCBSM": {"L": [0.1, 0.2, 0.5, 1, 2, 5, 10, 343]},
    "UCB1": {"scale": [0.1, 0.2, 0.3, 0.5, 0.7, 1, 2]},
    "Thompson": {"a": [0.25, 0.5, 1, 2], "b": [0.25, 0.5, 1, 2]},
}


@dataclasses.dataclass(frozen=True)
class Settings(Simulation):
    """Options of the choice."""

    runs: int = option(500, "training runs")
    horizon: int = option(10_000, "rounds of a run")
    out: str = option("", "folder; default: results/tune/, a folder for each policy, horizon and seed")
    held_out: int = option(2000, "held-out runs, numbered behind the training runs")
    policy: str = option("TVKLUCB", f"one of {', '.join(GRIDS)}")
    scenarios: str = option("scenario 1, scenario 2", "of the paper, separated by commas")
    criterion: str = option("mean", "of the runs' final regret: mean, median or a quantile, as 0.9")
    grid: str = option("", 'in place of the policy\'s own, as in TOML: "scale = [0.5, 1], exponent = [0.2, 0.3]"')


def grid_of(settings: Settings) -> Grid:
    """The combinations to choose from.

    Raises:
      ValueError: the option and what would be right.
    """
    if settings.policy not in jaxbandit.ALL:
        raise ValueError(f"--policy: {settings.policy!r} is unknown; give one of {', '.join(jaxbandit.ALL)}")
    if settings.policy not in GRIDS and not settings.grid:
        raise ValueError(
            f"--policy: {settings.policy} has no grid of its own; give --grid, or one of {', '.join(GRIDS)}"
        )
    try:
        table = tomllib.loads(f"grid = {{{settings.grid}}}")["grid"] if settings.grid else GRIDS[settings.policy]
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f'--grid: {error}; write it as "scale = [0.5, 1], exponent = [0.2, 0.3]"') from None
    grid = make_grid(settings.policy, jaxbandit.ALL[settings.policy], table, "--grid: ")
    if not grid.axes:
        raise ValueError("--grid: one combination only; give at least one field several values")
    return grid


def scenarios_of(settings: Settings) -> dict[str, MarkovArms]:
    """The scenarios asked for.

    Raises:
      ValueError: one is unknown.
    """
    names = [name.strip() for name in settings.scenarios.split(",")]
    for name in names:
        if name not in SCENARIOS:
            raise ValueError(f"--scenarios: {name!r} is unknown; give some of {', '.join(SCENARIOS)}")
    return {name: environment(name) for name in names}


def cases(grid: Grid, arms: dict[str, MarkovArms], settings: Settings) -> dict[str, Any]:
    """The training runs: the default and the grid, a case for each scenario."""
    size = {"key": settings.key(), "runs": settings.runs, "horizon": settings.horizon, "times": times(settings)}
    policies = {DEFAULT: grid.policy(), **grid.entries()}
    return {name: {"scenarios": {name: each}, "policies": policies, **size} for name, each in arms.items()}


def times(settings: Settings) -> list[int]:
    return [settings.horizon // 2, settings.horizon]


def final_regret(results: dict[str, Result]) -> np.ndarray:
    """[scenario, candidate, run], the default first."""
    return np.stack(
        [
            np.concatenate([metrics.pseudo_regret(result, label)[0, :, :, -1] for label in result.labels])
            for result in results.values()
        ]
    )


def meet(grid: Grid, chosen: int, arms: dict[str, MarkovArms], settings: Settings) -> dict[str, Result]:
    """The default and the chosen values on the held-out runs of every scenario."""
    policy = grid.variants()[chosen - 1].policy if chosen else grid.policy()
    results = {}
    for name, each in arms.items():
        results[name] = jaxbandit.simulate(
            {name: each},
            {DEFAULT: grid.policy(), CHOSEN: policy},
            key=settings.key(),
            runs=range(settings.runs, settings.runs + settings.held_out),
            horizon=settings.horizon,
            times=times(settings),
        )
        if not results[name].complete:
            print("stopped; the training runs are kept, and the same command continues")
            sys.exit(130)
    return results


def training_table(grid: Grid, final: np.ndarray, arms: dict[str, MarkovArms], criterion: str) -> list[Row]:
    """Every candidate, the best first."""
    values = measure(final, criterion)
    fields = [dict.fromkeys(grid.axes, DEFAULT), *(variant.fields for variant in grid.variants())]
    rows: list[Row] = [
        {axis: str(value) for axis, value in fields[candidate].items()}
        | {
            f"{in_words(criterion)}, {name}": float(value)
            for name, value in zip(arms, values[:, candidate], strict=True)
        }
        | {"share of the default's": f"{share:.3f}"}
        for candidate, share in enumerate(shares(values))
    ]
    return [rows[candidate] for candidate in np.argsort(shares(values), kind="stable")]


def verdicts(results: dict[str, Result], training: np.ndarray, criterion: str) -> list[Row]:
    """Of each scenario the criterion in `training` [scenario, 2] and held out, and whether chosen beats default."""
    rows: list[Row] = []
    for (name, result), (default_before, chosen_before) in zip(results.items(), training, strict=True):
        default, chosen = final_regret({name: result})[0]
        (judged,) = judge(result, [Claim("", CHOSEN, DEFAULT, "")])
        row: Row = {
            "scenario": name,
            "default, training": float(default_before),
            "chosen, training": float(chosen_before),
            "default, held out": float(measure(default, criterion)),
            "chosen, held out": float(measure(chosen, criterion)),
            **{column: cell for column, cell in judged.items() if column not in ("claim", "paper")},
        }
        if criterion not in ("mean", "median"):
            value, low, high = difference(chosen, default, criterion)
            row[f"{criterion} quantile's difference (95%)"] = interval(value, low, high)
            row[f"{criterion} quantile's verdict"] = verdict(low, high)
        rows.append(row)
    return rows


def at_edge(grid: Grid, chosen: int) -> list[str]:
    """Numbers of which the chosen value is the least or the largest on offer."""
    fields = grid.variants()[chosen - 1].fields if chosen else {}
    numbers = {axis: [v for v in values if isinstance(v, int | float)] for axis, values in grid.axes.items()}
    return [axis for axis, values in numbers.items() if values and fields.get(axis) in (min(values), max(values))]


def draw(
    grid: Grid, final: np.ndarray, chosen: int, held_out: dict[str, Result], settings: Settings, folder: Path
) -> None:
    """The criterion over the grid in training, and the distribution of regret on held-out runs."""
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from jaxbandit import plotting

    *down, across = grid.axes
    rows = list(jaxbandit.grid(dict, **{axis: grid.axes[axis] for axis in down}))
    columns = [str(value) for value in grid.axes[across]]
    values = measure(final, settings.criterion)
    panels = {f"{name} (default {value[0]:,.1f})": ("{:,.0f}", value) for name, value in zip(held_out, values)}
    panels["all: share of the default's"] = ("{:.2f}", shares(values))
    size = (max(10, 2.5 + 0.7 * len(columns) * len(panels)), 1.5 + 0.28 * len(rows))
    figure, axes = plt.subplots(1, len(panels), figsize=size, layout="constrained", sharey=True)
    for ax, (title, (form, value)) in zip(axes, panels.items(), strict=True):
        table = np.maximum(value[1:], 1e-3).reshape(len(rows), len(columns))
        plotting.plot_heatmap(table, rows, columns, logarithmic=True, form=form, ax=ax)
        ax.set_title(title, fontsize="medium")
        ax.set_xlabel(across)
        i, j = divmod(chosen - 1, len(columns))
        for colour, width in (("white", 4), (plotting.COLOURS[2], 2)) if chosen else ():
            frame = {"fill": False, "edgecolor": colour, "linewidth": width, "clip_on": False}
            ax.add_patch(plt.Rectangle((j - 0.5, i - 0.5), 1, 1, **frame))
    about = f"pseudo-regret after {settings.horizon:,} rounds, {settings.runs:,} training runs of {settings.policy}"
    figure.suptitle(f"{in_words(settings.criterion).capitalize()} of {about}; framed: chosen")
    save(figure, folder / f"training_{settings.criterion}")
    figure, axes = plt.subplots(
        1, len(held_out), figsize=(6.5 * len(held_out), 4.3), layout="constrained", squeeze=False
    )
    for ax, result in zip(axes.flat, held_out.values(), strict=True):
        plotting.plot_distribution(result, ax=ax)
        ax.set_title(f"{result.scenarios[0]}: final regret of {settings.held_out:,} held-out runs", fontsize="medium")
    save(figure, folder / f"held_out_{settings.criterion}")


def run(settings: Settings) -> list[Row]:
    """Choose, judge, print and write the folder."""
    grid, arms, criterion = grid_of(settings), scenarios_of(settings), settings.criterion
    measure(np.zeros(1), criterion)
    if settings.held_out < 2:
        raise ValueError(f"--held-out: {settings.held_out}; at least 2 are needed")
    grid.validate([each.reward for each in arms.values()], "--grid: ")
    planned = cases(grid, arms, settings)
    check_cases(planned)
    counted = {field: getattr(settings, field) for field in ("policy", "horizon", "seed", "grid")}
    out = settings.out or f"results/tune/{settings.policy}-{settings.horizon}-seed{settings.seed}"
    folder = prepare(out, "tune", counted)
    final = final_regret(play(planned, folder))
    chosen = choose(final, criterion)
    held_out = meet(grid, chosen, arms, settings)
    rows = training_table(grid, final, arms, criterion)
    write(rows, folder / f"training_{criterion}.csv")
    judged = verdicts(held_out, measure(final, criterion)[:, [0, chosen]], criterion)
    finals = [{"scenario": name} | row for name, result in held_out.items() for row in final_table(result)]
    name = grid.variants()[chosen - 1].label if chosen else f"{settings.policy} as it is by default"
    publish(
        {
            f"best_{criterion}": (
                f"Training, {settings.runs:,} runs of {settings.horizon:,} rounds: the least {in_words(criterion)} of "
                f"{len(rows)} (so flattered)",
                [*rows[:5], *(row for row in rows[5:] if DEFAULT in row.values())],
            ),
            f"final_{criterion}": (f"Final pseudo-regret on {settings.held_out:,} held-out runs", finals),
            f"verdicts_{criterion}": (f"chosen beats default, {in_words(criterion)}: {name}", judged),
        },
        folder,
    )
    held = np.array([[row["default, held out"], row["chosen, held out"]] for row in judged])
    print(
        f"\nchosen: {name}; its {in_words(criterion)} is {shares(measure(final, criterion))[chosen]:.2f} times the "
        f"default's in training, {shares(held)[1]:.2f} times on held-out runs (geometric mean over scenarios)"
    )
    if edges := at_edge(grid, chosen):
        print(f"{', '.join(edges)}: the least or the largest of the grid; a wider --grid may hold better values")
    draw(grid, final, chosen, held_out, settings, folder)
    print(f"\nwritten to {folder}/")
    return judged


if __name__ == "__main__":
    main(run, Settings, "tune", __doc__)
