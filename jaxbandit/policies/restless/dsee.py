"""DSEE: deterministic sequencing of exploration and exploitation for restless arms."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.base import Feedback, Task, pytree
from jaxbandit.feedback import check_feedback
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.memory import sample_mean, unit_reward


class Epoch(NamedTuple):
    """State of a policy that plays in epochs."""

    explores: Array  # bool, whether this is an epoch of exploration
    explored: Array  # int32, completed epochs of exploration
    exploited: Array  # int32, completed epochs of exploitation
    first: Array  # int32, the first arm of the group that is now explored
    left: Array  # int32, remaining rounds of this group, or of the exploitation
    counts: Array  # [K, S] int32, plays of explorations that led to the state
    reward: Array  # [K, S], in [0, 1]


@pytree
class DSEE:
    """DSEE (deterministic sequencing of exploration and exploitation), for restless arms.

    The n-th exploration plays every arm 4^(n-1) times in a row, in order; the n-th exploitation plays for 2 * 4^(n-1)
    rounds the arm with the largest mean over all explorations. After N explorations each arm has been explored
    X = (4^N - 1)/3 times; an epoch that begins in round t is an exploitation if X > D log t. With M plays a round an
    exploration goes through groups of M arms, the last of them filled up from arm 0, and an exploitation plays the M
    arms with the largest means. Only long stretches of plays show the mean of a restless arm.

    Args:
      D: positive. Weak regret is O(log n) for reversible chains if D is large enough, which depends on the arms
        (a slowly growing D would not). 10 by default.

    Raises:
      ValueError: from `simulate` and `check_policy`, for a D that is not positive.

    Source: Liu, Liu and Zhao 2013 (a first version was called RUCB).

    >>> state = DSEE().init(jnp.array([[0.0, 1.0]] * 3))
    >>> DSEE().scores(None, state, 1)[0].tolist()
    [0.0, -1.0, -2.0]
    """

    units = "mapped"

    D: ArrayLike = 10.0

    def validate(self, task: Task) -> None:
        checks.suits(self, task)
        checks.number(self, "D", 0, above=True)

    def init(self, reward: Array) -> Epoch:
        nothing = jnp.int32(0)
        start = Epoch(jnp.bool_(True), nothing, nothing, nothing, jnp.int32(1), nothing, unit_reward(reward))
        return start._replace(counts=jnp.zeros(reward.shape, jnp.int32))

    def scores(self, key: Array, state: Epoch, t: Array) -> tuple[Array, Epoch]:
        number = state.reward.shape[0]
        mean, _ = sample_mean(state.counts, state.reward)
        behind = (jnp.arange(number, dtype=jnp.int32) - state.first) % number
        return jnp.where(state.explores, (-behind).astype(float), mean), state

    def update(self, state: Epoch, feedback: Feedback) -> Epoch:
        check_feedback(feedback, *state.counts.shape)
        number, plays = state.reward.shape[0], feedback.arms.shape[0]
        seen = jnp.broadcast_to(state.explores.astype(jnp.int32), (plays,))
        counts = state.counts.at[feedback.arms, feedback.states].add(seen)
        left, following = state.left - 1, state.first + plays
        ends = left == 0
        over = ends & ~(state.explores & (following < number))
        explored = state.explored + (over & state.explores)
        exploited = state.exploited + (over & ~state.explores)
        plays_of_arm = (power_of_two(2 * explored) - 1) // 3  # in all explorations so far
        exploits = plays_of_arm.astype(float) > self.D * jnp.log((feedback.t + 1).astype(float))
        explores = jnp.where(over, ~exploits, state.explores)
        length = jnp.where(explores, power_of_two(2 * explored), power_of_two(2 * exploited + 1))
        first = jnp.where(over, 0, jnp.where(ends, following, state.first))
        left = jnp.where(ends, length, left)
        return Epoch(explores, explored, exploited, first, left, counts, state.reward)


def power_of_two(exponent: Array) -> Array:
    """2^exponent, at most 2^30, where an epoch is longer than half of the largest horizon: int32."""
    return jnp.left_shift(jnp.int32(1), jnp.minimum(exponent, 30))
