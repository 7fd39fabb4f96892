"""UCRL2: optimism over a confidence set of decision processes."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.base import pytree, static
from jaxbandit.planning import Plan, l1_ball_max
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
class UCRL2:
    """UCRL2: the optimal actions of the most optimistic decision process in a confidence set, chosen in every episode.

    The set of an episode that begins in round t has rewards up to r + sqrt(7 log(2 S A t / delta) / (2 N)), at most 1,
    and rows q with ||q - p||_1 <= sqrt(14 S log(2 A t / delta) / N), for a pair of state and action with N tries, mean
    reward r and empirical row p. An untried pair may pay 1 and lead anywhere. The process with the largest gain is
    found by `planning.value_iteration` with the tolerance 1 / sqrt(t), which needs no waiting: in that process every
    pair may move to the state with the largest value. The episode ends when the pair to be played has been tried in it
    as often as before it, at least once. With probability 1 - delta the regret of n rounds is at most
    34 D S sqrt(A n log(n / delta)), D the diameter (on RiverSwim with six states below n only after 4e8 rounds).

    Args:
      delta: the failure probability of the confidence set, in (0, 1).
      rewards: "learned", as in the source, or "known": the player knows the reward of each pair.

    Raises:
      ValueError: from `simulate` and `check_policy`, for a field out of range, and for a task that is not a decision
        process.

    Source: Jaksch, Ortner and Auer 2010, figures 1 and 2; rewards above 1 are excluded here.

    >>> policy = UCRL2()
    >>> state = policy.init(jnp.array([[0.0, 1.0], [0.0, 1.0]]), jnp.array([0, 0]))
    >>> policy.scores(None, state, 1)[0].tolist()
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
        paid, radius = self.radii(seen, t)
        reward = largest_rewards(self, seen, paid)
        rows, anywhere = seen.rows(), radius >= 2  # so that such pairs have the same value to the last digit

        def of_pairs(values: Array) -> Array:
            return reward + jnp.where(anywhere, jnp.max(values), l1_ball_max(rows, radius, values)[0])

        return of_pairs

    def radii(self, seen: Moves, t: Array) -> tuple[Array, Array]:
        """The confidence radii of the reward and the row of each pair, [A, S] each."""
        (actions, states), tried = seen.reward.shape, seen.tried()
        paid = jnp.sqrt(7 * level(2 * states * actions, t, self.delta) / (2 * tried))
        return paid, jnp.sqrt(14 * states * level(2 * actions, t, self.delta) / tried)
