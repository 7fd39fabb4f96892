"""Thompson sampling."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from jaxbandit.base import Array, Feedback, pytree
from jaxbandit.policies.estimates import Visits, count_visits, no_visits, sample_mean


@pytree
class Thompson:
    """Beta-Bernoulli Thompson sampling: a draw from Beta(a + total reward, b + T - total reward), T the arm's plays.

    Rewards between 0 and 1 count as fractions of a success. There is no round-robin start: the prior explores.

    Args:
      a, b: of the prior, positive.

    Source: Thompson 1933; Kaufmann, Korda and Munos 2012.

    >>> state = Thompson().init(jnp.array([[0.0, 1.0], [0.0, 1.0]]))
    >>> Thompson().scores(jax.random.key(0), state, 1).shape
    (2,)
    """

    a: Array = 1.0
    b: Array = 1.0

    def validate(self, reward: Array) -> None:
        for name, value in (("a", self.a), ("b", self.b)):
            if not jnp.all(jnp.asarray(value) > 0):
                raise ValueError(f"{name}: {value} is not positive")

    def init(self, reward: Array) -> Visits:
        return no_visits(reward)

    def scores(self, key: Array, state: Visits, t: Array) -> Array:
        mean, plays = sample_mean(state.counts, state.reward)
        gained = mean * plays
        return jax.random.beta(key, self.a + gained, self.b + plays - gained)

    def update(self, state: Visits, feedback: Feedback) -> Visits:
        return count_visits(state, feedback)
