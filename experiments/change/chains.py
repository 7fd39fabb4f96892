"""Markov arms that take turns: policies for chains, and the same policies when they forget."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.ticker import MaxNLocator

from experiments.change.policies import of_chains
from jaxbandit import Result, atlas, metrics, plotting
from jaxbandit.reports.pictures import Pictures, frameless, panels
from jaxbandit.reports.tables import Row, in_short

NAMES = {"changing scenario 1": "rested", "changing restless scenario 1": "restless"}
CHANGES = 4
KINDS = {
    "": "nothing is forgotten",
    ", discount": "a discount",
    ", window": "a window",
    ", long window": "one four times as long",
}


def cases(size: dict[str, Any]) -> dict[str, Any]:
    """Both kinds of arms."""
    horizon = size["horizon"]
    size = size | {"times": np.unique(np.linspace(1, horizon, 101).astype(int))}
    return {
        name: {"scenarios": {name: atlas[name].with_horizon(horizon)}, "policies": of_chains(horizon, CHANGES), **size}
        for name in NAMES
    }


def table(results: dict[str, Result]) -> list[Row]:
    """Final dynamic regret of each policy on both kinds of arms."""
    rows: list[Row] = []
    for label in next(iter(results.values())).labels:
        row: Row = {"policy": label}
        for name, result in results.items():
            row[name] = in_short(metrics.regret(result, label)[0, 0, :, -1], ",.0f")
        rows.append(row)
    return rows


def draw(results: dict[str, Result]) -> Pictures:
    """Dynamic regret against time: a row for each kind of arms, a panel for each memory."""
    figure, axes = panels(len(results), len(KINDS), (16, 7), sharex=True, sharey="row")
    for of_name, (name, result) in zip(axes, results.items(), strict=True):
        for ax, kind in zip(of_name, KINDS, strict=True):
            labels = [f"{policy}{kind}" for policy in ("TV-KL-UCB", "KL-UCB", "IMED-MC")]
            plotting.plot_regret(result, labels, ax=ax)
            ax.set_xscale("linear")
            ax.set_title(f"{NAMES[name]} arms, {KINDS[kind]}", fontsize="medium")
            ax.set(
                ylabel="dynamic regret" if ax is of_name[0] else "",
                xlabel="round t" if result is [*results.values()][-1] else "",
            )
            ax.xaxis.set_major_locator(MaxNLocator(4))
            frameless(ax)
    yield "chains", figure
