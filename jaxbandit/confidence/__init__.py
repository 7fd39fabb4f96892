"""What confidence allows: KL balls around a probability, a row or one row of a chain; the likelihood of a chain."""

from jaxbandit.confidence.ball import kl_ball_max
from jaxbandit.confidence.bernoulli import Solver, kl_bound, kl_lower, kl_upper
from jaxbandit.confidence.family import family_upper
from jaxbandit.confidence.likelihood import chain_likelihood_ratio, chain_mean, chain_mean_upper
from jaxbandit.confidence.stationary import stationary_mean_lower, stationary_mean_upper

__all__ = [
    "Solver",
    "chain_likelihood_ratio",
    "chain_mean",
    "chain_mean_upper",
    "family_upper",
    "kl_ball_max",
    "kl_bound",
    "kl_lower",
    "kl_upper",
    "stationary_mean_lower",
    "stationary_mean_upper",
]
