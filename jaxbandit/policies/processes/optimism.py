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

from jaxbandit.base import Feedback, Task
from jaxbandit.planning import Plan, value_iteration
from jaxbandit.policies.parts import checks
from jaxbandit.policies.processes.moves import Episode, Moves, check_learner, decided, doubled, nothing_seen, replanned


def check_optimist(policy: Any, task: Task) -> None:
    """Raise ValueError for wrong fields `rewards` and `delta`, and for a process that cannot be learned."""
    check_learner(policy, task)
    checks.number(policy, "delta", 0, 1, above=True, below=True)


def before_first_episode(policy: Any, reward: Array, shown: Array) -> Episode:
    """The state before the first round, from the rewards of pairs [A, S] and the states shown [A]."""
    seen = nothing_seen(reward, shown)
    return Episode(seen, jnp.zeros_like(seen.left), jnp.zeros(reward.shape[1], jnp.int32), jnp.zeros(()))


def counted(policy: Any, state: Episode, feedback: Feedback) -> Episode:
    """The state after a round."""
    return state._replace(seen=state.seen.counted(feedback))


def episode_scores(policy: Any, state: Episode, t: Array, interrupted: Array | bool = False) -> tuple[Array, Episode]:
    """The scores, and the state with a new plan if round t begins an episode.

    Args:
      policy: its `plan(seen, t)` is followed.
      interrupted: whether the last episode ends for a reason other than the number of tries.
    """
    seen = state.seen
    pair = (state.actions[seen.here], seen.here)
    begins = (seen.left[pair] >= state.most[pair]) | interrupted
    actions, gain = replanned(policy, seen, begins, (state.actions, state.gain), t)
    most = jnp.where(begins, doubled(seen.left), state.most)
    return decided(actions, seen.here, most.shape[0]), Episode(seen, most, actions, gain)


def best_plan(worth: Callable[[Array], Array], seen: Moves, t: Array, among: Array | None = None) -> Plan:
    """The optimistic process in the confidence set of round t, and its optimal actions.

    Args:
      worth: a function from values [S] to upper bounds on the values of pairs, [A, S].
      among: the states to plan for, [S] bool; None for all.
    """
    start, tolerance = jnp.zeros(seen.reward.shape[1]), 1 / jnp.sqrt(jnp.asarray(t, float))
    return value_iteration(worth, start, tolerance, among=among)


def largest_rewards(policy: Any, seen: Moves, radius: Array) -> Array:
    """The largest mean reward [A, S] of each pair within the radius [A, S], or the known reward."""
    if policy.rewards == "known":
        return seen.reward
    return jnp.minimum(seen.paid(policy.rewards) + radius, 1)


def level(number: Any, t: Array, delta: ArrayLike) -> Array:
    """log(number t / delta), as a sum, so that no digits are lost for large t."""
    return jnp.log(number) + jnp.log(jnp.asarray(t, float)) - jnp.log(jnp.asarray(delta, float))
