"""Confidence regions in the KL divergence, and log-likelihood ratios of an arm's transition counts.

`bernoulli` and `family` bound one probability or one mean, `row` treats one row of a chain, `chain` the likelihood of a
whole chain. Others may take what is listed here, in `row` and in `chain`; `families` also takes `bernoulli.SOLVERS`,
`bernoulli.exponential_excess` and `bernoulli.shortfall`.
"""

from jaxbandit.confidence.bernoulli import Solver, kl_bound, kl_lower, kl_upper
from jaxbandit.confidence.chain import (
    MOST_STATES,
    ChainOrder,
    chain_likelihood_ratio,
    chain_mean,
    chain_mean_upper,
    chain_mixture,
    chain_order,
    chain_order_lower,
)
from jaxbandit.confidence.family import family_upper
from jaxbandit.confidence.row import kl_ball_max, stationary_mean_lower, stationary_mean_upper

__all__ = [
    "MOST_STATES",
    "ChainOrder",
    "Solver",
    "chain_likelihood_ratio",
    "chain_mean",
    "chain_mean_upper",
    "chain_mixture",
    "chain_order",
    "chain_order_lower",
    "family_upper",
    "kl_ball_max",
    "kl_bound",
    "kl_lower",
    "kl_upper",
    "stationary_mean_lower",
    "stationary_mean_upper",
]
