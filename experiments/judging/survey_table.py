"""Mean regret over a space of problems, as tables."""

from __future__ import annotations

import numpy as np

from experiments.reports.tables import Row
from jaxbandit.stress import Survey


def rows_of(survey: Survey) -> list[Row]:
    """A row for each policy, that of the least mean regret first; how much more than that one the others have."""
    rows: list[Row] = []
    labels = sorted(survey.regrets, key=lambda each: float(survey.regrets[each].mean()))
    for label in labels:
        mean, more, avoidable = survey.mean(label), survey.difference(label, labels[0]), survey.avoidable(label)
        median, most, worst = np.quantile(avoidable, [0.5, 0.9, 1])
        rows.append(
            {
                "policy": label,
                "mean regret": mean.mean,
                "95% low": mean.low,
                "95% high": mean.high,
                "more than the first": more.mean,
                "more: 95% low": more.low,
                "more: 95% high": more.high,
                "avoidable: mean": float(avoidable.mean()),
                "median": float(median),
                "90% quantile": float(most),
                "largest": float(worst),
            }
        )
    return rows
