"""A comparison of policies in one scenario: simulate, tabulate, judge the paper's claims, draw."""

from __future__ import annotations

import time
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

from experiments.command_line.experiment import check_cases, play
from experiments.command_line.folder import folder_of
from experiments.command_line.options import Settings
from experiments.published.scenarios import environment, policies
from experiments.reports.tables import final_table, paired_table, publish
from experiments.reports.verdicts import CLAIMS, judge
from jaxbandit import Result


def run(name: str, settings: Settings) -> Result:
    """Run the scenario `name`, print its tables and write its folder; what was stopped or killed continues."""
    module = name.replace(" ", "")
    case = {
        "scenarios": {name: environment(name, initial_state=settings.initial_state)},
        "policies": policies(name),
        "key": settings.key(),
        **{option: getattr(settings, option) for option in ("runs", "horizon", "shuffle")},
    }
    check_cases({name: case})
    shuffled = "-shuffled" if settings.shuffle else ""
    folder = folder_of(module, settings, f"-start{settings.initial_state}{shuffled}")
    begun = (folder / "counts").exists()
    began = time.perf_counter()
    result = play({name: case}, folder)[name]
    seconds = time.perf_counter() - began
    result.save(folder / "result.npz")
    report(result, folder, settings)
    rounds = len(result.labels) * settings.runs * settings.horizon
    speed = "" if begun else f"{rounds / 1e6:,.3g} million rounds in {seconds:.1f} s, compilation included; "
    print(f"\n{speed}written to {folder}/")
    return result


def report(result: Result, folder: Path, settings: Settings) -> None:
    """Print the tables and the claims' verdicts; write them and the figures to the folder."""
    (name,) = result.scenarios
    start = settings.initial_state if settings.initial_state == "stationary" else f"state {settings.initial_state}"
    order = "drawn for each run" if settings.shuffle else "as listed"
    best = int(result.means[0].argmax())
    print(
        f"{name}: {settings.runs:,} runs of {settings.horizon:,} rounds, arms start {start}, order {order}; "
        f"best arm {best + 1}, mean {result.means[0, best]:.4f}"
    )
    tables = {
        "table": ("Final pseudo-regret", final_table(result)),
        "paired": ("Paired differences of final regret, run by run: first minus second", paired_table(result)),
        "claims": ("The paper's claims, judged on paired differences", judge(result, CLAIMS[name])),
    }
    publish(tables, folder)
    draw(result, folder)


def draw(result: Result, folder: Path) -> None:
    """Regret (all policies, and without UCB-SM), distribution of final regret, plays of the last policy's arms."""
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from jaxbandit import plotting

    close = [label for label in result.labels if label != "UCB-SM"]
    pictures = {
        "regret": lambda ax: plotting.plot_regret(result, logarithmic=True, ax=ax),
        "regret_kl": lambda ax: plotting.plot_regret(result, close, quantiles=(0.9,), ax=ax),
        "distribution": lambda ax: plotting.plot_distribution(result, ax=ax),
        "plays": lambda ax: plotting.plot_pulls(result, result.labels[-1], ax=ax),
    }
    for file, picture in pictures.items():
        figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
        picture(ax)
        save(figure, folder / file)


def legend_below(figure: Figure) -> None:
    """One legend under all panels in the place of theirs."""
    handles = {label: handle for ax in figure.axes for handle, label in zip(*ax.get_legend_handles_labels())}
    for ax in figure.axes:
        ax.get_legend().remove()
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=5, frameon=False)


def save(figure: Figure, path: Path) -> None:
    """Write a figure as .png and .pdf, and close it."""
    import matplotlib.pyplot as plt

    figure.savefig(f"{path}.png", dpi=150)  # not with_suffix, which would cut a name at its last point
    figure.savefig(f"{path}.pdf")
    plt.close(figure)
