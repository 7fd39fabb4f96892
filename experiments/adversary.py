"""The price of safety: policies against an adversary's table, and on arms that keep their means.

The table is "never in turn" of the atlas, in which one arm pays in all rounds but those that are its turn; the arms
with means of their own are "i.i.d. high". Prints and writes (CSV) the regret of every policy on both, against the best
single arm, and draws one against the other, as far as both are positive. Ctrl-C keeps what is done, and the same
command continues.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from experiments.command_line.experiment import begin, finish, play
from experiments.command_line.options import Simulation, main, option
from experiments.reports.pictures import Pictures, frameless, panels
from experiments.reports.tables import Row, Tables
from jaxbandit import (
    IMED,
    KLUCB,
    MOSS,
    UCB1,
    Exp3,
    GradientBandit,
    Policy,
    Result,
    Thompson,
    TsallisINF,
    Uniform,
    atlas,
    metrics,
)
from jaxbandit.plotting import curve_style

TABLE, STATIONARY = "never in turn", "i.i.d. high"


@dataclasses.dataclass(frozen=True)
class Settings(Simulation):
    """Options of the experiment."""

    horizon: int = option(10_000, "rounds of a run")


def policies(horizon: int) -> dict[str, Policy]:
    """Those with a guarantee for every table, index policies, and others that choose by chance."""
    return {
        "Exp3": Exp3(horizon=horizon),
        "Tsallis-INF": TsallisINF(),
        "Tsallis-INF, less variance": TsallisINF(reduced_variance=True),
        "UCB1": UCB1(),
        "KL-UCB": KLUCB(),
        "IMED": IMED(),
        "MOSS": MOSS(),
        "Thompson": Thompson(),
        "gradient bandit": GradientBandit(),
        "uniform": Uniform(),
    }


def cases(settings: Settings) -> dict[str, Any]:
    """The table, and the arms with means of their own."""
    return {
        name: {
            "scenarios": {name: atlas[name].with_horizon(settings.horizon)},
            "policies": policies(settings.horizon),
            **settings.size(),
        }
        for name in (TABLE, STATIONARY)
    }


def tabulate(results: dict[str, Result]) -> Tables:
    """Final regret on both, and the bound that Exp3 has for every table."""
    rows: list[Row] = []
    for label in results[TABLE].labels:
        row: Row = {"policy": label}
        for name, result in results.items():
            s = metrics.summary(metrics.regret(result, label)[0, 0, :, -1])
            row |= {name: float(s.mean), f"{name}, 95% low": float(s.low), f"{name}, 95% high": float(s.high)}
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
        x = metrics.summary(metrics.regret(stationary, label)[0, 0, :, -1])
        y = metrics.summary(metrics.regret(table, label)[0, 0, :, -1])
        style = curve_style(number)
        across, up = ([[each.mean - each.low], [each.high - each.mean]] for each in (x, y))
        ax.errorbar(
            x.mean,
            y.mean,
            up,
            across,
            **{"color": style["color"], "marker": style["marker"], "markersize": 7, "linestyle": "none"},
            label=label,
        )
    limit = bound(table.horizon, table.means.shape[1])
    ax.axhline(limit, color="black", linestyle="--", linewidth=1, label=f"Exp3's bound for every table, {limit:,.0f}")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_ylim(1, 2.5 * ax.get_ylim()[1])
    ax.set_xlabel(f"regret on '{STATIONARY}' after {stationary.horizon:,} rounds")
    ax.set_ylabel(f"regret on the table '{TABLE}', against the best single arm")
    frameless(ax)
    ax.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
    yield "price", figure


def run(settings: Settings) -> dict[str, Result]:
    """Play both, print what was seen and write the folder."""
    planned = cases(settings)
    folder = begin("adversary", settings, planned)
    results = play(planned, folder)
    print(f"{settings.runs:,} runs of {settings.horizon:,} rounds")
    finish(folder, tabulate(results), draw(results))
    return results


if __name__ == "__main__":
    main(run, Settings, "adversary", __doc__)
