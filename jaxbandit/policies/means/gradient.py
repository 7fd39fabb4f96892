"""Gradient bandit: softmax preferences and stochastic gradient ascent on the expected reward (REINFORCE)."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.arguments import excerpt
from jaxbandit.base import ANY_REWARD, Feedback, Task, pytree, static, total
from jaxbandit.feedback import check_feedback
from jaxbandit.policies.parts import checks

Optimiser = Any  # an optax.GradientTransformation, or a function from a learning rate to one


class Preferences(NamedTuple):
    """State of a gradient bandit."""

    preferences: Array  # [K]
    baseline: Array  # mean reward of the rounds so far
    optimiser: Any  # the optimiser's own state


@pytree
class GradientBandit:
    """Gradient bandit: arm k is played with probability pi_k = exp(H_k) / sum over j of exp(H_j), H the preferences.

    After a round with arm a and reward R the optimiser steps along (R - baseline) (1{k = a} - pi_k), an unbiased
    estimate of the gradient of the expected reward for every baseline; here the mean reward of the rounds before, R
    in the first. Rewards are not mapped to [0, 1], so that a learning rate has the unit of 1 / reward. M plays a
    round are draws without replacement: R is their sum, and the gradient that of the log-probability of all draws in
    their order.

    Args:
      optimiser: None for `optax.sgd`, the textbook's rule; a function from a learning rate to an
        `optax.GradientTransformation`, such as `optax.adam` or `optax.inject_hyperparams(optax.adam)`; or an optimiser.
        It is part of the program: variants of one program share it and differ in `learning_rate`.
      learning_rate: at least 0; None for 0.1, or if an optimiser is given.

    Raises:
      ValueError: from `simulate` and `check_policy`, for an optimiser that needs more than the gradient, or a
        learning rate out of range or beside an optimiser.

    Source: Williams 1992; Sutton and Barto 2018, section 2.8.

    >>> import optax
    >>> grid = [GradientBandit(optax.adam, rate) for rate in (0.01, 0.1, 1.0)]  # variants of one program
    >>> GradientBandit(optax.sgd(optax.exponential_decay(0.5, 1000, 0.9)))  # doctest: +ELLIPSIS
    GradientBandit(optimiser=GradientTransformation...
    >>> state = GradientBandit().init(jnp.array([[0.0, 1.0], [0.0, 1.0]]))
    >>> GradientBandit().scores(jax.random.key(0), state, 1)[0].shape
    (2,)
    """

    units = "shifted"

    optimiser: Optimiser = static(None)
    learning_rate: ArrayLike | None = None

    def validate(self, task: Task) -> None:
        checks.suits(self, task, rewards=ANY_REWARD, left_may_pay=True)
        if self.learning_rate is not None:
            checks.number(self, "learning_rate", 0)
        if self.learning_rate is not None and _is_ready(self.optimiser):
            raise ValueError(
                f"learning_rate: {self.learning_rate} beside a ready optimiser, which has its own; give the function "
                "that makes it, as optax.adam"
            )
        zeros = jnp.zeros(len(task.reward))
        try:
            optimiser = _transformation(self)
            optimiser.update(zeros, optimiser.init(zeros), zeros)
        except Exception as error:
            raise ValueError(
                f"optimiser: {excerpt(self.optimiser)} is not an optax.GradientTransformation that makes a step from a "
                "gradient alone, nor a function from a learning rate to one"
            ) from error

    def init(self, reward: Array) -> Preferences:
        preferences = jnp.zeros(reward.shape[0])
        return Preferences(preferences, jnp.zeros(()), _transformation(self).init(preferences))

    def scores(self, key: Array, state: Preferences, t: Array) -> tuple[Array, Preferences]:
        # the largest of preference plus Gumbel noise is a draw from pi, the M largest are draws without replacement;
        # "high": the default noise does not exceed 16, so that arms below 1e-6 would be played too rarely
        return state.preferences + jax.random.gumbel(key, state.preferences.shape, mode="high"), state

    def update(self, state: Preferences, feedback: Feedback) -> Preferences:
        check_feedback(feedback, len(state.preferences))
        gained = total(feedback.rewards)
        baseline = jnp.where(feedback.t == 1, gained, state.baseline)
        descent = (baseline - gained) * log_gradient(state.preferences, feedback.arms)  # optax minimises
        steps, optimiser = _transformation(self).update(descent, state.optimiser, state.preferences)
        baseline += (gained - baseline) / feedback.t.astype(float)
        return Preferences(state.preferences + steps, baseline, optimiser)


def log_gradient(preferences: Array, arms: Array) -> Array:
    """Gradient [K] of the log-probability that `arms` [M] are drawn, in this order and without replacement.

    >>> log_gradient(jnp.zeros(2), jnp.array([0])).tolist()
    [0.5, -0.5]
    """
    gradient = jnp.zeros_like(preferences)
    for arm in arms:
        drawn = jnp.arange(preferences.shape[0]) == arm
        weights = jnp.exp(preferences - jnp.max(preferences))
        gradient += drawn - weights / total(weights)
        preferences = jnp.where(drawn, -jnp.inf, preferences)
    return gradient


def _is_ready(optimiser: Optimiser) -> bool:
    """Whether `optimiser` is an optimiser, not a function that makes one."""
    return hasattr(optimiser, "init") and hasattr(optimiser, "update")


def _transformation(policy: GradientBandit) -> Any:
    """The optimiser; with a learning rate, which is a leaf, made in each trace."""
    if _is_ready(policy.optimiser):
        return policy.optimiser
    import optax  # imported here, because it takes a tenth of a second

    make = optax.sgd if policy.optimiser is None else policy.optimiser
    return make(jnp.asarray(0.1 if policy.learning_rate is None else policy.learning_rate, float))
