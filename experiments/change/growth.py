"""How dynamic regret grows with the number of rounds and with the variation budget."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.comparisons.growth import slope
from jaxbandit import KLUCB, UCB1, Policy, Result, Rexp3, TsallisINF, Window, metrics
from jaxbandit.environments import lower_bound_instance, sinusoid
from jaxbandit.plotting import curve_style
from jaxbandit.reports.pictures import Pictures, band, frameless, legend_below, panels
from jaxbandit.reports.tables import Row

BUDGETS = (1.0, 3.0, 10.0)
SHORTEST = 50  # rounds in which the largest budget can be spent
INSTANCES = {"drifting": sinusoid, "lower bound": lower_bound_instance}


def horizons(longest: int) -> list[int]:
    """Up to five numbers of rounds that end at the longest, each half a decade from the next, none too short.

    >>> horizons(100_000), horizons(300)
    ([1000, 3162, 10000, 31623, 100000], [95, 300])
    """
    return [n for n in (round(longest / 10 ** (k / 2)) for k in range(4, -1, -1)) if n >= SHORTEST]


def policies(horizon: int, budget: float) -> dict[str, Policy]:
    """Those that are told the budget, and some that are not."""
    rexp3 = Rexp3(horizon=horizon, budget=budget)
    window = min(horizon, int(rexp3.rounds_between_restarts(2)))
    return {
        "Rexp3": rexp3,
        "KL-UCB, window": KLUCB(exploration=0, memory=Window(window)),
        "Tsallis-INF": TsallisINF(),
        "KL-UCB": KLUCB(exploration=0),
        "UCB1": UCB1(),
    }


def cases(longest: int, size: dict[str, Any]) -> dict[str, Any]:
    """A case for each instance, number of rounds and budget."""
    return {
        _name(name, horizon, budget): {
            "scenarios": INSTANCES[name](horizon, budget),
            "policies": policies(horizon, budget),
            **size,
            "horizon": horizon,
            "times": [horizon],
        }
        for name in INSTANCES
        for horizon in horizons(longest)
        for budget in BUDGETS
    }


def exponents(results: dict[str, Result], longest: int) -> list[Row]:
    """The exponents of rounds at each budget, and of the budget at the most rounds, with their 95 % intervals."""
    rows: list[Row] = []
    rounds = horizons(longest)
    for name in INSTANCES:
        for label in policies(longest, BUDGETS[0]):
            row: Row = {"arms": name, "policy": label}
            for budget in BUDGETS:
                finals = [_final(results[_name(name, horizon, budget)], label) for horizon in rounds]
                row[f"of rounds, budget {budget:g}"] = slope(np.log(rounds), finals)
            finals = [_final(results[_name(name, longest, budget)], label) for budget in BUDGETS]
            row["of the budget"] = slope(np.log(BUDGETS), finals)
            rows.append(row)
    return rows


def draw(results: dict[str, Result], longest: int) -> Pictures:
    """Mean dynamic regret against the number of rounds, a panel for each instance and budget, beside a slope of 2/3."""
    figure, axes = panels(len(INSTANCES), len(BUDGETS), (12, 7), sharex=True, sharey="row")
    rounds = np.array(horizons(longest))
    for of_instance, name in zip(axes, INSTANCES, strict=True):
        for ax, budget in zip(of_instance, BUDGETS, strict=True):
            for number, label in enumerate(policies(longest, budget)):
                finals = np.stack([_final(results[_name(name, n, budget)], label) for n in rounds], axis=1)
                band(ax, rounds, finals, label=label, **curve_style(number))
            first = _final(results[_name(name, int(rounds[0]), budget)], "Rexp3").mean()
            ax.plot(rounds, first * (rounds / rounds[0]) ** (2 / 3), color="black", linestyle="--", label="slope 2/3")
            frameless(ax, f"{name}, variation budget {budget:g}", xscale="log", yscale="log")
        of_instance[0].set_ylabel("mean dynamic regret at the end")
    for ax in axes[-1]:
        ax.set_xlabel("rounds of the game")
    legend_below(figure)
    yield "growth", figure


def _name(name: str, horizon: int, budget: float) -> str:
    return f"{name}, {horizon} rounds, budget {budget:g}"


def _final(result: Result, label: str) -> np.ndarray:
    return metrics.regret(result, label)[0, 0, :, -1]
