"""Softmax choice by the scores of another policy."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit import members
from jaxbandit.arguments import has
from jaxbandit.base import ANY_REWARD, Feedback, Policy, State, Task, pytree, total
from jaxbandit.members import Units
from jaxbandit.policies.parts import checks

FIRST = 200.0  # added to the noise of arms with infinite scores: noise lies between -5 and 90


@pytree
class Soft:
    """Softmax choice by a policy's scores s: arm k is drawn with probability proportional to exp(s_k / temperature).

    The policy chooses without random numbers, as index policies do (the scores of IMED are minus its index). Arms with
    an infinite score, as before their first play, come before all others, with one probability for all; with `highest`
    they have that score. M plays a round are draws without replacement. So every index policy has probabilities, which
    can be fitted to choices (`choices.fit`) and weighted in logs.

    Args:
      policy: one without random numbers.
      temperature: at least 1e-30, in the unit of a score.
      highest: the score of arms whose score is infinite, such as the largest reward; None for infinity. With infinity
        the choices of somebody who does not try all arms first have probability 0.

    Raises:
      ValueError: from `simulate` and `check_policy`, for a temperature out of range, a policy that chooses by chance, a
        decision process, or what the policy refuses.

    Source: softmax choice by index values, as for sample means in Cesa-Bianchi, Gentile, Lugosi and Neu 2017; for
    scores of any policy it is our own.

    >>> from jaxbandit.policies import UCB1
    >>> policy, state = Soft(UCB1(), 0.5), UCB1().init(jnp.array([[0.0, 1.0], [0.0, 1.0]]))
    >>> policy.probabilities(state, 1).tolist()
    [0.5, 0.5]
    """

    policy: Policy
    temperature: ArrayLike = 0.1
    highest: ArrayLike | None = None

    def validate(self, task: Task) -> None:
        has("policy", self.policy, "a policy", "init", "scores", "update")
        checks.number(self, "temperature", 1e-30)
        if self.highest is not None:
            checks.number(self, "highest")
        checks.suits(self, task, rewards=ANY_REWARD)
        try:
            members.validate(self.policy, task)
        except ValueError as error:
            raise ValueError(f"policy: {error}") from error
        if members.probabilities(self.policy) is not None or not _without_chance(self.policy, task):
            raise ValueError(f"policy: {type(self.policy).__name__} chooses by chance; give one without random numbers")

    @property
    def units(self) -> Units:
        """The units of reward of the policy."""
        return members.units(self.policy)

    def init(self, reward: Array) -> State:
        return self.policy.init(reward)

    def scores(self, key: Array, state: State, t: Array) -> tuple[Array, State]:
        scores, kept = self._scores(key, state, t)
        # the largest of these is a draw by the probabilities, the M largest are draws without replacement;
        # "high": the default noise does not exceed 16, so that arms below 1e-6 would be played too rarely
        noise = jax.random.gumbel(key, scores.shape, mode="high")
        return noise + jnp.where(scores == jnp.inf, FIRST, self._logits(scores)), kept

    def update(self, state: State, feedback: Feedback) -> State:
        return self.policy.update(state, feedback)

    def probabilities(self, state: State, t: Array) -> Array:
        """The probability [K] with which each arm is played, with one play a round."""
        scores, _ = self._scores(None, state, t)
        first = scores == jnp.inf
        weights = jnp.where(jnp.any(first), first.astype(scores.dtype), jnp.exp(self._logits(scores)))
        return weights / total(weights)

    def _scores(self, key: Any, state: State, t: Array) -> tuple[Array, State]:
        """The policy's scores, infinite ones replaced."""
        scores, kept = self.policy.scores(key, state, t)
        return scores if self.highest is None else jnp.where(scores == jnp.inf, self.highest, scores), kept

    def _logits(self, scores: Array) -> Array:
        """Finite scores below their largest, over the temperature; 0 for all arms if no score is finite."""
        finite = jnp.isfinite(scores)
        largest = jnp.where(jnp.any(finite), jnp.max(jnp.where(finite, scores, -jnp.inf)), 0)
        logits = (jnp.where(finite, scores, largest) - largest) / jnp.asarray(self.temperature, float)
        return jnp.where(finite | ~jnp.any(finite), logits, -jnp.inf)


def _without_chance(policy: Any, task: Task) -> bool:
    """Whether a policy's scores need no key."""
    reward = jax.ShapeDtypeStruct(task.reward.shape, jnp.result_type(float))
    try:
        state = jax.eval_shape(policy.init, reward)
        jax.eval_shape(lambda now: policy.scores(None, now, jnp.int32(1)), state)
    except Exception:  # whatever a policy raises that needs a key
        return False
    return True
