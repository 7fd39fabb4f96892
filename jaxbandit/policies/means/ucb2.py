"""UCB2, which plays the arm that it has chosen for a whole epoch."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.base import ANY_REWARD, Feedback, Task, pytree
from jaxbandit.policies.means.ucb import hoeffding_index
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.memory import Memory, no_visits, positive

MOST = 2.0**30  # plays at which epochs end to grow: half of the largest horizon


class Epochs(NamedTuple):
    """State of `UCB2`: the memory of each arm, and its epochs."""

    memory: Memory
    exponent: Array  # [K] int32, r of the arm's last epoch
    until: Array  # [K] int32, the plays of the arm at which its last epoch ends


@pytree
class UCB2:
    """UCB2: the arm with the largest mean + sqrt((1 + alpha) log(e (t - 1) / T) / (2 T)) is played for an epoch.

    T is the arm's plays and t - 1 the rounds so far. With tau(r) = ceil((1 + alpha)^r) an epoch ends when T is the next
    larger one of tau(0) = 1, tau(1), tau(2) and so on, so that an arm is seldom left and T is always one of these.
    With M plays a round M epochs run side by side. A power is computed in floats, so that beyond 10^5 plays an epoch
    may be a play longer or shorter.

    Args:
      alpha: in [1e-6, 1]; epochs grow with it. Rewards without a finite table are not mapped to [0, 1].

    Raises:
      ValueError: from `simulate` and `check_policy`, for an alpha out of range.

    Source: Auer, Cesa-Bianchi and Fischer 2002, figure 2 (not opened: the rule is that of other descriptions).

    >>> policy, table = UCB2(alpha=0.5), jnp.array([[0.0, 1.0], [0.0, 1.0]])
    >>> state = policy.init(table)
    >>> for t, arm in enumerate([0, 1, 1], 1):  # arm 1 is played until T is tau(2) = ceil(1.5^2)
    ...     state = policy.update(state, Feedback.of(arm, float(arm), t=t, table=table))
    >>> state.until.tolist(), policy.scores(None, state, 4)[0].round(3).tolist()
    ([1, 2], [1.255, 2.027])
    """

    alpha: ArrayLike = 0.001

    def validate(self, task: Task) -> None:
        checks.suits(self, task, rewards=ANY_REWARD)
        checks.number(self, "alpha", 1e-6, 1)

    def init(self, reward: Array) -> Epochs:
        none = jnp.zeros(reward.shape[0], jnp.int32)
        return Epochs(no_visits(reward), none - 1, none)

    def scores(self, key: Array, state: Epochs, t: Array) -> tuple[Array, Epochs]:
        _, plays = state.memory.mean_and_plays()
        share = jnp.maximum(jnp.asarray(t - 1, float) / positive(plays), 1)
        index = hoeffding_index(state.memory, (1 + self.alpha) / 2 * (1 + jnp.log(share)))
        return jnp.where(plays < state.until, jnp.inf, index), state

    def update(self, state: Epochs, feedback: Feedback) -> Epochs:
        arms = feedback.arms
        plays = state.memory.mean_and_plays()[1][arms]
        begins = plays >= state.until[arms]
        exponent = self._next(state.exponent[arms], plays)
        power = jnp.exp(exponent.astype(float) * jnp.log1p(jnp.asarray(self.alpha, float)))
        until = jnp.maximum(jnp.ceil(jnp.minimum(power, MOST)).astype(jnp.int32), plays + 1)
        return Epochs(
            state.memory.counted(feedback),
            state.exponent.at[arms].set(jnp.where(begins, exponent, state.exponent[arms])),
            state.until.at[arms].set(jnp.where(begins, until, state.until[arms])),
        )

    def _next(self, exponent: Array, plays: Array) -> Array:
        """The least r above `exponent` with tau(r) above `plays`; epochs of no play are skipped."""
        reached = jnp.floor(jnp.log(positive(plays)) / jnp.log1p(jnp.asarray(self.alpha, float))).astype(jnp.int32)
        return jnp.maximum(exponent, jnp.where(plays > 0, reached, -1)) + 1
