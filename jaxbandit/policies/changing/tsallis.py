"""Tsallis-INF, a best-of-both-worlds policy for adversarial and stochastic bandits."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from jaxbandit.base import Feedback, Task, pytree, static, total
from jaxbandit.feedback import check_feedback
from jaxbandit.policies.changing.exponential_weights import Estimates, drawn, when_played
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.unit_scale import UnitScale
from jaxbandit.sums import add_to_each, below_largest, no_sums

STEPS = 6  # of Newton's method: float32 is reached after 3 with 5 arms, 5 with 1,000


@pytree
class TsallisINF:
    """Tsallis-INF with power 1/2 (best of both worlds): regret of order log n for stochastic arms and of order
    sqrt(K n) for adversarial rewards, without knowing which they are.

    Arm k is played with probability w_k = 4 / (eta (L_k - z))^2, L_k the sum of the arm's estimated losses and z such
    that the probabilities sum to 1. A play of arm a in round t with the loss l, 1 minus the reward, has

    - eta = 2 / sqrt t, and adds l / w_a to L_a; or
    - with `reduced_variance` eta = 4 / sqrt t, and adds b_k to every L_k and (l - b_a) / w_a to L_a, where b_k is 1/2
      for arms with w_k of at least eta^2 and 0 for others.

    With delayed feedback, as in `simulate(delay=5)`, w_a is the probability when the arm was played, and w_k in b_k
    that of round t with the estimates when the feedback arrives; the bounds are not proved for this case.

    Args:
      reduced_variance: whether losses are estimated with reduced variance.

    Raises:
      ValueError: from `simulate` and `check_policy`: more than one play a round, or rewards without a finite table that
        do not lie in [0, 1].

    Source: Zimmert and Seldin 2021.

    >>> table = jnp.array([[0.0, 1.0]] * 2)
    >>> state = TsallisINF().init(table)
    >>> state = TsallisINF().update(state, Feedback.of(0, 0.0, t=1, table=table))
    >>> TsallisINF().probabilities(state, 2).round(4).tolist()
    [0.1594, 0.8406]
    """

    units = "mapped"

    reduced_variance: bool = static(False)

    def validate(self, task: Task) -> None:
        checks.suits(self, task, rewards=(0.0, 1.0))
        checks.one_play(self, task)
        checks.truth(self, "reduced_variance")

    def init(self, reward: Array) -> Estimates:
        return Estimates(no_sums(reward.shape[0]), UnitScale.of(reward))

    def scores(self, key: Array, state: Estimates, t: Array) -> tuple[Array, Estimates]:
        return drawn(key, self.probabilities(state, t)), state

    def update(self, state: Estimates, feedback: Feedback) -> Estimates:
        check_feedback(feedback, len(state.gains.high))
        probabilities = self.probabilities(state, feedback.t)
        loss = 1 - state.scale.mapped(feedback.rewards[0])
        baseline = jnp.zeros_like(probabilities)
        if self.reduced_variance:
            baseline = jnp.where(probabilities >= self._rate(feedback.t) ** 2, 0.5, 0)
        played, probabilities = when_played(probabilities, feedback)
        estimated = baseline + jnp.where(played, (loss - baseline) / probabilities, 0)
        return state._replace(gains=add_to_each(state.gains, -estimated))

    def probabilities(self, state: Estimates, t: Array) -> Array:
        """The probability [K] with which each arm is played in round t."""
        return tsallis(self._rate(t) * below_largest(state.gains))

    def _rate(self, t: Array) -> Array:
        """eta in round t."""
        return (4 if self.reduced_variance else 2) / jnp.sqrt(jnp.asarray(t, float))


def tsallis(losses: Array) -> Array:
    """Probabilities w_k = 4 / (x_k - z)^2 that sum to 1, for x [K] whose minimum is 0.

    With u = -z / 2, which lies between 1 and sqrt K, w_k = 1 / (x_k / 2 + u)^2. Newton's method finds where the sum of
    these to the power -1/2, a concave function of u, is 1: from u = 1 it never steps too far, and where all x are equal
    its first step is the last.

    >>> tsallis(jnp.array([0.0, 0.0, 0.0, 0.0])).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    halves, u = losses / 2, jnp.ones(())
    for _ in range(STEPS):
        inverse = 1 / (halves + u)
        square = total(inverse * inverse)
        u = u + square * (jnp.sqrt(square) - 1) / total(inverse * inverse * inverse)
    inverse = 1 / (halves + u)
    return inverse * inverse
