"""UCB1-Normal, for Gaussian rewards whose variances are not known."""

from __future__ import annotations

from typing import NamedTuple, cast

import jax.numpy as jnp
from jax import Array

from jaxbandit.base import ANY_REWARD, Feedback, Task, pytree, total
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.memory import Memory, Visits, no_visits, positive
from jaxbandit.sums import TwoFloats, add_rewards, no_sums

TOO_FEW = 1e30  # over its plays, the score of an arm with too few plays: above every index


class Spread(NamedTuple):
    """State of `UCB1Normal`.

    Fields:
      memory: plays and rewards of each arm.
      squares: [K], sums of squared differences of rewards from their mean; None if rewards have a finite table, where
        they follow from the counts.
    """

    memory: Memory
    squares: TwoFloats | None


@pytree
class UCB1Normal:
    """UCB1-Normal: mean + sqrt(16 V log(t - 1) / T), T the arm's plays and V the sample variance of its rewards.

    Arms with fewer than ceil(8 log t) plays, or 2, are played before all others, the one with the fewest plays first.
    V = (Q - T mean^2) / (T - 1), Q the sum of squared rewards, has the unit of a squared reward, so that no scale of
    rewards has to be known.

    Raises:
      ValueError: from `simulate` and `check_policy`, for a decision process.

    Source: Auer, Cesa-Bianchi and Fischer 2002, figure 4 (not opened: the rule is that of other descriptions). V is
    computed from differences, which lose fewer digits than Q.

    >>> policy, table = UCB1Normal(), jnp.array([[0.0, 1.0], [0.0, 1.0]])
    >>> state = policy.init(table)
    >>> state = state._replace(memory=state.memory._replace(counts=jnp.array([[10, 20], [5, 30]])))
    >>> policy.scores(None, state, 40)[0].round(3).tolist()
    [1.337, 1.317]
    >>> policy.scores(None, state, 45)[0].argmax().tolist()  # ceil(8 log 45) = 31 plays
    0
    """

    def validate(self, task: Task) -> None:
        checks.suits(self, task, rewards=ANY_REWARD)

    def init(self, reward: Array) -> Spread:
        memory = no_visits(reward)
        return Spread(memory, None if isinstance(memory, Visits) else no_sums(reward.shape[0]))

    def scores(self, key: Array, state: Spread, t: Array) -> tuple[Array, Spread]:
        mean, plays = state.memory.mean_and_plays()
        rounds = jnp.asarray(t, float)
        variance = squared_differences(state) / positive(plays - 1)
        index = mean + jnp.sqrt(16 * variance * jnp.log(jnp.maximum(rounds - 1, 1)) / positive(plays))
        behind = plays < jnp.maximum(jnp.ceil(8 * jnp.log(rounds)), 2)
        return jnp.where(behind, jnp.where(plays == 0, jnp.inf, TOO_FEW / positive(plays)), index), state

    def update(self, state: Spread, feedback: Feedback) -> Spread:
        memory = state.memory.counted(feedback)
        if state.squares is None:
            return Spread(memory, None)
        before, after = (each.mean_and_plays()[0][feedback.arms] for each in (state.memory, memory))
        grown = (feedback.rewards - before) * (feedback.rewards - after)
        return Spread(memory, add_rewards(state.squares, feedback.arms, grown))


def squared_differences(state: Spread) -> Array:
    """The sum [K] of squared differences of each arm's rewards from their mean.

    >>> state = UCB1Normal().init(jnp.array([[0.0, 1.0]]))
    >>> squared_differences(state._replace(memory=state.memory._replace(counts=jnp.array([[3, 1]])))).tolist()
    [0.75]
    """
    if state.squares is not None:
        return state.squares.high
    memory = cast(Visits, state.memory)
    mean, _ = memory.mean_and_plays()
    difference = memory.reward - mean[:, None]
    squares: Array = total(memory.counts.astype(float) * difference * difference)
    return squares
