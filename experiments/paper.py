"""Every figure and claim of the paper, in one sweep that can be stopped and continued, and one report.

Plays all four scenarios and i.i.d. arms, judges each claim on paired differences, and writes report.html, one page with
everything inside: claims, figures, tables, bounds, the slips found, and how to repeat it. About five minutes on two
cores; --runs 10000 shows the tails (runs may grow: only the new ones are played), --quick takes less than a minute.
"""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import Any

import numpy as np

import jaxbandit
from experiments import asymptotic_bounds
from experiments.benchmark import describe
from experiments.command_line.experiment import check_cases, play
from experiments.command_line.folder import prepare
from experiments.command_line.options import Simulation, main, option
from experiments.published import figures
from experiments.published.comparison import save
from experiments.published.scenarios import SCENARIOS, environment, independent, policies
from experiments.published.slips import SLIPS
from experiments.reports import page as report
from experiments.reports.tables import Row, final_table, publish
from experiments.reports.verdicts import CLAIMS, Claim, judge, judge_equality, judge_savings, saved
from jaxbandit import MarkovArms, Result, bounds

ZERO = "TV-KL-UCB, rows 0"  # estimates of a state not yet left start at 0, not at 1
INDEPENDENT = "i.i.d. arms"
ALL_CLAIMS = CLAIMS | {
    "scenario 2": [*CLAIMS["scenario 2"], Claim("rows of 1 beat rows of 0", "TV-KL-UCB", ZERO, "section IV")],
    INDEPENDENT: [
        Claim("TV-KL-UCB beats KL-UCB-MC", "TV-KL-UCB", "KL-UCB-MC", "section III"),
        Claim("TV-KL-UCB beats UCB-SM", "TV-KL-UCB", "UCB-SM", "theorem 2"),
    ],
}
RESAMPLES = 2000
INTRODUCTION = (
    "Adaptive KL-UCB based Bandit Algorithms for Markovian and i.i.d. Settings (arXiv 2009.06606), repeated by "
    f"jaxbandit {jaxbandit.__version__}. Every arm starts in state 0, arms stand in the order listed; the paper has "
    "100 runs. Regret has heavy tails, so the median stands beside the mean, and a claim that one policy beats another "
    "holds or does not hold only where the 95 % interval of the paired difference, run by run, excludes 0."
)
UNDER_CLAIMS = (
    "Differences are the first policy's regret minus the second's. Theorem 2 is about bounds; simulated regret is set "
    "beside it here. The paper says that three states improve more than two: read as the share saved of KL-UCB-SM's "
    "mean regret, scenario 3 against 1 and 4 against 2, with bootstrap intervals."
)


@dataclasses.dataclass(frozen=True)
class Settings(Simulation):
    """Options of the whole paper."""

    quick: bool = option(False, "20 runs of 2,000 rounds, to see that everything works")


def arms() -> dict[str, MarkovArms]:
    return {name: environment(name) for name in SCENARIOS} | {INDEPENDENT: independent(environment("scenario 1"))}


def cases(settings: Settings) -> dict[str, Any]:
    """A case for each scenario; the two first with rows of 0 as well."""
    size = {"key": settings.key(), "runs": settings.runs, "horizon": settings.horizon}
    found = {}
    for name, each in arms().items():
        compared = dict(policies("scenario 1" if name == INDEPENDENT else name))
        if name in ("scenario 1", "scenario 2"):
            compared[ZERO] = jaxbandit.TVKLUCB(unvisited=0.0)
        found[name] = {"scenarios": {name: each}, "policies": compared, **size}
    return found


def judge_all(results: dict[str, Result]) -> list[Row]:
    """Every claim that is about simulated regret."""
    rows: list[Row] = []

    def add(scenario: str, judged: list[Row]) -> None:
        rows.extend({"claim": row["claim"], "scenario": scenario, **row} for row in judged)

    for name, claims in ALL_CLAIMS.items():
        add(name, judge(results[name], claims))
    same = "the rows' first values do not matter"
    add("scenario 1", [judge_equality(results["scenario 1"], same, "TV-KL-UCB", ZERO, "section IV")])
    for two, three in (("scenario 1", "scenario 3"), ("scenario 2", "scenario 4")):
        less = saved(results[two], "TV-KL-UCB", RESAMPLES, seed=1)
        more = saved(results[three], "m-TV-KL-UCB", RESAMPLES, seed=2)
        text = "m-TV-KL-UCB saves a larger share of KL-UCB-SM's regret than TV-KL-UCB"
        add(f"{three}, {two}", [judge_savings(text, "section IV", more, less)])
    return rows


