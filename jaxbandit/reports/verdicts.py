"""Claims that one policy has less regret than another, and how they are judged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from jaxbandit import Result, metrics
from jaxbandit.reports.tables import Row


class Claim(NamedTuple):
    """That one policy has less regret than another."""

    text: str
    better: str
    worse: str
    where: str  # in the paper


def verdict(low: float, high: float) -> str:
    """Of "the first has less regret", from an interval of first minus second.

    >>> verdict(-3.0, -1.0), verdict(1.0, 3.0), verdict(-1.0, 1.0), verdict(float("nan"), float("nan"))
    ('holds', 'does not hold', 'undecided', 'undecided')
    """
    return "holds" if high < 0 else "does not hold" if low > 0 else "undecided"


def verdict_of_equality(low: float, high: float, margin: float) -> str:
    """Of "there is no difference of `margin` or more", from an interval of the difference.

    >>> verdict_of_equality(-1, 2, 3), verdict_of_equality(-9, -4, 3), verdict_of_equality(-4, 1, 3)
    ('holds', 'does not hold', 'undecided')
    """
    if -margin < low and high < margin:
        return "holds"
    return "does not hold" if low >= margin or high <= -margin else "undecided"


def interval(value: float, low: float, high: float, form: str = ",.1f") -> str:
    return f"{value:{form}} ({low:{form}} to {high:{form}})"


def up_to(result: Result, end: int) -> Result:
    """The counts of the result as they were after a recorded round."""
    kept = result.times <= end
    visits = {label: counts[:, :, :, kept] for label, counts in result.visits.items()}
    return replace(result, times=result.times[kept], visits=visits, rounds=end, horizon=end, carry={}, recorded={})


def judge(result: Result, claims: list[Claim], scenario: int = 0) -> list[Row]:
    """Each claim about a scenario with its measured paired difference, the mean's verdict and the median's."""
    return [
        _judged(
            claim.text, claim.where, metrics.paired_difference(result, claim.better, claim.worse)[scenario, 0], verdict
        )
        for claim in claims
    ]


def judge_equality(result: Result, text: str, one: str, other: str, where: str, share: float = 0.1) -> Row:
    """That two policies differ by less than a share of the first's mean final regret."""
    margin = share * float(metrics.pseudo_regret(result, one)[0, 0, :, -1].mean())
    text = f"{text} (by less than {share:.0%}: {margin:,.1f})"
    difference = metrics.paired_difference(result, one, other)[0, 0]
    return _judged(text, where, difference, partial(verdict_of_equality, margin=margin))


def _judged(text: str, where: str, difference: np.ndarray, decide: Callable[[float, float], str]) -> Row:
    s = metrics.summary(difference)
    low, high = metrics.median_interval(difference)
    return {
        "claim": text,
        "paper": where,
        "mean's verdict": decide(float(s.low), float(s.high)),
        "mean difference (95%)": interval(float(s.mean), float(s.low), float(s.high)),
        "median's verdict": decide(float(low), float(high)),
        "median difference (95%)": interval(float(s.median), float(low), float(high)),
    }


def saved(result: Result, label: str, against: str, resamples: int, seed: int) -> np.ndarray:
    """Share of another policy's mean final regret that `label` saves: first as measured, then of resampled runs."""
    own, other = (metrics.pseudo_regret(result, name)[0, 0, :, -1] for name in (label, against))
    runs = len(own)
    random = np.random.default_rng(seed)
    drawn = (random.integers(runs, size=runs) for _ in range(resamples))
    means = np.array([[own.mean(), other.mean()], *([own[j].mean(), other[j].mean()] for j in drawn)])
    return np.asarray(1 - means[:, 0] / means[:, 1])


def judge_savings(text: str, where: str, more: np.ndarray, less: np.ndarray) -> Row:
    """That one saving is larger than another, from bootstrap resamples of both."""
    difference = more - less
    low, high = np.quantile(difference[1:], [0.025, 0.975])
    return {
        "claim": text,
        "paper": where,
        "mean's verdict": verdict(-high, -low),
        "mean difference (95%)": interval(more[0] - less[0], low, high, "+.1%"),
        "median's verdict": "",
        "median difference (95%)": "",
    }
