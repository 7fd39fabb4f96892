"""Runs of a policy on many problems, and how much each choice changed the reward that followed it."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxbandit.base import Environment, Policy, described, reward_table
from jaxbandit.learning.problem_pool import Pool
from jaxbandit.selection import top_arms


@described
class Episodes(NamedTuple):
    """What happened in runs of n rounds.

    Fields:
      rewards: [.., n].
      log_chances: [.., n], the logarithm of the probability with which the arm of each round was chosen.
      others: [.., n, F], the same of other policies that saw the same; None without them.
    """

    rewards: Array
    log_chances: Array
    others: Array | None


def episode(
    environment: Environment, policy: Policy, others: Any, arms_key: Array, policy_key: Array, horizon: int
) -> Episodes:
    """One run. `others` are policies stacked, [F, ..], that learn from the same plays, or None."""

    def log_chance(policy: Policy, state: Any, t: Array, arm: Array) -> tuple[Array, Any]:
        _, kept = policy.scores(policy_key, state, t)
        return jnp.log(_probabilities(policy, kept, t)[arm]), kept

    def play(carry: Any, t: Array) -> tuple[Any, Episodes]:
        arms_state, state, other_states = carry
        scores, kept = policy.scores(jax.random.fold_in(policy_key, t), state, t)
        arms = top_arms(scores, 1)
        arms_state, feedback = environment.step(arms_key, arms_state, arms, t)
        chosen = jnp.log(_probabilities(policy, kept, t)[arms[0]])
        of_others = None
        if others is not None:
            of_others, planned = jax.vmap(partial(log_chance, t=t, arm=arms[0]))(others, other_states)
            other_states = jax.vmap(lambda other, now: other.update(now, feedback))(others, planned)
        return (arms_state, policy.update(kept, feedback), other_states), Episodes(
            feedback.rewards[0], chosen, of_others
        )

    table = jnp.asarray(reward_table(environment), float)
    begin = environment.init(arms_key), policy.init(table), None
    if others is not None:
        begin = *begin[:2], jax.vmap(lambda other: other.init(table))(others)
    begin = jax.tree.map(jnp.asarray, begin)
    return jax.lax.scan(play, begin, jnp.arange(1, horizon + 1, dtype=jnp.int32))[1]


def episodes(pool: Pool, policy: Policy, others: Any, keys: Array, draws: int, horizon: int) -> Any:
    """Runs of problems drawn with replacement, `draws` of each with the same luck: leaves [runs, draws, n, ..].

    Args:
      keys: [runs], one for each problem that is drawn.

    Returns:
      `Episodes`, and the long-run reward a round of the best play, [runs].
    """

    def of_problem(key: Array) -> tuple[Episodes, Array]:
        which, arms_key, policy_key = jax.random.split(key, 3)
        place = jax.random.randint(which, (), 0, len(pool.best))
        arms = jax.tree.map(lambda leaf: jnp.asarray(leaf)[place], pool.arms)
        one = partial(episode, arms, policy, others, arms_key, horizon=horizon)
        seen = jax.vmap(lambda key: one(policy_key=key))(jax.random.split(policy_key, draws))
        weight = jnp.asarray(pool.weight, seen.rewards.dtype)[place]
        return seen._replace(rewards=weight * seen.rewards), weight * jnp.asarray(pool.best)[place]

    return jax.vmap(of_problem)(keys)


def advantages(rewards: Array) -> Array:
    """[runs, draws, n]: the reward from each round on, minus its mean over the other draws of the same luck.

    Where the n-th play of an arm pays the same in all draws, most of the luck cancels. Given the luck, other draws are
    independent of a run's own choices, so that subtracting them changes no mean.

    >>> advantages(jnp.array([[[0.0, 1.0], [0.0, 0.0]]])).tolist()
    [[[1.0, 1.0], [-1.0, -1.0]]]
    """
    following = jnp.cumsum(rewards[..., ::-1], -1)[..., ::-1]
    draws = rewards.shape[1]
    return (following - jnp.mean(following, 1, keepdims=True)) * (draws / (draws - 1))


def _probabilities(policy: Any, state: Any, t: Array) -> Array:
    chances: Array = policy.probabilities(state, t)
    return chances
