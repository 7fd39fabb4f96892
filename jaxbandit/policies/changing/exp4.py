"""Exp4, exponential weights of experts whose advice is given."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.arguments import as_floats
from jaxbandit.base import Feedback, Task, per_arm, pytree, total
from jaxbandit.feedback import check_feedback
from jaxbandit.policies.changing.exponential_weights import (
    Estimates,
    best_share,
    check_share,
    drawn,
    shares,
    when_played,
)
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.unit_scale import UnitScale
from jaxbandit.probabilities import stochastic
from jaxbandit.sums import add_to_each, below_largest, no_sums


@pytree
class Exp4:
    """Exp4 (Exp3 with expert advice): arm k is played with probability p_k, a mixture of what E experts advise.

    p_k = (1 - gamma) sum over e of w_e advice[e, k] / W + gamma / K, W the sum of the weights w, which begin at 1. A
    play of arm a that pays x multiplies every w_e by exp(gamma advice[e, a] x / (K p_a)). For every sequence of rewards
    the expected regret of n rounds against the best expert is at most (e - 1) gamma n + K log E / gamma; with gamma
    from the horizon that is at most 2.63 sqrt(n K log E). Where the experts are the arms (`advice=jnp.eye(K)`), Exp4 is
    Exp3. With delayed feedback, as in `simulate(delay=5)`, p_a and the advice are those when the arm was played, but
    the bound is not proved.

    Args:
      advice: the probability with which each expert would play each arm: [E, K], or [n, E, K] for each of n rounds,
        which `WithDetector` counts from a restart.
      gamma: the probability of uniform exploration, in [1e-30, 1]; None for min(1, sqrt(K log E / ((e - 1) horizon))).
      horizon: the number of rounds, positive; only if gamma is None.

    Raises:
      ValueError: from `simulate` and `check_policy`: advice of another shape, that is not probabilities or ends before
        the last round, a number out of range, neither or both of the other fields, more than one play a round, or
        rewards without a finite table that do not lie in [0, 1].

    Source: Auer, Cesa-Bianchi, Freund and Schapire 2002, section 7 (not opened: the rule is written
    from memory). The bound is re-derived with its constants.

    >>> policy, table = Exp4(advice=[[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]], gamma=0.3), jnp.array([[0.0, 1.0]] * 3)
    >>> state = policy.update(policy.init(table), Feedback.of(0, 1.0, t=1, table=table))
    >>> policy.probabilities(state).round(4).tolist()
    [0.2909, 0.45, 0.2591]
    """

    units = "mapped"

    advice: ArrayLike = per_arm(last=True)
    gamma: ArrayLike | None = None
    horizon: ArrayLike | None = None

    def validate(self, task: Task) -> None:
        checks.suits(self, task, rewards=(0.0, 1.0))
        checks.one_play(self, task)
        check_share(self)
        checks.given_or_follows(self, task, {"gamma": self.gamma}, {"horizon": self.horizon})
        advice, arms = as_floats("advice", self.advice), len(task.reward)
        if advice.ndim not in (2, 3) or advice.shape[-1] != arms or not advice.size:
            raise ValueError(f"advice: shape {advice.shape} is neither [E, K] nor [n, E, K] with K = {arms} arms")
        stochastic("advice", advice)
        if advice.ndim == 3 and len(advice) < task.horizon != Task._field_defaults["horizon"]:
            raise ValueError(
                f"advice: is for {len(advice):,} rounds, and {task.horizon:,} will be played; give [E, K], or a row of "
                "experts for every round"
            )

    def init(self, reward: Array) -> Estimates:
        return Estimates(no_sums(self._advice(None).shape[-2]), UnitScale.of(reward))

    def scores(self, key: Array, state: Estimates, t: Array) -> tuple[Array, Estimates]:
        return drawn(key, self.probabilities(state, t)), state

    def update(self, state: Estimates, feedback: Feedback) -> Estimates:
        check_feedback(feedback, self._advice(None).shape[-1])
        played, chances = when_played(self.probabilities(state, feedback.t), feedback)
        estimated = jnp.where(played, state.scale.mapped(feedback.rewards[0]) / chances, 0)
        return state._replace(gains=add_to_each(state.gains, total(self._advice(feedback.t) * estimated[None])))

    def probabilities(self, state: Estimates, t: Array | None = None) -> Array:
        """The probability [K] with which each arm is played in round t; the round is needed for advice [n, E, K]."""
        advice = self._advice(t)
        arms, gamma = advice.shape[-1], self._gamma()
        trusted = shares(gamma / arms * below_largest(state.gains))
        return (1 - gamma) * total(trusted[None] * advice.T) + gamma / arms

    def _advice(self, t: Array | None) -> Array:
        """The advice [E, K] of round t, of all rounds if t is None."""
        advice = jnp.asarray(self.advice, float)
        return advice if advice.ndim == 2 or t is None else advice[t - 1]

    def _gamma(self) -> Array:
        if self.gamma is not None:
            return jnp.asarray(self.gamma, float)
        *_, experts, arms = self._advice(None).shape
        return best_share(arms, experts, self.horizon)
