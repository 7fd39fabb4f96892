"""What a policy remembers: how often each arm showed each state, or moved between each pair, and the means of that."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp

from jaxbandit.base import Array, Family, Feedback, described, total
from jaxbandit.fast import add_one
from jaxbandit.sums import TwoFloats, add_rewards, no_sums

__all__ = [
    "count_transitions",
    "count_visits",
    "no_transitions",
    "no_visits",
    "ratio",
    "sample_mean",
    "total",
    "unit_reward",
]


@described
class Visits(NamedTuple):
    """State of a policy that needs sample means only.

    Fields:
      counts: [K, S] int32, plays of the arm that moved it to the state.
      reward: [K, S], in [0, 1], or as a family has them.
    """

    counts: Array
    reward: Array


@described
class Sums(NamedTuple):
    """State of the same where rewards are no finite table.

    Fields:
      plays: [K] int32.
      rewards: [K], sum of the arm's rewards.
    """

    plays: Array
    rewards: TwoFloats


@described
class Transitions(NamedTuple):
    """State of a policy that estimates transitions.

    Fields:
      counts: [K, S, S] int32, transitions seen.
      states: [K] int32, where each arm was last seen.
      reward: [K, S], in [0, 1].
    """

    counts: Array
    states: Array
    reward: Array


def unit_reward(reward: Array) -> Array:
    """Rewards [K, S] as they are if all lie in [0, 1], else mapped affinely so that min is 0 and max is 1.

    The KL and Hoeffding indices are for rewards in [0, 1]. The map is one for all arms and so changes no comparison of
    means; scores are in mapped units.

    >>> unit_reward(jnp.array([[-1.0, 1.0], [-1.0, 3.0]])).tolist()
    [[0.0, 0.5], [0.0, 1.0]]
    """
    reward = jnp.asarray(reward, float)
    low, high = jnp.min(reward), jnp.max(reward)
    mapped = (reward - low) / jnp.where(high > low, high - low, 1)
    return jnp.where((low < 0) | (high > 1), mapped, reward)


def no_visits(reward: Array, family: Family | None = None) -> Visits | Sums:
    """The state before the first round, from what each state pays, `reward` [K, S], or [K, 0] if that is no table.

    Rewards are mapped by `unit_reward`, those of a family are not.
    """
    if reward.shape[1] == 0:
        return Sums(jnp.zeros(reward.shape[0], jnp.int32), no_sums(reward.shape[0]))
    return Visits(jnp.zeros(reward.shape, jnp.int32), unit_reward(reward) if family is None else reward)


def no_transitions(reward: Array) -> Transitions:
    """The state before the first round, from what each state pays, `reward` [K, S]."""
    arms, states = reward.shape
    return Transitions(jnp.zeros((arms, states, states), jnp.int32), jnp.zeros(arms, jnp.int32), unit_reward(reward))


def count_visits(state: Visits | Sums, feedback: Feedback) -> Visits | Sums:
    """The state after a round: each play counted at the state it moved to, or its reward added where there is none."""
    if isinstance(state, Sums):
        plays = add_one(state.plays, feedback.arms)
        return Sums(plays, add_rewards(state.rewards, feedback.arms, feedback.rewards))
    return state._replace(counts=add_one(state.counts, feedback.arms, feedback.states))


def count_transitions(state: Transitions, feedback: Feedback) -> Transitions:
    """The state after a round: each play counted as a departure, and the arm's new state kept."""
    counts = add_one(state.counts, feedback.arms, feedback.before, feedback.states)
    return state._replace(counts=counts, states=state.states.at[feedback.arms].set(feedback.states))


def ratio(part: Array, whole: Array) -> Array:
    """part / whole of counts as floats; 0 where nothing was counted."""
    return part.astype(float) / jnp.maximum(whole, 1).astype(float)


def sample_mean(counts: Array, reward: Array) -> tuple[Array, Array]:
    """Mean reward [K] of the states moved to, `counts` [K, S], and the plays T [K]; mean 0 for an arm never played.

    >>> [x.tolist() for x in sample_mean(jnp.array([[1, 3], [0, 0]]), jnp.array([[0.0, 1.0], [0.0, 1.0]]))]
    [[0.75, 0.0], [4, 0]]
    """
    plays = total(counts)
    return total(counts.astype(float) * reward) / jnp.maximum(plays, 1).astype(float), plays


def mean_and_plays(state: Visits | Sums) -> tuple[Array, Array]:
    """Mean reward [K] of each arm's plays, 0 for an arm never played, and their number T [K], from `no_visits` on.

    >>> state = no_visits(jnp.zeros((2, 0)))
    >>> played = Feedback(*[jnp.array([0], jnp.int32)] * 3, jnp.array([2.5]))
    >>> [x.tolist() for x in mean_and_plays(count_visits(state, played))]
    [[2.5, 0.0], [1, 0]]
    """
    if isinstance(state, Sums):
        return state.rewards.high / jnp.maximum(state.plays, 1).astype(float), state.plays
    return sample_mean(state.counts, state.reward)


def rewards_and_plays(state: Visits | Sums) -> tuple[Array, Array]:
    """Sum of the rewards [K] of each arm's plays, and their number T [K]."""
    if isinstance(state, Sums):
        return state.rewards.high, state.plays
    return total(state.counts.astype(float) * state.reward), total(state.counts)
