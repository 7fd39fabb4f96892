"""Exponential weights for adversarial bandits: Exp3, Exp3.S and Rexp3."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.arguments import LARGEST_INTEGER, integer
from jaxbandit.base import Feedback, Task, pytree, total
from jaxbandit.fast import exponential, log, log_of_sum
from jaxbandit.feedback import check_feedback
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.unit_scale import UnitScale
from jaxbandit.sums import TwoFloats, add_rewards, below_largest, no_sums


class Estimates(NamedTuple):
    """Importance-weighted estimates of the total reward of each arm.

    Fields:
      gains: [K], sums of estimated rewards, or of minus losses; in two floats, because one float would lose the
        summands. scale: the map of rewards to [0, 1].
    """

    gains: TwoFloats
    scale: UnitScale


class Weights(NamedTuple):
    """State of Exp3.S.

    Fields:
      log_weights: [K], logarithms of the arms' weights, divided by the largest weight.
      scale: the map of rewards to [0, 1].
    """

    log_weights: Array
    scale: UnitScale


@pytree
class Exp3:
    """Exp3 (exponential weights for exploration and exploitation) plays arm k with probability p_k.

    p_k = (1 - gamma) w_k / W + gamma / K, W the sum of the weights w, which begin at 1. A play of arm a that pays x
    multiplies w_a by exp(gamma x / (K p_a)). For every sequence of rewards the expected regret against the best fixed
    arm is at most (e - 1) gamma G + K log K / gamma, G the sum of that arm's rewards; with gamma from the horizon n
    that is at most 2.63 sqrt(n K log K). With delayed feedback, as in `simulate(delay=5)`, p_a is the probability when
    the arm was played, but the bound is not proved.

    Args:
      gamma: the probability of uniform exploration, in [1e-30, 1]; None for
        min(1, sqrt(K log K / ((e - 1) horizon))).
      horizon: the number of rounds, positive; only if gamma is None.

    Raises:
      ValueError: from `simulate` and `check_policy`: a number out of range, neither or both of the two fields, more
        than one play a round, or rewards without a finite table that do not lie in [0, 1].

    Source: Auer, Cesa-Bianchi, Freund and Schapire 2002, figure 1 and corollary 3.2.

    >>> table = jnp.array([[0.0, 1.0]] * 3)
    >>> state = Exp3(gamma=0.2).init(table)
    >>> state = Exp3(gamma=0.2).update(state, Feedback.of(0, 1.0, t=1, table=table))
    >>> Exp3(gamma=0.2).probabilities(state).round(4).tolist()
    [0.37, 0.315, 0.315]
    """

    units = "mapped"

    gamma: ArrayLike | None = None
    horizon: ArrayLike | None = None

    def validate(self, task: Task) -> None:
        checks.suits(self, task, rewards=(0.0, 1.0))
        checks.one_play(self, task)
        check_share(self)
        checks.given_or_follows(self, task, {"gamma": self.gamma}, {"horizon": self.horizon})

    def init(self, reward: Array) -> Estimates:
        return Estimates(no_sums(reward.shape[0]), UnitScale.of(reward))

    def scores(self, key: Array, state: Estimates, t: Array) -> tuple[Array, Estimates]:
        return drawn(key, self.probabilities(state)), state

    def update(self, state: Estimates, feedback: Feedback) -> Estimates:
        return state._replace(gains=add_rewards(state.gains, feedback.arms, weighted(self, state, feedback)))

    def probabilities(self, state: Estimates, t: Array | None = None) -> Array:
        """The probability [K] with which each arm is played."""
        return of_gains(state.gains, self._gamma(state))

    def _gamma(self, state: Estimates) -> Array:
        if self.gamma is not None:
            return jnp.asarray(self.gamma, float)
        return best_share(len(state.gains.high), len(state.gains.high), self.horizon)


@pytree
class Exp3S:
    """Exp3.S: Exp3 with weight sharing, which tracks the best arm where it changes.

    p_k = (1 - gamma) w_k / W + gamma / K; a play of arm a with reward x changes every w_k to
    w_k exp(gamma x 1{k = a} / (K p_a)) + e alpha W / K, W the sum of the weights before. With gamma from the horizon n
    and the hardness H the expected regret against every sequence of arms with H - 1 changes is at most
    2 sqrt(e - 1) sqrt(K n (H log(K n) + e)).

    Args:
      gamma: the probability of uniform exploration, in [1e-30, 1]; None for min(1, sqrt(K log(K n) / n)), or with a
        hardness min(1, sqrt(K (H log(K n) + e) / ((e - 1) n))).
      alpha: the rate of weight sharing, at least 0; None for 1 / n.
      horizon: n, the number of rounds, positive; only if gamma or alpha is None.
      hardness: H, 1 plus the number of changes of the best arm, at least 1; None if it is not known. Only if gamma is
        None.

    Raises:
      ValueError: from `simulate` and `check_policy`: a number out of range, missing or not used, more than one play a
        round, or rewards without a finite table that do not lie in [0, 1].

    Source: Auer, Cesa-Bianchi, Freund and Schapire 2002, section 8.

    >>> policy = Exp3S(gamma=0.2, alpha=0.01)
    >>> table = jnp.array([[0.0, 1.0]] * 3)
    >>> state = policy.update(policy.init(table), Feedback.of(0, 1.0, t=1, table=table))
    >>> policy.probabilities(state).round(4).tolist()
    [0.3691, 0.3155, 0.3155]
    """

    units = "mapped"

    gamma: ArrayLike | None = None
    alpha: ArrayLike | None = None
    horizon: ArrayLike | None = None
    hardness: ArrayLike | None = None

    def validate(self, task: Task) -> None:
        checks.suits(self, task, rewards=(0.0, 1.0))
        checks.one_play(self, task)
        check_share(self)
        if self.alpha is not None:
            checks.number(self, "alpha", 0)
        if self.hardness is not None:
            checks.number(self, "hardness", 1)
            if self.gamma is not None:
                raise ValueError(f"hardness: {self.hardness} beside a gamma, which it determines; give one of them")
        checks.given_or_follows(self, task, {"gamma": self.gamma, "alpha": self.alpha}, {"horizon": self.horizon})

    def init(self, reward: Array) -> Weights:
        return Weights(jnp.zeros(reward.shape[0]), UnitScale.of(reward))

    def scores(self, key: Array, state: Weights, t: Array) -> tuple[Array, Weights]:
        return drawn(key, self.probabilities(state)), state

    def update(self, state: Weights, feedback: Feedback) -> Weights:
        arms = len(state.log_weights)
        alpha = 1 / jnp.asarray(self.horizon, float) if self.alpha is None else jnp.asarray(self.alpha, float)
        gained = self._gamma(state) / arms * weighted(self, state, feedback)
        grown = state.log_weights.at[feedback.arms].add(gained)
        shared = jnp.log(math.e * alpha / arms) + log(total(exponential(-state.log_weights)[1]))
        grown = jnp.maximum(grown, shared) + log_of_sum(exponential(jnp.abs(grown - shared))[1])
        return state._replace(log_weights=grown - jnp.max(grown))

    def probabilities(self, state: Weights, t: Array | None = None) -> Array:
        """The probability [K] with which each arm is played."""
        return mixed(-state.log_weights, self._gamma(state))

    def _gamma(self, state: Weights) -> Array:
        if self.gamma is not None:
            return jnp.asarray(self.gamma, float)
        arms, n = len(state.log_weights), jnp.asarray(self.horizon, float)
        if self.hardness is None:
            return jnp.minimum(jnp.sqrt(arms * jnp.log(arms * n) / n), 1)
        return jnp.minimum(jnp.sqrt(arms * (self.hardness * jnp.log(arms * n) + math.e) / ((math.e - 1) * n)), 1)


@pytree
class Rexp3:
    """Rexp3: Exp3 that restarts in the rounds 1, 1 + batch, 1 + 2 batch and so on, for non-stationary rewards.

    Where the means of n rounds change by at most V in total (V is the sum over rounds of the largest change of a mean),
    the expected dynamic regret is at most 2 V batch + ceil(n / batch) 2 sqrt((e - 1) batch K log K).

    Args:
      gamma: the probability of uniform exploration, in [1e-30, 1]; None for
        min(1, sqrt(K log K / ((e - 1) batch))).
      batch: rounds between two restarts, an integer of at least 1; None for ceil((K log K)^(1/3) (n / V)^(2/3)).
      horizon: n, the number of rounds, positive; only if batch is None.
      budget: V, positive and at most the horizon; only if batch is None.

    Raises:
      ValueError: from `simulate` and `check_policy`: a number out of range, missing or not used, more than one play a
        round, or rewards without a finite table that do not lie in [0, 1].

    Source: Besbes, Gur and Zeevi 2014, section 4. The bound is re-derived with its constants.

    >>> policy = Rexp3(horizon=10_000, budget=3)
    >>> policy.rounds_between_restarts(arms=2).tolist()
    249
    """

    units = "mapped"

    gamma: ArrayLike | None = None
    batch: ArrayLike | None = None
    horizon: ArrayLike | None = None
    budget: ArrayLike | None = None

    def validate(self, task: Task) -> None:
        checks.suits(self, task, rewards=(0.0, 1.0))
        checks.one_play(self, task)
        check_share(self)
        if self.batch is not None:
            integer("batch", self.batch, 1, LARGEST_INTEGER)
        checks.given_or_follows(self, task, {"batch": self.batch}, {"horizon": self.horizon, "budget": self.budget})
        if self.horizon is not None:
            checks.number(self, "budget", 0, float(np.asarray(self.horizon)), above=True)

    def init(self, reward: Array) -> Estimates:
        return Estimates(no_sums(reward.shape[0]), UnitScale.of(reward))

    def scores(self, key: Array, state: Estimates, t: Array) -> tuple[Array, Estimates]:
        return drawn(key, self.probabilities(state)), state

    def update(self, state: Estimates, feedback: Feedback) -> Estimates:
        gains = add_rewards(state.gains, feedback.arms, weighted(self, state, feedback))
        ends = feedback.t % self.rounds_between_restarts(len(gains.high)) == 0
        return state._replace(gains=TwoFloats(*(jnp.where(ends, 0, part) for part in gains)))

    def probabilities(self, state: Estimates, t: Array | None = None) -> Array:
        """The probability [K] with which each arm is played."""
        return of_gains(state.gains, self._gamma(state))

    def rounds_between_restarts(self, arms: int) -> Array:
        """The batch for this number of arms."""
        if self.batch is not None:
            return jnp.asarray(self.batch, jnp.int32)
        changes = jnp.asarray(self.horizon, float) / jnp.asarray(self.budget, float)
        rounds = jnp.ceil((arms * math.log(arms)) ** (1 / 3) * jnp.cbrt(changes) ** 2)
        return jnp.clip(rounds, 1, 2**30).astype(jnp.int32)

    def _gamma(self, state: Estimates) -> Array:
        if self.gamma is not None:
            return jnp.asarray(self.gamma, float)
        arms = len(state.gains.high)
        return best_share(arms, arms, self.rounds_between_restarts(arms))


def check_share(policy: Any) -> None:
    """Raise ValueError if gamma is out of range."""
    if policy.gamma is not None:
        checks.number(policy, "gamma", 1e-30, 1)


def best_share(arms: int, choices: int, rounds: ArrayLike | None) -> Array:
    """The gamma that minimises a regret bound against N fixed arms or experts: min(1, sqrt(K log N / ((e - 1) n)))."""
    return jnp.minimum(jnp.sqrt(arms * math.log(choices) / ((math.e - 1) * jnp.asarray(rounds, float))), 1)


def mixed(behind: Array, gamma: Array) -> Array:
    """Probabilities [K] from the largest log-weight minus each arm's, [K], and from gamma."""
    return (1 - gamma) * shares(behind) + gamma / len(behind)


