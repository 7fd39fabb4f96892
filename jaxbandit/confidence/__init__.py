"""Confidence bounds from KL balls: on a probability, on the mean of a row, on the stationary mean of a chain."""

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
