"""Memory, episodes and planning of policies for decision processes."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.arguments import LARGEST_INTEGER
from jaxbandit.base import Feedback, Task
from jaxbandit.fast import add_one, where_needed
from jaxbandit.feedback import check_feedback
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.memory import positive, ratio, unit_reward
from jaxbandit.policies.processes.process_checks import communicating

Rewards = Literal["learned", "known"]


class Moves(NamedTuple):
    """Observed moves of a process with A actions and S states.

    Fields:
      counts: [A, S, S] int32, moves by action, state left and state moved to.
      left: [A, S] int32, the number of times that each action was taken in each state.
      here: int32, the present state.
      reward: [A, S], in [0, 1], the reward of each pair.
    """

    counts: Array
    left: Array
    here: Array
    reward: Array

    def counted(self, feedback: Feedback) -> Moves:
        """The moves after a round."""
        check_feedback(feedback, *self.reward.shape, last=self.here)
        counts = add_one(self.counts, feedback.arms, feedback.before, feedback.states)
        left = add_one(self.left, feedback.arms, feedback.before)
        return Moves(counts, left, feedback.now[0], self.reward)

    def rows(self) -> Array:
        """The estimated rows [A, S, S]; 0 for an untried pair."""
        return ratio(self.counts, self.left[..., None])

    def tried(self) -> Array:
        """The number of tries of each pair, [A, S] floats, at least 1."""
        return positive(self.left)

    def paid(self, rewards: Rewards) -> Array:
        """The mean observed reward of each pair [A, S], 0 for an untried one; or the known rewards."""
        return self.reward if rewards == "known" else jnp.where(self.left > 0, self.reward, 0)


class Episode(NamedTuple):
    """State of a policy that plans at the beginning of an episode.

    Fields:
      seen: the moves.
      most: [A, S] int32, the number of tries of a pair at which the episode ends; 0 before the first one.
      actions: [S] int32, the action of the episode in each state.
      gain: the long-run reward a round in the process planned for, mapped to [0, 1].
    """

    seen: Moves
    most: Array
    actions: Array
    gain: Array


def nothing_seen(reward: Array, shown: Array) -> Moves:
    """The moves before the first round, from the rewards of pairs [A, S] and the states shown [A]."""
    actions, states = reward.shape
    left = jnp.zeros((actions, states), jnp.int32)
    return Moves(jnp.zeros((actions, states, states), jnp.int32), left, shown[0], unit_reward(reward))


def doubled(left: Array) -> Array:
    """Twice the number of tries of each pair, at least 1: [A, S] int32."""
    return jnp.where(left > LARGEST_INTEGER // 2, LARGEST_INTEGER, jnp.maximum(2 * left, 1))


def replanned(policy: Any, seen: Moves, begins: Array, before: tuple[Array, Array], *more: ArrayLike) -> Any:
    """The actions [S] and the gain of `policy.plan(seen, *more)` in a run that begins an episode, else the old ones.

    In each round few runs begin an episode, and only these plan.
    """

    def plan(policy: Any, seen: Moves, *more: Array) -> tuple[Array, Array]:
        best = policy.plan(seen, *more)
        return best.actions, best.gain

    arguments = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], (policy, seen, *more))
    plans = where_needed(begins[None], plan, arguments, jax.tree.map(lambda leaf: leaf[None], before))
    # `where_needed` plans for every run where this is as fast
    return jax.tree.map(lambda new, old: jnp.where(begins, new[0], old), plans, before)


def decided(actions: Array, here: Array, number: int) -> Array:
    """Scores [A] that choose the action of the present state."""
    return jnp.where(jnp.arange(number, dtype=jnp.int32) == actions[here], jnp.inf, 0.0)


def check_learner(policy: Any, task: Task) -> None:
    """Raise ValueError unless the process is weakly communicating, and for a wrong field `rewards`."""
    communicating(policy, task, "ergodic", "communicating", "weakly communicating")
    checks.one_play(policy, task)
    checks.choice(policy, "rewards", get_args(Rewards))
