"""The four cases of theorem 1: arms that are all Markovian, all i.i.d., or of both kinds, with two and three states.

The arms have the means of scenarios 1 and 3, so that only their dependence differs: (a) all are Markovian, (b) the best
is i.i.d., (c) all others are, (d) all are. Prints and writes (CSV) final regret, its growth by decades of rounds beside
the bounds, the paper's claims judged after the last decades, and in which share of rounds TV-KL-UCB used the wrong form
of its index: that of transitions for i.i.d. arms, or that of the mean for Markovian ones. Draws regret / log t with the
bounds, and the share of arms judged Markovian. Ctrl-C keeps what is done, and the same command continues; runs may
grow.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from matplotlib.figure import Figure

import jaxbandit
from experiments.comparisons.growth import decades, growth_cells, growth_of, times
from experiments.comparisons.study import Results, Study
from experiments.published.claims import judge_same, of_case
from experiments.published.phases import draw_phases, phase_rows, recorders
from experiments.published.scenarios import THEOREM, adaptive, of_the_paper
from jaxbandit import MarkovArms, atlas, bounds, metrics, plotting
from jaxbandit.bounds import Bound
from jaxbandit.command_line.options import Simulation, main, simulation
from jaxbandit.reports.pictures import Pictures, legend_below, panels
from jaxbandit.reports.tables import Row, Tables, final_table, of_all
from jaxbandit.reports.verdicts import interval, judge, up_to, verdict

Settings = simulation(runs=128, horizon=1_000_000)
SHOWN = 3  # decades in the tables
OURS = {"IMED-MC": jaxbandit.IMEDMC()}
# in the order of their line styles, which are then the same in all panels of a picture
LINES = ("lower, all chains", "upper, theorem 1", "lower, i.i.d. others")


def environments() -> dict[str, MarkovArms]:
    """By name, in the order of the theorem's cases."""
    return {name: atlas[name].arms for names in THEOREM.values() for name in names.values()}


def places() -> Iterator[tuple[str, str, str]]:
    """Of each environment its name, whose means it has, and the theorem's case."""
    yield from ((name, means, case) for means, names in THEOREM.items() for case, name in names.items())


@cache
def limits(means: str, case: str) -> dict[str, Bound]:
    """The bounds in a case of the theorem.

    Of the best arm only the mean matters to the lower bounds, so that Lai and Robbins's holds in case (c) as in (d).
    """
    arms = environments()[THEOREM[means][case]]
    lines = {"upper, theorem 1": bounds.upper_asymptotic(arms)} if arms.reward.shape[1] == 2 else {}
    lines["lower, all chains"] = bounds.lower(arms)
    if case in "cd":
        lines["lower, i.i.d. others"] = bounds.lai_robbins(environments()[THEOREM[means]["d"]])
    return lines


def growth_table(results: Results) -> list[Row]:
    """Growth of every policy in the last decades, and its regret over log t, beside the constants of the bounds."""
    rows: list[Row] = []
    for name, means, case in places():
        result = results[name]
        lines = {label: f"{bound.total:,.2f}" for label, bound in limits(means, case).items()}
        for label in result.labels:
            row: Row = {"case": f"({case})", "arms": name, "policy": label}
            row |= growth_cells(result, label, decades(int(result.times[-1]))[-SHOWN - 1 :], 2)
            rows.append(row | {column: lines.get(column, "-") for column in LINES})
    return rows


def claim_table(results: Results) -> list[Row]:
    """The paper's claims in each case, judged after each of the last decades."""
    rows: list[Row] = []
    for name, _, case in places():
        label = adaptive(environments()[name])
        for end in decades(int(results[name].times[-1]))[-SHOWN:]:
            result = up_to(results[name], end)
            judged = judge(result, of_case(case, label)) if case != "a" else [judge_same(result, label)]
            rows += [{"case": f"({case})", "arms": name, "rounds": f"{end:,}", **row} for row in judged]
    return rows


def bound_table(results: Results) -> list[Row]:
    """Whether regret grew by at most theorem 1's constant in the last decade."""
    rows: list[Row] = []
    for name, means, case in places():
        lines = limits(means, case)
        if "upper, theorem 1" in lines:
            label, constant = adaptive(environments()[name]), float(lines["upper, theorem 1"].total)
            growth = growth_of(results[name], label)
            s = metrics.summary(growth.values[-1])
            row: Row = {"case": f"({case})", "arms": name, "policy": label, "constant": f"{constant:,.2f}"}
            row["rounds"] = f"{growth.times[-2]:,} to {growth.times[-1]:,}"
            row["growth per log t (95%)"] = interval(s.mean, s.low, s.high, ",.2f")
            rows.append(row | {"verdict": verdict(float(s.low) - constant, float(s.high) - constant)})
    return rows


def tabulate(results: Results, settings: Simulation) -> Tables:
    """Final regret, growth beside the bounds, claims, and forms of the index."""
    arms = environments()
    growth = "Growth of pseudo-regret per log t by decades, mean ± half of its 95 % interval, beside constants of log t"
    size = f"{settings.runs:,} runs of {settings.horizon:,} rounds"
    return {
        "table": (
            f"Final pseudo-regret, {size}",
            of_all("arms", {name: final_table(each) for name, each in results.items()}),
        ),
        "growth": (growth, growth_table(results)),
        "bounds": ("Regret grows by at most theorem 1's constant: its growth in the last decade", bound_table(results)),
        "claims": ("The paper's claims, judged on paired differences of regret", claim_table(results)),
        "phases": (
            "Share of rounds in which the form of TV-KL-UCB's index was the wrong one for the arm",
            of_all("arms", {name: phase_rows(each, arms[name]) for name, each in results.items()}),
        ),
    }


def draw_regret(results: Results, means: str) -> Figure:
    """Regret / log t of every policy but UCB-SM, which has many times more, with the bounds; a panel for each case."""
    figure, axes = panels(1, 4, (18, 5.5), sharey=True)
    figure.get_layout_engine().set(wspace=0.05)  # else the ticks of neighbours touch
    for ax, (case, name) in zip(axes, THEOREM[means].items()):
        lines = limits(means, case)
        drawn = [lines[column] for column in LINES if column in lines]
        labels = [label for label in results[name].labels if label != "UCB-SM"]
        plotting.plot_regret(
            results[name], labels, quantiles=(0.5,), bounds=drawn, normalised=True, logarithmic=True, ax=ax
        )
        ax.set_title(f"({case}) {name}", fontsize="medium")
        ax.set_ylabel(ax.get_ylabel() if case == "a" else "")
    figure.suptitle("Mean of runs with its 95 % interval, dashed: median")
    legend_below(figure)
    return figure


def draw(results: Results, settings: Simulation) -> Pictures:
    """Regret with the bounds, and how many arms are judged Markovian."""
    for means in THEOREM:
        yield f"regret_{means.replace(' ', '_')}", draw_regret(results, means)
    yield "phases", draw_phases(results, environments())


STUDY = Study(
    "mixed",
    environments,
    lambda name, arms, horizon: of_the_paper(arms) | OURS,
    tabulate,
    draw,
    times=times,
    options=lambda name: recorders(of_the_paper(environments()[name])),
)
run = STUDY.run

if __name__ == "__main__":
    main(run, Settings, "mixed", __doc__)
