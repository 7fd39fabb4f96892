"""UCB1-Tuned and UCB-V: upper confidence bounds that are narrower for arms whose rewards vary less."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.base import Feedback, Task, pytree
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.memory import positive
from jaxbandit.policies.parts.spread import Spread, no_spread


@pytree
class UCB1Tuned:
    """UCB1-Tuned: mean + sqrt(min(1/4, V + sqrt(2 log(t - 1) / T)) log(t - 1) / T), T the arm's plays.

    V is the sample variance of the arm's rewards, the mean of their squares minus the square of their mean, and t - 1
    the rounds so far; no reward in [0, 1] has a variance above 1/4.

    Raises:
      ValueError: from `simulate` and `check_policy`, for a decision process, or rewards without a finite table that do
        not lie in [0, 1].

    Source: Auer, Cesa-Bianchi and Fischer 2002, section 4 (not opened: the rule is that of other descriptions).

    >>> state = UCB1Tuned().init(jnp.array([[0.0, 1.0], [0.0, 1.0]]))
    >>> state = state._replace(memory=state.memory._replace(counts=jnp.array([[2, 6], [1, 99]])))
    >>> UCB1Tuned().scores(None, state, 109)[0].round(3).tolist()  # the variance of arm 1 is .0099, of arm 0 3/16
    [1.133, 1.098]
    """

    units = "mapped"

    def validate(self, task: Task) -> None:
        checks.suits(self, task, rewards=(0.0, 1.0))

    def init(self, reward: Array) -> Spread:
        return no_spread(reward)

    def scores(self, key: Array, state: Spread, t: Array) -> tuple[Array, Spread]:
        mean, plays = state.mean_and_plays()
        share = jnp.log(jnp.maximum(jnp.asarray(t - 1, float), 1)) / positive(plays)
        variance = jnp.minimum(sample_variance(state) + jnp.sqrt(2 * share), 0.25)
        return jnp.where(plays == 0, jnp.inf, mean + jnp.sqrt(variance * share)), state

    def update(self, state: Spread, feedback: Feedback) -> Spread:
        return state.counted(feedback)


@pytree
class UCBV:
    """UCB-V: mean + sqrt(2 V E / T) + 3 c E / T with E = zeta log t, T the arm's plays, V their sample variance.

    V is the mean of the arm's squared rewards minus the square of their mean. Rewards are mapped to [0, 1].

    Args:
      zeta: at least 0; how fast the bounds grow with t.
      c: at least 0; the share of the last term, which does not shrink with the variance.

    Raises:
      ValueError: from `simulate` and `check_policy`, for a negative zeta or c, a decision process, or rewards without a
        finite table that do not lie in [0, 1].

    Source: Audibert, Munos and Szepesvari 2009 (not opened: the rule is that of other descriptions, where both numbers
    are 1).

    >>> state = UCBV().init(jnp.array([[0.0, 1.0], [0.0, 1.0]]))
    >>> state = state._replace(memory=state.memory._replace(counts=jnp.array([[2, 6], [1, 99]])))
    >>> UCBV().scores(None, state, 109)[0].round(3).tolist()
    [2.978, 1.161]
    """

    units = "mapped"

    zeta: ArrayLike = 1.0
    c: ArrayLike = 1.0

    def validate(self, task: Task) -> None:
        checks.suits(self, task, rewards=(0.0, 1.0))
        checks.number(self, "zeta", 0)
        checks.number(self, "c", 0)

    def init(self, reward: Array) -> Spread:
        return no_spread(reward)

    def scores(self, key: Array, state: Spread, t: Array) -> tuple[Array, Spread]:
        mean, plays = state.mean_and_plays()
        share = self.zeta * jnp.log(jnp.asarray(t, float)) / positive(plays)
        index = mean + jnp.sqrt(2 * sample_variance(state) * share) + 3 * self.c * share
        return jnp.where(plays == 0, jnp.inf, index), state

    def update(self, state: Spread, feedback: Feedback) -> Spread:
        return state.counted(feedback)


def sample_variance(state: Spread) -> Array:
    """The mean squared difference [K] of each arm's rewards from their mean; 0 for an arm never played."""
    return state.squared_differences() / positive(state.mean_and_plays()[1])
