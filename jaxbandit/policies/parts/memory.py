"""Memories of a policy: visits of each arm's states, sums of its rewards, or its transitions.

Each is a small state with two methods: `counted`, the state after a round's feedback, and `mean_and_plays`. A policy
that needs only these two works with every memory; Thompson sampling also needs `gained_and_missed` of the first two,
which keeps the digits of a few failures among many plays. A mean is X / N if N > 0, where N may be any positive number,
for example with discounted plays. The memories of `forgetting` hold one of these states, and make it forget.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple, Protocol, overload

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.base import Family, Feedback, described, total
from jaxbandit.fast import add_one
from jaxbandit.feedback import check_feedback, checked_table
from jaxbandit.sums import TwoFloats, add_rewards, no_sums

__all__ = [
    "Forgets",
    "Memory",
    "no_transitions",
    "no_visits",
    "ratio",
    "remembered",
    "sample_mean",
    "total",
    "unit_reward",
]


class Memory(Protocol):
    """A policy's memory of each arm's rewards, for one run."""

    def counted(self, feedback: Feedback) -> Memory:
        """The memory after a round, of the same type."""

    def mean_and_plays(self) -> tuple[Array, Array]:
        """Mean reward [K] of each arm's plays, 0 for an arm without one, and their number [K]."""

    def gained_and_missed(self) -> tuple[Array, Array]:
        """The sums [K] of each arm's rewards, and of 1 minus each reward."""


class ChainMemory(Protocol):
    """A policy's memory of each arm's transitions, for one run, with the fields of `Transitions`."""

    @property
    def counts(self) -> Array: ...

    @property
    def states(self) -> Array: ...

    @property
    def reward(self) -> Array: ...

    def counted(self, feedback: Feedback) -> ChainMemory: ...

    def mean_and_plays(self) -> tuple[Array, Array]: ...


class Forgets(Protocol):
    """A policy's field `memory`, which makes it forget: one of `forgetting` or your own.

    It is a `pytree`. A method `validate(task)`, on the host, is optional: it raises ValueError for a field out of
    range, or a `Task` that the memory does not suit.
    """

    @property
    def rounds(self) -> ArrayLike:
        """The effective number of rounds, which confidence levels use as the time."""

    def initial_state(self, kept: Any) -> Any:
        """The state before the first round of a memory that holds `kept` and forgets: a `Memory` or `ChainMemory`."""


@described
class Visits(NamedTuple):
    """The number of plays of each arm that led to each state.

    Fields:
      counts: [K, S] int32, plays of the arm that led to the state.
      reward: [K, S], in [0, 1], or not mapped if the policy has a family.
    """

    counts: Array
    reward: Array

    def check(self, feedback: Feedback) -> None:
        """Raise ValueError for feedback that these arms cannot give (see `check_feedback`)."""
        check_feedback(feedback, *self.counts.shape)

    def added(self, feedback: Feedback) -> Array:
        """Which of its counts each arm adds to in this round, [K], from 1; 0 for none."""
        return jnp.zeros_like(self.counts[:, 0]).at[feedback.arms].set(feedback.states + 1)

    def counted(self, feedback: Feedback) -> Visits:
        """The state after a round: each play counted at the state that it moved to."""
        self.check(feedback)
        return self._replace(counts=add_one(self.counts, feedback.arms, feedback.states))

    def scaled(self, factor: ArrayLike) -> Visits:
        """The state with the weights of all plays multiplied by `factor`; counts are floats then."""
        return self._replace(counts=self.counts * factor)

    def mean_and_plays(self) -> tuple[Array, Array]:
        """Mean reward [K] of each arm's plays, 0 for an arm never played, and their number T [K]."""
        return sample_mean(self.counts, self.reward)

    def gained_and_missed(self) -> tuple[Array, Array]:
        """The sums [K] of each arm's rewards, and of 1 minus each reward."""
        counts = self.counts.astype(float)
        return total(counts * self.reward), total(counts * (1 - self.reward))


