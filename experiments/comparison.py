"""A comparison of policies in one scenario: simulate, tabulate, judge the paper's claims, draw."""

from __future__ import annotations

import csv
import dataclasses
import sys
import time
from pathlib import Path

import jax
import matplotlib

import jaxbandit
from experiments.claims import judge
from experiments.folder import prepare
from experiments.scenarios import CLAIMS, POLICIES, environment
from experiments.settings import Settings
from experiments.tables import final_table, paired_table, show
from jaxbandit import Result
from jaxbandit.arguments import check


def run(name: str, settings: Settings) -> Result:
    """Run the scenario `name`, print its tables and write its folder; an interrupted run continues."""
    key = name.replace(" ", "")
    asked = dataclasses.asdict(settings)
    folder_name = asked.pop("out") or _default_folder(key, settings)
    arms = {name: environment(name, initial_state=settings.initial_state)}
    options = {option: getattr(settings, option) for option in ("runs", "horizon", "shuffle")}
    if not 0 <= settings.seed < 2**32:
        raise ValueError(f"seed: {settings.seed} lies outside 0..2^32 - 1")
    check(arms, POLICIES, **options)  # before the folder is touched
    folder, earlier = prepare(folder_name, key, asked)
    if earlier is not None:
        print(
            f"continuing after round {earlier.rounds:,}" if not earlier.complete else "already played; reported again"
        )
    began = time.perf_counter()
    result = jaxbandit.simulate(arms, POLICIES, key=jax.random.key(settings.seed), resume=earlier, **options)
    seconds = time.perf_counter() - began
    result.save(folder / "result.npz")
    if not result.complete:
        print(f"stopped after round {result.rounds:,} of {result.horizon:,}; the same command continues")
        sys.exit(130)
    report(result, folder, settings)
    rounds = len(POLICIES) * settings.runs * (settings.horizon - (earlier.rounds if earlier else 0))
    print(f"\n{rounds / 1e6:,.3g} million rounds in {seconds:.1f} s, compilation included; written to {folder}/")
    return result


def report(result: Result, folder: Path, settings: Settings) -> None:
    """Print the tables and the claims' verdicts; write them and the figures to the folder."""
    (name,) = result.scenarios
    start = settings.initial_state if settings.initial_state == "stationary" else f"state {settings.initial_state}"
    order = "drawn for each run" if settings.shuffle else "as listed"
    print(f"{name}: {settings.runs:,} runs of {settings.horizon:,} rounds, arms start {start}, order {order}")
    tables = {
        "table": ("Final pseudo-regret", final_table(result)),
        "paired": ("Paired differences of final regret, run by run: first minus second", paired_table(result)),
        "claims": ("The paper's claims, judged on paired differences", judge(result, CLAIMS[name])),
    }
    for file, (title, rows) in tables.items():
        print(f"\n{title}\n" + show(rows))
        with open(folder / f"{file}.csv", "w", newline="") as handle:
            writer = csv.DictWriter(handle, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)
    draw(result, folder)


def draw(result: Result, folder: Path) -> None:
    """Regret (all policies, and without UCB-SM), distribution of final regret, plays of TV-KL-UCB's arms."""
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from jaxbandit import plotting

    close = [label for label in result.labels if label != "UCB-SM"]
    pictures = {
        "regret": lambda ax: plotting.plot_regret(result, logarithmic=True, ax=ax),
        "regret_kl": lambda ax: plotting.plot_regret(result, close, quantiles=(0.9,), ax=ax),
        "distribution": lambda ax: plotting.plot_distribution(result, ax=ax),
        "plays": lambda ax: plotting.plot_pulls(result, "TV-KL-UCB", ax=ax),
    }
    for file, picture in pictures.items():
        figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
        picture(ax)
        figure.savefig(folder / f"{file}.png", dpi=150)
        figure.savefig(folder / f"{file}.pdf")
        plt.close(figure)


def _default_folder(key: str, settings: Settings) -> str:
    shuffled = "-shuffled" if settings.shuffle else ""
    size = f"{settings.runs}x{settings.horizon}"
    return f"results/{key}/{size}-seed{settings.seed}-start{settings.initial_state}{shuffled}"
