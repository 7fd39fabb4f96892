"""Environments: rested Markov arms and the ways to make them."""

from jaxbandit.environments.exponential_family import FamilyFit, exponential_family, fit_exponential_family
from jaxbandit.environments.markov_arms import InitialState, MarkovArms, bernoulli, markov, random, two_state

__all__ = [
    "FamilyFit",
    "InitialState",
    "MarkovArms",
    "bernoulli",
    "exponential_family",
    "fit_exponential_family",
    "markov",
    "random",
    "two_state",
]
