"""The paper's claims about bounds, decided by computing them, and the bounds of every scenario."""

from __future__ import annotations

import numpy as np

from experiments.published.scenarios import INDEPENDENT, THEOREM, all_arms
from experiments.published.slow_arms import constants
from jaxbandit import bounds
from jaxbandit.reports.tables import Row


def judge_bounds() -> list[Row]:
    """Claims about bounds, decided by computing them."""
    slow = constants(np.geomspace(1e-3, 1e-6, 31))
    fast = constants(np.geomspace(1, 1e-3, 31))
    ratios = [float(row["ratio"]) for row in slow if row["condition"] == "fails"]
    checked = [float(row["ratio"]) for row in fast if row["condition"] == "holds"]
    arms = all_arms()
    same = arms[INDEPENDENT]
    case_d, known = bounds.upper_asymptotic(same), bounds.lai_robbins(same)

    def row(claim: str, where: str, computed: str, holds: bool) -> Row:
        return {"claim": claim, "paper": where, "computed": computed, "verdict": "holds" if holds else "does not hold"}

    def larger(ratio: list[float]) -> str:
        return f"UCB-SM's is {min(ratio):,.1f} to {max(ratio):,.1f} times as large in the family of figure 1e"

    above = "TV-KL-UCB's asymptotic bound is below UCB-SM's, min sigma "
    meets = f"{case_d.total:.4f} and {known.total:.4f} with scenario 1's means"

    def apart(case: str) -> Row:
        name = THEOREM["scenario 1"][case]
        kinds = (bounds.upper_asymptotic, bounds.lower_paper, bounds.lower)
        upper, lower, tight = (float(kind(arms[name]).total) for kind in kinds)
        text = f"{name}: {upper:.2f} above; {lower:.2f}, or tight {tight:.2f}, below"
        claim, where = "the upper bound is not below the lower one", f"theorems 1 ({case}) and 3"
        return row(claim, where, text, upper >= max(lower, tight))

    met = abs(case_d.total / known.total - 1) < 1e-9
    everywhere = bounds.upper_asymptotic(same, "KL-UCB-MC")
    short = f"{everywhere.total:.2f} and {known.total:.2f} with scenario 1's means"
    powers = [bounds.regret_exponent(each) for each in (arms["scenario 1"], same)]
    return [
        row(above + "at least 1/1440", "theorem 2", larger(checked), min(checked) > 1),
        row(above + "below 1/1440", "figure 1e", larger(ratios), min(ratios) > 1),
        row("for i.i.d. arms the upper bound meets the lower one", "theorem 1 (d)", meets, met),
        *map(apart, "abc"),
        row(
            "KL-UCB-MC has the constant of case (a) for all arms: on i.i.d. ones it is not below the lower one",
            "appendix D",
            short,
            bool(everywhere.total >= known.total),
        ),
        row(
            "TV-KL-UCB's regret is of the order log n, and optimal for i.i.d. arms",
            "theorem 1",
            f"at least n^({min(powers):g} - o(1)), in scenario 1 and on i.i.d. arms: our proof",
            max(powers) == 0,
        ),
    ]


def bounds_table() -> list[Row]:
    """Constants of log n of every scenario."""
    rows: list[Row] = []
    for name, each in all_arms().items():
        two = each.reward.shape[1] == 2
        sigma = f"{bounds.eigenvalue_condition(each).least:.3g}" if two else ""
        rows.append(
            {
                "scenario": name,
                "min sigma": sigma,
                "lower, the paper's": f"{bounds.lower_paper(each).total:,.2f}",
                "lower, tight": f"{bounds.lower(each).total:,.2f}",
                "lower, i.i.d. arms": f"{bounds.lai_robbins(each).total:,.2f}" if name == INDEPENDENT else "",
                "upper, TV-KL-UCB": f"{bounds.upper_asymptotic(each).total:,.2f}" if two else "two states only",
                "upper, UCB-SM, L = 343": f"{bounds.ucb_sm_upper(each).total:,.0f}",
                "L of 2012": f"{bounds.ucb_sm_constant(each):,.0f}",
            }
        )
    return rows
