"""What a policy remembers of each arm: visits of its states, sums of its rewards, or its transitions.

Each is a small state with two methods: `counted`, the state after a round's feedback, and `mean_and_plays`. A policy
that asks no more than these two works with every such state; Thompson sampling also asks the first two for
`gained_and_missed`, which keeps the digits of a few failures among many plays. A mean is X / N wherever N > 0: a number
of plays may be any positive number, for example where older plays weigh less. The memories of `forgetting` keep one of
these states, and make it forget.
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
    """What a policy remembers of each arm's rewards, for one run."""

    def counted(self, feedback: Feedback) -> Memory:
        """The memory after a round; of the same kind."""

    def mean_and_plays(self) -> tuple[Array, Array]:
        """Mean reward [K] of each arm's plays, 0 for an arm without one, and their number [K]."""

    def gained_and_missed(self) -> tuple[Array, Array]:
        """The sums [K] of each arm's rewards, and of 1 minus each reward."""


class ChainMemory(Protocol):
    """What a policy remembers of each arm's transitions, for one run: fields as of `Transitions`."""

    @property
    def counts(self) -> Array: ...

    @property
    def states(self) -> Array: ...

    @property
    def reward(self) -> Array: ...

    def counted(self, feedback: Feedback) -> ChainMemory: ...

    def mean_and_plays(self) -> tuple[Array, Array]: ...


class Forgets(Protocol):
    """How a policy forgets: what its field `memory` holds, one of `forgetting` or your own.

    It is a `pytree`. A method `validate(task)`, on the host, is optional: it raises ValueError for a field that is out
    of range, or a `Task` that the memory is not for.
    """

    @property
    def rounds(self) -> ArrayLike:
        """How many rounds count, as far as confidence depends on the time."""

    def initial_state(self, kept: Visits | Sums | Transitions) -> Any:
        """The memory before the first round that keeps this state, and forgets: a `Memory` or a `ChainMemory`."""


@described
class Visits(NamedTuple):
    """How often each arm's plays moved it to each state.

    Fields:
      counts: [K, S] int32, plays of the arm that moved it to the state.
      reward: [K, S], in [0, 1], or not mapped where a policy has a family.
    """

    counts: Array
    reward: Array

    def check(self, feedback: Feedback) -> None:
        """Raise ValueError for feedback that these arms cannot give (see `check_feedback`)."""
        check_feedback(feedback, *self.counts.shape)

    def counted(self, feedback: Feedback) -> Visits:
        """The state after a round: each play counted at the state that it moved to."""
        self.check(feedback)
        return self._replace(counts=add_one(self.counts, feedback.arms, feedback.states))

    def scaled(self, factor: ArrayLike) -> Visits:
        """The same where each play so far weighs `factor` times as much; counts are floats then."""
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
    """What each arm has paid, where rewards have no finite table.

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
        """The same where each play so far weighs `factor` times as much; plays are floats then.

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
    """How often each arm moved from each state to each other one.

    Fields:
      counts: [K, S, S] int32, transitions seen.
      states: [K] int32, where each arm was last seen.
      reward: [K, S], in [0, 1].
    """

    counts: Array
    states: Array
    reward: Array

    def check(self, feedback: Feedback) -> None:
        """Raise ValueError for feedback that these arms cannot give (see `check_feedback`)."""
        check_feedback(feedback, *self.reward.shape, last=self.states, counts=self.counts)

    def counted(self, feedback: Feedback) -> Transitions:
        """The state after a round: each play counted as a departure, and the arm's new state kept."""
        self.check(feedback)
        counts = add_one(self.counts, feedback.arms, feedback.before, feedback.states)
        return self._replace(counts=counts, states=self.states.at[feedback.arms].set(feedback.states))

    def scaled(self, factor: ArrayLike) -> Transitions:
        """The same where each play so far weighs `factor` times as much; counts are floats then."""
        return self._replace(counts=self.counts * factor)

    def mean_and_plays(self) -> tuple[Array, Array]:
        """Mean reward [K] of the states that each arm's plays moved it to, and their number T [K]."""
        return sample_mean(sum(self.counts[:, s] for s in range(self.counts.shape[1])), self.reward)  # type: ignore[arg-type]


