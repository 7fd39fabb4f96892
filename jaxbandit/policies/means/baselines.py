"""Baselines: uniformly random arms, and an oracle that knows the means."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from numpy.typing import ArrayLike

from jaxbandit.arguments import finite
from jaxbandit.base import ANY_REWARD, Feedback, Task, per_arm, pytree
from jaxbandit.policies.parts import checks
from jaxbandit.reward_units import check_distinct


class Nothing(NamedTuple):
    """State of a policy that learns nothing: the arms."""

    arms: Array  # [K] int32


@pytree
class Uniform:
    """Uniformly random arms: every set of M arms with equal probability.

    >>> state = Uniform().init(jnp.zeros((3, 2)))
    >>> Uniform().scores(jax.random.key(0), state, 1)[0].shape
    (3,)
    """

    units = "mapped"

    def init(self, reward: Array, shown: Array | None = None) -> Nothing:
        return Nothing(jnp.arange(reward.shape[0], dtype=jnp.int32))

    def scores(self, key: Array, state: Nothing, t: Array) -> tuple[Array, Nothing]:
        return jax.random.uniform(key, state.arms.shape), state

    def update(self, state: Nothing, feedback: Feedback) -> Nothing:
        return state


@pytree
class Oracle:
    """Oracle: the arms with the largest known means, in every round.

    Args:
      means: [K], as from `environment.means()`, in the environment's order of arms, also with `shuffle=True`.

    Raises:
      ValueError: from `simulate` and `check_policy`, if there is not one mean per arm.

    >>> Oracle([0.25, 0.75]).scores(None, None, 1)[0].tolist()
    [0.25, 0.75]
    """

    means: ArrayLike = per_arm()

    def validate(self, task: Task) -> None:
        checks.suits(self, task, rewards=ANY_REWARD, left_may_pay=True)
        shape = finite("means", self.means).shape
        if shape != task.reward.shape[:1]:
            raise ValueError(f"means: shape {shape} is not one number per arm, ({len(task.reward)},)")
        check_distinct("means", self.means)

    def init(self, reward: Array) -> Nothing:
        return Nothing(jnp.arange(reward.shape[0], dtype=jnp.int32))

    def scores(self, key: Array, state: Nothing, t: Array) -> tuple[Array, Nothing]:
        return jnp.asarray(self.means, float), state

    def update(self, state: Nothing, feedback: Feedback) -> Nothing:
        return state
