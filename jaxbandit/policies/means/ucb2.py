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
    now: Array  # [K] int32, the round that is played
    ended: Array  # [K] int32, the round that was played when the feedback of the epoch's last play arrived


@pytree
class UCB2:
    """UCB2: the arm with the largest mean + sqrt((1 + alpha) log(e (t - 1) / T) / (2 T)) is played for an epoch.

    T is the arm's plays and t - 1 the rounds so far. With tau(r) = ceil((1 + alpha)^r) an epoch ends when T is the next
    larger one of tau(0) = 1, tau(1), tau(2) and so on, so that an arm is seldom left and T is always one of these.
    With M plays a round M epochs run side by side. With delayed feedback, as in `simulate(delay=5)`, an epoch lasts
    until the feedback of so many plays has arrived; plays that were chosen by then begin none. Powers are computed in
    floats, so that an epoch may end a play, or a millionth of T, too early or too late.

    Args:
      alpha: in [1e-6, 1); epochs grow with it. Rewards without a finite table are not mapped to [0, 1].

    Raises:
      ValueError: from `simulate` and `check_policy`, for an alpha out of range.

    Source: Auer, Cesa-Bianchi and Fischer 2002, figure 2 (not opened: the rule is that of other descriptions).

    >>> policy, table = UCB2(alpha=0.5), jnp.array([[0.0, 1.0], [0.0, 1.0]])
    >>> state = policy.init(table)
    >>> for t, arm in enumerate([0, 1, 1], 1):  # the second epoch of arm 1 ends at tau(1) = ceil(1.5)
    ...     state = policy.update(state, Feedback.of(arm, float(arm), t=t, table=table))
    >>> state.until.tolist(), policy.scores(None, state, 4)[0].round(3).tolist()
    ([1, 2], [1.255, 1.726])
    """

    units = "mapped"

    alpha: ArrayLike = 0.001

    def validate(self, task: Task) -> None:
        checks.suits(self, task, rewards=ANY_REWARD)
        checks.number(self, "alpha", 1e-6, 1, below=True)

    def init(self, reward: Array) -> Epochs:
        none = jnp.zeros(reward.shape[0], jnp.int32)
        return Epochs(no_visits(reward), none - 1, none, none, none)

    def scores(self, key: Array, state: Epochs, t: Array) -> tuple[Array, Epochs]:
        _, plays = state.memory.mean_and_plays()
        share = jnp.maximum(jnp.asarray(t - 1, float) / positive(plays), 1)
        index = hoeffding_index(state.memory, (1 + self.alpha) / 2 * (1 + jnp.log(share)))
        now = jnp.broadcast_to(jnp.asarray(t, jnp.int32), plays.shape)
        return jnp.where(plays < state.until, jnp.inf, index), state._replace(now=now)

    def update(self, state: Epochs, feedback: Feedback) -> Epochs:
        arms = feedback.arms
        plays, exponent, until = state.memory.mean_and_plays()[1][arms], state.exponent[arms], state.until[arms]
        follows = (plays >= until) & (feedback.t > state.ended[arms])  # else chosen before the last epoch had ended
        within = follows | (plays < until)
        exponent, until = (jnp.where(follows, *pair) for pair in zip(self.epoch(exponent, plays), (exponent, until)))
        ended = jnp.where(within & (plays + 1 >= until), state.now[arms], state.ended[arms])
        return state._replace(
            memory=state.memory.counted(feedback),
            exponent=state.exponent.at[arms].set(exponent),
            until=state.until.at[arms].set(until),
            ended=state.ended.at[arms].set(ended),
        )

    def epoch(self, exponent: Array, plays: Array) -> tuple[Array, Array]:
        """The least r above an exponent for which tau(r) exceeds the plays, and tau(r).

        Epochs of no play are skipped.
        """
        growth = jnp.log1p(jnp.asarray(self.alpha, float))
        reached = jnp.where(plays > 0, jnp.floor(jnp.log(positive(plays)) / growth).astype(jnp.int32), -1)
        following = jnp.maximum(exponent, reached) + 1
        power = jnp.minimum(jnp.exp(following.astype(float) * growth), MOST)
        return following, jnp.maximum(jnp.ceil(power).astype(jnp.int32), plays + 1)
