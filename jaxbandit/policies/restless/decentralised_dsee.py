"""DSEE for several players of the same arms, who do not communicate."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxbandit import members
from jaxbandit.arguments import as_floats, has
from jaxbandit.base import Feedback, Task, per_arm, pytree
from jaxbandit.feedback import check_feedback
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.memory import sample_mean, unit_reward
from jaxbandit.policies.restless.dsee import Epoch, power_of_two


@pytree
class DecentralisedDSEE:
    """Decentralised DSEE: M players of the same K restless arms, each of whom knows only what it saw itself.

    All players have the epochs of `DSEE`, which depend on the round alone. In the n-th exploration player m plays the
    arms m, m + 1, .. (modulo K), each 4^(n-1) times in a row, so that nobody collides. The n-th exploitation has M
    parts of 2 * 4^(n-1) rounds; in part j player m plays the arm that is in place (m + j) modulo M of its own order of
    the means (time division): players who order the M best arms in the same way share them and do not collide. One
    object plays for all of them, and no score of one player depends on what another one saw. Make it with
    `DecentralisedDSEE.of(arms)`.

    Args:
      player, channel: [M K], the player of each arm of the environment, and which of the K arms it is.
      D: positive, as in `DSEE`.

    Raises:
      ValueError: from `simulate` and `check_policy`, for arms without players, and a D that is not positive.

    Source: Liu, Liu and Zhao 2013. Its section on several players was not opened: the first arms of the players and the
    parts of an exploitation are after its abstract, and that of Liu and Zhao on time division (arXiv 0910.2065).

    >>> import jax
    >>> policy = DecentralisedDSEE(player=[0, 0, 0, 1, 1, 1], channel=[0, 1, 2, 0, 1, 2])
    >>> jax.jit(policy.scores)(None, policy.init(jnp.array([[0.0, 1.0, 0.0]] * 6)), 1)[0].tolist()
    [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]
    """

    units = "mapped"

    player: ArrayLike = per_arm()
    channel: ArrayLike = per_arm()
    D: ArrayLike = 10.0

    @classmethod
    def of(cls, arms: Any, D: ArrayLike = 10.0) -> DecentralisedDSEE:
        """The policy for an environment of `environments.colliding`.

        Raises:
          ValueError: `arms` are no such environment.
        """
        has("arms", arms, "an environment of environments.colliding", "means", "step")
        numbers = members.players(arms)
        if numbers is None:
            raise ValueError(f"arms: one of environments.colliding is needed, and {type(arms).__name__} has no players")
        policy = cls(**numbers, D=D)
        checks.number(policy, "D", 0, above=True)
        return policy

    def validate(self, task: Task) -> None:
        checks.suits(self, task, ("colliding",))
        checks.number(self, "D", 0, above=True)
        own = members.players(task.environment) or {}
        for name, expected in own.items():
            if not np.array_equal(as_floats(name, getattr(self, name)), expected):
                raise ValueError(
                    f"{name}: is not that of {task.name}; make the policy with DecentralisedDSEE.of from these arms"
                )

    def init(self, reward: Array) -> Epoch:
        nothing, counts = jnp.int32(0), jnp.zeros(reward.shape, jnp.int32)
        return Epoch(jnp.bool_(True), nothing, nothing, nothing, jnp.int32(1), counts, unit_reward(reward))

    def scores(self, key: Array, state: Epoch, t: Array) -> tuple[Array, Epoch]:
        player, channel, players, number = self._numbers()
        mean, _ = sample_mean(state.counts[:, :-1], state.reward[:, :-1])
        before = (mean[None] > mean[:, None]) | ((mean[None] == mean[:, None]) & (channel[None] < channel[:, None]))
        place = jnp.sum(before & (player[None] == player[:, None]), axis=1)
        explored, exploited = (state.first + player) % number, (state.first + player) % players
        played = jnp.where(state.explores, channel == explored, place == exploited)
        return played.astype(float), state

    def update(self, state: Epoch, feedback: Feedback) -> Epoch:
        check_feedback(feedback, *state.counts.shape)
        _, _, players, number = self._numbers()
        seen = jnp.broadcast_to(state.explores.astype(jnp.int32), feedback.arms.shape)
        counts = state.counts.at[feedback.arms, feedback.states].add(seen)
        ends = state.left == 1
        over = ends & (state.first + 1 == jnp.where(state.explores, number, players))
        explored = state.explored + (over & state.explores)
        exploited = state.exploited + (over & ~state.explores)
        plays_of_arm = (power_of_two(2 * explored) - 1) // 3
        exploits = plays_of_arm.astype(float) > self.D * jnp.log((feedback.t + 1).astype(float))
        explores = jnp.where(over, ~exploits, state.explores)
        length = jnp.where(explores, power_of_two(2 * explored), power_of_two(2 * exploited + 1))
        first = jnp.where(over, 0, state.first + ends)
        return Epoch(
            explores, explored, exploited, first, jnp.where(ends, length, state.left - 1), counts, state.reward
        )

    def _numbers(self) -> tuple[Array, Array, Array, Array]:
        """The players and channels of all arms, M and K."""
        player, channel = jnp.asarray(self.player, jnp.int32), jnp.asarray(self.channel, jnp.int32)
        return player, channel, jnp.max(player) + 1, jnp.max(channel) + 1
