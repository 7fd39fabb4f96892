"""UCB1-Normal, for Gaussian rewards whose variances are not known."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from jaxbandit.base import ANY_REWARD, Feedback, Task, pytree
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.memory import positive
from jaxbandit.policies.parts.spread import Spread, no_spread

TOO_FEW = 1e30  # over its plays, the score of an arm with too few plays: above every index


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

    units = "mapped"

    def validate(self, task: Task) -> None:
        checks.suits(self, task, rewards=ANY_REWARD)

    def init(self, reward: Array) -> Spread:
        return no_spread(reward)

    def scores(self, key: Array, state: Spread, t: Array) -> tuple[Array, Spread]:
        mean, plays = state.mean_and_plays()
        rounds = jnp.asarray(t, float)
        variance = state.squared_differences() / positive(plays - 1)
        index = mean + jnp.sqrt(16 * variance * jnp.log(jnp.maximum(rounds - 1, 1)) / positive(plays))
        behind = plays < jnp.maximum(jnp.ceil(8 * jnp.log(rounds)), 2)
        return jnp.where(behind, jnp.where(plays == 0, jnp.inf, TOO_FEW / positive(plays)), index), state

    def update(self, state: Spread, feedback: Feedback) -> Spread:
        return state.counted(feedback)
