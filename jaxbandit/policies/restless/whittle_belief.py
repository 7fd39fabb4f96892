"""Whittle index policy for two-state arms that are observed only when played, in closed form."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from jaxbandit.arguments import number
from jaxbandit.base import Feedback, Task, per_arm, pytree
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.knowledge import check_made_for, laws_of, made_for
from jaxbandit.policies.restless.beliefs import Beliefs, after_round, predicted


@pytree
class WhittleBelief:
    """Whittle index policy on beliefs, for restless two-state arms (rewards 0 and 1) that are observed only when
    played.

    With w the probability that a play shows 1, p01 <= p11 the chain's probabilities of a move to 1, and
    w0 = p01/(1 - p11 + p01) its mean, the index is
    w for w <= p01 or w >= p11,
    w/(1 - d p11 + d w) for w0 <= w < p11, d the discount,
    and for p01 < w < w0 the subsidy for passivity that makes both actions equally good there, from three linear
    equations. It increases with w, so that for identical arms the policy is `Myopic`. In float32 it is within 2e-6
    of the exact index of the belief, for any discount; p11 - p01 near 1 makes the beliefs themselves less exact.

    Args:
      transition: [K, 2, 2], the arms' laws, played or not, with p11 >= p01.
      initial: [K, 2], law of each arm's state before the first round.
      discount: in [0, 1).

    Raises:
      ValueError: from `simulate` and `check_policy`, for fields out of range and states that do not pay 0 and 1; from
        `simulate`, for arms that are not restless, and arms other than those that it was made from.

    Source: Liu and Zhao 2010.

    >>> import jax
    >>> policy = WhittleBelief([[[0.8, 0.2], [0.2, 0.8]]] * 2, [[0.5, 0.5], [0.0, 1.0]], discount=0.9)
    >>> state = policy.init(jnp.array([[0.0, 1.0]] * 2))
    >>> jax.jit(policy.scores)(None, state, 1)[0].round(4).tolist()  # 0.5/(1.45 - 0.72), 0.8
    [0.6849, 0.8]
    """

    transition: ArrayLike = per_arm()
    initial: ArrayLike = per_arm()
    discount: ArrayLike = 0.9

    @classmethod
    def of(cls, environment: Any, discount: float = 0.9) -> WhittleBelief:
        """The policy that knows this environment, one of `environments.restless` without `passive`.

        Raises:
          ValueError: the arms have a `passive` law.
        """
        arms = laws_of("environment", environment, "one of environments.restless", checks.RESTLESS)
        number("discount", discount, 0, 1, below=True)
        if not arms.uncontrolled:
            raise ValueError("environment: has a `passive` law; the index is for arms with one law, played or not")
        return made_for(cls(arms.transition, arms.initial, discount), arms, "reward")

    def validate(self, task: Task) -> None:
        checks.suits(self, task, ("restless",))
        checks.paid_to(self, task, "played")
        arms, states = task.reward.shape
        if states != 2 or not np.array_equal(task.reward, np.broadcast_to([0.0, 1.0], (arms, 2))):
            raise ValueError("reward: Whittle's index on beliefs is for two states that pay 0 and 1")
        checks.laws(self, "transition", (arms, 2, 2))
        checks.laws(self, "initial", (arms, 2))
        checks.number(self, "discount", 0, 1, below=True)
        rows = np.asarray(self.transition, float)
        if (rows[:, 1, 1] < rows[:, 0, 1]).any():
            arm = int(np.argmax(rows[:, 1, 1] < rows[:, 0, 1]))
            raise ValueError(f"transition: p11 < p01 for arm {arm}; the index is for p11 >= p01")
        check_made_for(self, task)

    def init(self, reward: Array) -> Beliefs:
        return Beliefs(jnp.asarray(self.initial, float), jnp.asarray(reward, float))

    def scores(self, key: Array, state: Beliefs, t: Array) -> tuple[Array, Beliefs]:
        rows = jnp.asarray(self.transition, float)
        chances = predicted(state.beliefs, rows)[:, 1]
        return whittle(chances, rows[:, 0, 1], rows[:, 1, 0], jnp.asarray(self.discount, float)), state

    def update(self, state: Beliefs, feedback: Feedback) -> Beliefs:
        return after_round(state, feedback, self.transition)


def whittle(w: Array, p01: Array, p10: Array, discount: Array) -> Array:
    """Whittle's index [K] of arms that show 1 with probability `w` [K] if they are played (see `WhittleBelief`).

    For p01 < w < w0, with b = tau^L(p01) the first belief above w of an arm that showed 0 and then waits, and
    tau(w) = p01 + (p11 - p01) w, the subsidy m and the values V0, V1 of arms that have just shown 0 or 1 solve
    V1 = p11 + d (p11 V1 + (1 - p11) V0), V0 = m (1 - d^L)/(1 - d) + d^L (b + d (b V1 + (1 - b) V0)) and
    m + d (tau(w) + d (tau(w) V1 + (1 - tau(w)) V0)) = w + d (w V1 + (1 - w) V0).
    They give m = (u + d A)/(1 - d p11 + d A), u = w - d tau(w), A = u (1 - d^L)/(1 - d) + d^L b, a form without V0 and
    V1, which are unbounded as d tends to 1. With r = 1 - w/w0, s = p11 - p01 and x = d s it is computed from
    u = w0 (1 - d - r (1 - x)) and A = w0 (1 - s + s (1 - x^L) - r (1 - x) (1 - d^L)/(1 - d)), where 1 - d, 1 - s and
    1 - x keep their digits.
    """
    d, ending, moving = discount, 1 - discount, p01 + p10
    mean, fading = p01 / moving, ending + discount * moving  # w0, 1 - x
    below = (p01 < w) & (w < mean)
    short, leaving = jnp.where(below, 1 - w / mean, 0.25), jnp.where(below, moving, 0.5)  # r, 1 - s
    steps = jnp.floor(jnp.log(short) / jnp.log1p(-leaving))  # L: r is s^(L + 1) for w = tau^L(p01)
    faded = -jnp.expm1(steps * jnp.log1p(-fading))  # 1 - x^L
    waited = -jnp.expm1(steps * jnp.log1p(-ending))  # 1 - d^L
    u = mean * (ending - short * fading)
    A = mean * (moving + (1 - moving) * faded - short * fading * waited / ending)
    seldom = p10 + ending * (1 - p10)  # 1 - d p11
    index = jnp.where(below, (u + d * A) / (seldom + d * A), w / (seldom + d * w))
    return jnp.where((w <= p01) | (w >= 1 - p10), w, index)
