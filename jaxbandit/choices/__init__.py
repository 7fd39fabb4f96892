"""Fits of policies to the choices of subjects: likelihoods, estimates with standard errors, populations, recovery.

Tuning by gradient takes `parameter_ranges`, the fields of a policy that are moved.
"""

from jaxbandit.choices.choice_data import Choices, read_choices
from jaxbandit.choices.choice_fit import ChoiceFit, fit
from jaxbandit.choices.choice_likelihood import log_likelihood
from jaxbandit.choices.population_fit import PopulationFit, fit_population
from jaxbandit.choices.recovery import ModelRecovery, Recovery, recover, recover_models

__all__ = [
    "ChoiceFit",
    "Choices",
    "ModelRecovery",
    "PopulationFit",
    "Recovery",
    "fit",
    "fit_population",
    "log_likelihood",
    "read_choices",
    "recover",
    "recover_models",
]
