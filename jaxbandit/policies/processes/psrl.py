"""PSRL: posterior sampling for reinforcement learning."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.arguments import LARGEST_INTEGER
from jaxbandit.base import Feedback, Task, pytree, static, total
from jaxbandit.planning import Plan, value_iteration
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.posteriors import log_gamma, normalised
from jaxbandit.policies.processes.moves import (
    Moves,
    Rewards,
    check_learner,
    decided,
    doubled,
    nothing_seen,
    replanned,
)

WAITING = 0.1  # in a periodic process value iteration would never satisfy its stopping rule


class Sampled(NamedTuple):
    """State of `PSRL`.

    Fields:
      seen: the moves.
      begins: bool, whether the next round begins an episode because the tries of a pair have doubled.
      most: [A, S] int32, the number of tries of a pair at which the episode ends.
      actions: [S] int32, the action of the episode in each state.
      gain: of the sampled process, mapped to [0, 1].
      began: int32, the round in which the episode began.
      before: int32, the length of the last episode.
    """

    seen: Moves
    begins: Array
    most: Array
    actions: Array
    gain: Array
    began: Array
    before: Array


@pytree
class PSRL:
    """PSRL (posterior sampling for reinforcement learning): in every episode the optimal actions of a process drawn
    from the posterior.

    Each row is a draw from the Dirichlet law with parameters prior + N(s, a, s'), the numbers of moves seen. Rewards
    are known, or draws from the beta law with parameters 1 + N r and 1 + N (1 - r) for a pair with N tries and mean
    reward r. The process drawn is solved by `planning.value_iteration` with the tolerance 1 / t, from 1e-6 to
    0.01, and waiting 0.1. An episode ends after a round that doubles the number of tries of a pair before the
    episode, at least one.

    Args:
      prior: of each row's Dirichlet law, each of its parameters before the first round; at least 1e-30.
      rewards: "known" (default), or "learned".
      tsde: whether an episode also ends when it is longer than the one before it (dynamic episodes). Pairs must then
        have been tried more than twice as often as before it.

    Raises:
      ValueError: from `simulate` and `check_policy`, for a field out of range, and for a task that is not a decision
        process.

    Source: Osband, Russo and Van Roy 2013 for sampling; Ouyang, Gagrani, Nayyar and Jain 2017 for long-run rewards and
    dynamic episodes (TSDE).

    >>> policy = PSRL()
    >>> state = policy.init(jnp.array([[0.0, 1.0], [0.0, 1.0]]), jnp.array([0, 0]))
    >>> jax.jit(policy.scores)(jax.random.key(0), state, 1)[0].tolist()
    [0.0, inf]
    """

    units = "mapped"

    prior: ArrayLike = 1.0
    rewards: Rewards = static("known")
    tsde: bool = static(False)

    def validate(self, task: Task) -> None:
        check_learner(self, task)
        checks.number(self, "prior", 1e-30)
        checks.truth(self, "tsde")

    def init(self, reward: Array, shown: Array) -> Sampled:
        seen, zero = nothing_seen(reward, shown), jnp.int32(0)
        actions = jnp.zeros(reward.shape[1], jnp.int32)
        return Sampled(seen, jnp.bool_(True), jnp.zeros_like(seen.left), actions, jnp.zeros(()), zero, zero)

    def scores(self, key: Array, state: Sampled, t: Array) -> tuple[Array, Sampled]:
        """The scores, and the plan for a newly drawn process if the round begins an episode."""
        seen, begins = state.seen, state.begins
        if self.tsde:
            begins = begins | (t > state.began + state.before)
        plan = (state.actions, state.gain)
        actions, gain = replanned(self, seen, begins, plan, t, jax.random.key_data(key))
        most = doubled(seen.left)
        if self.tsde:
            most = jnp.where(most < LARGEST_INTEGER, 2 * seen.left + 1, most)
        following = Sampled(
            seen,
            jnp.zeros_like(begins),
            jnp.where(begins, most, state.most),
            actions,
            gain,
            jnp.where(begins, t, state.began),
            jnp.where(begins, t - state.began, state.before),
        )
        return decided(actions, seen.here, most.shape[0]), following

    def update(self, state: Sampled, feedback: Feedback) -> Sampled:
        seen, pair = state.seen.counted(feedback), (feedback.arms[0], feedback.before[0])
        return state._replace(seen=seen, begins=state.begins | (seen.left[pair] >= state.most[pair]))

    def plan(self, seen: Moves, t: Array, words: Array) -> Plan:
        """A process drawn from the posterior before round t, and its optimal actions."""
        rows, reward = self.draw(seen, words)

        def worth(values: Array) -> Array:
            return reward + total(rows * values[None, None])

        tolerance = jnp.clip(1 / jnp.asarray(t, float), 1e-6, 1e-2)
        return value_iteration(worth, jnp.zeros(reward.shape[1]), tolerance, waiting=WAITING)

    def draw(self, seen: Moves, words: Array) -> tuple[Array, Array]:
        """Rows [A, S, S] and rewards [A, S] drawn from the posterior, by the data [2] uint32 of a random key."""
        shape, learned = (self.prior + seen.counts.astype(float)).reshape(-1), self.rewards == "learned"
        if learned:
            gained = seen.left.astype(float) * seen.reward
            missed = seen.left.astype(float) * (1 - seen.reward)
            shape = jnp.concatenate([shape, (1 + gained).reshape(-1), (1 + missed).reshape(-1)])
        drawn = log_gamma(jax.random.wrap_key_data(words, impl="threefry2x32"), shape)
        rows = normalised(drawn[: seen.counts.size].reshape(seen.counts.shape))
        if not learned:
            return rows, seen.reward
        gained, missed = drawn[seen.counts.size :].reshape(2, *seen.reward.shape)
        return rows, 1 / (1 + jnp.exp(missed - gained))
