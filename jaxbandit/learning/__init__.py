"""Policies that are better on average over a space of problems: a few numbers tuned, or a network trained, by gradient.

`problem_pool` draws the problems, `episodes` plays them and weighs each choice by what followed. `score_gradient` is
the gradient of the mean regret, on which `tuning` and `training` stand; `policy_file` keeps a trained network.
"""

from jaxbandit.learning.policy_file import load, save
from jaxbandit.learning.score_gradient import RegretGradient, regret_gradient
from jaxbandit.learning.training import Trained, train
from jaxbandit.learning.tuning import Tuned, tune

__all__ = ["RegretGradient", "Trained", "Tuned", "load", "regret_gradient", "save", "train", "tune"]
