"""Indexed minimum empirical divergence."""

from __future__ import annotations

import jax.numpy as jnp

from jaxbandit.base import Array, Family, Feedback, Range, pytree
from jaxbandit.divergences import bernoulli_kl
from jaxbandit.policies import checks
from jaxbandit.policies.estimates import Sums, Visits, count_visits, mean_and_plays, no_visits


@pytree
class IMED:
    """IMED for one-parameter families: the arm with the least T d(mean, best mean) + log T is played, T its plays.

    Args:
      family: one of `jaxbandit.families`, whose divergence takes the place of d, of rewards as they are; None is
        Bernoulli, of rewards mapped to [0, 1].

    Raises:
      ValueError: from `simulate` and `check_policy`, for rewards that are not the family's.

    It is for one play a round. With M plays the M-th arm should be compared with the M-th best mean, not with the best:
    regret is linear then.

    Source: Honda and Takemura 2015, algorithm 1, with the family's divergence on the sample mean.

    >>> IMED().scores(None, IMED().init(jnp.array([[0.0, 1.0], [0.0, 1.0]])), 1).tolist()
    [inf, inf]
    """

    family: Family | None = None

    @property
    def reward_range(self) -> Range:
        return checks.range_of(self.family)

    def validate(self, reward: Array) -> None:
        checks.family(self, reward)

    def init(self, reward: Array) -> Visits | Sums:
        return no_visits(reward, self.family)

    def scores(self, key: Array, state: Visits | Sums, t: Array) -> Array:
        mean, plays = mean_and_plays(state)
        played = jnp.maximum(plays, 1).astype(float)
        divergence = bernoulli_kl if self.family is None else self.family.divergence
        index = played * divergence(mean, jnp.max(mean)) + jnp.log(played)
        return jnp.where(plays == 0, jnp.inf, -index)

    def update(self, state: Visits | Sums, feedback: Feedback) -> Visits | Sums:
        return count_visits(state, feedback)
