"""Playing: each part of a judgement in its turn, kept in the folder."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import jaxbandit
from experiments.command_line.experiment import play
from experiments.judging import atlas_card, contract, failures, speed
from experiments.judging.atlas_card import Cases
from experiments.judging.failures import Failures
from experiments.judging.judgement import Judgement
from experiments.judging.settings import Settings
from experiments.judging.spaces import Chapter, affordable, middle
from experiments.reports.tables import Row
from jaxbandit import Environment, Policy, Result, stress

RUNS = 48  # of each problem of a space
TIMED_RUNS, TIMED_SECONDS = 1000, 1.0
ATLAS, SPACE, SEARCH, PICTURES = range(4)  # each part has random numbers of its own


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
    worst: list[tuple[Failures, Result]] | None = [] if importlib.util.find_spec("cmaes") else None
    if parts and worst is None:
        print('no search for the worst problems: it needs the package cmaes (pip install -e ".[search]")', flush=True)
    timed: list[Row] = []
    for arms, group in _arms_to_time(policies, parts).values():
        timed += speed.rows_of(arms, group, TIMED_RUNS, TIMED_SECONDS)
    contracts = {}
    for label, policy in policies.items():
        spaces = [(middle(part.space), 1) for part in parts if label in part.policies]
        named = [
            (arms, atlas_card.plays_of(name))
            for name, arms in atlas_card.named_problems(asked.horizon).items()
            if name not in left_out[label]
        ]
        contracts[label] = contract.verdict(label, policy, *[*spaces, *named][0])
        print(f"{label} {contracts[label][1]}", flush=True)
    print(f"{len(atlas_card.named_problems(asked.horizon))} named problems", flush=True)
    measured = atlas_card.measured(play(planned, folder))
    curves = atlas_card.lower_curves(atlas_card.named_problems(asked.horizon), asked.horizon)
    cards = {label: atlas_card.card(label, policies, measured, curves) for label in policies}
    surveys = []
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