@described
class Sums(NamedTuple):
    """The sum of rewards of each arm, for rewards without a finite table.

    Fields:
      plays: [K] int32.
      rewards: [K], sum of the arm's rewards.
    """

    plays: Array
    rewards: TwoFloats

    def check(self, feedback: Feedback) -> None:
        """Raise ValueError for feedback that these arms cannot give (see `check_feedback`)."""
        check_feedback(feedback, len(self.plays))

    def counted(self, feedback: Feedback) -> Sums:
        """The state after a round: each play counted, and its reward added."""
        self.check(feedback)
        plays = add_one(self.plays, feedback.arms)
        return Sums(plays, add_rewards(self.rewards, feedback.arms, feedback.rewards))

    def scaled(self, factor: ArrayLike) -> Sums:
        """The state with the weights of all plays multiplied by `factor`; plays are floats then.

        The second float of the sums is left out, so that sums are rounded as the plays are.
        """
        return Sums(self.plays * factor, TwoFloats(self.rewards.high * factor, jnp.zeros_like(self.rewards.low)))

    def mean_and_plays(self) -> tuple[Array, Array]:
        """Mean reward [K] of each arm's plays, 0 for an arm never played, and their number T [K].

        >>> state = no_visits(jnp.zeros((2, 0))).counted(Feedback.of(0, 2.5, t=1, table=jnp.zeros((2, 0))))
        >>> [x.tolist() for x in state.mean_and_plays()]
        [[2.5, 0.0], [1, 0]]
        """
        return ratio(self.rewards.high, self.plays), self.plays

    def gained_and_missed(self) -> tuple[Array, Array]:
        """The sums [K] of each arm's rewards, and of 1 minus each reward."""
        gained = self.rewards.high
        return gained, jnp.maximum((self.plays.astype(float) - gained) - self.rewards.low, 0)


@described
class Transitions(NamedTuple):
    """The number of transitions of each arm between its states.

    Fields:
      counts: [K, S, S] int32, transitions seen.
      states: [K] int32, the last observed state of each arm.
      reward: [K, S], in [0, 1].
    """

    counts: Array
    states: Array
    reward: Array

    def check(self, feedback: Feedback) -> None:
        """Raise ValueError for feedback that these arms cannot give (see `check_feedback`)."""
        check_feedback(feedback, *self.reward.shape, last=self.states, counts=self.counts)

    def added(self, feedback: Feedback) -> Array:
        """Which of its counts each arm adds to in this round, [K], from 1; 0 for none."""
        moves = feedback.states + 1 + feedback.before * self.counts.shape[1]
        return jnp.zeros_like(self.counts[:, 0, 0]).at[feedback.arms].set(moves)

    def counted(self, feedback: Feedback) -> Transitions:
        """The state after a round: each play counted as a departure, and the arm's new state kept."""
        self.check(feedback)
        counts = add_one(self.counts, feedback.arms, feedback.before, feedback.states)
        return self._replace(counts=counts, states=self.states.at[feedback.arms].set(feedback.states))

    def scaled(self, factor: ArrayLike) -> Transitions:
        """The state with the weights of all plays multiplied by `factor`; counts are floats then."""
        return self._replace(counts=self.counts * factor)

    def mean_and_plays(self) -> tuple[Array, Array]:
        """Mean reward [K] of the states that each arm's plays moved it to, and their number T [K]."""
        return sample_mean(sum(self.counts[:, s] for s in range(self.counts.shape[1])), self.reward)  # type: ignore[arg-type]


