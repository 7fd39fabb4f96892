"""The likelihood of an arm's transition counts under the likeliest chain with a given stationary mean.

Two states are solved in closed form, more states by an interior-point method. Others may take what is listed here.
"""

from jaxbandit.confidence.chain.likelihood import (
    LikeliestChain,
    chain_likelihood_ratio,
    chain_mean,
    chain_mean_upper,
    likeliest_chain,
    ratio_to,
)
from jaxbandit.confidence.chain.many_states import spread_of_values

__all__ = [
    "LikeliestChain",
    "chain_likelihood_ratio",
    "chain_mean",
    "chain_mean_upper",
    "likeliest_chain",
    "ratio_to",
    "spread_of_values",
]
