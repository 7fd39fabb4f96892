"""The atlas: what a policy loses on every named problem that it does not refuse, beside the panel."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from experiments.judging.spaces import not_played
from experiments.reports.tables import Row
from jaxbandit import IMED, KLUCB, Environment, Policy, Result, Thompson, bounds, metrics, stress
from jaxbandit.base import problem, reward_table
from jaxbandit.metrics import NO_BEST_ARM
from jaxbandit.simulation.fingerprint import fingerprint
from jaxbandit.simulation.request import check

Cases = dict[str, dict[str, Any]]


def panel_of(arms: Environment) -> dict[str, Policy]:
    """The policies that others are compared with on these arms."""
    if arms.reward is None:
        family = getattr(arms, "family", None)
        return {"KL-UCB": KLUCB(family=family), "IMED": IMED(family=family), "Thompson": Thompson(family=family)}
    chains = problem(arms) in ("rested", "restarting", "hidden")
    return (stress.TwoStateSpace() if chains else stress.RestlessSpace()).panel()


def contestants(policies: Mapping[str, Policy], panel: Mapping[str, Policy]) -> dict[str, Policy]:
    """The judged policies, and those of the panel that are none of them."""
    judged = {repr(policy) for policy in policies.values()}
    return dict(policies) | {label: each for label, each in panel.items() if repr(each) not in judged}


def alike(problems: Mapping[str, Environment]) -> list[dict[str, Environment]]:
    """The problems in groups that one program plays: those of one class, shape and static fields, and one panel."""
    groups: dict[str, dict[str, Environment]] = {}
    for name, arms in problems.items():
        shapes = jax.tree.map(lambda leaf: (np.shape(leaf), str(np.result_type(leaf))), arms)
        groups.setdefault(f"{type(arms)} {shapes!r} {panel_of(arms)!r}", {})[name] = arms
    return list(groups.values())


def cases(
    problems: Mapping[str, Environment], policies: Mapping[str, Policy], horizon: int, runs: int, key: Any
) -> tuple[Cases, dict[str, dict[str, str]]]:
    """A case for each policy and group of problems, and of each judged policy the problems that it does not play.

    Each has a name that nothing else has, so that a policy that was changed is played anew beside what is kept, and
    the others are not played again.

    Returns:
      name to the arguments of `simulate`, and label to problem to the reason.
    """
    found: Cases = {}
    left_out: dict[str, dict[str, str]] = {label: {} for label in policies}
    for group in alike(problems):
        for label, policy in contestants(policies, panel_of(next(iter(group.values())))).items():
            reasons = {name: not_played(label, policy, arms, horizon) for name, arms in group.items()}
            if label in left_out:
                left_out[label] |= {name: reason for name, reason in reasons.items() if reason}
            played = {name: arms for name, arms in group.items() if not reasons[name]}
            if played:
                times = sorted({max(1, horizon // 2), horizon})
                case = {"scenarios": played, "policies": {label: policy}, "times": times}
                case |= {"horizon": horizon, "runs": runs, "key": key}
                found[f"{label}, {digest(case)}"] = case
    return found, left_out


def digest(case: Mapping[str, Any]) -> str:
    """What tells a case from all others, whatever changes: fields, programs, horizon."""
    asked = fingerprint(check(**case))
    return hashlib.sha256(json.dumps([asked, case["horizon"]], sort_keys=True).encode()).hexdigest()[:8]


def measured(results: Mapping[str, Result]) -> dict[str, dict[str, Row]]:
    """Of each problem and policy its final regret."""
    found: dict[str, dict[str, Row]] = {}
    for result in results.values():
        (label,) = result.labels
        final = metrics.summary(metrics.regret(result, label)[:, 0, :, -1])
        share = None if result.problem in NO_BEST_ARM else metrics.linear_share(result, label)
        for n, name in enumerate(result.scenarios):
            found.setdefault(name, {})[label] = {
                "mean": float(final.mean[n]),
                "95% low": float(final.low[n]),
                "95% high": float(final.high[n]),
                "median": float(final.median[n]),
                "worst 5%": float(final.worst[n]),
                "linear share": "" if share is None else float(share[n, 0]),
            }
    return found


def card(
    label: str, policies: Mapping[str, Policy], found: dict[str, dict[str, Row]], curves: Mapping[str, float]
) -> list[Row]:
    """A row for each problem that a policy has played.

    Args:
      policies: those that are judged; the others in `found` are the panel.
      found: of `measured`.
      curves: of `lower_curves`.
    """
    rows: list[Row] = []
    for name, by_label in found.items():
        if label in by_label:
            field = {each: float(row["mean"]) for each, row in by_label.items() if each == label or each not in policies}
            rank, best = 1 + sum(mean < field[label] for mean in field.values()), min(field, key=field.__getitem__)
            row = {"problem": name, **by_label[label], "rank": f"{rank} of {len(field)}"}
            row |= {"least": f"{field[best]:,.1f}", "by": "itself" if best == label else best}
            curve = curves.get(name)
            rows.append(row | {"times the lower bound": "" if curve is None else row["mean"] / curve})
    return rows


def lower_curves(problems: Mapping[str, Environment], horizon: int) -> dict[str, float]:
    """Of each problem that has one, the curve of its lower bound at the horizon: its constant times log(horizon)."""
    found = {}
    for name, arms in problems.items():
        try:
            bound = bounds.lai_robbins(arms) if arms.reward is None else bounds.lower(arms)  # type: ignore[arg-type]
        except ValueError:  # the bounds say by themselves which arms they are for
            continue
        curve = float(bound.total * np.log(horizon))
        if 0 < curve < np.inf:
            found[name] = curve
    return found


def states(arms: Environment) -> int:
    """S, 0 where rewards have no finite table."""
    return int(reward_table(arms).shape[1])
