"""KL-UCRL: optimism over KL confidence sets of the transition probabilities."""

from __future__ import annotations

import math
from collections.abc import Callable

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.base import pytree, static
from jaxbandit.confidence import kl_ball_max
from jaxbandit.planning import Plan
from jaxbandit.policies.processes.moves import Episode, Moves, Rewards
from jaxbandit.policies.processes.optimism import (
    before_first_episode,
    best_plan,
    check_optimist,
    counted,
    episode_scores,
    largest_rewards,
    level,
)


@pytree
class KLUCRL:
    """KL-UCRL: `UCRL2` with rows q that satisfy KL(p || q) <= C_P / N, and rewards up to r + C_R / sqrt(N), at most 1.

    B = log(2 e S^2 A log(t) / delta), C_P = S (B + log(B + 1 / log t) (1 + 1 / (B + 1 / log t))) and
    C_R = sqrt(log(4 S A log(t) / delta) / 1.99), for a pair with N tries, mean reward r and empirical row p; t is
    the first round of the episode, at least 2 (in the source the horizon). A KL ball gives an unobserved transition
    positive probability only if the new state has a high value, so that KL-UCRL explores less than UCRL2.

    Args:
      delta: the failure probability of the confidence set, in (0, 1).
      rewards: "learned", as in the source, or "known": the player knows the reward of each pair.

    Raises:
      ValueError: from `simulate` and `check_policy`, for a field out of range, and for a task that is not a decision
        process.

    Source: Filippi, Cappe and Garivier 2010.

    >>> import jax
    >>> policy = KLUCRL()
    >>> state = policy.init(jnp.array([[0.0, 1.0], [0.0, 1.0]]), jnp.array([0, 0]))
    >>> jax.jit(policy.scores)(None, state, 1)[0].tolist()
    [inf, 0.0]
    """

    units = "mapped"

    delta: ArrayLike = 0.05
    rewards: Rewards = static("learned")

    validate, init, update = check_optimist, before_first_episode, counted

    def scores(self, key: Array, state: Episode, t: Array) -> tuple[Array, Episode]:
        return episode_scores(self, state, t)

    def plan(self, seen: Moves, t: Array) -> Plan:
        """The optimistic process in the confidence set of round t, and its optimal actions."""
        return best_plan(self.worth(seen, t), seen, t)

    def worth(self, seen: Moves, t: Array) -> Callable[[Array], Array]:
        states, tried = seen.reward.shape[1], seen.tried()
        of_rows, of_rewards = self.constants(seen, t)
        reward, radius = largest_rewards(self, seen, of_rewards / jnp.sqrt(tried)), of_rows / tried
        unseen = seen.left == 0
        rows = jnp.where(unseen[..., None], 1 / states, seen.rows())

        def of_pairs(values: Array) -> Array:
            return reward + jnp.where(unseen, jnp.max(values), kl_ball_max(rows, values[None, None], radius)[0])

        return of_pairs

    def constants(self, seen: Moves, t: Array) -> tuple[Array, Array]:
        """C_P and C_R."""
        actions, states = seen.reward.shape
        slow = jnp.log(jnp.maximum(jnp.asarray(t, float), 2))
        b = level(2 * math.e * states**2 * actions, slow, self.delta)
        c = b + 1 / slow
        return states * (b + jnp.log(c) * (1 + 1 / c)), jnp.sqrt(level(4 * states * actions, slow, self.delta) / 1.99)
