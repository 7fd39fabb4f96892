"""Indexed minimum empirical divergence."""

from __future__ import annotations

import jax.numpy as jnp

from jaxbandit.base import Array, Feedback, pytree
from jaxbandit.divergences import bernoulli_kl
from jaxbandit.policies.estimates import Visits, count_visits, no_visits, sample_mean


@pytree
class IMED:
    """IMED for Bernoulli rewards: the arm with the least T d(mean, best mean) + log T is played, T the arm's plays.

    Source: Honda and Takemura 2015, algorithm 1, with the Bernoulli divergence on the sample mean.

    >>> IMED().scores(None, IMED().init(jnp.array([[0.0, 1.0], [0.0, 1.0]])), 1).tolist()
    [inf, inf]
    """

    def init(self, reward: Array) -> Visits:
        return no_visits(reward)

    def scores(self, key: Array, state: Visits, t: Array) -> Array:
        mean, plays = sample_mean(state.counts, state.reward)
        played = jnp.maximum(plays, 1).astype(float)
        index = played * bernoulli_kl(mean, jnp.max(mean)) + jnp.log(played)
        return jnp.where(plays == 0, jnp.inf, -index)

    def update(self, state: Visits, feedback: Feedback) -> Visits:
        return count_visits(state, feedback)
