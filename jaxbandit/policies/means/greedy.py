"""Policies that play the arm with the best sample mean, and explore by chance or at first: epsilon-greedy, ETC."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.arguments import LARGEST_INTEGER, integer
from jaxbandit.base import ANY_REWARD, Feedback, Task, pytree
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.memory import Memory, no_visits


@pytree
class EpsilonGreedy:
    """Epsilon-greedy: random arms with probability epsilon, else the arms with the largest sample means.

    An arm never played comes before all others, the lowest first, in rounds without exploration. With c and d epsilon
    is min(1, c K / (d^2 t)) in round t. With M plays a round one draw decides for all of them. The probability of
    exploration is rounded to a multiple of 2^-23 in single precision.

    Args:
      epsilon: in [0, 1]; None for 0.1, or if c and d are given.
      c: positive; only together with d.
      d: in (0, 1], a lower bound on the difference between the largest mean and the others; only together with c.

    Raises:
      ValueError: from `simulate` and `check_policy`: a number out of range, one of c and d alone or beside an epsilon,
        or a decision process.

    Source: Auer, Cesa-Bianchi and Fischer 2002, figure 3, for c and d (not opened: the rule is written from
    memory).

    >>> state = EpsilonGreedy().init(jnp.array([[0.0, 1.0]] * 4))
    >>> state = state._replace(counts=jnp.array([[2, 1], [1, 2], [3, 1], [1, 2]]))
    >>> EpsilonGreedy(0.2).probabilities(state, 14).round(4).tolist()
    [0.05, 0.85, 0.05, 0.05]
    >>> EpsilonGreedy(c=0.5, d=0.5).probabilities(state, 16).round(4).tolist()  # epsilon = 0.5
    [0.125, 0.625, 0.125, 0.125]
    """

    units = "mapped"

    epsilon: ArrayLike | None = None
    c: ArrayLike | None = None
    d: ArrayLike | None = None

    def validate(self, task: Task) -> None:
        checks.suits(self, task, rewards=ANY_REWARD)
        if self.epsilon is not None:
            checks.number(self, "epsilon", 0, 1)
        if self.c is not None or self.d is not None:
            checks.given_or_follows(self, task, {"epsilon": self.epsilon}, {"c": self.c, "d": self.d})
            checks.number(self, "d", 0, 1, above=True)

    def init(self, reward: Array) -> Memory:
        return no_visits(reward)

    def scores(self, key: Array, state: Memory, t: Array) -> tuple[Array, Memory]:
        best = means_or_first(state)
        draws = jax.random.uniform(key, (len(best) + 1,))
        return jnp.where(draws[0] < self._epsilon(len(best), t), draws[1:], best), state

    def update(self, state: Memory, feedback: Feedback) -> Memory:
        return state.counted(feedback)

    def probabilities(self, state: Memory, t: Array) -> Array:
        """The probability [K] with which each arm is played, with one play a round."""
        best = means_or_first(state)
        arms, epsilon = jnp.arange(len(best)), self._epsilon(len(best), t)
        return jnp.where(arms == jnp.argmax(best), 1 - epsilon, 0) + epsilon / len(best)

    def _epsilon(self, arms: int, t: ArrayLike) -> Array:
        if self.c is None:
            return jnp.asarray(0.1 if self.epsilon is None else self.epsilon, float)
        d = jnp.asarray(self.d, float)
        return jnp.minimum(jnp.asarray(self.c, float) * arms / (d * d * jnp.asarray(t, float)), 1)


@pytree
class ExploreThenCommit:
    """Explore-then-commit (ETC): m plays of each arm in turn, then the arm with the best mean of these for ever.

    Exploration ends when the feedback of m plays of every arm has arrived, and nothing that comes later counts. With M
    plays a round those with the fewest plays are explored, and the M best are played afterwards.

    Args:
      m: an integer of at least 1.

    Raises:
      ValueError: from `simulate` and `check_policy`, for an m out of range or a decision process.

    Source: Lattimore and Szepesvari 2020, chapter 6, algorithm 1.

    >>> policy = ExploreThenCommit(2)
    >>> state = policy.init(jnp.array([[0.0, 1.0]] * 3))
    >>> state = state._replace(counts=jnp.array([[2, 0], [1, 1], [1, 0]]))
    >>> policy.scores(None, state, 6)[0].argmax().tolist(), policy.scores(None, state, 7)[0].argmax().tolist()
    (2, 2)
    >>> policy.scores(None, state._replace(counts=jnp.array([[2, 0], [1, 1], [2, 0]])), 7)[0].tolist()
    [0.0, 0.5, 0.0]
    """

    units = "mapped"

    m: ArrayLike

    def validate(self, task: Task) -> None:
        checks.suits(self, task, rewards=ANY_REWARD)
        integer("m", self.m, 1, LARGEST_INTEGER)

    def init(self, reward: Array) -> Memory:
        return no_visits(reward)

    def scores(self, key: Array, state: Memory, t: Array) -> tuple[Array, Memory]:
        mean, plays = state.mean_and_plays()
        # in turn also while feedback is pending: of arms with equally few plays, the one whose turn is next
        turns = (jnp.arange(len(plays), dtype=jnp.int32) - (jnp.asarray(t, jnp.int32) - 1)) % len(plays)
        waiting = plays - jnp.min(plays)
        return jnp.where(self._over(state), mean, -(waiting * len(plays) + turns).astype(float)), state

    def update(self, state: Memory, feedback: Feedback) -> Memory:
        over = self._over(state)
        kept: Memory = jax.tree.map(lambda old, new: jnp.where(over, old, new), state, state.counted(feedback))
        return kept

    def _over(self, state: Memory) -> Array:
        """Whether every arm has m plays."""
        return jnp.min(state.mean_and_plays()[1]) >= jnp.asarray(self.m, jnp.int32)


def means_or_first(state: Memory) -> Array:
    """The sample mean [K] of each arm; inf for an arm never played."""
    mean, plays = state.mean_and_plays()
    return jnp.where(plays == 0, jnp.inf, mean)
