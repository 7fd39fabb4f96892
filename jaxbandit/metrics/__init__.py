"""Regret and its summaries: float64 NumPy functions of a result's counts.

`counts` says what they need of a result, `regrets` computes regret, `swaps` that for replacing one arm by another,
`stopping_times` says when runs stopped and what they answered, `shares` everything else. Code that displays results may
also take `counts.check_label`, `counts.check_result`, `counts.has_best_arm`, `counts.kind`,
`stopping_times.ends_of` and `stopping_times.has_stops`.
"""

from jaxbandit.metrics.regrets import (
    bayes_regret,
    constant_regret,
    dynamic_regret,
    paired_difference,
    pseudo_regret,
    realised_regret,
    regret,
    regret_name,
)
from jaxbandit.metrics.shares import best_arms, best_share, discounted_reward, linear_share
from jaxbandit.metrics.stopping_times import IdentificationSummary, identification
from jaxbandit.metrics.summaries import Summary, median_interval, summary
from jaxbandit.metrics.swaps import external_regret, internal_regret, pair_regrets, swap_regret

__all__ = [
    "IdentificationSummary",
    "Summary",
    "bayes_regret",
    "best_arms",
    "best_share",
    "constant_regret",
    "discounted_reward",
    "dynamic_regret",
    "external_regret",
    "identification",
    "internal_regret",
    "linear_share",
    "median_interval",
    "pair_regrets",
    "paired_difference",
    "pseudo_regret",
    "realised_regret",
    "regret",
    "regret_name",
    "summary",
    "swap_regret",
]
