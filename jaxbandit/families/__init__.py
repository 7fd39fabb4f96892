"""One-parameter exponential families of rewards: the divergence of two means, and what a divergence allows."""

from jaxbandit.base import Family
from jaxbandit.families.independent import Bernoulli, Exponential, Gaussian, Poisson

__all__ = ["Bernoulli", "Exponential", "Family", "Gaussian", "Poisson"]
