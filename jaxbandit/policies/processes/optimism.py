"""What UCRL2, KL-UCRL, UCRL2B and TUCRL share: episodes that end when a pair was tried twice as often, and optimism.

Each of them plays the best actions of the best process that its counts allow, and plans anew in every episode. An
episode ends where the pair that would be played next has been tried in it as often as before it, at least once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.base import Task
from jaxbandit.planning import Plan, value_iteration
from jaxbandit.policies.parts import checks
from jaxbandit.policies.processes.moves import Episode, Moves, check_learner, decided, doubled, nothing_seen, replanned


def check_optimist(policy: Any, task: Task) -> None:
    """Raise ValueError for wrong fields `rewards` and `delta`, and for a task that is not for learners of processes."""
    check_learner(policy, task)
    checks.number(policy, "delta", 0, 1, above=True, below=True)


def before_first_episode(reward: Array, shown: Array) -> Episode:
    """The state before the first round, from what pairs pay [A, S] and the states shown [A]."""
    seen = nothing_seen(reward, shown)
    return Episode(seen, jnp.zeros_like(seen.left), jnp.zeros(reward.shape[1], jnp.int32), jnp.zeros(()))


def episode_scores(policy: Any, state: Episode, t: Array, interrupted: Array | bool = False) -> tuple[Array, Episode]:
    """The scores, and the state with a new plan if round t begins an episode.

    Args:
      policy: whose `plan(seen, t)` is followed.
      interrupted: whether the episode before ends for another reason than the number of tries.
    """
    seen = state.seen
    pair = (state.actions[seen.here], seen.here)
    begins = (seen.left[pair] >= state.most[pair]) | interrupted
    actions, gain = replanned(policy, seen, begins, (state.actions, state.gain), t)
    most = jnp.where(begins, doubled(seen.left), state.most)
    return decided(actions, seen.here, most.shape[0]), Episode(seen, most, actions, gain)


def best_plan(worth: Callable[[Array], Array], seen: Moves, t: Array, among: Array | None = None) -> Plan:
    """The best process that the moves allow before round t, and its best actions.

    Args:
      worth: from values [S] to the most that each pair may be worth, [A, S].
      among: the states that are planned for, [S] bool; None for all.
    """
    start, tolerance = jnp.zeros(seen.reward.shape[1]), 1 / jnp.sqrt(jnp.asarray(t, float))
    return value_iteration(worth, start, tolerance, among=among)


def largest_rewards(policy: Any, seen: Moves, radius: Array) -> Array:
    """The largest mean reward [A, S] of each pair within the radius [A, S], or what it pays if that is known."""
    if policy.rewards == "known":
        return seen.reward
    return jnp.minimum(seen.paid(policy.rewards) + radius, 1)


def level(number: Any, t: Array, delta: ArrayLike) -> Array:
    """log(number t / delta), in summands so that large t lose no digits."""
    return jnp.log(number) + jnp.log(jnp.asarray(t, float)) - jnp.log(jnp.asarray(delta, float))
