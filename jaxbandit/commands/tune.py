"""Numbers for a policy: chosen on some runs, judged on others, so that chance in the choice is not reported as a gain.

Plays every combination of the policy's grid on the training runs of all scenarios and takes the one of least criterion,
as a share of the default's, geometric mean over scenarios. The least of many is flattered by chance; therefore the
chosen values then meet the default ones on held-out runs, pair by pair. "chosen beats default" holds or does not hold
where the 95 % interval of the paired difference excludes 0. Prints and writes (CSV) both, draws the grid and the
distribution of regret on held-out runs. With --gradient, CMA-ES and descent along the gradient of mean regret search
between the least and the largest values of the grid, too, with as many rounds, and meet the grid's choice on the
held-out runs; for descent an index policy chooses by the softmax of its scores. Another criterion, more runs or more
scenarios go on with what is played.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

import jaxbandit
from jaxbandit import MarkovArms, Result, Soft, atlas, metrics, plotting
from jaxbandit.command_line.experiment import begin, finish, play
from jaxbandit.command_line.grids.criterion import choose, difference, in_words, measure, shares
from jaxbandit.command_line.grids.landscape import framed
from jaxbandit.command_line.grids.offered import GRIDS, grid_of
from jaxbandit.command_line.grids.policy_grid import Grid
from jaxbandit.command_line.grids.searches import POPULATION, Searched, by_cmaes, by_gradient, check_searches
from jaxbandit.command_line.grids.toml_file import PAPER
from jaxbandit.command_line.options import Simulation, names_in, option
from jaxbandit.reports.pictures import Pictures, panels
from jaxbandit.reports.tables import Row, Tables, final_table, write
from jaxbandit.reports.verdicts import Claim, interval, judge, verdict

DEFAULT, CHOSEN = "default", "chosen"


@dataclasses.dataclass(frozen=True)
class Settings(Simulation):
    """Options of the choice."""

    QUICK = Simulation.QUICK | {"held_out": 8}
    runs: int = option(500, "training runs")
    horizon: int = option(10_000, "rounds of a run")
    out: str = option("", "folder; default: results/tune/, a folder for each policy, horizon and seed")
    held_out: int = option(2000, "held-out runs, numbered behind the training runs")
    policy: str = option("TVKLUCB", f"one of {', '.join(GRIDS)}")
    scenarios: str = option("scenario 1, scenario 2", "of the paper, with commas between them")
    criterion: str = option("mean", "of the runs' final regret: mean, median or a quantile, as 0.9")
    gradient: bool = option(False, "also search by CMA-ES and along the gradient, with as many rounds as the grid")
    grid: str = option("", 'in place of the policy\'s own, as in TOML: "scale = [0.5, 1], exponent = [0.2, 0.3]"')


def cases(grid: Grid, arms: dict[str, MarkovArms], settings: Settings) -> dict[str, Any]:
    """The training runs: the default and the grid, a case for each scenario."""
    size = settings.size() | {"times": times(settings)}
    policies = {DEFAULT: grid.policy(), **grid.entries()}
    return {name: {"scenarios": {name: each}, "policies": policies, **size} for name, each in arms.items()}


def times(settings: Settings) -> list[int]:
    """The recorded rounds: the last, and the one that shows whether regret still grows."""
    return [settings.horizon // 2, settings.horizon]


def final_regret(results: dict[str, Result]) -> np.ndarray:
    """[scenario, candidate, run], the default first."""
    return np.stack(
        [
            np.concatenate([metrics.pseudo_regret(result, label)[0, :, :, -1] for label in result.labels])
            for result in results.values()
        ]
    )


def meet(
    grid: Grid, chosen: int, arms: dict[str, MarkovArms], settings: Settings, others: dict[str, Searched]
) -> dict[str, Result]:
    """The default, the chosen values and those of other searches on the held-out runs of every scenario."""
    policy = grid.variants()[chosen - 1].policy if chosen else grid.policy()
    runs = range(settings.runs, settings.runs + settings.held_out)
    size = settings.size() | {"runs": runs, "times": times(settings)}
    policies = {DEFAULT: grid.policy(), CHOSEN: policy} | {name: each.policy for name, each in others.items()}
    return {name: jaxbandit.simulate({name: each}, policies, **size) for name, each in arms.items()}


def searched(
    grid: Grid, chosen: int, arms: dict[str, MarkovArms], final: np.ndarray, settings: Settings
) -> dict[str, Searched]:
    """What other searches choose, with as many rounds as the grid's training runs."""
    variant = grid.variants()[chosen - 1] if chosen else None
    plays, size = (final.shape[1] - 1) * settings.runs, settings.size()
    means = dict(zip(arms, final[:, 0].mean(-1).tolist(), strict=True))
    runs = max(1, min(settings.runs, plays // (10 * POPULATION)))  # ten generations or more, as far as the rounds reach
    print("searching by CMA-ES, then along the gradient", flush=True)
    beyond = settings.runs + settings.held_out
    made = {"CMA-ES": by_cmaes(grid, variant, arms, plays, runs, beyond, size, settings.criterion)}
    made["gradient"] = by_gradient(grid, variant, arms, plays, means, size)
    if isinstance(soft := made["gradient"].policy, Soft):
        made["gradient, without softmax"] = made["gradient"]._replace(policy=soft.policy)
    return made


def beside_the_grid(others: dict[str, Searched], held_out: dict[str, Result], criterion: str) -> list[Row]:
    """Of each search the numbers, and in each scenario the criterion and its difference to the grid's choice."""
    rows: list[Row] = []
    for label, search in others.items():
        row: Row = {"search": label, "numbers": str(search), "training runs": search.plays}
        for name, result in held_out.items():
            mine, grids = (metrics.pseudo_regret(result, each)[0, 0, :, -1] for each in (label, CHOSEN))
            row[name] = float(measure(mine, criterion))
            row[f"minus the grid's, {name} (95%)"] = interval(*difference(mine, grids, criterion))
        rows.append(row)
    return rows


def training_table(grid: Grid, final: np.ndarray, arms: dict[str, MarkovArms], criterion: str) -> list[Row]:
    """Every candidate, the best first."""
    values = measure(final, criterion)
    fields = [dict.fromkeys(grid.axes, DEFAULT), *(variant.fields for variant in grid.variants())]
    rows: list[Row] = []
    for candidate, share in enumerate(shares(values)):
        row: Row = {axis: str(value) for axis, value in fields[candidate].items()}
        for name, value in zip(arms, values[:, candidate], strict=True):
            row[f"{in_words(criterion)}, {name}"] = float(value)
        row["share of the default's"] = f"{share:.3f}"
        rows.append(row)
    return [rows[candidate] for candidate in np.argsort(shares(values), kind="stable")]


def verdicts(results: dict[str, Result], training: np.ndarray, criterion: str) -> list[Row]:
    """Of each scenario the criterion in `training` [scenario, 2] and held out, and whether chosen beats default."""
    rows: list[Row] = []
    for (name, result), (default_before, chosen_before) in zip(results.items(), training, strict=True):
        default, chosen, *_ = final_regret({name: result})[0]
        (judged,) = judge(result, [Claim("", CHOSEN, DEFAULT, "")])
        row: Row = {
            "scenario": name,
            "default, held out": float(measure(default, criterion)),
            "chosen, held out": float(measure(chosen, criterion)),
            **{column: cell for column, cell in judged.items() if column not in ("claim", "paper")},
            "default, training": float(default_before),
            "chosen, training": float(chosen_before),
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


def name_of(grid: Grid, chosen: int) -> str:
    """The chosen candidate in words."""
    return grid.variants()[chosen - 1].label if chosen else f"{grid.name} as it is by default"


def tabulate(
    training: list[Row], judged: list[Row], held_out: dict[str, Result], name: str, settings: Settings
) -> Tables:
    """The best in training, and both policies on held-out runs with the verdicts."""
    criterion, words = settings.criterion, in_words(settings.criterion)
    finals: list[Row] = [
        {"scenario": scenario, **row} for scenario, result in held_out.items() for row in final_table(result)
    ]
    return {
        f"best_{criterion}": (
            f"Training, {settings.runs:,} runs of {settings.horizon:,} rounds: the least {words} of "
            f"{len(training)} (so flattered)",
            [*training[:5], *(row for row in training[5:] if DEFAULT in row.values())],
        ),
        f"final_{criterion}": (f"Final pseudo-regret on {settings.held_out:,} held-out runs", finals),
        f"verdicts_{criterion}": (f"chosen beats default, {words}: {name}", judged),
    }


def conclusion(grid: Grid, final: np.ndarray, chosen: int, judged: list[Row], criterion: str) -> str:
    """What the choice gains in training and on held-out runs, and whether the grid should be wider."""
    held = np.array([[row["default, held out"], row["chosen, held out"]] for row in judged])
    words = (
        f"chosen: {name_of(grid, chosen)}; its {in_words(criterion)} is "
        f"{shares(measure(final, criterion))[chosen]:.2f} times the default's in training, {shares(held)[1]:.2f} times "
        "on held-out runs (geometric mean over scenarios)"
    )
    if edges := at_edge(grid, chosen):
        words += f"\n{', '.join(edges)}: the least or the largest of the grid; a wider --grid may hold better values"
    return words


def draw(grid: Grid, final: np.ndarray, chosen: int, held_out: dict[str, Result], settings: Settings) -> Pictures:
    """The criterion over the grid in training, and the distribution of regret on held-out runs."""
    values = measure(final, settings.criterion)
    maps: dict[str, Any] = {f"{name} (default {value[0]:,.1f})": (None, value) for name, value in zip(held_out, values)}
    figure = framed(grid, maps | {"all: share of the default's": ("{:.2f}", shares(values))}, chosen)
    about = f"pseudo-regret after {settings.horizon:,} rounds, {settings.runs:,} training runs of {settings.policy}"
    figure.suptitle(f"{in_words(settings.criterion).capitalize()} of {about}; framed: chosen")
    yield f"training_{settings.criterion}", figure
    figure, axes = panels(1, len(held_out), squeeze=False)
    for ax, result in zip(axes.flat, held_out.values(), strict=True):
        plotting.plot_distribution(result, ax=ax)
        ax.set_title(f"{result.scenarios[0]}: final regret of {settings.held_out:,} held-out runs", fontsize="medium")
    yield f"held_out_{settings.criterion}", figure


def run(settings: Settings) -> list[Row]:
    """Choose, judge, print and write the folder."""
    grid, criterion = grid_of(settings.policy, settings.grid), settings.criterion
    arms = {name: atlas[name].arms for name in names_in(settings.scenarios, "--scenarios", PAPER)}
    measure(np.zeros(1), criterion)  # raises ValueError for what is not a criterion
    if settings.held_out < 2:
        raise ValueError(f"--held-out: {settings.held_out}; at least 2 are needed")
    grid.validate(arms.values(), "--grid: ")
    if settings.gradient:
        check_searches(grid, arms)
    planned = cases(grid, arms, settings)
    out = f"results/tune/{settings.policy}-{settings.horizon}-seed{settings.seed}"
    folder = begin("tune", settings, planned, default=out, fixed=("policy", "horizon", "seed", "grid"))
    final = final_regret(play(planned, folder))
    chosen = choose(final, criterion)
    others = searched(grid, chosen, arms, final, settings) if settings.gradient else {}
    held_out = meet(grid, chosen, arms, settings, others)
    training = training_table(grid, final, arms, criterion)
    write(training, folder / f"training_{criterion}.csv")
    judged = verdicts(held_out, measure(final, criterion)[:, [0, chosen]], criterion)
    tables = tabulate(training, judged, held_out, name_of(grid, chosen), settings)
    if others:
        tables[f"searches_{criterion}"] = (
            f"Other searches with as many rounds, {in_words(criterion)} on held-out runs beside the grid's choice",
            beside_the_grid(others, held_out, criterion),
        )
    finish(
        folder,
        tables,
        draw(grid, final, chosen, held_out, settings),
        conclusion(grid, final, chosen, judged, criterion),
    )
    return judged
