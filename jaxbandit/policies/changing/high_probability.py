"""Exp3.P and Exp3-IX: exponential weights whose regret is bounded with high probability, not only in expectation."""

from __future__ import annotations

import math

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.base import Feedback, Task, pytree
from jaxbandit.feedback import check_feedback
from jaxbandit.policies.changing.exponential_weights import (
    Estimates,
    check_share,
    drawn,
    mixed,
    shares,
    when_played,
)
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.unit_scale import UnitScale
from jaxbandit.sums import add_to_each, below_largest, no_sums


@pytree
class Exp3P:
    """Exp3.P: Exp3 whose estimates are raised by what they may lack, alpha / (p_k sqrt(K n)) in every round.

    p_k = (1 - gamma) w_k / W + gamma / K, W the sum of the weights w, which begin at 1. A play of arm a that pays x
    multiplies every w_k by exp(gamma / (3 K) (x 1{k = a} / p_a + alpha / (p_k sqrt(K n)))). For gamma at most 3/5 and
    every sequence of rewards, with probability at least 1 - delta the reward of n rounds falls short of that of the
    best fixed arm by at most

        5/3 gamma n + 3 K log K / gamma + (alpha + log(1 / delta) / alpha) sqrt(K n) + 2/3 alpha^2.

    With delayed feedback, as in `simulate(delay=5)`, p_a is the probability when the arm was played, and p_k of other
    arms that with the estimates when the feedback arrives; the bound is not proved for this case.

    Args:
      horizon: n, the number of rounds, positive.
      delta: the probability with which regret may be larger, in (0, 1); only if alpha is None.
      gamma: the probability of uniform exploration, in [1e-30, 1]; None for min(3/5, 2 sqrt(3/5 K log K / n)).
      alpha: at least 0; None for 2 sqrt(log(K n / delta)).

    Raises:
      ValueError: from `simulate` and `check_policy`: a number out of range, neither or both of delta and alpha, more
        than one play a round, or rewards without a finite table that do not lie in [0, 1].

    Source: Auer, Cesa-Bianchi, Freund and Schapire 2002, section 6 and figure 3 (not opened: the rule is that of
    another description; the defaults of gamma and alpha are written from memory). The bound is re-derived with its
    constants.

    >>> policy, table = Exp3P(horizon=100, gamma=0.2, alpha=1.0), jnp.array([[0.0, 1.0]] * 3)
    >>> state = policy.update(policy.init(table), Feedback.of(0, 1.0, t=1, table=table))
    >>> policy.probabilities(state).round(4).tolist()
    [0.3453, 0.3273, 0.3273]
    """

    units = "mapped"

    horizon: ArrayLike
    delta: ArrayLike | None = None
    gamma: ArrayLike | None = None
    alpha: ArrayLike | None = None

    def validate(self, task: Task) -> None:
        checks.suits(self, task, rewards=(0.0, 1.0))
        checks.one_play(self, task)
        checks.number(self, "horizon", 0, above=True)
        checks.horizon(self, task)
        check_share(self)
        checks.given_or_follows(self, task, {"alpha": self.alpha}, {"delta": self.delta})
        if self.alpha is not None:
            checks.number(self, "alpha", 0)
        else:
            checks.number(self, "delta", 0, 1, above=True, below=True)

    def init(self, reward: Array) -> Estimates:
        return Estimates(no_sums(reward.shape[0]), UnitScale.of(reward))

    def scores(self, key: Array, state: Estimates, t: Array) -> tuple[Array, Estimates]:
        return drawn(key, self.probabilities(state)), state

    def update(self, state: Estimates, feedback: Feedback) -> Estimates:
        arms = len(state.gains.high)
        check_feedback(feedback, arms)
        played, chances = when_played(self.probabilities(state), feedback)
        paid = state.scale.mapped(feedback.rewards[0])
        raised = self._alpha(arms) / jnp.sqrt(arms * jnp.asarray(self.horizon, float))
        return state._replace(gains=add_to_each(state.gains, (jnp.where(played, paid, 0) + raised) / chances))

    def probabilities(self, state: Estimates, t: Array | None = None) -> Array:
        """The probability [K] with which each arm is played."""
        arms = len(state.gains.high)
        gamma = self._gamma(arms)
        return mixed(gamma / (3 * arms) * below_largest(state.gains), gamma)

    def _gamma(self, arms: int) -> Array:
        if self.gamma is not None:
            return jnp.asarray(self.gamma, float)
        return jnp.minimum(2 * jnp.sqrt(0.6 * arms * math.log(arms) / jnp.asarray(self.horizon, float)), 0.6)

    def _alpha(self, arms: int) -> Array:
        if self.alpha is not None:
            return jnp.asarray(self.alpha, float)
        delta = jnp.asarray(self.delta, float)
        return 2 * jnp.sqrt(jnp.log(arms * jnp.asarray(self.horizon, float)) - jnp.log(delta))


