"""Mean regret over a space of problems, as tables."""

from __future__ import annotations

import numpy as np

from experiments.reports.tables import Row
from jaxbandit.stress import Survey


def rows_of(survey: Survey) -> list[Row]:
    """A row for each policy, that of the least mean regret first."""
    rows: list[Row] = []
    for label in sorted(survey.regrets, key=lambda each: float(survey.regrets[each].mean())):
        mean, avoidable = survey.mean(label), survey.avoidable(label)
        median, most, worst = np.quantile(avoidable, [0.5, 0.9, 1])
        rows.append(
            {
                "policy": label,
                "mean regret": mean.mean,
                "95% low": mean.low,
                "95% high": mean.high,
                "avoidable: mean": float(avoidable.mean()),
                "median": float(median),
                "90% quantile": float(most),
                "largest": float(worst),
            }
        )
    return rows
