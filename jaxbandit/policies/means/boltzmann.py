"""Boltzmann exploration: arms are drawn by the softmax of their sample means."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.base import ANY_REWARD, Feedback, Task, pytree, total
from jaxbandit.fast import exponential
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.memory import Memory, no_visits


@pytree
class Boltzmann:
    """Boltzmann exploration: arm k is drawn with probability exp(m_k / temperature) / sum over j of the same.

    m is the arms' sample means. Arms never played come before all others, the lowest first. M plays a round are draws
    without replacement.

    Args:
      temperature: at least 1e-30, in the unit of a reward. Rewards without a finite table are not mapped to [0, 1].

    Raises:
      ValueError: from `simulate` and `check_policy`, for a temperature out of range or a decision process.

    Source: Cesa-Bianchi, Gentile, Lugosi and Neu 2017, equation 1, with 1 / temperature as its learning rate (the
    abstract and the introduction alone were opened).

    >>> state = Boltzmann().init(jnp.array([[0.0, 1.0], [0.0, 1.0]]))
    >>> state = state._replace(counts=jnp.array([[2, 2], [1, 3]]))
    >>> Boltzmann(0.25).probabilities(state).round(4).tolist()  # 1 / (1 + e) and e / (1 + e)
    [0.2689, 0.7311]
    """

    units = "mapped"

    temperature: ArrayLike = 0.1

    def validate(self, task: Task) -> None:
        checks.suits(self, task, rewards=ANY_REWARD)
        checks.number(self, "temperature", 1e-30)

    def init(self, reward: Array) -> Memory:
        return no_visits(reward)

    def scores(self, key: Array, state: Memory, t: Array) -> tuple[Array, Memory]:
        behind, new = self._behind(state)
        # the largest of these is a draw by the probabilities, the M largest are draws without replacement
        # "high": the default noise does not exceed 16, so that arms below 1e-6 would be played too rarely
        noise = jax.random.gumbel(key, behind.shape, mode="high")
        return jnp.where(new, jnp.inf, noise - behind), state

    def update(self, state: Memory, feedback: Feedback) -> Memory:
        return state.counted(feedback)

    def probabilities(self, state: Memory, t: Array | None = None) -> Array:
        """The probability [K] with which each arm is played, with one play a round."""
        behind, new = self._behind(state)
        weights = exponential(behind)[1]
        first = jnp.arange(len(new)) == jnp.argmax(new)
        return jnp.where(jnp.any(new), first.astype(float), weights / total(weights))

    def _behind(self, state: Memory) -> tuple[Array, Array]:
        """The largest mean minus each arm's, over the temperature, and which arms were never played, [K] both."""
        mean, plays = state.mean_and_plays()
        return (jnp.max(mean) - mean) / jnp.asarray(self.temperature, float), plays == 0
