"""Thompson-MC: Thompson sampling for Markov chains."""

from __future__ import annotations

from functools import reduce

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.base import Feedback, Task, per_arm, pytree
from jaxbandit.fast import computed_once, larger, log
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.memory import ChainMemory, Forgets, no_transitions
from jaxbandit.policies.parts.posteriors import log_gamma, of_rows
from jaxbandit.policies.parts.stationary_law import NEVER, log_stationary, log_total


@pytree
class ThompsonMC:
    """Thompson sampling for Markov chains (Thompson-MC): the arm whose drawn chain has the largest stationary mean.

    In every round each arm's transition matrix is drawn from its posterior law. With n_sj the arm's transitions from
    state s to state j, row s is a draw from the Dirichlet law with the parameter staying + n_ss for its own state and
    leaving + n_sj for each other state j; for two states P01 ~ Beta(leaving + n01, staying + n00). The score is
    log(m / (1 - m)) for the stationary mean m of the drawn chain, with rewards mapped to [0, 1]: it has
    the order of m, and keeps its digits near 0 and 1.

    The policy does not begin with one play of each arm, because the prior makes it try all of them. With M plays a
    round the arms with the M largest scores are played.

    Args:
      leaving: the prior's parameter for a step to each other state, at least 1e-30; one number, or one of each arm,
        [K].
      staying: the prior's parameter for a step to the same state, at least 1e-30; one number or [K].
      memory: None, or `Discounted` or `Window`: n is then of the remembered plays.

    Raises:
      ValueError: from `simulate` and `check_policy`, for a field out of range.

    Source: our own, after Thompson 1933: the stationary mean as the score is new. Osband, Russo and Van Roy 2013 draw
    the chains of a decision process, and Gast, Gaujal and Khun 2022 those of arms, which they play by Gittins indices.
    Several plays are chosen as in Komiyama, Honda and Nakagawa 2015.

    >>> import jax
    >>> state = ThompsonMC().init(jnp.array([[0.0, 1.0], [0.0, 1.0]]))
    >>> jax.jit(ThompsonMC().scores)(jax.random.key(0), state, 1)[0].shape
    (2,)
    """

    units = "mapped"

    leaving: ArrayLike = per_arm(1.0)
    staying: ArrayLike = per_arm(1.0)
    memory: Forgets | None = None

    def validate(self, task: Task) -> None:
        checks.suits(self, task)
        checks.each_arm(self, "leaving", task, 1e-30)
        checks.each_arm(self, "staying", task, 1e-30)
        checks.memory(self, task)

    def init(self, reward: Array) -> ChainMemory:
        return no_transitions(reward, self.memory)

    def scores(self, key: Array, state: ChainMemory, t: Array) -> tuple[Array, ChainMemory]:
        counts, reward = state.counts, state.reward
        own = jnp.eye(counts.shape[-1], dtype=bool)[None]
        draws = log_gamma(key, jnp.where(own, of_rows(self.staying), of_rows(self.leaving)) + counts.astype(float))
        # A drawn row is its gamma draws divided by their sum. The chain in continuous time with the draws as rates
        # leaves each state faster by this sum, so its stationary law is multiplied by it.
        law = computed_once(log_stationary(draws) + log_total(draws))
        law = law - reduce(larger, [law[:, s] for s in range(law.shape[1])])[:, None]
        gained, missed = (log_total(law + log_of_reward(paid)) for paid in (reward, 1 - reward))
        return gained - missed, state

    def update(self, state: ChainMemory, feedback: Feedback) -> ChainMemory:
        return state.counted(feedback)


def log_of_reward(reward: Array) -> Array:
    """Logarithms of rewards in [0, 1]; of those below 1e-30 NEVER."""
    return jnp.where(reward < 1e-30, NEVER, log(larger(reward, 1e-30)))
