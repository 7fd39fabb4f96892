"""A space of non-stationary arms: random levels and breaks."""

from __future__ import annotations

import numpy as np

from jaxbandit.arguments import LARGEST_INTEGER, integer
from jaxbandit.base import Policy, pytree, static
from jaxbandit.policies import KLUCB, DiscountedUCB, SlidingWindowUCB, Thompson, Window
from jaxbandit.stress.spaces import Problem, check_order, problem_of, short, uniform


@pytree
class PiecewiseSpace:
    """Bernoulli arms whose means change at breaks: all means and all breaks are uniform.

    The means of every segment lie between `least_mean` and `most_mean`; the breaks are uniform over the rounds, and
    sorted. Policies of the panel know how many there are.

    Args:
      arms: K, at least 2.
      breaks: how many, at least 1.
      horizon: rounds, more than there are breaks; the same as in `over` or `worst`.
      least_mean, most_mean: in [0, 1].

    >>> PiecewiseSpace(breaks=1).problem(np.array([0.5, 0.1, 0.9, 0.9, 0.1])).code
    'jaxbandit.environments.piecewise(breaks=[5001], levels=[[0.14, 0.86], [0.86, 0.14]], horizon=10000)'
    """

    arms: int = static(2)
    breaks: int = static(2)
    horizon: int = static(10_000)
    least_mean: float = 0.05
    most_mean: float = 0.95

    def validate(self) -> None:
        """Raise ValueError, with its name, for a field that is out of range."""
        integer("arms", self.arms, 2, 1000)
        integer("breaks", self.breaks, 1, 1000)
        integer("horizon", self.horizon, self.breaks + 1, LARGEST_INTEGER)
        check_order(self, "least_mean", "most_mean", 0, 1)

    @property
    def dimension(self) -> int:
        return self.breaks + (self.breaks + 1) * self.arms

    def problem(self, point: np.ndarray) -> Problem:
        places, of_means = np.split(np.asarray(point), [self.breaks])
        # of horizon - breaks rounds: adding to each the number of breaks before it makes them differ
        rounds = np.floor(np.sort(places) * (self.horizon - self.breaks)).astype(int)
        breaks = np.minimum(rounds, self.horizon - self.breaks - 1) + 2 + np.arange(self.breaks)
        levels = short(uniform(self.least_mean, self.most_mean, of_means).reshape(-1, self.arms))
        return problem_of("piecewise", breaks=breaks.tolist(), levels=levels, horizon=self.horizon)

    def panel(self) -> dict[str, Policy]:
        known = {"horizon": self.horizon, "changes": self.breaks}
        windows = KLUCB(memory=Window(SlidingWindowUCB(**known).length()))
        return {"KL-UCB": KLUCB(), "KL-UCB, window": windows, "D-UCB": DiscountedUCB(**known), "Thompson": Thompson()}