def judge_bounds() -> list[Row]:
    """Claims about bounds, decided by computing them."""
    slow = asymptotic_bounds.constants(np.geomspace(1e-3, 1e-6, 31))
    fast = asymptotic_bounds.constants(np.geomspace(1, 1e-3, 31))
    ratios = [float(row["ratio"]) for row in slow if row["condition"] == "fails"]
    checked = [float(row["ratio"]) for row in fast if row["condition"] == "holds"]
    first, same = environment("scenario 1"), arms()[INDEPENDENT]
    upper, lower, tight = bounds.upper_asymptotic(first), bounds.lower_paper(first), bounds.lower(first)
    case_d, known = bounds.upper_asymptotic(same), bounds.lai_robbins(same)

    def row(claim: str, where: str, computed: str, holds: bool) -> Row:
        return {"claim": claim, "paper": where, "computed": computed, "verdict": "holds" if holds else "does not hold"}

    def larger(ratio: list[float]) -> str:
        return f"UCB-SM's is {min(ratio):,.1f} to {max(ratio):,.1f} times as large in the family of figure 1e"

    above = "TV-KL-UCB's asymptotic bound is below UCB-SM's, min sigma "
    meets = f"{case_d.total:.4f} and {known.total:.4f} with scenario 1's means"
    apart = f"scenario 1: {upper.total:.2f} above; {lower.total:.2f}, or tight {tight.total:.2f}, below"
    met = abs(case_d.total / known.total - 1) < 1e-9
    return [
        row(above + "at least 1/1440", "theorem 2", larger(checked), min(checked) > 1),
        row(above + "below 1/1440", "figure 1e", larger(ratios), min(ratios) > 1),
        row("for i.i.d. arms the upper bound meets the lower one", "theorem 1 (d)", meets, met),
        row("the upper bound is not below the lower one", "theorems 1 and 3", apart, bool(upper.total >= lower.total)),
    ]


def bounds_table() -> list[Row]:
    """Constants of log n of every scenario."""
    rows: list[Row] = []
    for name, each in arms().items():
        two = each.reward.shape[1] == 2
        sigma = f"{bounds.eigenvalue_condition(each).least:.3g}" if two else ""
        rows.append(
            {
                "scenario": name,
                "min sigma": sigma,
                "lower, the paper's": f"{bounds.lower_paper(each).total:,.2f}",
                "lower, tight": f"{bounds.lower(each).total:,.2f}",
                "lower, i.i.d. arms": f"{bounds.lai_robbins(each).total:,.2f}" if name == INDEPENDENT else "",
                "upper, TV-KL-UCB": f"{bounds.upper_asymptotic(each).total:,.2f}" if two else "two states only",
                "upper, UCB-SM, L = 343": f"{bounds.ucb_sm_upper(each).total:,.0f}",
                "L of 2012": f"{bounds.ucb_sm_constant(each):,.0f}",
            }
        )
    return rows


def write_report(results: dict[str, Result], settings: Settings, folder: Path, seconds: float) -> Path:
    """The page, and its figures and tables as files."""
    size = f"{settings.runs:,} runs of {settings.horizon:,} rounds, seed {settings.seed}"
    claims, computed, constants = judge_all(results), judge_bounds(), bounds_table()
    tables = {
        "claims": (f"The paper's claims, judged on paired differences of final regret; {size}", claims),
        "claims_bounds": ("Its claims about bounds, computed", computed),
        "bounds": ("Bounds: constants of log n", constants),
    }
    publish(tables, folder)
    parts = [
        report.paragraph(f"{INTRODUCTION} Here: {size}."),
        report.heading("Claims"),
        report.table([row | {"runs": f"{settings.runs:,}"} for row in claims]),
        report.paragraph(UNDER_CLAIMS),
        report.table(computed),
        report.heading("Figures"),
        report.paragraph(figures.HOW_TO_READ),
    ]
    for name, caption, figure in figures.all_figures(results, size[0].upper() + size[1:]):
        parts.append(report.picture(figure, name, caption))
        save(figure, folder / name.lower().replace(" ", "_").replace(".", ""))
    parts.append(report.heading("Final regret"))
    for name, result in results.items():
        rows = final_table(result)
        publish({f"final_{name.replace(' ', '_').replace('.', '')}": (f"{name}: final pseudo-regret", rows)}, folder)
        parts += [report.heading(name, 3), report.table(rows)]
    parts += [report.heading("Bounds: constants of log n"), report.table(constants)]
    parts += [report.heading("Slips of the paper")]
    parts += [report.table([dict(zip(("where", "what", "here"), slip)) for slip in SLIPS])]
    line = f"python -m experiments.paper --runs {settings.runs} --horizon {settings.horizon} --seed {settings.seed}"
    parts += [report.heading("To repeat"), report.command(line)]
    parts += [report.paragraph(f"{describe()}, numpy {np.__version__}.")]
    when = time.strftime("%Y-%m-%d %H:%M")
    parts += [report.paragraph(f"Written {when}; this call took {seconds:.0f} s.", "when")]
    path = folder / "report.html"
    report.write(path, "TV-KL-UCB: the paper, repeated", parts)
    return path


def run(settings: Settings) -> dict[str, Result]:
    """Play everything and write the report."""
    if settings.quick:
        if (settings.runs, settings.horizon) != (Simulation.runs, Simulation.horizon):
            raise ValueError("--quick: has its own runs and horizon; leave out --runs and --horizon, or --quick")
        settings = dataclasses.replace(settings, runs=20, horizon=2000)
    played = cases(settings)
    check_cases(played)
    out = settings.out or f"results/paper/{settings.horizon}-seed{settings.seed}"
    folder = prepare(out, "paper", {"horizon": settings.horizon, "seed": settings.seed})
    began = time.perf_counter()
    results = play(played, folder)
    path = write_report(results, settings, folder, time.perf_counter() - began)
    print(f"\nreport: {path}")
    return results


if __name__ == "__main__":
    main(run, Settings, "paper", __doc__)
