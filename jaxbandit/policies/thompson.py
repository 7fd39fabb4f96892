"""Thompson sampling."""

from __future__ import annotations

import jax

from jaxbandit.base import Array, Feedback, pytree
from jaxbandit.policies import checks
from jaxbandit.policies.estimates import Visits, count_visits, no_visits, total


@pytree
class Thompson:
    """Beta-Bernoulli Thompson sampling: a draw from Beta(a + total reward, b + T - total reward), T the arm's plays.

    Rewards between 0 and 1 count as fractions of a success. There is no round-robin start: the prior explores.

    Args:
      a, b: of the prior, positive.

    Raises:
      ValueError: from `simulate` and `check_policy`, unless both are positive.

    Source: Thompson 1933; Kaufmann, Korda and Munos 2012.

    >>> import jax.numpy as jnp
    >>> state = Thompson().init(jnp.array([[0.0, 1.0], [0.0, 1.0]]))
    >>> Thompson().scores(jax.random.key(0), state, 1).shape
    (2,)
    """

    a: Array = 1.0
    b: Array = 1.0

    def validate(self, reward: Array) -> None:
        checks.number(self, "a", 0, above=True)
        checks.number(self, "b", 0, above=True)

    def init(self, reward: Array) -> Visits:
        return no_visits(reward)

    def scores(self, key: Array, state: Visits, t: Array) -> Array:
        counts = state.counts.astype(float)
        # summed apart: the plays less the reward gained would lose the few failures among many plays
        gained, missed = total(counts * state.reward), total(counts * (1 - state.reward))
        return jax.random.beta(key, self.a + gained, self.b + missed)

    def update(self, state: Visits, feedback: Feedback) -> Visits:
        return count_visits(state, feedback)
