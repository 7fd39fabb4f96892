"""How far each policy is from the tight lower bound as rounds go to ten million.

Three environments with the same means (scenario 1's), five arms each: independent rewards, scenario 1's chains, and
chains that move a tenth as often. The bound is for policies that are good for all chains; one that stays below it is
not. Policies good for i.i.d. arms only have a smaller one there. Prints and writes (CSV) the growth of regret per log n
over the last decade of rounds beside the constants, and draws regret / log t with them. Half an hour on two cores;
Ctrl-C keeps what is done, and the same command continues.
"""

from __future__ import annotations

from typing import Any

import jaxbandit
from experiments.comparisons.growth import growth_of, times
from experiments.published.scenarios import OTHERS, environment
from jaxbandit import MarkovArms, Result, atlas, bounds, metrics, plotting
from jaxbandit.command_line.experiment import begin_and_play, finish
from jaxbandit.command_line.options import Simulation, main, simulation
from jaxbandit.reports.pictures import Pictures, legend_below, panels
from jaxbandit.reports.tables import Row
from jaxbandit.reports.verdicts import interval

Settings = simulation(runs=256, horizon=10_000_000)
INDEPENDENT = "independent rewards"
POLICIES = OTHERS | {
    "TV-KL-UCB": jaxbandit.TVKLUCB(),
    "TV-KL-UCB, state's plays": jaxbandit.TVKLUCB(samples="state"),
    "IMED": jaxbandit.IMED(),
}


def environments() -> dict[str, MarkovArms]:
    """Three with the same means."""
    arms = environment("scenario 1")
    slow = jaxbandit.two_state(arms.transition[:, 0, 1] / 10, arms.transition[:, 1, 0] / 10)
    return {INDEPENDENT: atlas["i.i.d. scenario 1"].arms, "scenario 1": arms, "a tenth as fast": slow}


def cases(settings: Simulation) -> dict[str, Any]:
    """All three in one case."""
    size = settings.size() | {"times": times(settings.horizon)}
    return {"three environments": {"scenarios": environments(), "policies": POLICIES, **size}}


def growth_table(result: Result) -> list[Row]:
    """Of every policy in every environment, beside the tight constants for all chains and for i.i.d. arms."""
    arms = environments()
    tight, known = [bounds.lower(each) for each in arms.values()], bounds.lai_robbins(arms[INDEPENDENT])
    rows: list[Row] = []
    for number, name in enumerate(result.scenarios):
        for label in result.labels:
            grown = growth_of(result, label, number).values[-1]
            s, (low, high) = metrics.summary(grown), metrics.median_interval(grown)
            final = metrics.summary(metrics.pseudo_regret(result, label)[number, 0, :, -1])
            row: Row = {"environment": name, "policy": label, "bound, all chains": float(tight[number].total)}
            row |= {"bound, i.i.d. arms": f"{known.total:.1f}" if name == INDEPENDENT else ""}
            row |= {"mean growth (95%)": interval(s.mean, s.low, s.high)}
            row |= {"median growth (95%)": interval(s.median, low, high)}
            row |= {"mean final": float(final.mean), "median final": float(final.median)}
            rows.append(row | {"linear share": float(metrics.linear_share(result, label)[number, 0])})
    return rows


def draw(result: Result) -> Pictures:
    """Regret / log t of every policy, mean and median, with the bounds; a panel for each environment."""
    arms = environments()
    figure, axes = panels(1, len(arms), (16, 5.5), sharey=True)
    for number, (ax, (name, each)) in enumerate(zip(axes, arms.items(), strict=True)):
        lines = [bounds.lower(each), bounds.lower_paper(each), bounds.upper_asymptotic(each)]
        lines += [bounds.lai_robbins(each)] if name == INDEPENDENT else []
        plotting.plot_regret(
            result, scenario=number, quantiles=(0.5,), bounds=lines, normalised=True, logarithmic=True, ax=ax
        )
        ax.set_title(f"{name}\nmean, 95 % interval; dashed: median of {result.runs} runs")
        ax.set_ylabel(ax.get_ylabel() if number == 0 else "")
    legend_below(figure)
    yield "lower_bound", figure


def run(settings: Simulation) -> Result:
    """Play, print the table and write the folder."""
    folder, results = begin_and_play("lower_bound", settings, cases(settings))
    (result,) = results.values()
    rounds = f"rounds {growth_of(result, 'UCB-SM').times[-2]:,.0f} to {settings.horizon:,}"
    title = f"Growth of pseudo-regret per log n, {rounds}, {settings.runs:,} runs"
    finish(folder, {"growth": (title, growth_table(result))}, draw(result))
    return result


if __name__ == "__main__":
    main(run, Settings, "lower_bound", __doc__)
