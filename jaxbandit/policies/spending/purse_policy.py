"""What policies for arms that cost share: costs of states, the purse, estimates of rewards and costs."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxbandit import members
from jaxbandit.arguments import LARGEST_INTEGER, finite, has
from jaxbandit.base import Feedback, Task, per_arm, pytree, total
from jaxbandit.confidence import kl_lower, kl_upper
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.exploration import level
from jaxbandit.policies.parts.memory import Visits, positive, ratio, sample_mean

P = TypeVar("P", bound="PursePolicy")
LEAST = 1e-30  # in place of a lower bound of 0 on a cost


class Bounds(NamedTuple):
    """Bounds on the mean rewards and costs of arms that have been played."""

    reward: Array  # [K], upper bounds
    cost: Array  # [K], lower bounds, in units of the largest cost


@pytree
class PursePolicy:
    """A policy for arms that cost, which knows what every state pays and costs.

    Rewards are at least 0, and divided by the largest one if that is above 1. The last state of an arm stands for plays
    that were not made. An arm that the purse can no longer pay for has the score -inf.

    Args:
      purse: B, money.
      horizon: n, rounds.
      cost: [K, S + 1] whole numbers, cost of a play that leads to the state; the last column is 0.
    """

    purse: ArrayLike
    horizon: ArrayLike
    cost: ArrayLike = per_arm()

    @classmethod
    def of(cls: type[P], arms: Any, **fields: Any) -> P:
        """The policy for arms with known costs and purse, and unknown chains.

        Args:
          arms: an environment of `environments.costly`.
          fields: the policy's other fields, by name.

        Raises:
          ValueError: the argument and what is wrong with it.
        """
        has("arms", arms, "an environment of environments.costly", "means", "step")
        numbers = members.spending(arms)
        if numbers is None:
            raise ValueError(f"arms: one of environments.costly is needed, and {type(arms).__name__} has no purse")
        policy = cls(**numbers | fields)
        policy.check_numbers()
        return policy

    def validate(self, task: Task) -> None:
        checks.suits(self, task, ("costly",))
        if (task.reward < 0).any():
            raise ValueError(
                f"{type(self).__name__} is for rewards of at least 0; {task.name} pays {task.reward.min()}"
            )
        self.check_numbers()
        if (shape := np.shape(self.cost)) != task.reward.shape:
            raise ValueError(f"cost: shape {shape} is not [K, S + 1] = {task.reward.shape}")
        own = members.spending(task.environment) or {}
        for name, value in own.items():
            if not np.array_equal(np.asarray(getattr(self, name)), np.asarray(value)):
                raise ValueError(
                    f"{name}: is not that of {task.name}; make the policy with {type(self).__name__}.of from these arms"
                )

    def check_numbers(self) -> None:
        """Raise ValueError for a field that is out of range."""
        costs = finite("cost", self.cost)
        if not ((costs >= 0) & (costs <= LARGEST_INTEGER) & (costs % 1 == 0)).all() or not costs.any():
            raise ValueError("cost: is not in whole numbers from 0 on, at least one of them positive")
        for name in ("purse", "horizon"):
            checks.number(self, name, 1, LARGEST_INTEGER)
            if float(np.asarray(getattr(self, name))) % 1:
                raise ValueError(f"{name}: {getattr(self, name)} is not a whole number")

    def init(self, reward: Array) -> Any:
        paid = jnp.asarray(reward, float)
        return Visits(jnp.zeros(paid.shape, jnp.int32), paid / jnp.maximum(jnp.max(paid), 1))

    def update(self, state: Any, feedback: Feedback) -> Any:
        return state.counted(feedback)

    def left(self, seen: Visits) -> Array:
        """The money left, int32."""
        return jnp.asarray(self.purse, jnp.int32) - jnp.sum(seen.counts * jnp.asarray(self.cost, jnp.int32))

    def only_affordable(self, seen: Visits, scores: Array) -> Array:
        """The scores [K]; inf for arms never played, and -inf for those that the purse cannot pay for."""
        scores = jnp.where(jnp.sum(seen.counts[:, :-1], axis=-1) == 0, jnp.inf, scores)
        return jnp.where(jnp.max(jnp.asarray(self.cost, jnp.int32), axis=-1) <= self.left(seen), scores, -jnp.inf)

    def unit(self) -> Array:
        """The largest cost, in which costs are measured."""
        return jnp.max(jnp.asarray(self.cost, float))

    def averages(self, seen: Visits) -> tuple[Array, Array, Array]:
        """Mean reward, mean cost in units of the largest cost, and plays of each arm [K], of plays that were made."""
        mean, plays = sample_mean(seen.counts[:, :-1], seen.reward[:, :-1])
        paid = total(seen.counts.astype(float) * (jnp.asarray(self.cost, float) / self.unit()))
        return mean, ratio(paid, plays), plays


@pytree
class KLPursePolicy(PursePolicy):
    """A policy for arms that cost, with KL bounds on rewards and costs; `exploration` is that of `KLUCB`."""

    exploration: ArrayLike | None = None

    def check_numbers(self) -> None:
        super().check_numbers()
        if self.exploration is not None:
            checks.number(self, "exploration")

    def kl_bounds(self, seen: Visits, t: Array) -> Bounds:
        """KL bounds of the level of `KLUCB`, a cost's between the least and the largest cost of the arm's states."""
        mean, cost, plays = self.averages(seen)
        radius = level(t, self.exploration) / positive(plays)
        table = jnp.asarray(self.cost, float)[:, :-1] / self.unit()
        least, span = jnp.min(table, axis=-1), jnp.max(table, axis=-1) - jnp.min(table, axis=-1)
        part = jnp.clip((cost - least) / jnp.where(span > 0, span, 1), 0, 1)
        lower = least + span * kl_lower(part, radius)
        return Bounds(kl_upper(jnp.minimum(mean, 1), radius), jnp.where(span > 0, lower, least))
