"""Wrong answers of exact stopping rules on problems made to be hard for them, and the test that they are few enough."""

from __future__ import annotations

from typing import Any

import numpy as np

import jaxbandit
from jaxbandit import MarkovArms, Result, metrics
from jaxbandit.policies import Blocks, ChainGLR, Identify
from jaxbandit.reports.tables import Row

DELTA = 0.1
RULES = {"ChainGLR": ChainGLR(), "Blocks": Blocks()}  # exact for chains with two states: one line for another rule
ARMS = (2, 3, 5)
KINDS = ("random", "near tie", "sticky", "alternating", "extreme", "far start")
EACH = 4  # problems of each number of arms and kind


def problem(kind: str, arms: int, seed: int) -> MarkovArms:
    """Arms of a kind, drawn with the seed.

    random: probabilities of moves uniform in (.02, 1). The others draw means in (.2, .8), and how much of the largest
    possible moves arms make. near tie: the best mean is larger by .01 than all others, and speeds differ. sticky: arms
    move with a twentieth. alternating: one state is always left. extreme: each state is left always, or in every
    fiftieth play. far start: sticky arms, of which the best one starts in the state that pays 0, the others in 1.
    """
    draw = np.random.default_rng([KINDS.index(kind), arms, seed])
    means = draw.uniform(0.2, 0.8, arms)
    if kind == "near tie":
        means = means[0] - 0.01 * (np.arange(arms) > 0)
    share = draw.uniform(0.1, 1, arms)
    if kind in ("sticky", "far start"):
        share = np.full(arms, 0.05)
    elif kind == "alternating":
        share = np.ones(arms)
    fastest = share / np.maximum(means, 1 - means)
    up, down = (fastest * means).round(6), (fastest * (1 - means)).round(6)  # no 1 - 1e-17, too rare to be drawn
    if kind == "random":
        up, down = draw.uniform(0.02, 1, (2, arms))
    elif kind == "extreme":
        up, down = np.where(draw.random((2, arms)) < 0.5, 1.0, draw.uniform(0.02, 0.03, (2, arms)))
    start: Any = "stationary"
    if kind == "far start":
        start = (np.arange(arms) != means.argmax()).astype(int).tolist()
    return jaxbandit.two_state(up.tolist(), down.tolist(), initial_state=start)


def cases(size: dict[str, Any], each: int = EACH) -> dict[str, Any]:
    """A case for each number of arms: all its problems, all exact rules."""
    policies = {label: Identify(stopping=rule, delta=DELTA) for label, rule in RULES.items()}
    common = {"policies": policies} | size | {"until": "stopped", "times": [size["horizon"]]}
    return {
        f"errors, {arms} arms": common
        | {"scenarios": {f"{kind} {seed}": problem(kind, arms, seed) for kind in KINDS for seed in range(each)}}
        for arms in ARMS
    }


def table(results: dict[str, Result]) -> list[Row]:
    """For each rule and problem the share of wrong answers and its exact one-sided p-value, the least first.

    The p-value is the probability of so many wrong answers or more if each run is wrong with probability delta, times
    the number of rows (Bonferroni): below 0.05 a rule is not exact, with a chance of at most 0.05 that this is said of
    any rule that is.
    """
    from scipy.stats import binom  # slow to import, so it waits until it is needed

    rows: list[Row] = []
    tests = sum(len(result.labels) * len(result.scenarios) for result in results.values())
    for case, result in results.items():
        for label in result.labels:
            of = metrics.identification(result, label)
            for s, name in enumerate(result.scenarios):
                wrong, runs = int(of.wrong[s, 0]), int(of.runs[s, 0])
                p_value = min(1.0, tests * float(binom.sf(wrong - 1, runs, DELTA)))
                row: Row = {"rule": label, "arms": case.split()[1], "problem": name, "runs": str(runs)}
                row |= {"wrong": str(wrong), "wrong share": f"{wrong / runs:.2%}"}
                row |= {"interval": f"{of.wrong_low[s, 0]:.2%} to {of.wrong_high[s, 0]:.2%}"}
                rows.append(row | {"censored": str(of.censored[s, 0]), "p, all rows": f"{p_value:.3g}"})
    return sorted(rows, key=lambda row: -int(row["wrong"]))


def verdict(rows: list[Row], horizon: int) -> str:
    """What the table says, in words."""
    worst, problems = rows[0], len({(row["arms"], row["problem"]) for row in rows})
    least = min(float(row["p, all rows"]) for row in rows)
    censored = sum(int(row["censored"]) for row in rows) / sum(int(row["runs"]) for row in rows)
    said = "more often than accepted" if least < 0.05 else "not shown to be more often than accepted"
    return (
        f"Exact rules on {problems} problems, {worst['runs']} runs of at most {horizon:,} rounds, delta = {DELTA:g}: "
        f"the largest share of wrong answers is {worst['wrong share']} ({worst['rule']}, {worst['arms']} arms, "
        f"{worst['problem']}); the least p-value, corrected for all rows, is {least:.3g}: {said}. "
        f"{censored:.0%} of all runs have no answer."
    )
