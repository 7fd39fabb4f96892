"""Environments: rested Markov arms, forever or in episodes, and the ways to make them."""

from jaxbandit.environments.example import EXAMPLE
from jaxbandit.environments.exponential_family import FamilyFit, exponential_family, fit_exponential_family
from jaxbandit.environments.fitting import Fit, fit
from jaxbandit.environments.markov_arms import InitialState, MarkovArms, bernoulli, markov, random, two_state
from jaxbandit.environments.restarting import Restarting, restarting

__all__ = [
    "EXAMPLE",
    "FamilyFit",
    "Fit",
    "InitialState",
    "MarkovArms",
    "Restarting",
    "bernoulli",
    "exponential_family",
    "fit",
    "fit_exponential_family",
    "markov",
    "random",
    "restarting",
    "two_state",
]
