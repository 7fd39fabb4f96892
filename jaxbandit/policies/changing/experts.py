"""Policies for full information, where all arms show their rewards: Hedge and regret matching."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, get_args

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.base import ANY_REWARD, Feedback, Task, pytree, static, total
from jaxbandit.fast import log
from jaxbandit.feedback import check_feedback
from jaxbandit.policies.changing.exponential_weights import Estimates, drawn, shares
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.stationary_law import log_stationary, log_total
from jaxbandit.policies.parts.unit_scale import UnitScale
from jaxbandit.sums import TwoFloats, add_to_each, below_largest

Goal = Literal["external", "internal", "swap"]
LEAST = 1e-30  # in place of a positive regret of 0, so that the chain of regrets is irreducible


class Regrets(NamedTuple):
    """State of `RegretMatching`.

    Fields:
      regrets: [K], the sums of each arm's rewards minus the reward collected; or [K, K], entry [i, j] the sum over the
        rounds in which arm i was played of the reward of arm j minus that of arm i.
    """

    regrets: TwoFloats


@pytree
class Hedge:
    """Hedge (exponential weights with full information) plays arm k with probability w_k / W, w_k = exp(eta G_k), where
    G_k is the sum of the arm's rewards so far and W the sum of the weights.

    With `regret="internal"` every pair of arms i and j has the weight w_ij = exp(eta R_ij), R_ij the sum over rounds of
    p_i (x_j - x_i) with the rewards x and the probability p_i of arm i in the round; p is the stationary law of the
    chain that moves from i to j at the rate w_ij. With "swap" this rate is w_ij / sum_k w_ik, w_ii = 1.

    For every table of rewards in [0, 1] the expected regret after n rounds is at most L / eta + n eta / 8, which is
    sqrt(n L / 2) for eta = sqrt(8 L / n): the external regret (against the best fixed arm) with L = log K, the largest
    R_ij with L = log(K (K - 1)), and the sum over i of the largest R_ij with L = K log K. Realised internal and swap
    regret also have the fluctuations of the draws.

    Rewards of a table that leaves [0, 1] are mapped to [0, 1], and bounds hold for the mapped ones. With delayed
    feedback p is the probability of the round in which it arrives, and the bounds are not proved.

    Args:
      eta: the learning rate, positive; None for sqrt(8 L / horizon).
      horizon: n, the number of rounds, positive; only if eta is None.
      regret: which regret is kept small, "external", "internal" or "swap".

    Raises:
      ValueError: from `simulate` and `check_policy`: arms that do not show all rewards, a number out of range, neither
        or both of the two fields, more than one play a round, or rewards without a finite table that do not lie in
        [0, 1].

    Source: Cesa-Bianchi and Lugosi 2006, chapters 2 and 4, and Blum and Mansour 2007 (neither opened beyond its
    abstract): the bounds are re-derived. For "internal" it is Hedge on the K (K - 1) players who replace i by j; for
    "swap" one Hedge for each arm i, with the rewards p_i x.

    >>> policy, table = Hedge(eta=1.0), jnp.array([[0.0, 1.0]] * 3)
    >>> feedback = Feedback.of(0, 1.0, t=1, table=table)._replace(all_rewards=jnp.array([1.0, 0.0, 0.0]))
    >>> policy.probabilities(policy.update(policy.init(table), feedback)).round(4).tolist()
    [0.5761, 0.2119, 0.2119]
    """

    units = "mapped"

    eta: ArrayLike | None = None
    horizon: ArrayLike | None = None
    regret: Goal = static("external")

    def validate(self, task: Task) -> None:
        checks.full_information(self, task)
        checks.suits(self, task, rewards=(0.0, 1.0))
        checks.one_play(self, task)
        checks.choice(self, "regret", get_args(Goal))
        if self.eta is not None:
            checks.number(self, "eta", 0, above=True)
        checks.given_or_follows(self, task, {"eta": self.eta}, {"horizon": self.horizon})

    def init(self, reward: Array) -> Estimates:
        return Estimates(_no_sums(reward.shape[0], self.regret), UnitScale.of(reward))

    def scores(self, key: Array, state: Estimates, t: Array) -> tuple[Array, Estimates]:
        return drawn(key, self.probabilities(state)), state

    def update(self, state: Estimates, feedback: Feedback) -> Estimates:
        gained = state.scale.mapped(_all_rewards(feedback, len(state.gains.high)))
        if self.regret != "external":
            gained = self.probabilities(state)[:, None] * (gained[None] - gained[:, None])
        return state._replace(gains=add_to_each(state.gains, gained))

    def probabilities(self, state: Estimates, t: Array | None = None) -> Array:
        """The probability [K] with which each arm is played."""
        logs = -self._eta(len(state.gains.high)) * below_largest(state.gains)
        if self.regret == "external":
            return _shares(logs)
        if self.regret == "swap":
            logs = logs - log_total(logs)[:, None]
        return _shares(log_stationary(logs[None])[0])

    def _eta(self, arms: int) -> Array:
        if self.eta is not None:
            return jnp.asarray(self.eta, float)
        numbers = {"external": math.log(arms), "internal": math.log(arms * (arms - 1)), "swap": arms * math.log(arms)}
        return jnp.sqrt(8 * numbers[self.regret] / jnp.asarray(self.horizon, float))


@pytree
class RegretMatching:
    """Regret matching plays arm k with a probability proportional to max(R_k, 0), R_k the sum of the arm's rewards so
    far minus the reward collected; all arms alike if no R_k is positive.

    With `regret="internal"` it has R_ij, the sum over the rounds in which arm i was played of the reward of arm j minus
    that of arm i, and plays by the stationary law of the chain that moves from i to j at the rate max(R_ij, 0).

    It has no numbers to choose. For every table of rewards in an interval of length 1 the expected regret after n
    rounds, external or internal, is at most sqrt(n (K - 1)), because the sum of the squares of all max(R, 0) grows on
    average by at most K - 1 a round; and the expected swap regret of "internal" is at most sqrt K times that. With
    delayed feedback these bounds are not proved.

    Args:
      regret: which regret is kept small, "external" or "internal".

    Raises:
      ValueError: from `simulate` and `check_policy`: arms that do not show all rewards, another text, or more than one
        play a round.

    Source: Hart and Mas-Colell 2000, after Blackwell 1956 and Foster and Vohra 1999 (none opened beyond its abstract or
    its beginning): the bounds are re-derived. Their procedure for correlated equilibria, which leaves the arm
    played last with probabilities proportional to its R_ij, is another one.

    >>> policy, table = RegretMatching(), jnp.array([[0.0, 1.0]] * 3)
    >>> feedback = Feedback.of(0, 0.0, t=1, table=table)._replace(all_rewards=jnp.array([0.0, 1.0, 1.0]))
    >>> policy.probabilities(policy.update(policy.init(table), feedback)).tolist()
    [0.0, 0.5, 0.5]
    """

    units = "shifted"

    regret: Literal["external", "internal"] = static("external")

    def validate(self, task: Task) -> None:
        checks.full_information(self, task)
        checks.suits(self, task, rewards=ANY_REWARD)
        checks.one_play(self, task)
        checks.choice(self, "regret", ("external", "internal"))

    def init(self, reward: Array) -> Regrets:
        return Regrets(_no_sums(reward.shape[0], self.regret))

    def scores(self, key: Array, state: Regrets, t: Array) -> tuple[Array, Regrets]:
        return drawn(key, self.probabilities(state)), state

    def update(self, state: Regrets, feedback: Feedback) -> Regrets:
        arms = len(state.regrets.high)
        gained = _all_rewards(feedback, arms) - feedback.rewards[0]
        if self.regret == "internal":
            played = jnp.arange(arms, dtype=feedback.arms.dtype) == feedback.arms[0]
            gained = jnp.where(played[:, None], gained[None], 0)
        return Regrets(add_to_each(state.regrets, gained))

    def probabilities(self, state: Regrets, t: Array | None = None) -> Array:
        """The probability [K] with which each arm is played."""
        positive = jnp.maximum(state.regrets.high + state.regrets.low, 0)
        if self.regret == "internal":
            return _shares(log_stationary(log(jnp.maximum(positive, LEAST))[None])[0])
        whole = total(positive)
        return jnp.where(whole > 0, positive / jnp.where(whole > 0, whole, 1), 1 / len(positive))


def _no_sums(arms: int, regret: str) -> TwoFloats:
    """Zeros, one for each arm, or for each pair."""
    shape = (arms,) if regret == "external" else (arms, arms)
    return TwoFloats(jnp.zeros(shape), jnp.zeros(shape))


def _all_rewards(feedback: Feedback, arms: int) -> Array:
    """The rewards of all arms in this round, [K]."""
    check_feedback(feedback, arms)
    if feedback.all_rewards is None:
        raise ValueError(
            "all_rewards: None; this policy needs the reward of every arm: feedback._replace(all_rewards=rewards)"
        )
    return feedback.all_rewards


def _shares(logs: Array) -> Array:
    """Probabilities [K] from their logarithms [K] up to a common summand."""
    return shares(jnp.max(logs) - logs)
