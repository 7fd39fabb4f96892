"""The paper's claims as data, and how they are judged."""

from __future__ import annotations

from experiments.tables import Row
from jaxbandit import Result, metrics


def verdict(low: float, high: float) -> str:
    """Of "the first has less regret", from an interval of first minus second.

    >>> verdict(-3.0, -1.0), verdict(1.0, 3.0), verdict(-1.0, 1.0), verdict(float("nan"), float("nan"))
    ('holds', 'does not hold', 'undecided', 'undecided')
    """
    return "holds" if high < 0 else "does not hold" if low > 0 else "undecided"


def judge(result: Result, claims: list[tuple[str, str, str, str]]) -> list[Row]:
    """Each claim with its measured paired difference, the mean's verdict and the median's."""
    rows: list[Row] = []
    for claim, first, second, where in claims:
        difference = metrics.paired_difference(result, first, second)[0, 0]
        s = metrics.summary(difference)
        low, high = metrics.median_interval(difference)
        rows.append(
            {
                "claim": claim,
                "paper": where,
                "mean difference (95%)": f"{s.mean:,.1f} ({s.low:,.1f} to {s.high:,.1f})",
                "mean's verdict": verdict(float(s.low), float(s.high)),
                "median difference (95%)": f"{s.median:,.1f} ({low:,.1f} to {high:,.1f})",
                "median's verdict": verdict(float(low), float(high)),
            }
        )
    return rows
