"""Upper and lower bounds on regret, functions of an environment that return a `Bound`, on the rounds it takes to know
which arm is best, and on the regret averaged over a prior; in float64 NumPy."""

from jaxbandit.bounds.arms import Bound
from jaxbandit.bounds.bayes import BayesOptimum, bayes_optimum
from jaxbandit.bounds.best_arm import Identification, Pair, identification
from jaxbandit.bounds.exponent import regret_exponent
from jaxbandit.bounds.lower_bounds import lai_robbins, lower, lower_paper
from jaxbandit.bounds.one_parameter import family_lower
from jaxbandit.bounds.sample_mean import Condition, eigenvalue_condition, ucb_sm_constant, ucb_sm_upper
from jaxbandit.bounds.slow_arms import price_of_slow_arms
from jaxbandit.bounds.upper import upper_asymptotic, upper_finite

__all__ = [
    "BayesOptimum",
    "Bound",
    "Condition",
    "Identification",
    "Pair",
    "bayes_optimum",
    "eigenvalue_condition",
    "family_lower",
    "identification",
    "lai_robbins",
    "lower",
    "lower_paper",
    "price_of_slow_arms",
    "regret_exponent",
    "ucb_sm_constant",
    "ucb_sm_upper",
    "upper_asymptotic",
    "upper_finite",
]
