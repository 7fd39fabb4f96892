"""Discounted and sliding-window memories for non-stationary arms, and the states that they give a policy."""

from __future__ import annotations

from dataclasses import MISSING
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxbandit import arguments
from jaxbandit.base import Feedback, Task, described, pytree, static
from jaxbandit.fast import exchange_row
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.memory import Sums
from jaxbandit.sums import TwoFloats, add_to_each


@pytree
class Discounted:
    """Discounted memory: a play n rounds ago has the weight discount^n.

    Counts are floats. For an arm not played for a long time the discounted number of plays N lies between 0 and 1, and
    its mean is still the discounted sum of rewards over N. In a confidence level that grows with log t,
    min(t, 1 / (1 - discount)) replaces t. Policies that differ in the discount are variants of one program.

    Args:
      discount: in (0, 1).

    >>> from jaxbandit import KLUCB
    >>> policy = KLUCB(memory=Discounted(0.9))
    >>> table = jnp.array([[0.0, 1.0], [0.0, 1.0]])
    >>> state = policy.init(table)
    >>> for t in (1, 2, 3):
    ...     state = policy.update(state, Feedback.of(t % 2, 1.0, t=t, table=table))
    >>> state.mean_and_plays()[1].round(2).tolist()  # arm 0 was played in round 2, arm 1 in rounds 1 and 3
    [0.9, 1.81]
    """

    discount: ArrayLike

    def validate(self, task: Task) -> None:
        checks.number(self, "discount", 0, 1, above=True, below=True)

    @property
    def rounds(self) -> ArrayLike:
        return 1 / (1 - self.discount)

    def initial_state(self, kept: Any) -> Fading:
        discount = jnp.asarray(self.discount, float)
        return Fading(kept.scaled(jnp.ones_like(discount)), discount)


@pytree
class Window:
    """Sliding window: only the plays of the last `length` rounds count.

    An arm without plays in the window is treated as never played. In a confidence level that grows with log t,
    min(t, length) replaces t. Each length is a program of its own.

    A run keeps K length bytes, K the number of arms, or twice as many for arms with more than 126 states (11, where a
    policy counts transitions), and 5 K length bytes where rewards have no finite table. `simulate` raises
    ValueError before it begins if they exceed the free memory.

    Args:
      length: a positive integer, at most the horizon.

    >>> from jaxbandit import KLUCB
    >>> policy = KLUCB(memory=Window(2))
    >>> table = jnp.array([[0.0, 1.0], [0.0, 1.0]])
    >>> state = policy.init(table)
    >>> for t in (1, 2, 3):
    ...     state = policy.update(state, Feedback.of(t % 2, 1.0, t=t, table=table))
    >>> state.mean_and_plays()[1].tolist()  # of rounds 2 and 3
    [1, 1]
    """

    length: int = static(MISSING)

    def validate(self, task: Task) -> None:
        check_window("length", self.length, task)

    @property
    def rounds(self) -> int:
        return self.length

    def initial_state(self, kept: Any) -> Recent | RecentSums:
        if isinstance(kept, Sums):
            arms = len(kept.plays)
            return RecentSums(kept, jnp.zeros((self.length, arms), jnp.int8), jnp.zeros((self.length, arms)))
        arms, *entries = kept.counts.shape
        kind = next(kind for kind in (np.int8, np.int16, np.int32) if np.prod(entries) < np.iinfo(kind).max)
        return Recent(kept, jnp.zeros((self.length, arms), kind))


@described
class Fading(NamedTuple):
    """State of a policy with the memory `Discounted`.

    Fields:
      kept: counts and sums as floats, in which a play has the weight discount^n after n more rounds.
      discount: in (0, 1).
    """

    kept: Any
    discount: Array

    @property
    def counts(self) -> Array:
        return self.kept.counts

    @property
    def states(self) -> Array:
        return self.kept.states

    @property
    def reward(self) -> Array:
        return self.kept.reward

    def counted(self, feedback: Feedback) -> Fading:
        """The state after a round."""
        return Fading(self.kept.scaled(self.discount).counted(feedback), self.discount)

    def mean_and_plays(self) -> tuple[Array, Array]:
        """Mean reward [K] of each arm's plays, 0 for an arm without one, and their discounted number [K]."""
        return self.kept.mean_and_plays()

    def gained_and_missed(self) -> tuple[Array, Array]:
        """The discounted sums [K] of each arm's rewards, and of 1 minus each reward."""
        return self.kept.gained_and_missed()


