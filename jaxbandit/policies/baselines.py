"""The policies others are measured against: chance, and knowledge of the means."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandit.arguments import finite
from jaxbandit.base import ANY_REWARD, Array, Feedback, Range, pytree


class Nothing(NamedTuple):
    """State of a policy that learns nothing; it only knows how many arms there are."""

    arms: Array  # [K] int32


@pytree
class Uniform:
    """Every set of M arms with equal probability.

    >>> state = Uniform().init(jnp.zeros((3, 2)))
    >>> Uniform().scores(jax.random.key(0), state, 1).shape
    (3,)
    """

    reward_range: ClassVar[Range] = ANY_REWARD

    def init(self, reward: Array) -> Nothing:
        return Nothing(jnp.arange(reward.shape[0], dtype=jnp.int32))

    def scores(self, key: Array, state: Nothing, t: Array) -> Array:
        return jax.random.uniform(key, state.arms.shape)

    def update(self, state: Nothing, feedback: Feedback) -> Nothing:
        return state


@pytree
class Oracle:
    """The arms with the largest `means`, in every round.

    Args:
      means: [K], as from `environment.means()`, in the environment's order of the arms, also with `shuffle=True`.

    Raises:
      ValueError: from `simulate` and `check_policy`, if there is not one mean per arm.

    >>> Oracle([0.25, 0.75]).scores(None, None, 1).tolist()
    [0.25, 0.75]
    """

    reward_range: ClassVar[Range] = ANY_REWARD

    means: Array

    def validate(self, reward: Array) -> None:
        found = finite("means", self.means)
        if found.shape != reward.shape[:1]:
            raise ValueError(f"means: shape {found.shape} is not one number per arm, ({reward.shape[0]},)")

    def reordered(self, order: Array) -> Oracle:
        """The oracle for arms in another order: place i holds the arm `order[i]`, [K] int32."""
        return Oracle(jnp.asarray(self.means, float)[order])

    def init(self, reward: Array) -> Nothing:
        return Nothing(jnp.arange(reward.shape[0], dtype=jnp.int32))

    def scores(self, key: Array, state: Nothing, t: Array) -> Array:
        return jnp.asarray(self.means, float)

    def update(self, state: Nothing, feedback: Feedback) -> Nothing:
        return state
