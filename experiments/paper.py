"""Every figure and claim of the paper, in one sweep that can be stopped and continued, and one report.

Plays all four scenarios, i.i.d. arms and mixed ones, judges each claim on paired differences, and writes report.html,
one page with everything inside: claims, figures, tables, bounds, the slips found, and how to repeat it. About five
minutes on two cores; --runs 10000 shows the tails (runs may grow: only the new ones are played), --quick takes about a
minute.
"""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import Any

import numpy as np

import jaxbandit
from experiments.published import figures
from experiments.published.claims import judge_all, judge_phases
from experiments.published.phases import recorders
from experiments.published.scenarios import all_arms, compared
from experiments.published.slips import SLIPS
from experiments.published.theory import bounds_table, judge_bounds
from jaxbandit import Result
from jaxbandit.command_line.experiment import begin, play
from jaxbandit.command_line.options import Simulation, main
from jaxbandit.reports import page
from jaxbandit.reports.pictures import save
from jaxbandit.reports.tables import Tables, final_table, publish
from jaxbandit.timing.machine import describe

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
PHASES = "Share of rounds in which the form of TV-KL-UCB's index is the wrong one for an arm"
UNDER_PHASES = (
    "Right is the form of transitions (STP_PHASE) for Markovian arms and that of the mean (SM_PHASE) for i.i.d. ones. "
    "The paper says that the right form is chosen infinitely often (section V), and frequently (section IV): read as a "
    "share of the wrong one that falls from the last but one decade to the last (or is below 0.1 %), and that is below "
    "half of all rounds. The policy is asked about 44 times a decade."
)


@dataclasses.dataclass(frozen=True)
class Settings(Simulation):
    """Options of the whole paper."""

    QUICK = Simulation.QUICK | {"runs": 20, "horizon": 2000}


def cases(settings: Settings) -> dict[str, Any]:
    """A case for each scenario, and for the i.i.d. and the mixed arms."""
    return {
        name: {"scenarios": {name: arms}, "policies": compared(name), **recorders(compared(name)), **settings.size()}
        for name, arms in all_arms().items()
    }


def tabulate(results: dict[str, Result], size: str) -> Tables:
    """Verdicts, bounds, and final regret in every scenario."""
    return {
        "claims": (f"The paper's claims, judged on paired differences of final regret; {size}", judge_all(results)),
        "phases": (PHASES, judge_phases(results)),
        "claims_bounds": ("Its claims about bounds, computed", judge_bounds()),
        "bounds": ("Bounds: constants of log n", bounds_table()),
        **{_final(name): (f"{name}: final pseudo-regret", final_table(result)) for name, result in results.items()},
    }


def _final(name: str) -> str:
    return f"final_{name.replace(' ', '_').replace('.', '').replace(',', '')}"


def write_report(results: dict[str, Result], settings: Settings, folder: Path, seconds: float) -> Path:
    """The page, and its figures and tables as files."""
    size = f"{settings.runs:,} runs of {settings.horizon:,} rounds, seed {settings.seed}"
    tables = tabulate(results, size)
    publish(tables, folder)
    rows = {name: table for name, (_, table) in tables.items()}
    parts = [
        page.paragraph(f"{INTRODUCTION} Here: {size}."),
        page.heading("Claims"),
        page.table([row | {"runs": f"{settings.runs:,}"} for row in rows["claims"]]),
        page.paragraph(UNDER_CLAIMS),
        page.table(rows["claims_bounds"]),
        page.heading("The form of the index"),
        page.paragraph(f"{PHASES}. {UNDER_PHASES}"),
        page.table(rows["phases"]),
        page.heading("Figures"),
        page.paragraph(figures.HOW_TO_READ),
    ]
    for name, caption, figure in figures.all_figures(results, size[0].upper() + size[1:]):
        parts.append(page.picture(figure, name, caption))
        save(figure, folder / name.lower().replace(" ", "_").replace(".", ""))
    parts.append(page.heading("Final regret"))
    for name in results:
        parts += [page.heading(name, 3), page.table(rows[_final(name)])]
    command = f"python -m experiments.paper --runs {settings.runs} --horizon {settings.horizon} --seed {settings.seed}"
    when = time.strftime("%Y-%m-%d %H:%M")
    parts += [
        page.heading("Bounds: constants of log n"),
        page.table(rows["bounds"]),
        page.heading("Slips of the paper"),
        page.table([dict(zip(("where", "what", "here"), slip)) for slip in SLIPS]),
        page.heading("To repeat"),
        page.command(command),
        page.paragraph(f"{describe()}, numpy {np.__version__}."),
        page.paragraph(f"Written {when}; this call took {seconds:.0f} s.", "when"),
    ]
    path = folder / "report.html"
    page.write(path, "TV-KL-UCB: the paper, repeated", parts)
    return path


def run(settings: Settings) -> dict[str, Result]:
    """Play everything and write the report."""
    planned = cases(settings)
    folder = begin("paper", settings, planned, grows=True)
    began = time.perf_counter()
    results = play(planned, folder)
    path = write_report(results, settings, folder, time.perf_counter() - began)
    print(f"\nreport: {path}")
    return results


if __name__ == "__main__":
    main(run, Settings, "paper", __doc__)
