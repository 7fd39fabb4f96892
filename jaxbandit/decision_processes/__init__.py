"""Finite Markov decision processes in float64 NumPy: best policies, hitting times.

`transition` [A, S, S] has a matrix for each action, and `reward` [A, S] is paid by the state left
(`reward_of_actions`). A policy is an action for each state, [S]. States need not communicate. The room imports nothing
about bandits.
"""

from jaxbandit.decision_processes.best import Episodes, episodes, optimal
from jaxbandit.decision_processes.discounting import DiscountedValues, discounted
from jaxbandit.decision_processes.evaluation import LongRun, long_run, reward_of_actions
from jaxbandit.decision_processes.gymnasium_tables import from_gymnasium
from jaxbandit.decision_processes.reaching import Kind, Structure, diameter, hitting_times, structure

__all__ = [
    "DiscountedValues",
    "Episodes",
    "Kind",
    "LongRun",
    "Structure",
    "diameter",
    "discounted",
    "episodes",
    "from_gymnasium",
    "hitting_times",
    "long_run",
    "optimal",
    "reward_of_actions",
    "structure",
]


def __dir__() -> list[str]:
    return __all__
