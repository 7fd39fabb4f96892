"""Playing: each part of a judgement in its turn, kept in the folder."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np

import jaxbandit
from jaxbandit import UCB1, Environment, Policy, Result, Uniform, stress, testing
from jaxbandit.command_line.experiment import play
from jaxbandit.judging import atlas_card
from jaxbandit.judging.atlas_card import Cases
from jaxbandit.judging.failures import Failures
from jaxbandit.judging.judge_options import Settings
from jaxbandit.judging.judged_spaces import Chapter, affordable, digest, middle, relabelled
from jaxbandit.judging.judgement import Judgement
from jaxbandit.judging.policy_text import in_users_words
from jaxbandit.reports.tables import Row
from jaxbandit.timing.stopwatch import time_case

RUNS = 48  # of each problem of a space
TIMED_RUNS, TIMED_SECONDS = 1000, 1.0
KEPT = (
    "keeps the contract: init, scores and update are pure, do the same with and without jit, alone and in a batch; "
    "shapes and types stay; no score is NaN"
)
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
    """
    found: list[tuple[Failures, Result]] = []
    worst = found if importlib.util.find_spec("cmaes") else None
    if parts and worst is None:
        print('no search for the worst problems: it needs the package cmaes (pip install -e ".[search]")', flush=True)
    timed: list[Row] = []
    for part in parts:
        seen = [row["policy"] for row in timed]
        if group := {label: policy for label, policy in part.policies.items() if label not in seen}:
            timed += speed_rows(middle(part.space), group)
    contracts = {}
    for label, policy in policies.items():
        spaces = [(middle(part.space), 1) for part in parts if label in part.policies]
        named = [
            (arms, atlas_card.plays_of(name))
            for name, arms in atlas_card.named_problems(asked.horizon).items()
            if name not in left_out[label]
        ]
        contracts[label] = contract_verdict(label, policy, *[*spaces, *named][0])
        print(f"{label} {contracts[label][1]}", flush=True)
    print(f"{len(atlas_card.named_problems(asked.horizon))} named problems", flush=True)
    results = play(planned, folder)
    curves = atlas_card.lower_curves(atlas_card.named_problems(asked.horizon), asked.horizon)
    cards = {label: atlas_card.card(label, policies, results, curves) for label in policies}
    surveys = []
    for part in parts:
        print(f"{asked.problems} random problems: {part.title}", flush=True)
        size: dict[str, Any] = {
            "problems": asked.problems,
            "runs": RUNS,
            "horizon": part.horizon,
            "key": asked.key(SPACE),
        }
        place = folder / "spaces" / part.identity(part.policies)
        surveys.append((part, stress.over(part.space, part.policies, panel=_panel(part), folder=place, **size)))
    for part in parts if worst is not None else []:
        for label in part.policies:
            print(f"search for the worst of {label}: {part.title}", flush=True)
            found.append(_worst(label, part, policies, asked, folder))
    return Judgement(policies, asked.horizon, asked.runs, contracts, cards, left_out, surveys, worst, timed)


def contract_verdict(label: str, policy: Any, arms: Environment, plays: int = 1) -> tuple[bool, str]:
    """Whether the policy keeps the contract on these arms, and what is broken."""
    try:
        testing.check_policy(policy, arms, plays=plays)
    except AssertionError as error:
        return False, f"breaks the contract: {error}"
    except Exception as error:
        return False, f"cannot be checked: {in_users_words(error, label)}"
    return True, KEPT


def speed_rows(arms: Environment, policies: dict[str, Policy]) -> list[Row]:
    """Million rounds a second and seconds to compile of UCB1 and every policy, on the same arms."""
    jaxbandit.simulate(arms, {"": Uniform()}, runs=TIMED_RUNS, horizon=10, times=[10], progress=False)  # starts JAX
    rows: list[Row] = []
    for label, policy in {"UCB1": UCB1(), **policies}.items():
        case = {"scenarios": {"": arms}, "policies": {"": [policy]}, "runs": TIMED_RUNS}
        timing = time_case("policy", label, case, TIMED_SECONDS, float(rows[0]["million rounds/s"]) if rows else np.nan)
        row: Row = {"policy": label, "million rounds/s": timing.rate, "times UCB1": timing.ratio if rows else 1.0}
        rows.append(row | {"seconds to compile": timing.compile_seconds})
    return rows


def _panel(part: Chapter) -> dict[str, Policy]:
    """The space's panel; one that is judged has there the label under which it is judged."""
    return relabelled(affordable(part.space.panel(), middle(part.space)), part.policies)


def _worst(
    label: str, part: Chapter, policies: dict[str, Policy], asked: Settings, folder: Path
) -> tuple[Failures, Result]:
    """The worst problems of a policy, and what everybody loses there."""
    panel = _panel(part)
    worst = stress.worst(
        policies[label],
        part.space,
        panel=panel,
        budget=asked.budget,
        number=asked.number,
        runs=asked.runs,
        horizon=part.horizon,
        key=asked.key(SEARCH),
        folder=folder / "worst" / part.identity({label: policies[label]}),
    )
    if not worst or any(problem.stopped for problem in worst):
        raise KeyboardInterrupt
    case: dict[str, Any] = {"scenarios": {f"problem {number}": problem.arms for number, problem in enumerate(worst, 1)}}
    case |= {"policies": part.policies | panel, "horizon": part.horizon, "runs": asked.runs, "key": asked.key(PICTURES)}
    name = f"worst of {label}, {digest(case)}"
    return Failures(label, part, worst), jaxbandit.sweep({name: case}, folder / "counts")[name]
