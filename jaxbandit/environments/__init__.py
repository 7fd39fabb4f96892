"""Environments: rested Markov arms and the ways to make them."""

from jaxbandit.environments.example import EXAMPLE
from jaxbandit.environments.fitting import Fit, fit
from jaxbandit.environments.markov_arms import InitialState, MarkovArms, bernoulli, markov, random, two_state

__all__ = ["EXAMPLE", "Fit", "InitialState", "MarkovArms", "bernoulli", "fit", "markov", "random", "two_state"]
