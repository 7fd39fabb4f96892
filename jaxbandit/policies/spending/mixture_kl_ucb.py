"""The best mixture of arms under KL bounds, solved anew in every round for the money and the rounds left."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.base import Task, pytree
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.memory import Visits
from jaxbandit.policies.spending.purse_policy import KLPursePolicy


@pytree
class MixtureKLUCB(KLPursePolicy):
    """The optimistic mixture: the linear programme of `indices.best_mixture` with bounds in place of means.

    Rewards are replaced by KL upper bounds, costs by KL lower bounds, as in `RatioKLUCB`, and the money a round by the
    money left divided by the rounds left. The best mixture has one or two arms; one of them is drawn with its share of
    the plays. Make it with `MixtureKLUCB.of(arms)`.

    Args:
      purse: B, money; an arm whose largest cost exceeds what is left is not played.
      horizon: n, rounds.
      cost: [K, S + 1] whole numbers, cost of a play that leads to the state, in the environment's order of arms; the
        last column, of plays that are not made, is 0.
      exploration: None for f(t) = 1 + t log^2 t, or a number c for log t + c log log t in place of log f(t).

    Raises:
      ValueError: from `simulate` and `check_policy`, for arms that do not cost, negative rewards, several plays a
        round, and numbers other than the environment's.

    Source: Agrawal and Devanur 2014 for the programme with bounds in place of means (not opened). KL bounds, and the
    money left in place of a part of the purse kept back, are our own.

    >>> shares = jax.jit(MixtureKLUCB.shares)(jnp.array([0.9, 0.4]), jnp.array([0.6, 0.2]), 0.4)
    >>> shares.round(6).tolist()
    [0.5, 0.5]
    """

    def validate(self, task: Task) -> None:
        super().validate(task)
        checks.one_play(self, task)

    def scores(self, key: Array, state: Visits, t: Array) -> tuple[Array, Visits]:
        bounds, left = self.kl_bounds(state, t), self.left(state)
        rounds = jnp.maximum(jnp.asarray(self.horizon, jnp.int32) - t + 1, 1)
        affordable = jnp.max(jnp.asarray(self.cost, jnp.int32), axis=-1) <= left
        rate = left.astype(float) / self.unit() / rounds.astype(float)
        shares = self.shares(jnp.where(affordable, bounds.reward, 0), bounds.cost, rate)
        return self.only_affordable(state, jnp.log(shares) + jax.random.gumbel(key, shares.shape)), state

    @staticmethod
    def shares(reward: Array, cost: Array, rate: ArrayLike) -> Array:
        """The share of the plays of each arm in the best mixture, [K]; at most two are positive.

        The programme's solution is an arm that costs at most `rate`, or a mixture of such an arm, or of no play, with
        an arm that costs more, at a cost of exactly `rate`.

        Args:
          reward, cost: [K].
          rate: money a round.
        """
        worth, paid = (jnp.append(numbers, 0.0) for numbers in (reward, cost))  # the last stands for no play
        cheap = paid <= rate
        pair = cheap[:, None] & ~cheap[None]
        gap = jnp.where(pair, paid[None] - paid[:, None], 1)
        part = jnp.where(pair, (rate - paid)[:, None] / gap, 0.0)  # of the second arm
        alone = cheap[:, None] & jnp.eye(worth.shape[0], dtype=bool)
        value = jnp.where(pair | alone, (1 - part) * worth[:, None] + part * worth[None], -1.0)
        first, second = jnp.unravel_index(jnp.argmax(value), value.shape)
        places = jnp.arange(worth.shape[0])
        weight = part[first, second]
        shares = (jnp.where(places == first, 1 - weight, 0.0) + jnp.where(places == second, weight, 0.0))[:-1]
        played = jnp.sum(shares)
        return jnp.where(played > 0, shares / jnp.where(played > 0, played, 1), 1 / reward.shape[0])
