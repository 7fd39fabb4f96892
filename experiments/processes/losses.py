"""Tables of what is lost on decision processes."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from scipy.stats import binomtest

from experiments.comparisons.growth import decades, linear_runs, slope
from experiments.processes import problems
from jaxbandit import Result, metrics
from jaxbandit.reports.tables import Row, in_short, moments

FIFTH = 0.2  # of what the best policy collects


def beyond_known(result: Result, label: str) -> np.ndarray:
    """What each run loses beyond a player with the same random numbers who knows the process, [run, time].

    Its mean is that of regret, as the other's regret is zero on average but for a start and an end, at most the span of
    the bias; it is far less spread out.
    """
    return np.asarray(metrics.regret(result, label)[0, 0] - metrics.regret(result, problems.KNOWN)[0, 0])


def final_rows(result: Result) -> list[Row]:
    """Final regret of every policy, least first: tail, growth, and whether the next one has more beyond chance."""
    rows: list[Row] = []
    final = {label: metrics.regret(result, label)[0, 0, :, -1] for label in result.labels}
    order = sorted(final, key=lambda label: float(final[label].mean()))
    for label, following in zip(order, [*order[1:], None], strict=True):
        known = label == problems.KNOWN
        apart = None if following is None else metrics.summary(final[label] - final[following])
        rows.append(
            {
                "policy": label,
                **moments(final[label]),
                "beyond known": "-" if known else in_short(beyond_known(result, label)[:, -1]),
                "linear share": float(metrics.linear_share(result, label)[0, 0]),
                "exponent": "-" if known else exponent(result, label),
                "less than the next": "-" if apart is None else "yes" if apart.high < 0 else "within chance",
            }
        )
    return rows


def exponent(result: Result, label: str) -> str:
    """The exponent with which the mean of `beyond_known` grows in the last decade of rounds, with its interval."""
    ends = decades(int(result.times[-1]))[-2:]
    if len(ends) < 2:
        return "-"
    return slope(np.log(ends), beyond_known(result, label)[:, np.searchsorted(result.times, ends)].T)


def loop_rows(result: Result) -> list[Row]:
    """Mean regret on RiverSwim beside that of plain loops, where both have played as many rounds; else no row."""
    rows: list[Row] = []
    for label, (mean, half) in problems.LOOPS.items():
        if label in result.labels and result.times[-1] == problems.LOOP_ROUNDS:
            s = metrics.summary(metrics.regret(result, label)[0, 0, :, -1])
            here, apart = float(s.high - s.mean), float(s.mean) - mean
            rows.append(
                {
                    "policy": label,
                    "plain loops": f"{mean:,} ± {half:,}",
                    "here": f"{s.mean:,.0f} ± {here:,.0f}",
                    "verdict": "agrees" if abs(apart) <= 1.5 * math.hypot(here, half) else "differs",
                }
            )
    return rows


def linear_rows(results: Mapping[str, Result]) -> list[Row]:
    """How many runs of IMED-RL lose a fifth or more where the process is hardly ergodic, and how many are linear."""
    rows: list[Row] = []
    for name in ("ergodic RiverSwim", problems.OTHER_ENDS):
        for label, share in problems.LOOP_SHARES.items():
            if name in results and label in results[name].labels:
                result = results[name]
                lost = metrics.regret(result, label)[0, 0, :, -1]
                most = FIFTH * problems.process(name).comparator(1) * int(result.times[-1])
                rows.append(
                    {
                        "process": name,
                        "policy": label,
                        "plain loops": f"{share:.0%}",
                        "lose a fifth or more": share_of(lost >= most),
                        "linear at the end": share_of(np.arange(result.runs) < linear_runs(result, label)),
                        "median": float(np.median(lost)),
                        "mean of the others": float(lost[lost < most].mean()) if (lost < most).any() else "-",
                    }
                )
    return rows


def share_of(true: np.ndarray) -> str:
    """The share of runs for which something is true, with Wilson's 95 % interval.

    >>> share_of(np.arange(40) < 8)
    '20% (10% to 35%)'
    """
    interval = binomtest(int(true.sum()), len(true)).proportion_ci(method="wilson")
    return f"{true.mean():.0%} ({interval.low:.0%} to {interval.high:.0%})"
