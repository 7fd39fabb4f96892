"""The space of arms that are drawn from Beta priors."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxbandit.arguments import finite
from jaxbandit.base import Policy, pytree, static
from jaxbandit.environments import InitialState
from jaxbandit.stress.spaces import IndependentSpace, Problem, panel_of_chains, problem_of, short


@pytree
class PriorSpace:
    """Arms that pay 0 and 1, whose probabilities are drawn from Beta priors.

    They are those of `bounds.bayes_optimum`: its `regret` is the least mean over this space that a policy can have.
    Probabilities are rounded to four significant digits and lie in [1e-9, 1 - 1e-9].

    Args:
      prior: [K, 2], the parameters (b_0, b_1) of the prior of each arm's probability to pay 1, whose mean is
        b_1 / (b_0 + b_1), of arms with independent rewards; or [K, 2, 2], those of independent priors for the step from
        each state of each arm to states 0 and 1. Positive.
      initial_state: of all arms.

    >>> PriorSpace(((1, 1), (1, 2))).problem(np.array([0.25, 0.25])).code
    'jaxbandit.environments.bernoulli(means=[0.25, 0.5], initial_state=0)'
    """

    prior: Any = static(((1.0, 1.0), (1.0, 1.0)))
    initial_state: InitialState = static(0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "prior", _nested(self.prior))  # because the class is frozen

    def validate(self) -> None:
        """Raise ValueError, with its name, for a field that is out of range."""
        prior = finite("prior", self.prior)
        if prior.ndim not in (2, 3) or prior.shape[1:] != (2, 2)[: prior.ndim - 1] or not 2 <= len(prior) <= 1000:
            raise ValueError(f"prior: shape {prior.shape} is neither [K, 2] nor [K, 2, 2], with 2 to 1,000 arms")
        if not (prior > 0).all():
            raise ValueError(f"prior: {prior.min()} is not positive")

    @property
    def dimension(self) -> int:
        return int(np.size(self.prior)) // 2

    def problem(self, point: np.ndarray) -> Problem:
        from scipy.special import betaincinv  # slow to import, so it waits until it is needed

        prior = np.asarray(self.prior, float)
        ones = betaincinv(prior[..., 1], prior[..., 0], np.reshape(point, prior.shape[:-1]))
        ones = np.clip(ones, 1e-9, 1 - 1e-9)
        if prior.ndim == 2:
            return problem_of("bernoulli", means=short(ones), initial_state=self.initial_state)
        p01, p10 = short(ones[:, 0]), short(1 - ones[:, 1])
        return problem_of("two_state", p01=p01, p10=p10, initial_state=self.initial_state)

    def panel(self) -> dict[str, Policy]:
        return IndependentSpace().panel() if np.ndim(self.prior) == 2 else panel_of_chains()


def _nested(values: Any) -> Any:
    """Lists and arrays as tuples, which can be compared."""
    return tuple(map(_nested, values)) if isinstance(values, list | tuple | np.ndarray) and np.ndim(values) else values
