"""A memory of each arm's rewards and of their sample variance."""

from __future__ import annotations

from typing import NamedTuple, cast

from jax import Array

from jaxbandit.base import Feedback, total
from jaxbandit.policies.parts.memory import Memory, Visits, no_visits
from jaxbandit.sums import TwoFloats, add_rewards, no_sums


class Spread(NamedTuple):
    """The plays and rewards of each arm, and how much its rewards differ from their mean.

    Fields:
      memory: plays and rewards of each arm.
      squares: [K], sums of squared differences of rewards from their mean; None if rewards have a finite table, where
        they follow from the counts.
    """

    memory: Memory
    squares: TwoFloats | None

    def counted(self, feedback: Feedback) -> Spread:
        """The state after a round: each play counted, and its reward added."""
        memory = self.memory.counted(feedback)
        if self.squares is None:
            return Spread(memory, None)
        before, after = (each.mean_and_plays()[0][feedback.arms] for each in (self.memory, memory))
        grown = (feedback.rewards - before) * (feedback.rewards - after)
        return Spread(memory, add_rewards(self.squares, feedback.arms, grown))

    def mean_and_plays(self) -> tuple[Array, Array]:
        """Mean reward [K] of each arm's plays, 0 for an arm never played, and their number T [K]."""
        return self.memory.mean_and_plays()

    def squared_differences(self) -> Array:
        """The sum [K] of squared differences of each arm's rewards from their mean.

        >>> import jax.numpy as jnp
        >>> state = no_spread(jnp.array([[0.0, 1.0]]))
        >>> state._replace(memory=state.memory._replace(counts=jnp.array([[3, 1]]))).squared_differences().tolist()
        [0.75]
        """
        if self.squares is not None:
            return self.squares.high
        visits = cast(Visits, self.memory)
        difference = visits.reward - visits.mean_and_plays()[0][:, None]
        squares: Array = total(visits.counts.astype(float) * difference * difference)
        return squares


def no_spread(reward: Array) -> Spread:
    """The memory before the first round, from the reward of each state, `reward` [K, S]; [K, 0] without a table."""
    memory = no_visits(reward)
    return Spread(memory, None if isinstance(memory, Visits) else no_sums(reward.shape[0]))
