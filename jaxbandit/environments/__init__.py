"""Environments: rested, restless and hidden Markov arms, forever or in episodes, arms with independent rewards."""

from jaxbandit.environments.example import EXAMPLE
from jaxbandit.environments.fitting import Fit, fit
from jaxbandit.environments.hidden_arms import HiddenArms, hidden
from jaxbandit.environments.independent_arms import IndependentArms, beta, exponential, gaussian, poisson, uniform
from jaxbandit.environments.markov_arms import InitialState, MarkovArms, bernoulli, markov, random_arms, two_state
from jaxbandit.environments.restarting_arms import RestartingArms, restarting
from jaxbandit.environments.restless_arms import RestlessArms, restless
from jaxbandit.environments.tilted_arms import FamilyFit, exponential_family, fit_exponential_family

__all__ = [
    "EXAMPLE",
    "FamilyFit",
    "Fit",
    "HiddenArms",
    "IndependentArms",
    "InitialState",
    "MarkovArms",
    "RestlessArms",
    "RestartingArms",
    "bernoulli",
    "beta",
    "exponential",
    "exponential_family",
    "fit",
    "fit_exponential_family",
    "gaussian",
    "hidden",
    "markov",
    "poisson",
    "random_arms",
    "restless",
    "restarting",
    "two_state",
    "uniform",
]
