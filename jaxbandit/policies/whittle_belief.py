"""Whittle's index of arms with two states that are seen only when they are played, from beliefs about them."""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np

from jaxbandit.arguments import has, number
from jaxbandit.base import Array, Feedback, Problem, pytree
from jaxbandit.policies import checks
from jaxbandit.policies.beliefs import Beliefs, moved, reordered_fields, seen


@pytree
class WhittleBelief:
    """Whittle's index of a restless arm with states 0 and 1, which pay so much, that is seen only when played.

    With w the probability that a play shows 1, p01 <= p11 the chain's, w0 = p01/(1 - p11 + p01) its mean, the index is
    w for w <= p01 or w >= p11,
    w/(1 - d p11 + d w) for w0 <= w < p11, d the discount,
    and for p01 < w < w0 the subsidy of passivity that makes both actions equally good there, from three linear
    equations. It grows with w, so that for identical arms it plays as `Myopic` does.

    Args:
      transition: [K, 2, 2], the arms' laws, played or not, with p11 >= p01.
      initial: [K, 2], law of each arm's state before the first round.
      discount: in [0, 1).

    Raises:
      ValueError: from `simulate` and `check_policy`, for fields out of range and states that do not pay 0 and 1; from
        `simulate`, for arms that are not restless.

    Source: Liu and Zhao 2010.

    >>> policy = WhittleBelief([[[0.8, 0.2], [0.2, 0.8]]] * 2, [[0.5, 0.5], [0.0, 1.0]], discount=0.9)
    >>> policy.scores(None, policy.init(jnp.array([[0.0, 1.0]] * 2)), 1).round(4).tolist()  # 0.5/(1.45 - 0.72), 0.8
    [0.6849, 0.8]
    """

    problems: ClassVar[tuple[Problem, ...]] = ("restless",)

    transition: Array
    initial: Array
    discount: Array = 0.9

    @classmethod
    def of(cls, environment: Any, discount: float = 0.9) -> WhittleBelief:
        """The policy that knows this environment, one of `environments.restless` without `passive`.

        Raises:
          ValueError: the environment has a `passive` law.
        """
        has("environment", environment, "one of environments.restless", "transition", "initial", "passive")
        number("discount", discount, 0, 1, below=True)
        if environment.passive is not None:
            raise ValueError("environment: has a `passive` law; the index is for arms that move alike, played or not")
        return cls(environment.transition, environment.initial, discount)

    def validate(self, reward: Array) -> None:
        arms, states = np.shape(reward)
        if states != 2 or not np.array_equal(reward, np.broadcast_to([0.0, 1.0], (arms, 2))):
            raise ValueError("reward: Whittle's index on beliefs is for two states that pay 0 and 1")
        checks.laws(self, "transition", (arms, 2, 2))
        checks.laws(self, "initial", (arms, 2))
        checks.number(self, "discount", 0, 1, below=True)
        rows = np.asarray(self.transition, float)
        if (rows[:, 1, 1] < rows[:, 0, 1]).any():
            arm = int(np.argmax(rows[:, 1, 1] < rows[:, 0, 1]))
            raise ValueError(f"transition: p11 < p01 for arm {arm}; the index is for p11 >= p01")

    def reordered(self, order: Array) -> WhittleBelief:
        """The policy for arms in another order: place i holds the arm `order[i]`, [K] int32."""
        return reordered_fields(self, order)

    def init(self, reward: Array) -> Beliefs:
        return Beliefs(jnp.asarray(self.initial, float), jnp.asarray(reward, float))

    def scores(self, key: Array, state: Beliefs, t: Array) -> Array:
        rows = jnp.asarray(self.transition, float)
        return whittle(
            moved(state.beliefs, rows)[:, 1], rows[:, 0, 1], rows[:, 1, 1], jnp.asarray(self.discount, float)
        )

    def update(self, state: Beliefs, feedback: Feedback) -> Beliefs:
        return seen(state, feedback, self.transition)


def whittle(w: Array, p01: Array, p11: Array, discount: Array) -> Array:
    """Whittle's index [K] of arms that show 1 with probability `w` [K] if they are played (see `WhittleBelief`).

    For p01 < w < w0, with b = tau^L(p01) the first belief above w of an arm that showed 0 and then waits, and
    tau(w) = p01 + (p11 - p01) w, the subsidy m and the values V0, V1 of arms that have just shown 0 or 1 solve
    V1 = p11 + d (p11 V1 + (1 - p11) V0), V0 = m (1 - d^L)/(1 - d) + d^L (b + d (b V1 + (1 - b) V0)) and
    m + d (tau(w) + d (tau(w) V1 + (1 - tau(w)) V0)) = w + d (w V1 + (1 - w) V0). V1 = c + e V0 by the first of them.
    """
    d, slope = discount, p11 - p01
    mean = p01 / (1 - slope)
    below = (p01 < w) & (w < mean)
    rest = jnp.where(below, (mean - w) / jnp.where(below, mean - p01, 1), 0.5)
    shrinking = jnp.where(below, slope, 0.5)
    steps = jnp.floor(jnp.log(rest) / jnp.log(shrinking)) + 1
    waited, faded = jnp.exp(steps * jnp.log(d)), jnp.exp(steps * jnp.log(shrinking))
    first = mean - (mean - p01) * faded
    c, e = p11 / (1 - d * p11), d * (1 - p11) / (1 - d * p11)

    def played(chance: Array) -> tuple[Array, Array]:
        """What a play with this chance of 1 is worth: a part without V0, and the weight of V0."""
        return chance * (1 + d * c), d * (chance * e + 1 - chance)

    (paid, weight), (after, weight_after), (at_first, weight_first) = map(played, (w, p01 + slope * w, first))
    free, of_value = paid - d * after, weight - d * weight_after  # m = free + of_value V0
    waiting, left = (1 - waited) / (1 - d), 1 - waited * weight_first  # left V0 = waiting m + waited at_first
    subsidy = (free * left + of_value * waited * at_first) / (left - of_value * waiting)
    between = w / (1 - d * p11 + d * w)
    return jnp.where((w <= p01) | (w >= p11), w, jnp.where(below, subsidy, between))
