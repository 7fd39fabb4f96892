"""Environments: rested, restless, hidden and changing Markov arms, forever or in episodes; independent rewards;
decision processes.
"""

from jaxbandit.environments.all_paying_arms import AllPayingArms
from jaxbandit.environments.changing_arms import ChangingArms, piecewise, rewards_table, sinusoid
from jaxbandit.environments.changing_chains import ChangingMarkovArms, changing_markov
from jaxbandit.environments.example import EXAMPLE
from jaxbandit.environments.fitting import Fit, fit
from jaxbandit.environments.hidden_arms import HiddenArms, hidden
from jaxbandit.environments.independent_arms import IndependentArms, beta, exponential, gaussian, poisson, uniform
from jaxbandit.environments.lower_bound_arms import LowerBoundArms, lower_bound_instance
from jaxbandit.environments.markov_arms import InitialState, MarkovArms, bernoulli, markov, random_arms, two_state
from jaxbandit.environments.named_processes import as_decision_process, grid, random_decision_process, riverswim
from jaxbandit.environments.processes import DecisionProcess, decision_process
from jaxbandit.environments.restarting_arms import RestartingArms, restarting
from jaxbandit.environments.restless_arms import RestlessArms
from jaxbandit.environments.restless_problems import restless
from jaxbandit.environments.tilted_arms import FamilyFit, exponential_family, fit_exponential_family

__all__ = [
    "EXAMPLE",
    "AllPayingArms",
    "ChangingArms",
    "ChangingMarkovArms",
    "DecisionProcess",
    "FamilyFit",
    "Fit",
    "HiddenArms",
    "IndependentArms",
    "InitialState",
    "LowerBoundArms",
    "MarkovArms",
    "RestlessArms",
    "RestartingArms",
    "as_decision_process",
    "bernoulli",
    "beta",
    "changing_markov",
    "decision_process",
    "exponential",
    "exponential_family",
    "fit",
    "fit_exponential_family",
    "gaussian",
    "grid",
    "hidden",
    "lower_bound_instance",
    "markov",
    "piecewise",
    "poisson",
    "random_arms",
    "random_decision_process",
    "restless",
    "restarting",
    "rewards_table",
    "riverswim",
    "sinusoid",
    "two_state",
    "uniform",
]
