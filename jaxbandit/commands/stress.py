"""Stress a policy: its mean regret over a space of random problems, and the worst problems that a search finds.

POLICY is an expression of the library's, as KLUCB or 'IMEDMC(exponent=0.5)', or a Python file and an expression that is
evaluated in it, as 'mine.py:Mine(scale=2.0)'.

Prints tables and writes them (CSV), and the worst problems as code that makes the very same arms. The search needs the
package cmaes. With the defaults a policy for chains takes some minutes. Ctrl-C keeps what is done, and the same command
continues; a policy that was changed is played anew. jaxbandit judge does this, too, and puts it on a page, beside the
named problems.
"""

from __future__ import annotations

import dataclasses
import importlib.util
from pathlib import Path

from jaxbandit import Policy, stress
from jaxbandit.command_line.experiment import begin, finish
from jaxbandit.command_line.options import Simulation, argument, file_name, option
from jaxbandit.judging import failures
from jaxbandit.judging.judged_spaces import Chapter, affordable, chapters, middle, refused, relabelled, space_from_text
from jaxbandit.judging.policy_text import policies_of
from jaxbandit.judging.report import survey_rows
from jaxbandit.reports.tables import Tables
from jaxbandit.stress import Found, Survey

SPACES = [name for name in stress.__all__ if name.endswith("Space") and name != "Space"]


@dataclasses.dataclass(frozen=True)
class Settings(Simulation):
    """Options of a stress test."""

    QUICK = Simulation.QUICK | {"problems": 8, "budget": 32, "number": 1, "judged": 8}
    _: dataclasses.KW_ONLY
    policy: str = argument("an expression of the library's, or FILE.py:EXPRESSION")
    runs: int = option(64, "runs of each random problem")
    horizon: int = option(10_000, "rounds of a run")
    problems: int = option(128, "how many problems are drawn from the space")
    budget: int = option(256, "how many problems the search for the worst plays")
    number: int = option(3, "how many of the worst are reported")
    judged: int = option(1000, "new runs on which the worst are judged")
    space: str = option("", "expression of a space of jaxbandit.stress; default: the first that it plays")
    out: str = option(
        "", "folder for tables and counts; default: results/stress/, one for each policy, horizon and seed"
    )


def survey(part: Chapter, panel: dict[str, Policy], settings: Settings, folder: Path) -> Survey:
    """Mean regret over the space."""
    place = folder / "space" / part.identity(part.policies)
    return stress.over(
        part.space, part.policies, panel=panel, problems=settings.problems, folder=place, **settings.size()
    )


def search(part: Chapter, panel: dict[str, Policy], settings: Settings, folder: Path) -> list[Found]:
    """The worst problems found, or none where the search is not installed."""
    if not importlib.util.find_spec("cmaes"):
        print("no search for the worst problems: it needs the package cmaes (pip install cmaes)")
        return []
    (policy,) = part.policies.values()
    found = stress.worst(
        policy,
        part.space,
        panel=panel,
        budget=settings.budget,
        number=settings.number,
        folder=folder / "worst" / part.identity(part.policies),
        **settings.size() | {"runs": settings.judged},
    )
    if not found or any(problem.stopped for problem in found):
        raise KeyboardInterrupt
    return found


def tabulate(part: Chapter, seen: Survey, found: list[Found]) -> Tables:
    """The mean over the space beside the panel's, and the worst problems."""
    (label,) = part.policies
    tables: Tables = {"space": (f"Mean regret over {part.title}", survey_rows(seen))}
    if found:
        rows = failures.found_rows(found)
        tables["worst"] = (f"Worst problems found for {label}: what the best of the panel saves", rows)
    return tables


def run(settings: Settings) -> list[Found]:
    """Play, print and write the folder."""
    policies = policies_of([settings.policy])
    (label,) = policies
    parts = chapters(policies, space_from_text(settings.space), settings.horizon, full=False)
    if not parts:
        space = space_from_text(settings.space) or stress.TwoStateSpace()
        which = settings.space or "any space of problems that there is"
        reason = refused(label, policies[label], middle(space), settings.horizon)
        raise ValueError(f"--space: {label} does not play {which}: {reason}")
    (part,) = parts
    default = f"results/stress/{file_name(label)}-{settings.horizon}-seed{settings.seed}"
    folder = begin("stress", settings, {}, default, fixed=("policy", "horizon", "seed"))
    panel = relabelled(affordable(part.space.panel(), middle(part.space)), policies)
    seen = survey(part, panel, settings, folder)
    found = search(part, panel, settings, folder)
    code = [
        f"# {number}: {each.avoidable} more than {each.best}\n{each.problem.code}"
        for number, each in enumerate(found, 1)
    ]
    finish(
        folder,
        tabulate(part, seen, found),
        words="\n\n".join(["The worst, as code after import jaxbandit:", *code]) * bool(found),
    )
    return found
