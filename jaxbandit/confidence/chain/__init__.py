"""The likelihood of an arm's transition counts under the likeliest chain with a given stationary mean.

Two states are solved in closed form, more states by an interior-point method. Others may take what is listed here.
"""

from jaxbandit.confidence.chain.certified_order import MOST_STATES
from jaxbandit.confidence.chain.kt_mixture import chain_mixture
from jaxbandit.confidence.chain.likelihood import (
    LikeliestChain,
    chain_likelihood_ratio,
    chain_mean,
    chain_mean_upper,
    likeliest_chain,
    ratio_to,
)
from jaxbandit.confidence.chain.many_states import spread_of_values
from jaxbandit.confidence.chain.order_of_means import ChainOrder, chain_order, chain_order_lower

__all__ = [
    "MOST_STATES",
    "ChainOrder",
    "LikeliestChain",
    "chain_likelihood_ratio",
    "chain_mean",
    "chain_mean_upper",
    "chain_mixture",
    "chain_order",
    "chain_order_lower",
    "likeliest_chain",
    "ratio_to",
    "spread_of_values",
]
