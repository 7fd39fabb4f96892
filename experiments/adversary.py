"""The price of safety: policies against an adversary's table, and on arms that keep their means.

The table is "never in turn" of the atlas, in which one arm pays in all rounds but those that are its turn; the arms
with means of their own are "i.i.d. high". Prints and writes (CSV) the regret of every policy on both, against the best
single arm, and draws one against the other, as far as both are positive. Ctrl-C keeps what is done, and the same
command continues.
"""

from __future__ import annotations

import math
from typing import Any

import jaxbandit
from jaxbandit import Policy, Result, atlas, metrics
from jaxbandit.command_line.experiment import begin_and_play, finish
from jaxbandit.command_line.options import Simulation, main, simulation
from jaxbandit.plotting import curve_style
from jaxbandit.reports.pictures import Pictures, frameless, panels
from jaxbandit.reports.tables import Row, Tables, mean_and_interval

Settings = simulation(horizon=10_000)
TABLE, STATIONARY = "never in turn", "i.i.d. high"


def policies(horizon: int) -> dict[str, Policy]:
    """Those with a guarantee for every table, index policies, and others that choose by chance."""
    return {
        "Exp3": jaxbandit.Exp3(horizon=horizon),
        "Exp3.P": jaxbandit.Exp3P(horizon, delta=0.05),
        "Exp3-IX": jaxbandit.Exp3IX(),
        "Tsallis-INF": jaxbandit.TsallisINF(),
        "Tsallis-INF, less variance": jaxbandit.TsallisINF(reduced_variance=True),
        "UCB1": jaxbandit.UCB1(),
        "UCB2": jaxbandit.UCB2(),
        "UCB1-Normal": jaxbandit.UCB1Normal(),
        "KL-UCB": jaxbandit.KLUCB(),
        "IMED": jaxbandit.IMED(),
        "MOSS": jaxbandit.MOSS(),
        "Thompson": jaxbandit.Thompson(),
        "gradient bandit": jaxbandit.GradientBandit(),
        "uniform": jaxbandit.Uniform(),
    }


def cases(settings: Simulation) -> dict[str, Any]:
    """The table, and the arms with means of their own."""
    size = settings.size() | {"policies": policies(settings.horizon)}
    arms = {name: atlas[name].with_horizon(settings.horizon) for name in (TABLE, STATIONARY)}
    return {name: {"scenarios": {name: table}, **size} for name, table in arms.items()}


def finals(result: Result, label: str) -> metrics.Summary:
    """Regret at the end."""
    return metrics.summary(metrics.regret(result, label)[0, 0, :, -1])


def tabulate(results: dict[str, Result]) -> Tables:
    """Final regret on both."""
    rows: list[Row] = []
    for label in results[TABLE].labels:
        row: Row = {"policy": label}
        for name, result in results.items():
            row |= mean_and_interval(finals(result, label), name, f"{name}, ")
        rows.append(row)
    return {"table": ("Final regret against the best single arm", rows)}


def bound(horizon: int, arms: int) -> float:
    """What Exp3 with the numbers for this horizon loses at most on any table, 2 sqrt((e - 1) n K log K).

    Source: Auer, Cesa-Bianchi, Freund and Schapire 2002, corollary 3.2.
    """
    return 2 * math.sqrt((math.e - 1) * horizon * arms * math.log(arms))


def draw(results: dict[str, Result]) -> Pictures:
    """Regret on the table against regret on arms with means of their own; down and to the left is better."""
    figure, ax = panels(1, 1, (7.5, 5.5))
    table, stationary = results[TABLE], results[STATIONARY]
    for number, label in enumerate(table.labels):
        x, y = finals(stationary, label), finals(table, label)
        style = curve_style(number) | {"markersize": 7, "linestyle": "none", "label": label}
        ax.errorbar(x.mean, y.mean, y.high - y.mean, x.high - x.mean, **style)
    limit = bound(table.horizon, table.means.shape[1])
    ax.axhline(limit, color="black", linestyle="--", linewidth=1, label=f"Exp3's bound for every table, {limit:,.0f}")
    frameless(ax, xscale="log", yscale="log", xlabel=f"regret on '{STATIONARY}' after {stationary.horizon:,} rounds")
    ax.set_ylabel(f"regret on the table '{TABLE}', against the best single arm")
    ax.set_ylim(1, 2.5 * ax.get_ylim()[1])
    ax.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
    yield "price", figure


def run(settings: Simulation) -> dict[str, Result]:
    """Play both, print what was seen and write the folder."""
    folder, results = begin_and_play("adversary", settings, cases(settings))
    print(f"{settings.runs:,} runs of {settings.horizon:,} rounds")
    finish(folder, tabulate(results), draw(results))
    return results


if __name__ == "__main__":
    main(run, Settings, "adversary", __doc__)
