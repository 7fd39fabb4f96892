"""Environments: rested Markov arms and the ways to make them."""

from jaxbandit.environments.markov_arms import InitialState, MarkovArms, bernoulli, markov, random, two_state

__all__ = ["InitialState", "MarkovArms", "bernoulli", "markov", "random", "two_state"]
