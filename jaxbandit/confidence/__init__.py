"""What confidence in the KL divergence allows: bounds on a probability, on a mean, on a chain's stationary mean."""

from jaxbandit.confidence.ball import kl_ball_max
from jaxbandit.confidence.bernoulli import Solver, kl_bound, kl_lower, kl_upper
from jaxbandit.confidence.stationary import stationary_mean_lower, stationary_mean_upper

__all__ = [
    "Solver",
    "kl_ball_max",
    "kl_bound",
    "kl_lower",
    "kl_upper",
    "stationary_mean_lower",
    "stationary_mean_upper",
]
