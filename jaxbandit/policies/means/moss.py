"""MOSS, the minimax optimal upper confidence bound policy."""

from __future__ import annotations

from jax import Array
from jax.typing import ArrayLike

from jaxbandit.base import ANY_REWARD, Feedback, Task, pytree
from jaxbandit.policies.means.ucb import hoeffding_index
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.exploration import log_equal_share
from jaxbandit.policies.parts.memory import Forgets, Memory, no_visits, remembered


@pytree
class MOSS:
    """MOSS (minimax optimal strategy): mean + sqrt(log+(n / (K T)) / T), T the arm's plays, log+ = max(0, log).

    The score of an arm with n / K plays or more is its mean. Without a horizon the round t replaces n (MOSS-anytime).
    The policy is for rewards in [0, 1], or with standard deviations of that size.

    Args:
      horizon: n, positive: the number of rounds; None if it is not known.
      memory: None, or `Discounted` or `Window`: T and the mean are then of the remembered plays, and the number of
        remembered rounds replaces n or t if it is smaller.

    Raises:
      ValueError: from `simulate` and `check_policy`, for a horizon that is not positive or less than the
        rounds to be played, or a `memory` of another type.

    Source: Audibert and Bubeck 2009; Degenne and Perchet 2016 for the anytime form, whose factor (1 + alpha) / 2 before
    the log is 1 here.

    >>> import jax.numpy as jnp
    >>> state = MOSS().init(jnp.array([[0.0, 1.0], [0.0, 1.0]]))
    >>> state = state._replace(counts=jnp.array([[2, 2], [0, 1]]))
    >>> MOSS().scores(None, state, 6)[0].round(3).tolist()  # 0.5 + 0, 1 + sqrt(log 3)
    [0.5, 2.048]
    """

    units = "mapped"

    horizon: ArrayLike | None = None
    memory: Forgets | None = None

    def validate(self, task: Task) -> None:
        checks.suits(self, task, rewards=ANY_REWARD)
        checks.horizon(self, task)
        checks.memory(self, task)

    def init(self, reward: Array) -> Memory:
        return no_visits(reward, memory=self.memory)

    def scores(self, key: Array, state: Memory, t: Array) -> tuple[Array, Memory]:
        _, plays = state.mean_and_plays()
        n = remembered(self.memory, t if self.horizon is None else self.horizon)
        return hoeffding_index(state, log_equal_share(n, plays)), state

    def update(self, state: Memory, feedback: Feedback) -> Memory:
        return state.counted(feedback)
