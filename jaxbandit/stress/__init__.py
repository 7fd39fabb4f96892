"""Stress tests: mean regret over a space of problems, and a search for the problems on which a policy fails.

The judge takes `spaces.FAMILIES`, the families of rewards that have a space, and `survey.means_of_parts`; tuning takes
`point_search.cmaes`, and learning `preparation`.
"""

from jaxbandit.stress.changing_space import PiecewiseSpace
from jaxbandit.stress.error_search import WrongAnswers
from jaxbandit.stress.failure_search import Found, worst
from jaxbandit.stress.prior_space import PriorSpace
from jaxbandit.stress.spaces import IndependentSpace, Problem, RestlessSpace, Space, ThreeStateSpace, TwoStateSpace
from jaxbandit.stress.survey import Survey, over
from jaxbandit.stress.trials import Interval

__all__ = [
    "Found",
    "IndependentSpace",
    "Interval",
    "PiecewiseSpace",
    "PriorSpace",
    "Problem",
    "RestlessSpace",
    "Space",
    "Survey",
    "ThreeStateSpace",
    "TwoStateSpace",
    "WrongAnswers",
    "over",
    "worst",
]