def shares(behind: Array) -> Array:
    """The shares [N] of weights in their sum, from the largest log-weight minus each one."""
    weights = exponential(behind)[1]
    shares_of_sum: Array = weights / total(weights)
    return shares_of_sum


def of_gains(gains: TwoFloats, gamma: Array) -> Array:
    """Exp3's probabilities [K]: the logarithm of a weight is gamma / K times the arm's gains [K]."""
    return mixed(gamma / len(gains.high) * below_largest(gains), gamma)


def drawn(key: Array, probabilities: Array) -> Array:
    """Scores whose maximum is at each arm with its probability [K] (Gumbel-max)."""
    # "high": the default noise does not exceed 16, so that arms below 1e-6 would be played too rarely
    scores = log(probabilities) + jax.random.gumbel(key, probabilities.shape, mode="high")
    return jnp.where(jnp.isnan(probabilities), jnp.nan, scores)  # which `log` would hide


def when_played(probabilities: Array, feedback: Feedback) -> tuple[Array, Array]:
    """Which arm was played, [K] bool, and the probabilities [K], with that of its play if the feedback is delayed."""
    played = jnp.arange(len(probabilities), dtype=feedback.arms.dtype) == feedback.arms[0]
    if feedback.chances is None:
        return played, probabilities
    return played, jnp.where(played, feedback.chances[0], probabilities)


def weighted(policy: Exp3 | Exp3S | Rexp3, state: Any, feedback: Feedback) -> Array:
    """The reward [1] of a play, mapped to [0, 1] and divided by the probability with which the arm was played."""
    check_feedback(feedback, len(jax.tree.leaves(state)[0]))  # gains or weights, a number of each arm
    chances = policy.probabilities(state)[feedback.arms] if feedback.chances is None else feedback.chances
    return state.scale.mapped(feedback.rewards) / chances