@described
class Recent(NamedTuple):
    """State of a policy with the memory `Window` if rewards have a finite table.

    Counts are integers, so that no rounding errors accumulate.

    Fields:
      kept: the counts of the last `length` rounds: `Visits`, `Transitions`, or others with the same methods.
      rounds: [length, K], at index (t - 1) mod length what round t added to each arm's counts: 0 for nothing, n + 1
        for one play in the n-th count.
    """

    kept: Any
    rounds: Array

    @property
    def counts(self) -> Array:
        return self.kept.counts

    @property
    def states(self) -> Array:
        return self.kept.states

    @property
    def reward(self) -> Array:
        return self.kept.reward

    def counted(self, feedback: Feedback) -> Recent:
        """The state after a round: the new round is counted, and the round that leaves the window is subtracted."""
        self.kept.check(feedback)
        old, rounds = _replaced(self.rounds, feedback.t, self.kept.added(feedback))
        entries = self.kept.counts.shape[1:]
        left = old[:, None] == jnp.arange(1, np.prod(entries) + 1, dtype=old.dtype)[None]
        kept = self.kept.counted(feedback)
        counts = kept.counts - left.astype(kept.counts.dtype).reshape(kept.counts.shape)
        return Recent(kept._replace(counts=counts), rounds)

    def mean_and_plays(self) -> tuple[Array, Array]:
        """Mean reward [K] of each arm's plays in the window, 0 for an arm without one, and their number [K]."""
        return self.kept.mean_and_plays()

    def gained_and_missed(self) -> tuple[Array, Array]:
        """The sums [K] of each arm's rewards in the window, and of 1 minus each reward."""
        return self.kept.gained_and_missed()


@described
class RecentSums(NamedTuple):
    """State of a policy with the memory `Window` if rewards have no finite table.

    Fields:
      kept: plays and rewards of the last `length` rounds.
      rounds: [length, K] int8, at index (t - 1) mod length whether each arm was played in round t.
      rewards: [length, K], its reward.
    """

    kept: Sums
    rounds: Array
    rewards: Array

    def counted(self, feedback: Feedback) -> RecentSums:
        """The state after a round: the new round is counted, and the round that leaves the window is subtracted."""
        self.kept.check(feedback)
        none = jnp.zeros_like(self.rewards[0])
        old, rounds = _replaced(self.rounds, feedback.t, none.astype(jnp.int8).at[feedback.arms].set(1))
        paid, rewards = _replaced(self.rewards, feedback.t, none.at[feedback.arms].set(feedback.rewards))
        kept = self.kept.counted(feedback)
        plays, sums = kept.plays - old, add_to_each(kept.rewards, -paid)
        # an arm without plays in the window has the sum 0, without rounding errors of earlier rewards
        sums = TwoFloats(*(jnp.where(plays > 0, part, 0) for part in sums))
        return RecentSums(Sums(plays, sums), rounds, rewards)

    def mean_and_plays(self) -> tuple[Array, Array]:
        """Mean reward [K] of each arm's plays in the window, 0 for an arm without one, and their number [K]."""
        return self.kept.mean_and_plays()

    def gained_and_missed(self) -> tuple[Array, Array]:
        """The sums [K] of each arm's rewards in the window, and of 1 minus each reward."""
        return self.kept.gained_and_missed()


def check_window(name: str, length: Any, task: Task) -> None:
    """Raise ValueError unless the window is a positive integer, at most the horizon."""
    if not isinstance(length, int | np.integer):
        raise ValueError(f"{name}: {arguments.excerpt(length)} is not an integer; a window is a number of rounds")
    arguments.integer(name, length, 1)
    if length > task.horizon:
        raise ValueError(f"{name}: a window of {length:,} rounds is longer than the horizon, {task.horizon:,}")


def _replaced(rounds: Array, t: Array, new: Array) -> tuple[Array, Array]:
    """The row [K] of the round that leaves the window, and the rows with that of the new round in its place.

    All runs write to the same index, because `t` is one number for all of them: this is a hundred times as fast as an
    index for each run.

    Args:
      rounds: [length, K].
      new: [K], the entries of round t.
    """
    return exchange_row(rounds, (t - 1) % rounds.shape[0], new.astype(rounds.dtype))
