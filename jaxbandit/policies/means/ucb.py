"""UCB1 and UCB-SM: Hoeffding upper confidence bounds on the sample mean."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.base import ANY_REWARD, Feedback, Task, pytree
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.memory import Forgets, Memory, no_visits, positive, remembered


def hoeffding_index(state: Memory, widening: ArrayLike) -> Array:
    """mean + sqrt(widening / T) of each arm [K], T its plays; inf for an arm never played."""
    mean, plays = state.mean_and_plays()
    return jnp.where(plays == 0, jnp.inf, mean + jnp.sqrt(widening / positive(plays)))


@pytree
class UCBSM:
    """UCB on the sample mean for Markovian rewards (UCB-SM): mean + sqrt(L log t / T), T the arm's plays.

    Args:
      L: at least 0; 343 in the code of the paper's authors; the paper gives no value (see `bounds.ucb_sm_constant`).
      memory: None, or `Discounted` or `Window`: T and the mean are then of the remembered plays, and the number of
        remembered rounds replaces t.

    Raises:
      ValueError: from `simulate` and `check_policy`, for a negative L, or a `memory` of another type.

    Source: Tekin and Liu 2010; the paper's section IV.

    >>> state = UCBSM().init(jnp.array([[0.0, 1.0], [0.0, 1.0]]))
    >>> state = state._replace(counts=jnp.array([[2, 2], [0, 1]]))
    >>> UCBSM(L=1.0).scores(None, state, 5)[0].round(3).tolist()  # 0.5 + sqrt(log 5 / 4), 1 + sqrt(log 5)
    [1.134, 2.269]
    """

    units = "mapped"

    L: ArrayLike = 343.0
    memory: Forgets | None = None

    def validate(self, task: Task) -> None:
        checks.suits(self, task, rewards=ANY_REWARD)
        checks.number(self, "L", 0)
        checks.memory(self, task)

    def init(self, reward: Array) -> Memory:
        return no_visits(reward, memory=self.memory)

    def scores(self, key: Array, state: Memory, t: Array) -> tuple[Array, Memory]:
        return hoeffding_index(state, self.L * jnp.log(jnp.asarray(remembered(self.memory, t), float))), state

    def update(self, state: Memory, feedback: Feedback) -> Memory:
        return state.counted(feedback)


@pytree
class UCB1:
    """UCB1: mean + sqrt(bonus log(t - 1) / T), T the arm's plays, t - 1 the rounds so far.

    Args:
      bonus: at least 0; 2 in the source, for rewards in [0, 1]. Rewards without a finite table are not mapped to
        [0, 1]; for Gaussian rewards take 8 times their variance.
      memory: None, or `Discounted` or `Window`: T and the mean are then of the remembered plays, and the number of
        remembered rounds replaces t - 1.

    Raises:
      ValueError: from `simulate` and `check_policy`, for a negative bonus, or a `memory` of another type.

    Source: Auer, Cesa-Bianchi and Fischer 2002, figure 1.

    >>> state = UCB1().init(jnp.array([[0.0, 1.0], [0.0, 1.0]]))
    >>> state = state._replace(counts=jnp.array([[2, 2], [0, 1]]))
    >>> UCB1().scores(None, state, 6)[0].round(3).tolist()  # 0.5 + sqrt(2 log 5 / 4), 1 + sqrt(2 log 5)
    [1.397, 2.794]
    """

    units = "mapped"

    bonus: ArrayLike = 2.0
    memory: Forgets | None = None

    def validate(self, task: Task) -> None:
        checks.suits(self, task, rewards=ANY_REWARD)
        checks.number(self, "bonus", 0)
        checks.memory(self, task)

    def init(self, reward: Array) -> Memory:
        return no_visits(reward, memory=self.memory)

    def scores(self, key: Array, state: Memory, t: Array) -> tuple[Array, Memory]:
        plays = jnp.maximum(remembered(self.memory, t - 1), 1).astype(float)
        return hoeffding_index(state, self.bonus * jnp.log(plays)), state

    def update(self, state: Memory, feedback: Feedback) -> Memory:
        return state.counted(feedback)
