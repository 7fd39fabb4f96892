"""KL-UCB for a purse: the upper bound on an arm's reward over the lower bound on its cost."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from jaxbandit.base import pytree
from jaxbandit.policies.parts.memory import Visits
from jaxbandit.policies.spending.purse_policy import LEAST, KLPursePolicy


@pytree
class RatioKLUCB(KLPursePolicy):
    """KL-UCB on reward per unit of money: (upper bound of the mean reward) / (lower bound of the mean cost).

    The bounds are max{q : d(mean, q) <= log f(t) / T} and min{q : d(cost, q) <= log f(t) / T}, T the arm's plays, where
    costs are mapped to [0, 1] between the least and the largest cost of the arm's states, so that a cost known in
    advance is its own bound. It is for purses that are empty before the horizon: where money is left at the end,
    reward per unit of money is not what counts, and a mixture of arms may be better (`MixtureKLUCB`, `PrimalDualBwK`).
    Make it with `RatioKLUCB.of(arms)`.

    Args:
      purse: B, money; an arm whose largest cost exceeds what is left is not played.
      horizon: n, rounds.
      cost: [K, S + 1] whole numbers, cost of a play that leads to the state, in the environment's order of arms; the
        last column, of plays that are not made, is 0.
      exploration: None for f(t) = 1 + t log^2 t, or a number c for log t + c log log t in place of log f(t).

    Raises:
      ValueError: from `simulate` and `check_policy`, for arms that do not cost, negative rewards, and numbers other
        than the environment's.

    Source: Ding, Qin, Zhang and Liu 2013 for indices of reward over cost (only the beginning of its text was opened).
    The quotient of two KL bounds is our own; Watanabe et al. 2017 bound both by one divergence (not opened).

    >>> import jaxbandit
    >>> arms = jaxbandit.environments.costly(jaxbandit.bernoulli([0.9, 0.4]), [3, 1], purse=200, horizon=500)
    >>> policy = RatioKLUCB.of(arms)
    >>> state = policy.init(jnp.asarray(arms.reward))
    >>> state = state._replace(counts=jnp.array([[10, 90, 0], [6, 4, 0]]))
    >>> policy.scores(None, state, 101)[0].tolist()  # the purse is empty
    [-inf, -inf]
    """

    def scores(self, key: Array, state: Visits, t: Array) -> tuple[Array, Visits]:
        bounds = self.kl_bounds(state, t)
        return self.only_affordable(state, bounds.reward / jnp.maximum(bounds.cost, LEAST)), state
