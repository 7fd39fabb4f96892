"""The arms that the lemmas are checked on, and a row of the table of checks."""

from __future__ import annotations

import numpy as np

from experiments.reports.tables import Row
from experiments.reports.verdicts import interval
from experiments.theory.two_states import Chain
from jaxbandit import metrics

ARMS = (Chain(0.7, 0.3), Chain(0.3, 0.5), Chain(0.4, 0.6))  # means 0.7, 0.375, 0.4
# m of the lemmas, between the best arm's mean and the others'. A type can have the mean 0.55 exactly; the little less
# keeps rounding from calling it worse than m.
MEAN = 0.55 - 1e-12
ROUNDING = 1e-9


def row(lemma: str, what: str, bound: float | str, measured: float | str, holds: bool) -> Row:
    """A row of the table; numbers to four digits."""

    def said(value: float | str) -> str:
        return value if isinstance(value, str) else f"{value:.4g}"

    verdict = "yes" if holds else "no"
    return {"lemma": lemma, "what": what, "bound": said(bound), "measured": said(measured), "holds": verdict}


def at_most(lemma: str, what: str, bound: float, values: np.ndarray) -> Row:
    """A row that holds unless the whole 95 % interval of the mean of `values` [R] is above the bound."""
    s = metrics.summary(values)
    low = float(s.low)
    return row(lemma, what + " (95%)", bound, interval(float(s.mean), low, float(s.high)), low <= bound)
