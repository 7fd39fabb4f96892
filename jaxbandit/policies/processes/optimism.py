"""What UCRL2, KL-UCRL, UCRL2B and TUCRL share: episodes that end when a pair was tried twice as often, and optimism."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.base import Feedback, Task
from jaxbandit.planning import Plan, value_iteration
from jaxbandit.policies.parts import checks
from jaxbandit.policies.processes.moves import (
    Episode,
    Moves,
    Rewards,
    check_learner,
    decided,
    doubled,
    nothing_seen,
    replanned,
)


class Optimist(ABC):
    """A policy that plays the best actions of the best process that its counts allow, and plans anew in each episode.

    An episode ends where the pair that would be played next has been tried in it as often as before it, at least once.
    """

    rewards: Rewards
    delta: ArrayLike

    def validate(self, task: Task) -> None:
        check_learner(self, task)
        checks.number(self, "delta", 0, 1, above=True, below=True)

    def init(self, reward: Array, shown: Array) -> Episode:
        seen = nothing_seen(reward, shown)
        return Episode(seen, jnp.zeros_like(seen.left), jnp.zeros(reward.shape[1], jnp.int32), jnp.zeros(()))

    def scores(self, key: Array, state: Episode, t: Array) -> tuple[Array, Episode]:
        """The scores, and the plan if the round begins an episode."""
        seen = state.seen
        pair = (state.actions[seen.here], seen.here)
        begins = (seen.left[pair] >= state.most[pair]) | self.interrupted(seen)
        actions, gain = replanned(self, seen, begins, (state.actions, state.gain), t)
        most = jnp.where(begins, doubled(seen.left), state.most)
        return decided(actions, seen.here, most.shape[0]), Episode(seen, most, actions, gain)

    def update(self, state: Episode, feedback: Feedback) -> Episode:
        return state._replace(seen=state.seen.counted(feedback))

    def interrupted(self, seen: Moves) -> Array:
        """Whether the episode ends for another reason."""
        return jnp.zeros((), bool)

    def plan(self, seen: Moves, t: Array) -> Plan:
        """The best process that the moves allow before round t, and its best actions."""
        start, tolerance = jnp.zeros(seen.reward.shape[1]), 1 / jnp.sqrt(jnp.asarray(t, float))
        return value_iteration(self.worth(seen, t), start, tolerance, among=self.among(seen, t))

    @abstractmethod
    def worth(self, seen: Moves, t: Array) -> Callable[[Array], Array]:
        """From values [S] to the most that each pair may be worth before round t, [A, S]."""

    def among(self, seen: Moves, t: Array) -> Array | None:
        """The states that are planned for, [S] bool; None for all."""
        return None

    def optimistic(self, seen: Moves, radius: Array) -> Array:
        """The largest mean reward [A, S] of each pair within the radius [A, S], or what it pays if that is known."""
        if self.rewards == "known":
            return seen.reward
        found: Array = jnp.minimum(seen.paid(self.rewards) + radius, 1)
        return found


def level(number: Any, t: Array, delta: ArrayLike) -> Array:
    """log(number t / delta), in summands so that large t lose no digits."""
    return jnp.log(number) + jnp.log(jnp.asarray(t, float)) - jnp.log(jnp.asarray(delta, float))
