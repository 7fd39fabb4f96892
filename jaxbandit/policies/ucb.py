"""Upper confidence bounds of Hoeffding's kind on the sample mean."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from jaxbandit.base import Array, Feedback, pytree
from jaxbandit.policies.estimates import Visits, count_visits, no_visits, sample_mean


def _index(state: Visits, widening: Array) -> Array:
    mean, plays = sample_mean(state.counts, state.reward)
    bonus = jnp.sqrt(widening / jnp.maximum(plays, 1).astype(float))
    return jnp.where(plays == 0, jnp.inf, mean + bonus)


def _refuse_negative(name: str, value: Array) -> None:
    if not np.all(np.asarray(value) >= 0):
        raise ValueError(f"{name}: {value} is negative; use 0 or more")


@pytree
class UCBSM:
    """UCB on the sample mean for Markovian rewards: mean + sqrt(L log t / T), T the arm's plays.

    Args:
      L: at least 0; 343 in the paper's experiments.

    Source: Tekin and Liu 2010; the paper's section V.

    >>> UCBSM().validate(None)
    """

    L: Array = 343.0

    def validate(self, reward: Array) -> None:
        _refuse_negative("L", self.L)

    def init(self, reward: Array) -> Visits:
        return no_visits(reward)

    def scores(self, key: Array, state: Visits, t: Array) -> Array:
        return _index(state, self.L * jnp.log(jnp.asarray(t, float)))

    def update(self, state: Visits, feedback: Feedback) -> Visits:
        return count_visits(state, feedback)


@pytree
class UCB1:
    """UCB1: mean + sqrt(scale log(t - 1) / T), T the arm's plays, t - 1 all plays so far.

    Args:
      scale: at least 0; 2 in the source.

    Source: Auer, Cesa-Bianchi and Fischer 2002, figure 1.

    >>> UCB1(scale=0.5).validate(None)
    """

    scale: Array = 2.0

    def validate(self, reward: Array) -> None:
        _refuse_negative("scale", self.scale)

    def init(self, reward: Array) -> Visits:
        return no_visits(reward)

    def scores(self, key: Array, state: Visits, t: Array) -> Array:
        return _index(state, self.scale * jnp.log(jnp.maximum(t - 1, 1).astype(float)))

    def update(self, state: Visits, feedback: Feedback) -> Visits:
        return count_visits(state, feedback)
