"""Episodes and optimistic planning of UCRL2, KL-UCRL, UCRL2B and TUCRL.

In every episode each of them plays the optimal actions of the most optimistic process in its confidence set. An episode
ends when the pair to be played next has been tried in it as often as before it, at least once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.base import Feedback, Task, pytree, static
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


@pytree
class Optimist:
    """The fields and methods that they share; a subclass has `worth`, the upper bounds on the values of pairs."""

    delta: ArrayLike = 0.05
    rewards: Rewards = static("learned")

    def validate(self, task: Task) -> None:
        check_learner(self, task)
        checks.number(self, "delta", 0, 1, above=True, below=True)

    def init(self, reward: Array, shown: Array) -> Episode:
        seen = nothing_seen(reward, shown)
        return Episode(seen, jnp.zeros_like(seen.left), jnp.zeros(reward.shape[1], jnp.int32), jnp.zeros(()))

    def scores(self, key: Array, state: Episode, t: Array) -> tuple[Array, Episode]:
        """The scores, and the state with a new plan if round t begins an episode."""
        seen = state.seen
        pair = (state.actions[seen.here], seen.here)
        begins = (seen.left[pair] >= state.most[pair]) | self._interrupted(seen)
        actions, gain = replanned(self, seen, begins, (state.actions, state.gain), t)
        most = jnp.where(begins, doubled(seen.left), state.most)
        return decided(actions, seen.here, most.shape[0]), Episode(seen, most, actions, gain)

    def update(self, state: Episode, feedback: Feedback) -> Episode:
        return state._replace(seen=state.seen.counted(feedback))

    def plan(self, seen: Moves, t: Array) -> Plan:
        """The optimistic process in the confidence set of round t, and its optimal actions."""
        start, tolerance = jnp.zeros(seen.reward.shape[1]), 1 / jnp.sqrt(jnp.asarray(t, float))
        return value_iteration(self.worth(seen, t), start, tolerance, among=self._among(seen, t))

    def worth(self, seen: Moves, t: Array) -> Callable[[Array], Array]:
        """A function from values [S] to upper bounds on the values of pairs, [A, S]."""
        raise NotImplementedError

    def _interrupted(self, seen: Moves) -> Array | bool:
        """Whether the last episode ends for a reason other than the number of tries."""
        return False

    def _among(self, seen: Moves, t: Array) -> Array | None:
        """The states to plan for, [S] bool; None for all."""
        return None


def largest_rewards(policy: Optimist, seen: Moves, radius: Array) -> Array:
    """The largest mean reward [A, S] of each pair within the radius [A, S], or the known reward."""
    if policy.rewards == "known":
        return seen.reward
    return jnp.minimum(seen.paid(policy.rewards) + radius, 1)


def level(number: Any, t: Array, delta: ArrayLike) -> Array:
    """log(number t / delta), as a sum, so that no digits are lost for large t."""
    return jnp.log(number) + jnp.log(jnp.asarray(t, float)) - jnp.log(jnp.asarray(delta, float))
