"""Environments: rested, restless, hidden and changing Markov arms, forever or in episodes; independent rewards;
arms that cost; decision processes.
"""

from jaxbandit.environments.changing.changing_all_paying import ChangingAllPayingArms
from jaxbandit.environments.changing.changing_arms import ChangingArms, piecewise, rewards_table, sinusoid
from jaxbandit.environments.changing.changing_chains import ChangingMarkovArms, changing_markov
from jaxbandit.environments.changing.full_information import FullInformation, full_information
from jaxbandit.environments.changing.lower_bound_arms import LowerBoundArms, lower_bound_instance
from jaxbandit.environments.changing.random_walk_arms import RandomWalkArms, random_walk
from jaxbandit.environments.independent.independent_arms import (
    IndependentArms,
    beta,
    exponential,
    gaussian,
    poisson,
    uniform,
)
from jaxbandit.environments.processes.decision_process import DecisionProcess, decision_process
from jaxbandit.environments.processes.named_processes import (
    as_decision_process,
    grid,
    random_decision_process,
    riverswim,
)
from jaxbandit.environments.rested.example import EXAMPLE
from jaxbandit.environments.rested.fitting import Fit, fit
from jaxbandit.environments.rested.hidden_arms import HiddenArms, HiddenFit, hidden
from jaxbandit.environments.rested.hidden_fitting import fit_hidden
from jaxbandit.environments.rested.markov_arms import (
    InitialState,
    MarkovArms,
    bernoulli,
    markov,
    random_arms,
    two_state,
)
from jaxbandit.environments.rested.restarting_arms import RestartingArms, restarting
from jaxbandit.environments.rested.tilted_arms import FamilyFit, exponential_family, fit_exponential_family
from jaxbandit.environments.restless_bandits.all_paying_arms import AllPayingArms
from jaxbandit.environments.restless_bandits.colliding_arms import CollidingArms, colliding
from jaxbandit.environments.restless_bandits.constructor import restless
from jaxbandit.environments.restless_bandits.restless_arms import RestlessArms
from jaxbandit.environments.restless_bandits.restless_fitting import RestlessFit, fit_restless
from jaxbandit.environments.spending.costly_arms import CostlyArms, costly

__all__ = [
    "EXAMPLE",
    "AllPayingArms",
    "ChangingArms",
    "ChangingAllPayingArms",
    "ChangingMarkovArms",
    "CollidingArms",
    "CostlyArms",
    "DecisionProcess",
    "FamilyFit",
    "Fit",
    "FullInformation",
    "HiddenArms",
    "HiddenFit",
    "IndependentArms",
    "InitialState",
    "LowerBoundArms",
    "MarkovArms",
    "RandomWalkArms",
    "RestlessArms",
    "RestlessFit",
    "RestartingArms",
    "as_decision_process",
    "bernoulli",
    "beta",
    "changing_markov",
    "colliding",
    "costly",
    "decision_process",
    "exponential",
    "exponential_family",
    "fit",
    "fit_exponential_family",
    "fit_hidden",
    "fit_restless",
    "full_information",
    "gaussian",
    "grid",
    "hidden",
    "lower_bound_instance",
    "markov",
    "piecewise",
    "poisson",
    "random_arms",
    "random_decision_process",
    "random_walk",
    "restless",
    "restarting",
    "rewards_table",
    "riverswim",
    "sinusoid",
    "two_state",
    "uniform",
]
