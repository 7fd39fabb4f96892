"""Judge a policy: where it is good, where it fails, and by how much.

POLICY is an expression of the library's, as KLUCB or 'IMEDMC(exponent=0.5)', or a Python file and an expression that is
evaluated in it, as 'mine.py:Mine(scale=2.0)'. Several make, in addition, a table of all against all.

In this order: the contract (jaxbandit.testing.check_policy); the named problems (jaxbandit.atlas) that the policy does
not refuse; mean regret over a space of random problems (jaxbandit.stress.over); the worst problems that a search finds
(jaxbandit.stress.worst), as code, each with a picture; speed beside that of UCB1. Prints tables and writes them (CSV),
and puts everything on one page, report.html, that needs nothing but itself. Ctrl-C keeps what is done, and the same
command continues; a policy that was changed is played anew.
"""

from __future__ import annotations

import importlib.util
import shlex
import sys
from pathlib import Path

import jaxbandit
from experiments.command_line.experiment import begin, finish, play
from experiments.command_line.options import main
from experiments.judging import atlas_card, contract, failures, report, speed
from experiments.judging.atlas_card import Cases
from experiments.judging.failures import Failures
from experiments.judging.judgement import Judgement
from experiments.judging.policy_text import policies_of
from experiments.judging.settings import Settings
from experiments.judging.spaces import Chapter, affordable, chapters, middle, space_from_text
from experiments.reports.pictures import Pictures
from experiments.reports.tables import Row, Tables
from experiments.timing import machine
from jaxbandit import Environment, Policy, Result, atlas, stress

RUNS = 48  # of each problem of a space; those of the search, so that the same programs play both
TIMED_RUNS, TIMED_SECONDS = 1000, 1.0
ATLAS, SPACE, SEARCH, PICTURES = range(4)  # each part has luck of its own


def cases(policies: dict[str, Policy], asked: Settings) -> tuple[Cases, dict[str, dict[str, str]]]:
    """The named problems as cases, and of each policy those that it does not play."""
    return atlas_card.cases(problems(), policies, asked.horizon, asked.runs, asked.key(ATLAS))


def problems() -> dict[str, Environment]:
    """The named problems."""
    return {name: entry.arms for name, entry in atlas.items()}


def tabulate(found: Judgement) -> Tables:
    """All tables, in the page's order."""
    return report.tables(found)


def draw(found: Judgement) -> Pictures:
    """Regret over rounds on each of the worst problems."""
    return report.pictures(found)


def judge(
    policies: dict[str, Policy],
    asked: Settings,
    parts: list[Chapter],
    planned: Cases,
    left_out: dict[str, dict[str, str]],
    folder: Path,
) -> Judgement:
    """Everything, part by part; what was played is read.

    Args:
      parts: of `chapters`.
      planned, left_out: of `cases`.

    Raises:
      KeyboardInterrupt: by Ctrl-C.
    """
    timed: list[Row] = []
    for arms, group in _arms_to_time(policies, parts).values():
        timed += speed.rows_of(arms, group, TIMED_RUNS, TIMED_SECONDS)
    contracts = {}
    for label, policy in policies.items():
        spaces = [middle(part.space) for part in parts if label in part.policies]
        named = [arms for name, arms in problems().items() if name not in left_out[label]]
        contracts[label] = contract.verdict(label, policy, [*spaces, *named][0])
        print(f"{label} {contracts[label][1]}", flush=True)
    print(f"{len(problems())} named problems", flush=True)
    measured = atlas_card.measured(play(planned, folder))
    curves = atlas_card.lower_curves(problems(), asked.horizon)
    cards = {label: atlas_card.card(label, policies, measured, curves) for label in policies}
    surveys = []
    worst: list[tuple[Failures, Result]] | None = [] if importlib.util.find_spec("cmaes") else None
    for part in parts:
        print(f"{asked.problems} random problems: {part.title}", flush=True)
        surveys.append((part, _survey(part, asked, folder)))
    for part in parts if worst is not None else []:
        for label in part.policies:
            print(f"search for the worst of {label}: {part.title}", flush=True)
            worst.append(_worst(label, part, policies, asked, folder))
    return Judgement(policies, asked.horizon, asked.runs, contracts, cards, left_out, surveys, worst, timed)


def _arms_to_time(
    policies: dict[str, Policy], parts: list[Chapter]
) -> dict[str, tuple[Environment, dict[str, Policy]]]:
    """Of each space the arms in its middle, and the policies that are judged there, each once."""
    found: dict[str, tuple[Environment, dict[str, Policy]]] = {}
    for label, policy in policies.items():
        part = next((part for part in parts if label in part.policies), None)
        if part is not None:
            found.setdefault(str(part.space), (middle(part.space), {}))[1][label] = policy
    return found


def _survey(part: Chapter, asked: Settings, folder: Path) -> stress.Survey:
    return stress.over(
        part.space,
        part.policies,
        panel=_panel(part),
        problems=asked.problems,
        runs=RUNS,
        horizon=part.horizon,
        key=asked.key(SPACE),
        folder=folder / "spaces" / part.told(part.policies),
    )


def _panel(part: Chapter) -> dict[str, Policy]:
    """The space's panel; one that is judged has there the label under which it is judged."""
    panel = affordable(part.space.panel(), middle(part.space))
    judged = {repr(policy): label for label, policy in part.policies.items()}
    return {judged.get(repr(policy), label): policy for label, policy in panel.items()}


def _worst(
    label: str, part: Chapter, policies: dict[str, Policy], asked: Settings, folder: Path
) -> tuple[Failures, Result]:
    """The worst problems of a policy, and what everybody loses there."""
    panel = _panel(part)
    found = stress.worst(
        policies[label],
        part.space,
        panel=panel,
        budget=asked.budget,
        number=asked.number,
        runs=asked.runs,
        horizon=part.horizon,
        key=asked.key(SEARCH),
        folder=folder / "worst" / part.told({label: policies[label]}),
    )
    if not found or any(each.stopped for each in found):
        raise KeyboardInterrupt
    failed = Failures(label, part, found)
    planned = failures.cases(failed, part.policies | panel, asked.runs, asked.key(PICTURES))
    played = jaxbandit.sweep(planned, folder / "counts")
    return failed, failures.joined(list(played.values()))


def run(settings: Settings) -> Judgement:
    """Play, print the tables and write the folder."""
    asked, policies = settings.whole(), policies_of(settings.policies)
    parts = chapters(policies, space_from_text(settings.space), asked.horizon, asked.full)
    planned, left_out = cases(policies, asked)
    for label in policies:
        if len(left_out[label]) == len(problems()) and not any(label in part.policies for part in parts):
            raise ValueError(f"{label}: plays no problem that there is: {next(iter(left_out[label].values()))}")
    folder = begin("judge", settings, {}, settings.default_folder(list(policies)))
    try:
        found = judge(policies, asked, parts, planned, left_out, folder)
    except KeyboardInterrupt:
        print("stopped; what is done is kept, and the same command continues")
        sys.exit(130)
    said = "\n\n".join("\n".join([label, *found.in_words(label)]) for label in policies)
    finish(folder, tabulate(found), draw(found), said)
    line = shlex.join(["python", "-m", "experiments.judge", *sys.argv[1:]])
    report.write(folder / "report.html", found, f"Judged by jaxbandit on {machine.describe()}.", line)
    print(f"report: {folder / 'report.html'}")
    return found


if __name__ == "__main__":
    main(run, Settings, "judge", __doc__)