@pytree
class Exp3IX:
    """Exp3-IX (implicit exploration): exponential weights of losses that are divided by a little more than p_a.

    p_k is in proportion to exp(-eta L_k), L_k the sum of the arm's estimated losses. A play of arm a with the loss l,
    1 minus the reward, adds l / (p_a + gamma) to L_a, where gamma = eta / 2. No round explores uniformly. For every
    sequence of rewards, with probability at least 1 - delta for each delta, the reward of n rounds falls short of that
    of the best fixed arm by at most

    - 4 sqrt(K n log K) + (sqrt(K n / log K) + 1) log(2 / delta) with eta = sqrt(log K / (K t)) in round t, for each n;
    - sqrt(8 K n log K) + (sqrt(K n / (2 log K)) + 1) log(2 / delta) with a horizon n and eta = sqrt(2 log K / (K n)).

    With delayed feedback, as in `simulate(delay=5)`, p_a and eta are those when the arm was played; the bounds are not
    proved for this case.

    Args:
      horizon: n, the number of rounds, positive; None if it is not known.

    Raises:
      ValueError: from `simulate` and `check_policy`: a horizon that is not positive or less than the rounds to be
        played, more than one play a round, or rewards without a finite table that do not lie in [0, 1].

    Source: Neu 2015, algorithm 1 (only its abstract was opened: eta and gamma are those of other descriptions). The
    bounds are re-derived with their constants.

    >>> policy, table = Exp3IX(), jnp.array([[0.0, 1.0]] * 3)
    >>> state = policy.update(policy.init(table), Feedback.of(0, 0.0, t=1, table=table))
    >>> policy.probabilities(state, 2).round(4).tolist()
    [0.2033, 0.3984, 0.3984]
    """

    units = "mapped"

    horizon: ArrayLike | None = None

    def validate(self, task: Task) -> None:
        checks.suits(self, task, rewards=(0.0, 1.0))
        checks.one_play(self, task)
        checks.horizon(self, task)

    def init(self, reward: Array) -> Estimates:
        return Estimates(no_sums(reward.shape[0]), UnitScale.of(reward))

    def scores(self, key: Array, state: Estimates, t: Array) -> tuple[Array, Estimates]:
        return drawn(key, self.probabilities(state, t)), state

    def update(self, state: Estimates, feedback: Feedback) -> Estimates:
        arms = len(state.gains.high)
        check_feedback(feedback, arms)
        played, chances = when_played(self.probabilities(state, feedback.t), feedback)
        loss = 1 - state.scale.mapped(feedback.rewards[0])
        estimated = jnp.where(played, loss / (chances + self._rate(arms, feedback.t) / 2), 0)
        return state._replace(gains=add_to_each(state.gains, -estimated))

    def probabilities(self, state: Estimates, t: Array) -> Array:
        """The probability [K] with which each arm is played in round t."""
        rate = self._rate(len(state.gains.high), t)
        return shares(rate * below_largest(state.gains))

    def _rate(self, arms: int, t: Array) -> Array:
        """eta in round t."""
        rounds = t if self.horizon is None else jnp.asarray(self.horizon, float) / 2
        return jnp.sqrt(math.log(arms) / (arms * jnp.asarray(rounds, float)))
