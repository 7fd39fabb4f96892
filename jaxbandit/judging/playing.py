"""Playing: each part of a judgement in its turn, kept in the folder."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import jaxbandit
from jaxbandit import UCB1, Environment, Policy, Result, Uniform, atlas, stress, testing
from jaxbandit.command_line.experiment import counts_of
from jaxbandit.judging import atlas_card
from jaxbandit.judging.atlas_card import Cases, plays_of
from jaxbandit.judging.failures import Failures
from jaxbandit.judging.judge_options import Settings
from jaxbandit.judging.judged_spaces import Chapter, affordable, digest, middle, relabelled
from jaxbandit.judging.judgement import Judgement
from jaxbandit.judging.policy_text import in_users_words
from jaxbandit.judging.progress_line import clear, say, tell
from jaxbandit.reports.tables import Row
from jaxbandit.timing.stopwatch import time_case

RUNS = 48  # of each problem of a space
TIMED_RUNS, TIMED_SECONDS = 1000, 1.0
KEPT = (
    "keeps the contract: init, scores and update are pure, do the same with and without jit, alone and in a batch; "
    "shapes and types stay; no score is NaN"
)
LEFT_OUT = (
    "A quick look, to see that everything works and what a report is. It leaves out {others} of {all} named problems "
    "(of those that a policy plays, it keeps the largest group whose programs are the same), random problems, the "
    "search for the worst ones, and the timing."
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
    found: list[Failures] = []
    worst = found if importlib.util.find_spec("cmaes") else None
    if parts and worst is None:
        say('no search for the worst problems: it needs the package cmaes (pip install -e ".[search]")')
    timed: list[Row] = []
    for part in parts:
        seen = [row["policy"] for row in timed]
        if group := {label: policy for label, policy in part.policies.items() if label not in seen}:
            tell(f"speed: {', '.join(group)}")
            timed += speed_rows(middle(part.space), group)
    problems = {name: arms for case in planned.values() for name, arms in case["scenarios"].items()}
    quick = LEFT_OUT.format(others=len(atlas) - len(problems), all=len(atlas)) if asked.quick else ""
    if quick:
        say(quick)
    contracts = {}
    for label, policy in policies.items():
        spaces = [(middle(part.space), 1) for part in parts if label in part.policies]
        named = [(arms, plays_of(name)) for name, arms in problems.items() if name not in left_out[label]]
        tell(f"contract: {label}")
        contracts[label] = contract_verdict(label, policy, *[*spaces, *named][0])
        say(f"{label} {contracts[label][1]}")
    results = _play_named(planned, problems, folder)
    curves = atlas_card.lower_curves(problems, asked.horizon)
    cards = {label: atlas_card.card(label, problems, results, curves) for label in policies}
    surveys = []
    for part in parts:
        say(f"{asked.problems} random problems: {part.title}")
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
            say(f"search for the worst of {label}: {part.title}")
            found.append(_worst(label, part, policies, asked, folder))
    return Judgement(policies, asked.horizon, asked.runs, contracts, cards, left_out, surveys, worst, timed, quick)


def _play_named(planned: Cases, problems: Mapping[str, Environment], folder: Path) -> dict[str, Result]:
    """The results of all cases, one problem after the other, each of which is named."""
    results: dict[str, Result] = {}
    counts = counts_of(folder)
    try:
        for number, name in enumerate(problems, 1):
            tell(f"named problem {number} of {len(problems)}: {name}")
            cases = {key: case for key, case in planned.items() if name in case["scenarios"]}
            results |= jaxbandit.sweep(cases, counts, progress=False)
    finally:
        clear()
    return results


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


def _worst(label: str, part: Chapter, policies: dict[str, Policy], asked: Settings, folder: Path) -> Failures:
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
    return Failures(label, part, worst, jaxbandit.sweep({name: case}, folder / "counts")[name])
