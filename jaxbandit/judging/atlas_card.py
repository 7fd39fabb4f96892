"""The atlas: what a policy loses on every named problem that it does not refuse, beside the panel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import numpy as np

import jaxbandit
from jaxbandit import Environment, Policy, Result, atlas, bounds, members, metrics, stress
from jaxbandit.base import reward_table
from jaxbandit.judging.judged_spaces import affordable, digest, not_played
from jaxbandit.judging.progress_line import clear, tell
from jaxbandit.judging.standings import Standing, standing
from jaxbandit.members import declares
from jaxbandit.reports.tables import Row, moments

# problems in which plays of an arm that is not the best one may be right
NOT_LINEAR = ("restless", "observed", "changing", "rotting")
FEW = 8  # states of a process
FEWEST = 20  # runs, with which a page of a thousand comparisons may claim something
MOST_TOLD = 100  # changes that the panel is told of arms that drift
KINDS = {
    **{"rested": "Markov arms", "restarting": "Markov arms", "independent": "independent arms"},
    **{
        "hidden": "hidden states",
        "restless": "restless arms",
        "changing": "non-stationary arms",
        "rotting": "non-stationary arms",
    },
    **{"decision process": "decision processes", "all pay": "arms that all pay"},
}
Cases = dict[str, dict[str, Any]]


class Line(NamedTuple):
    """What a policy did on a named problem.

    Fields:
      kind: of the problem, in words.
      problem: its name.
      runs: how many were played.
      regret: columns of its final regret.
      linear: share of runs whose regret is still linear; None where that is not said.
      standing: beside all others.
      bound: mean regret over the lower bound's curve; None where there is no bound.
    """

    kind: str
    problem: str
    runs: int
    regret: Row
    linear: float | None
    standing: Standing
    bound: float | None


def named_problems(horizon: int) -> dict[str, Environment]:
    """The named problems, for games of this many rounds."""
    return {name: entry.with_horizon(horizon) for name, entry in atlas.items()}


def plays_of(name: str) -> int:
    """How many arms are played a round in a problem of this name."""
    return atlas[name].plays if name in atlas else 1


def panel_of(arms: Environment, horizon: int, plays: int = 1) -> dict[str, Policy]:
    """The policies that others are compared with on these arms; where all arms pay, one of them knows the chains."""
    panel: dict[str, Any]
    if declares(arms).paid == "all":
        known = jaxbandit.Whittle.of(arms) if declares(arms).problem == "observed" else jaxbandit.Myopic.of(arms)
        panel = {"Uniform": jaxbandit.Uniform(), f"{type(known).__name__}, chains known": known}
    elif arms.reward is None:
        family = jax.tree.map(lambda numbers: float(np.max(numbers)), members.family(arms))  # one for all arms
        panel = {kind.__name__: kind(family=family) for kind in (jaxbandit.KLUCB, jaxbandit.IMED, jaxbandit.Thompson)}
    elif declares(arms).problem == "decision process":
        panel = {"PSRL": jaxbandit.PSRL(), "UCRL2B": jaxbandit.UCRL2B()}
        panel |= {"IMEDRL": jaxbandit.IMEDRL()} if few_states(arms) else {}
    elif declares(arms).problem in ("changing", "rotting"):
        known = members.breaks(arms)
        breaks = min(max(1, 0 if known is None else len(known)), MOST_TOLD, horizon - 1)
        panel = stress.PiecewiseSpace(breaks=breaks, horizon=horizon).panel()
    else:
        chains = declares(arms).problem in ("rested", "restarting", "hidden")
        panel = (stress.TwoStateSpace() if chains else stress.RestlessSpace()).panel()
    panel = affordable(panel, arms, hours=False)
    return {label: policy for label, policy in panel.items() if not not_played(label, policy, arms, horizon, plays)}


def cases(
    problems: Mapping[str, Environment], policies: Mapping[str, Policy], horizon: int, runs: int, key: Any
) -> tuple[Cases, dict[str, dict[str, str]]]:
    """A case for each problem and judged policy, and one for the panel beside them; and what a policy does not play.

    The name of a case ends with its digest, so that a policy that was changed is played anew beside what is kept, and
    the others are not played again.

    Returns:
      name to the arguments of `simulate`, and label to problem to the reason.
    """
    size = {"times": sorted({max(1, horizon // 2), horizon}), "horizon": horizon, "key": key}
    planned: Cases = {}
    left_out: dict[str, dict[str, str]] = {label: {} for label in policies}
    judged = {repr(policy) for policy in policies.values()}
    tell(f"asking who plays which of {len(problems)} named problems")
    for number, (name, arms) in enumerate(problems.items(), 1):
        tell(f"asking who plays named problem {number} of {len(problems)}: {name}", in_a_file=False)
        plays, players = plays_of(name), []
        for label, policy in policies.items():
            if reason := not_played(label, policy, arms, horizon, plays):
                left_out[label][name] = reason
            else:
                players.append((label, {label: policy}))
        if players:
            panel = panel_of(arms, horizon, plays)
            players.append(("panel", {label: policy for label, policy in panel.items() if repr(policy) not in judged}))
        for who, played in players:
            case = {"scenarios": {name: arms}, "policies": played, "plays": plays, "runs": runs_of(arms, runs), **size}
            if played:
                planned[f"{who}, {name}, {digest(case)}"] = case
    clear()
    return planned, left_out


def quick_problems(
    problems: Mapping[str, Environment], policies: Mapping[str, Policy], horizon: int
) -> dict[str, Environment]:
    """Of each policy, the largest group of problems that it plays and whose programs are the same."""
    groups: dict[str, dict[str, Environment]] = {}
    for name, arms in problems.items():
        shapes = [(np.shape(leaf), np.result_type(leaf)) for leaf in jax.tree.leaves(arms)]
        groups.setdefault(f"{jax.tree.structure(arms)} {shapes} {plays_of(name)}", {})[name] = arms
    chosen: dict[str, Environment] = {}
    for label, policy in policies.items():
        for group in sorted(groups.values(), key=len, reverse=True):
            if any(not not_played(label, policy, arms, horizon, plays_of(name)) for name, arms in group.items()):
                chosen |= group
                break
    return chosen or dict(problems)


def runs_of(arms: Environment, runs: int) -> int:
    """A quarter of the runs where arms have more than two states, a twentieth in large processes; at least 20."""
    if reward_table(arms).shape[1] <= 2:
        return runs
    part = 20 if declares(arms).problem == "decision process" and not few_states(arms) else 4
    return min(runs, max(FEWEST, runs // part))


def few_states(process: Environment) -> bool:
    """Whether a process has so few states that learners plan for it in no time."""
    return bool(reward_table(process).shape[1] <= FEW)


def regrets_of(results: Mapping[str, Result]) -> dict[str, dict[str, np.ndarray]]:
    """Final regret of everybody on each problem: name to label to [R]."""
    regrets: dict[str, dict[str, np.ndarray]] = {}
    for result in results.values():
        for player in result.labels:
            regrets.setdefault(result.scenarios[0], {})[player] = metrics.regret(result, player)[0, 0, :, -1]
    return regrets


def card(
    label: str, problems: Mapping[str, Environment], results: Mapping[str, Result], curves: Mapping[str, float]
) -> list[Line]:
    """A line for each problem that a policy has played, beside everybody else who has.

    Args:
      problems: all named ones.
      results: of `cases`.
      curves: of `lower_curves`.
    """
    regrets = regrets_of(results)
    own = {result.scenarios[0]: result for result in results.values() if label in result.labels}
    comparisons = sum(len(regrets[name]) - 1 for name in own)
    lines = []
    for name, result in own.items():
        final, linear = regrets[name][label], result.problem not in NOT_LINEAR
        share = float(metrics.linear_share(result, label)[0, 0]) if linear else None
        bound = float(final.mean()) / curves[name] if name in curves else None
        stands = standing(label, regrets[name], comparisons)
        lines.append(Line(kind_of(problems[name]), name, len(final), moments(final), share, stands, bound))
    return lines


def kind_of(arms: Environment) -> str:
    """The kind of a problem, in words."""
    if declares(arms).paid == "all":
        return KINDS["all pay"]
    rows, problem = members.transition(arms), str(declares(arms).problem)
    if problem == "rested" and (
        arms.reward is None or (rows is not None and np.ptp(np.asarray(rows), -2).max() < 1e-9)
    ):
        problem = "independent"
    return KINDS.get(problem, f"{problem} arms")


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