def unit_reward(reward: Array) -> Array:
    """Rewards [K, S] as they are if all lie in [0, 1], else mapped affinely so that min is 0 and max is 1.

    The KL and Hoeffding indices are for rewards in [0, 1]. The map is the same for all arms, so that it changes no
    comparison of means; scores are in mapped units.

    >>> unit_reward(jnp.array([[-1.0, 1.0], [-1.0, 3.0]])).tolist()
    [[0.0, 0.5], [0.0, 1.0]]
    """
    reward = needs_states(jnp.asarray(reward, float))
    low, high = jnp.min(reward), jnp.max(reward)
    mapped = (reward - low) / jnp.where(high > low, high - low, 1)
    return jnp.where((low < 0) | (high > 1), mapped, reward)


def needs_states(reward: Array) -> Array:
    """Rewards [K, S] as they are, of a policy that tells rewards apart by the states that pay them.

    Raises:
      ValueError: there are no states.
    """
    if reward.shape[-1] == 0:
        raise ValueError(
            "reward: a table [K, 0] has no states, by which this policy tells rewards apart; give [K, S], what each "
            "state of each arm pays, or play a policy for real numbers, such as UCB1"
        )
    return reward


def no_visits(reward: Array, family: Family | None = None, memory: Forgets | None = None) -> Memory:
    """The state before the first round, from what each state pays, `reward` [K, S]; [K, 0] without a finite table.

    Rewards are mapped by `unit_reward`, unless a family is given. A memory, `Discounted` or `Window`, makes it forget.
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
    """The state before the first round, from what each state pays, `reward` [K, S]; a memory makes it forget."""
    reward = checked_table(reward)
    arms, states = reward.shape
    kept = Transitions(jnp.zeros((arms, states, states), jnp.int32), jnp.zeros(arms, jnp.int32), unit_reward(reward))
    return kept if memory is None else memory.initial_state(kept)


def counts_whole(memory: Forgets | None) -> bool:
    """Whether transitions are counted in whole numbers, as they are without a memory."""
    kept = jax.eval_shape(partial(no_transitions, memory=memory), jax.ShapeDtypeStruct((2, 2), jnp.result_type(float)))
    return bool(jnp.issubdtype(kept.counts.dtype, jnp.integer))


def remembered(memory: Forgets | None, t: ArrayLike) -> ArrayLike:
    """How many of t rounds count: t without a memory, else min(t, rounds of the memory).

    Where a policy widens its confidence with log t, one that forgets widens it with the log of this number.
    """
    return t if memory is None else jnp.minimum(jnp.asarray(t, float), memory.rounds)


def ratio(part: Array, whole: Array) -> Array:
    """part / whole as floats; 0 where nothing was counted.

    >>> ratio(jnp.array([3.0, 0.3, 0.0]), jnp.array([4.0, 0.3, 0.0])).tolist()
    [0.75, 1.0, 0.0]
    """
    return part.astype(float) / positive(whole)


def positive(number: Array) -> Array:
    """A number of plays as a float to divide by; 1 where it is 0."""
    return jnp.where(number > 0, number, 1).astype(float)


def sample_mean(counts: Array, reward: Array) -> tuple[Array, Array]:
    """Mean reward [K] of the states moved to, `counts` [K, S], and the plays T [K]; mean 0 for an arm never played.

    >>> [x.tolist() for x in sample_mean(jnp.array([[1, 3], [0, 0]]), jnp.array([[0.0, 1.0], [0.0, 1.0]]))]
    [[0.75, 0.0], [4, 0]]
    """
    plays = total(counts)
    return ratio(total(counts.astype(float) * reward), plays), plays
