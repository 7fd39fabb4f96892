"""A published table of policies on arms that change, and the same policies here."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from experiments.change.policies import discount_of, forgetful, told_the_breaks
from jaxbandit import DiscountedThompson, Result, SlidingWindowUCB, atlas, metrics, plotting
from jaxbandit.reports.pictures import Pictures, frameless, panels
from jaxbandit.reports.tables import Row

PROBLEMS = ("Besson 1", "Besson 2")
RUNS, ROUNDS, CHANGES = 1000, 5000, 4  # of the published table
DEVIATIONS = {("KL-UCB", 1): 76.0, ("KL-UCB", 2): 59.0}  # of a run's regret, where the source gives them
# the published name to ours
SAME = {
    "KL-UCB": "KL-UCB",
    "KL-UCB, sliding window": "KL-UCB, window",
    "KL-UCB, CUSUM": "KL-UCB, CUSUM",
    "KL-UCB, GLR, local": "KL-UCB, GLR, few turns",
    "KL-UCB, M-UCB": "KL-UCB, M-UCB",
    "KL-UCB, discounted": "KL-UCB, discount",
    "Exp3.S": "Exp3.S",
    "Thompson": "Thompson",
    "Thompson, discounted": "Thompson, discount",
}
WHY = {  # why a policy of that name is another one in the package with which the table was made
    "KL-UCB, discounted": "there an arm with less than one discounted play counts as one that was never played",
    "Thompson, discounted": "unknown; plain loops of the policy as its source has it agree with ours",
    "KL-UCB, CUSUM": "there changes are looked for every tenth play, and the first rewards count in the sums",
    "KL-UCB, M-UCB": "there the test fires whenever its window is full",
    "KL-UCB, GLR, local": "there the threshold is another, and so may be the share of forced plays",
    "Exp3.S": "other numbers gamma and alpha",
}


def cases(size: dict[str, Any]) -> dict[str, Any]:
    """Both problems with all policies, and with the one that is told the breaks."""
    planned = {}
    for name in PROBLEMS:
        arms = atlas[name].with_horizon(ROUNDS)
        policies = forgetful(ROUNDS, CHANGES) | {
            "Thompson, discount": DiscountedThompson(0.95),  # as in the source
            "KL-UCB, told the breaks": told_the_breaks(arms.breaks.tolist()),
        }
        times = range(ROUNDS // 100, ROUNDS + 1, ROUNDS // 100)
        planned[name] = {"scenarios": {name: arms}, "policies": policies, **size, "horizon": ROUNDS, "times": times}
    return planned


def table(results: dict[str, Result]) -> list[Row]:
    """The published numbers beside ours, with what agrees, what does not and why."""
    rows: list[Row] = []
    for label in (*SAME, *[own for own in results[PROBLEMS[0]].labels if own not in SAME.values()]):
        for number, name in enumerate(PROBLEMS, 1):
            final = metrics.regret(results[name], SAME.get(label, label))[0, 0, :, -1]
            s = metrics.summary(final)
            row: Row = {"problem": name, "policy": label, "published": "-"}
            row |= {"here": f"{s.mean:,.0f} ± {s.high - s.mean:,.1f}", "verdict": "not published", "why": ""}
            if published := atlas[name].published.get(label):
                agrees = alike(final, published, DEVIATIONS.get((label, number)))
                row |= {"published": f"{published:,.0f}", "verdict": "agrees" if agrees else "differs"}
                row["why"] = "" if agrees else WHY.get(label, "unknown")
            rows.append(row)
    return rows


def alike(final: np.ndarray, published: float, deviation: float | None) -> bool:
    """Whether the published mean of 1,000 runs is within 3 standard errors of the difference.

    Where the source gives no standard deviation, ours stands for it; half a unit is added for rounding.
    """
    error = math.hypot(
        np.std(final, ddof=1) / np.sqrt(len(final)), (deviation or np.std(final, ddof=1)) / np.sqrt(RUNS)
    )
    return abs(final.mean() - published) <= 3 * error + 0.5


def draw(results: dict[str, Result]) -> Pictures:
    """Mean dynamic regret against time in both problems; dotted lines mark the breaks."""
    labels = (
        "KL-UCB",
        "Thompson",
        "KL-UCB, window",
        "KL-UCB, GLR, few turns",
        "KL-UCB, CUSUM",
        "Exp3.S",
        "Tsallis-INF",
    )
    figure, axes = panels(1, 2, (12, 5))
    for ax, name in zip(axes, PROBLEMS, strict=True):
        plotting.plot_regret(results[name], labels, ax=ax)
        frameless(ax, name, xscale="linear")
    yield "thesis", figure


def numbers() -> str:
    """The numbers that follow from horizon and changes, in words."""
    window = SlidingWindowUCB(horizon=ROUNDS, changes=CHANGES).length()
    discount = discount_of(ROUNDS, CHANGES)
    return f"{ROUNDS:,} rounds with {CHANGES} changes: windows of {window} rounds, discounts of {discount:.4f}"
