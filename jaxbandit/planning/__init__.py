"""Planning inside the rounds: value iteration, also for the best process of a set, Whittle indices, fluid plans.

All functions here are traced, for one run. Others may take what is listed here.
"""

from jaxbandit.planning.fluid import fluid_plan
from jaxbandit.planning.induction import backward_induction
from jaxbandit.planning.iteration import Plan, best_actions, value_iteration
from jaxbandit.planning.rows import box_max, l1_ball_max
from jaxbandit.planning.subsidies import whittle

__all__ = [
    "Plan",
    "backward_induction",
    "best_actions",
    "box_max",
    "fluid_plan",
    "l1_ball_max",
    "value_iteration",
    "whittle",
]
