"""Weak regret: what is lost beside a player who plays the best arm in every round; rows of tables about it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from experiments.comparisons.growth import decades
from jaxbandit import Result, metrics
from jaxbandit.reports.tables import Row, in_short, moments

BEST = "best arm, known"  # the label of the policy that plays it
SHOWN = 3  # decades in the table of the best

WeakRegret = dict[str, np.ndarray]  # by policy, of each run at each recorded round, [run, time]


def weak_regret(result: Result) -> WeakRegret:
    """What each run of a policy collects less than the best arm alone does in the same run.

    Where arms move alike, played or not, from their stationary laws, its mean is that of realised regret. It is far
    less spread out, as both have the same random numbers.
    """
    regret = {label: metrics.regret(result, label)[0, 0] for label in result.labels}
    return {label: values - regret[BEST] for label, values in regret.items() if label != BEST}


def final_rows(result: Result) -> list[Row]:
    """Weak regret of every policy at the end."""
    return [
        {
            "policy": label,
            **moments(values[:, -1], "weak regret"),
            "pseudo-regret": float(metrics.pseudo_regret(result, label)[0, 0, :, -1].mean()),
            "best arm's share": float(metrics.best_share(result, label)[0, 0, :, -1].mean()),
        }
        for label, values in weak_regret(result).items()
    ]


def best_rows(result: Result, labels: Iterable[str]) -> list[Row]:
    """Which of the policies has least, and by how much less than the second, after the last decades of rounds."""
    regret = {label: values for label, values in weak_regret(result).items() if label in labels}
    rows: list[Row] = []
    for end in decades(int(result.times[-1]))[-SHOWN:]:
        values = {label: each[:, np.searchsorted(result.times, end)] for label, each in regret.items()}
        first, second = sorted(values, key=lambda label: float(values[label].mean()))[:2]
        apart = values[first] - values[second]
        row: Row = {"rounds": f"{end:,}", "least": first, "weak regret": in_short(values[first]), "second": second}
        clear = bool(metrics.summary(apart).high < 0)
        rows.append(row | {"difference": in_short(apart), "beyond chance": "yes" if clear else "no"})
    return rows


def overtaken(mine: np.ndarray, other: np.ndarray, times: np.ndarray) -> int | None:
    """The first of the times from which on `mine` [T] is below `other` [T]; None if it is not at the last.

    >>> overtaken(np.array([3.0, 1.0, 5.0, 6.0]), np.array([2.0, 2.0, 6.0, 7.0]), np.array([1, 10, 20, 30]))
    10
    >>> overtaken(np.array([1.0, 2.0]), np.array([2.0, 2.0]), np.array([1, 10]))
    """
    behind = np.flatnonzero(~(mine < other))
    start = behind[-1] + 1 if len(behind) else 0
    return int(times[start]) if start < len(times) else None


def overtaking_rows(result: Result, overtakers: Iterable[str]) -> list[Row]:
    """From which round on these have less on average than each policy, and how much less at the end."""
    regret = weak_regret(result)
    rows: list[Row] = []
    for label, values in regret.items():
        row: Row = {"than": label}
        for mine in overtakers:
            since = overtaken(regret[mine].mean(0), values.mean(0), result.times)
            row[f"{mine} has less from round"] = "" if mine == label else "never" if since is None else f"{since:,}"
            row[f"{mine} less it, at the end"] = "" if mine == label else in_short((regret[mine] - values)[:, -1])
        rows.append(row)
    return rows


def overtakes(result: Result, mine: str, labels: Iterable[str]) -> list[str]:
    """Those of the policies that have more than `mine` at the end, beyond chance."""
    end = {label: values[:, -1] for label, values in weak_regret(result).items()}
    return [label for label in labels if label in end and metrics.summary(end[mine] - end[label]).high < 0]
