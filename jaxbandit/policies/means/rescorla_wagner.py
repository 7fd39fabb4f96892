"""Rescorla-Wagner learners, the usual models of people's choices: softmax of learned values."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.base import ANY_REWARD, Feedback, Task, per_arm, pytree, total
from jaxbandit.feedback import check_feedback
from jaxbandit.policies.parts import checks

LARGEST_PREFERENCE = 1000.0  # of inverse temperature and perseveration


class Values(NamedTuple):
    """State of a Rescorla-Wagner learner."""

    values: Array  # [K], what each arm is expected to pay
    repeated: Array  # [K], 1 for the arms of the last round, else 0


@pytree
class RescorlaWagner:
    """Rescorla-Wagner learning with softmax choice, and its usual variants.

    Arm k is played with probability exp(H_k) / sum over j of exp(H_j), where
    H_k = inverse_temperature Q_k + perseveration 1{k was played in the round before}. A play of arm a that pays R
    changes Q_a by learning_rate (R - Q_a), or by learning_rate_below (R - Q_a) if R < Q_a and this field is given; all
    other Q_k change by forgetting (initial - Q_k). Q begins at `initial`. Rewards are not mapped to [0, 1]. M plays a
    round are draws without replacement.

    Fit it to choices by `choices.fit`. In the literature learning_rate is called alpha, inverse_temperature beta; with
    learning_rate_below the model is one of two learning rates, with forgetting a forgetting Q model.

    Args:
      learning_rate: in [0, 1].
      inverse_temperature: in [-1000, 1000], in the unit of 1 / reward.
      initial: what an arm is expected to pay before its first play, one number or [K].
      learning_rate_below: in [0, 1], for rewards below what was expected; None for `learning_rate`.
      forgetting: in [0, 1].
      perseveration: in [-1000, 1000]; below 0 for a player who rather changes the arm.

    Raises:
      ValueError: from `simulate` and `check_policy`, for a field out of range.

    Source: Rescorla and Wagner 1972, Ito and Doya 2009 for forgetting, Lau and Glimcher 2005 for perseveration (none
    of them was opened: the formulas are written from memory).

    >>> policy = RescorlaWagner(learning_rate=0.5, inverse_temperature=2.0)
    >>> table = jnp.array([[0.0, 1.0], [0.0, 1.0]])
    >>> state = policy.update(policy.init(table), Feedback.of(1, 1.0, t=1, table=table))
    >>> state.values.tolist(), policy.probabilities(state).round(4).tolist()  # 1 / (1 + e^.5) and the rest
    ([0.5, 0.75], [0.3775, 0.6225])
    """

    learning_rate: ArrayLike = 0.3
    inverse_temperature: ArrayLike = 3.0
    initial: ArrayLike = per_arm(0.5)
    learning_rate_below: ArrayLike | None = None
    forgetting: ArrayLike = 0.0
    perseveration: ArrayLike = 0.0

    def validate(self, task: Task) -> None:
        checks.suits(self, task, rewards=ANY_REWARD)
        for name in ("learning_rate", "learning_rate_below", "forgetting"):
            if name != "learning_rate_below" or self.learning_rate_below is not None:
                checks.number(self, name, 0, 1)
        for name in ("inverse_temperature", "perseveration"):
            checks.number(self, name, -LARGEST_PREFERENCE, LARGEST_PREFERENCE)
        checks.each_arm(self, "initial", task, -1e30)

    def init(self, reward: Array) -> Values:
        arms = reward.shape[0]
        return Values(jnp.broadcast_to(jnp.asarray(self.initial, float), (arms,)), jnp.zeros(arms))

    def scores(self, key: Array, state: Values, t: Array) -> tuple[Array, Values]:
        # the largest of preference plus Gumbel noise is a draw, the M largest are draws without replacement;
        # "high": the default noise does not exceed 16, so that arms below 1e-6 would be played too rarely
        return self._preferences(state) + jax.random.gumbel(key, state.values.shape, mode="high"), state

    def update(self, state: Values, feedback: Feedback) -> Values:
        check_feedback(feedback, len(state.values))
        arms, rewards = feedback.arms, feedback.rewards.astype(state.values.dtype)
        surprise = rewards - state.values[arms]
        rate = jnp.asarray(self.learning_rate, float)
        if self.learning_rate_below is not None:
            rate = jnp.where(surprise < 0, jnp.asarray(self.learning_rate_below, float), rate)
        faded = state.values + jnp.asarray(self.forgetting, float) * (jnp.asarray(self.initial, float) - state.values)
        learned = faded.at[arms].set(state.values[arms] + rate * surprise)
        return Values(learned, jnp.zeros_like(state.repeated).at[arms].set(1.0))

    def probabilities(self, state: Values, t: Array | None = None) -> Array:
        """The probability [K] with which each arm is played, with one play a round."""
        preferences = self._preferences(state)
        weights = jnp.exp(preferences - jnp.max(preferences))
        return weights / total(weights)

    def _preferences(self, state: Values) -> Array:
        sharp, sticky = jnp.asarray(self.inverse_temperature, float), jnp.asarray(self.perseveration, float)
        return sharp * state.values + sticky * state.repeated
