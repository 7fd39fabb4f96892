"""PrimalDualBwK: reward over cost at prices of time and money, which rise as they are used."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.base import Feedback, Task, pytree
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.memory import Visits, positive
from jaxbandit.policies.spending.purse_policy import Bounds, PursePolicy


class Priced(NamedTuple):
    """State of `PrimalDualBwK`."""

    seen: Visits
    weights: Array  # [2], the logarithms of the weights of time and money


@pytree
class PrimalDualBwK(PursePolicy):
    """PrimalDualBwK: the arm with the largest upper bound of reward per estimated cost, at prices of time and money.

    Let b be the purse in units of the largest cost, and B = min(b, n). A play uses B / n of the time and B / b times
    its cost, in these units, of the money, so that B of each are there. Every arm is played once. Then the score of an
    arm is u / (v_1 c_1 + v_2 c_2): u = min(1, mean + rad) bounds its reward, c_1 and c_2 are its use of time and of
    money, the latter from below by B / b max(0, cost - rad), and v_1, v_2 are weights divided by their sum, with
    rad(m) = sqrt(C m / T) + C / T after T plays. A play multiplies weight i by (1 + eps)^c_i, eps = sqrt(log 2 / B),
    so that the resource that is used faster becomes the dearer one. Make it with `PrimalDualBwK.of(arms)`.

    Args:
      purse: money; an arm whose largest cost exceeds what is left is not played.
      horizon: n, rounds.
      cost: [K, S + 1] whole numbers, cost of a play that leads to the state, in the environment's order of arms; the
        last column, of plays that are not made, is 0.
      C: at least 0; None for log(2 n K). The source says only that it is of this order; smaller numbers, such as 1,
        explore far less.

    Raises:
      ValueError: from `simulate` and `check_policy`, for arms that do not cost, negative rewards, several plays a
        round, numbers other than the environment's, and a negative C.

    Source: Badanidiyuru, Kleinberg and Slivkins 2018, section 5; its text was opened, in a form without formulas: the
    radius is that of Kleinberg, Slivkins and Upfal 2008 as others who implement it have it, and scores are as the
    text's words say. Time, whose use is known, has no radius here.

    >>> import jax
    >>> import jaxbandit
    >>> arms = jaxbandit.environments.costly(jaxbandit.bernoulli([0.9, 0.4]), [3, 1], purse=200, horizon=500)
    >>> policy = PrimalDualBwK.of(arms)
    >>> jax.jit(policy.scores)(None, policy.init(arms.reward), 1)[0].tolist()
    [inf, inf]
    """

    C: ArrayLike | None = None

    def validate(self, task: Task) -> None:
        super().validate(task)
        checks.one_play(self, task)

    def check_numbers(self) -> None:
        super().check_numbers()
        if self.C is not None:
            checks.number(self, "C", 0)

    def init(self, reward: Array) -> Priced:
        return Priced(super().init(reward), jnp.zeros(2))

    def scores(self, key: Array, state: Priced, t: Array) -> tuple[Array, Priced]:
        bounds, (time, money) = self._bounds(state.seen), self._uses()
        weights = jnp.exp(state.weights - jnp.max(state.weights))
        weights = weights / jnp.sum(weights)
        scores = bounds.reward / (weights[0] * time + weights[1] * money * bounds.cost)
        return self.only_affordable(state.seen, scores), state

    def update(self, state: Priced, feedback: Feedback) -> Priced:
        seen = state.seen.counted(feedback)
        arm, (time, money) = feedback.arms[0], self._uses()
        lower = self._bounds(state.seen).cost[arm]
        step = jnp.log1p(jnp.sqrt(jnp.log(2.0) / self._least()))
        first = jnp.sum(state.seen.counts[arm, :-1]) == 0  # weights change after each arm's first play
        used = jnp.stack([time * jnp.ones_like(lower), money * lower])
        return Priced(seen, state.weights + jnp.where(first, 0.0, step * used))

    def _purse(self) -> Array:
        """The purse in units of the largest cost."""
        return jnp.asarray(self.purse, float) / self.unit()

    def _least(self) -> Array:
        """B, the smaller of rounds and money."""
        return jnp.minimum(self._purse(), jnp.asarray(self.horizon, float))

    def _uses(self) -> tuple[Array, Array]:
        """The time that a play uses, and the money that a play of the largest cost uses."""
        return self._least() / jnp.asarray(self.horizon, float), self._least() / self._purse()

    def _bounds(self, seen: Visits) -> Bounds:
        mean, cost, plays = self.averages(seen)
        if self.C is None:
            amount = jnp.log(2.0 * jnp.asarray(self.horizon, float) * mean.shape[0])
        else:
            amount = jnp.asarray(self.C, float)
        share = amount / positive(plays)
        upper = jnp.minimum(mean + jnp.sqrt(share * mean) + share, 1)
        return Bounds(upper, jnp.maximum(cost - jnp.sqrt(share * cost) - share, 0))
