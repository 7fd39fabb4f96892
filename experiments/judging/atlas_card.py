"""The atlas: what a policy loses on every named problem that it does not refuse, beside the panel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import numpy as np

from experiments.judging.comparison import standing
from experiments.judging.spaces import affordable, digest, not_played
from experiments.reports.tables import Row
from jaxbandit import (
    IMED,
    IMEDRL,
    KLUCB,
    PSRL,
    UCRL2B,
    Environment,
    Myopic,
    Policy,
    Result,
    Thompson,
    Uniform,
    Whittle,
    atlas,
    bounds,
    metrics,
    stress,
)
from jaxbandit.base import reward_table
from jaxbandit.members import declares

# problems in which plays of an arm that is not the best one may be right
NOT_LINEAR = ("restless", "observed", "changing", "rotting")
FEW = 8  # states of a process
MOST_TOLD = 100  # changes that the panel is told of arms that drift
Cases = dict[str, dict[str, Any]]


def named_problems(horizon: int) -> dict[str, Environment]:
    """The named problems, for games of this many rounds."""
    return {name: entry.with_horizon(horizon) for name, entry in atlas.items()}


def plays_of(name: str) -> int:
    """How many arms are played a round in a problem of this name."""
    return atlas[name].plays if name in atlas else 1


def panel_of(arms: Environment, horizon: int, plays: int = 1) -> dict[str, Policy]:
    """The policies that others are compared with on these arms; where all arms pay, one of them knows the chains."""
    panel: dict[str, Policy]
    if declares(arms).paid == "all":
        known = Whittle.of(arms) if declares(arms).problem == "observed" else Myopic.of(arms)
        panel = {"Uniform": Uniform(), f"{type(known).__name__}, chains known": known}
    elif arms.reward is None:
        family = jax.tree.map(lambda numbers: float(np.max(numbers)), getattr(arms, "family", None))  # one for all arms
        panel = {kind.__name__: kind(family=family) for kind in (KLUCB, IMED, Thompson)}
    elif declares(arms).problem == "decision process":
        panel = {"PSRL": PSRL(), "UCRL2B": UCRL2B()} | ({"IMEDRL": IMEDRL()} if few_states(arms) else {})
    elif declares(arms).problem in ("changing", "rotting"):
        breaks = min(max(1, len(getattr(arms, "breaks", ()))), MOST_TOLD, horizon - 1)
        panel = stress.PiecewiseSpace(breaks=breaks, horizon=horizon).panel()
    else:
        chains = declares(arms).problem in ("rested", "restarting", "hidden")
        panel = (stress.TwoStateSpace() if chains else stress.RestlessSpace()).panel()
    panel = affordable(panel, arms, hours=False)
    return {label: policy for label, policy in panel.items() if not not_played(label, policy, arms, horizon, plays)}


class Group(NamedTuple):
    """Problems that one program plays: those of one class, shape, static fields and number of plays."""

    plays: int
    panel: dict[str, Policy]
    problems: dict[str, Environment]


def alike(problems: Mapping[str, Environment], horizon: int) -> list[Group]:
    """The problems in groups."""
    groups: dict[str, Group] = {}
    for name, arms in problems.items():
        shapes = jax.tree.map(lambda leaf: f"{np.shape(leaf)} {np.result_type(leaf)}", arms)
        plays = plays_of(name)
        panel = panel_of(arms, horizon, plays)
        group = groups.setdefault(f"{type(arms)} {shapes!r} {plays} {panel!r}", Group(plays, panel, {}))
        group.problems[name] = arms
    return list(groups.values())


def cases(
    problems: Mapping[str, Environment], policies: Mapping[str, Policy], horizon: int, runs: int, key: Any
) -> tuple[Cases, dict[str, dict[str, str]]]:
    """Cases for each judged policy and for the panel beside it, and of each the problems that it does not play.

    Each has a name that nothing else has, so that a policy that was changed is played anew beside what is kept, and
    the others are not played again.

    Returns:
      name to the arguments of `simulate`, and label to problem to the reason.
    """
    size = {"times": sorted({max(1, horizon // 2), horizon}), "horizon": horizon, "key": key}
    planned: Cases = {}
    left_out: dict[str, dict[str, str]] = {label: {} for label in policies}

    def add(name: str, scenarios: dict[str, Environment], together: dict[str, Policy], plays: int) -> None:
        if scenarios and together:
            case = {"scenarios": scenarios, "policies": together, "plays": plays, **size}
            case["runs"] = runs_of(next(iter(scenarios.values())), runs)
            planned[f"{name}, {digest(case)}"] = case

    for plays, panel, group in alike(problems, horizon):
        judged = {}
        for label, policy in policies.items():
            reasons = {name: not_played(label, policy, arms, horizon, plays) for name, arms in group.items()}
            left_out[label] |= {name: reason for name, reason in reasons.items() if reason}
            judged[label] = {name: arms for name, arms in group.items() if not reasons[name]}
        if any(judged.values()):
            add("panel", group, without(panel, policies), plays)
        for label, policy in policies.items():
            add(label, judged[label], {label: policy}, plays)
    return planned, left_out


def runs_of(arms: Environment, runs: int) -> int:
    """A quarter of the runs where arms have more than two states, and a twentieth where a process has many."""
    if reward_table(arms).shape[1] <= 2:
        return runs
    return max(2, runs // (20 if declares(arms).problem == "decision process" and not few_states(arms) else 4))


def few_states(process: Environment) -> bool:
    """Whether a process has so few states that learners plan for it in no time."""
    return bool(reward_table(process).shape[1] <= FEW)


def without(panel: Mapping[str, Policy], policies: Mapping[str, Policy]) -> dict[str, Policy]:
    """The panel without those that are judged."""
    judged = {repr(policy) for policy in policies.values()}
    return {label: policy for label, policy in panel.items() if repr(policy) not in judged}


class Measured(NamedTuple):
    """Final regret of a policy on a problem."""

    row: Row  # in numbers
    regret: np.ndarray  # of each run


def measured(results: Mapping[str, Result]) -> dict[str, dict[str, Measured]]:
    """Of each problem and policy its final regret."""
    by_problem: dict[str, dict[str, Measured]] = {}
    for result in results.values():
        for label in result.labels:
            regret = metrics.regret(result, label)[:, 0, :, -1]
            final = metrics.summary(regret)
            share = None if result.problem in NOT_LINEAR else metrics.linear_share(result, label)
            for n, name in enumerate(result.scenarios):
                row: Row = {
                    "mean": float(final.mean[n]),
                    "95% low": float(final.low[n]),
                    "95% high": float(final.high[n]),
                    "median": float(final.median[n]),
                    "worst 5%": float(final.worst[n]),
                    "linear share": "" if share is None else float(share[n, 0]),
                }
                by_problem.setdefault(name, {})[label] = Measured(row, regret[n])
    return by_problem


def card(
    label: str, policies: Mapping[str, Policy], found: dict[str, dict[str, Measured]], curves: Mapping[str, float]
) -> list[Row]:
    """A row for each problem that a policy has played, with where it stands in the panel as far as runs tell it.

    Args:
      policies: those that are judged; the others in `found` are the panel.
      found: of `measured`.
      curves: of `lower_curves`.
    """
    rows: list[Row] = []
    for name, by_label in found.items():
        if label in by_label:
            field = {each: final.regret for each, final in by_label.items() if each == label or each not in policies}
            stands, mean = standing(label, field), float(field[label].mean())
            least, own = float(field[stands.best].mean()), stands.best == label
            row: Row = {"problem": name, **by_label[label].row, "rank": stands.rank}
            row |= {"not told apart from": "; ".join(stands.open) or "-"}
            row |= {"least": least, "by": "itself" if own else stands.best}
            row |= {"times the least": mean / least if least > 0 else "", "more than the least": stands.more.mean}
            row |= {"more: 95% low": stands.more.low, "more: 95% high": stands.more.high}
            curve = curves.get(name)
            rows.append(row | {"times the lower bound": "" if curve is None else mean / curve})
    return rows


def lower_curves(problems: Mapping[str, Environment], horizon: int) -> dict[str, float]:
    """Of each problem that has one, the curve of its lower bound at the horizon: its constant times log(horizon)."""
    curves = {}
    for name, arms in problems.items():
        try:
            bound = bounds.lai_robbins(arms) if arms.reward is None else bounds.lower(arms)  # type: ignore[arg-type]
        except ValueError:  # the bounds say by themselves which arms they are for
            continue
        curve = float(bound.total * np.log(horizon))
        if 0 < curve < np.inf:
            curves[name] = curve
    return curves