def unit_reward(reward: Array) -> Array:
    """Rewards [K, S] as they are if all lie in [0, 1], else mapped affinely so that min is 0 and max is 1.

    The KL and Hoeffding indices are for rewards in [0, 1]. The map is the same for all arms, so that the order
    of their means is kept; scores are in mapped units.

    >>> unit_reward(jnp.array([[-1.0, 1.0], [-1.0, 3.0]])).tolist()
    [[0.0, 0.5], [0.0, 1.0]]
    """
    reward = needs_states(jnp.asarray(reward, float))
    low, high = jnp.min(reward), jnp.max(reward)
    mapped = (reward - low) / jnp.where(high > low, high - low, 1)
    return jnp.where((low < 0) | (high > 1), mapped, reward)


def needs_states(reward: Array) -> Array:
    """Return rewards [K, S], for a policy that identifies rewards by their states."""
    if reward.shape[-1] == 0:
        raise ValueError(
            "reward: a table [K, 0] has no states, and this policy identifies rewards by them; give [K, S], the "
            "reward of each state of each arm, or play a policy for real numbers, such as UCB1"
        )
    return reward


def no_visits(reward: Array, family: Family | None = None, memory: Forgets | None = None) -> Memory:
    """The memory before the first round, from the reward of each state, `reward` [K, S]; [K, 0] without a finite table.

    Rewards are mapped by `unit_reward`, unless a family is given. `memory` makes it forget.
    """
    kept: Visits | Sums
    reward = checked_table(reward)
    if reward.shape[1] == 0:
        kept = Sums(jnp.zeros(reward.shape[0], jnp.int32), no_sums(reward.shape[0]))
    else:
        kept = Visits(jnp.zeros(reward.shape, jnp.int32), unit_reward(reward) if family is None else reward)
    return kept if memory is None else memory.initial_state(kept)


@overload
def no_transitions(reward: Array, memory: None = None) -> Transitions: ...


@overload
def no_transitions(reward: Array, memory: Forgets | None) -> ChainMemory: ...


def no_transitions(reward: Array, memory: Forgets | None = None) -> ChainMemory:
    """The memory before the first round, from the reward of each state, `reward` [K, S]; `memory` makes it forget."""
    reward = checked_table(reward)
    arms, states = reward.shape
    kept = Transitions(jnp.zeros((arms, states, states), jnp.int32), jnp.zeros(arms, jnp.int32), unit_reward(reward))
    return kept if memory is None else memory.initial_state(kept)


def counts_whole(memory: Forgets | None) -> bool:
    """Whether transition counts are integers, as they are without a memory."""
    kept = jax.eval_shape(partial(no_transitions, memory=memory), jax.ShapeDtypeStruct((2, 2), jnp.result_type(float)))
    return bool(jnp.issubdtype(kept.counts.dtype, jnp.integer))


def remembered(memory: Forgets | None, t: ArrayLike) -> ArrayLike:
    """The effective number of rounds: t without a memory, else min(t, rounds of the memory).

    It replaces t in the confidence level log t of a policy that forgets.
    """
    return t if memory is None else jnp.minimum(jnp.asarray(t, float), memory.rounds)


def ratio(part: Array, whole: Array) -> Array:
    """part / whole as floats; 0 where whole is 0.

    >>> ratio(jnp.array([3.0, 0.3, 0.0]), jnp.array([4.0, 0.3, 0.0])).tolist()
    [0.75, 1.0, 0.0]
    """
    return part.astype(float) / positive(whole)


def positive(number: Array) -> Array:
    """A number of plays as a float divisor; 1 where it is 0."""
    return jnp.where(number > 0, number, 1).astype(float)


def sample_mean(counts: Array, reward: Array) -> tuple[Array, Array]:
    """Mean reward [K] of plays with `counts` [K, S] of their new states, and the plays T [K]; 0 for an arm never
    played.

    >>> [x.tolist() for x in sample_mean(jnp.array([[1, 3], [0, 0]]), jnp.array([[0.0, 1.0], [0.0, 1.0]]))]
    [[0.75, 0.0], [4, 0]]
    """
    plays = total(counts)
    return ratio(total(counts.astype(float) * reward), plays), plays
