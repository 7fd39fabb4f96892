"""The Gittins index policy for arms whose laws have Beta priors, from a table of indices by counts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from jaxbandit.arguments import excerpt, finite, integer, number
from jaxbandit.base import Feedback, Task, per_arm, pytree, static, total
from jaxbandit.fast import computed_once
from jaxbandit.indices.posterior_layers import Layer, bernoulli_layer, chain_layer
from jaxbandit.indices.posterior_tables import gittins_layers
from jaxbandit.policies.chains.learned_gittins import gittins_of_rows
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.memory import Transitions, no_transitions
from jaxbandit.policies.parts.posterior_cases import case, cases_before, check_rewards, first_state, posterior_rows

SMALL = 1e-3  # discount^ahead
MOST_AHEAD = {2: 1000, 3: 140}  # by the axes of the prior: Bernoulli arms, chains
MOST_DEPTH = {2: 1000, 3: 100}


class Valued(NamedTuple):
    """State of `BayesGittins`: transitions, and the index of each arm in its present state."""

    counts: Array  # [K, 2, 2], [K] and [K, 2], as in `Transitions`
    states: Array
    reward: Array
    indices: Array  # [K]
    bonus: Array  # [K], the index minus that of the posterior mean rows, as last read from the table


@pytree
class BayesGittins:
    """Gittins index policy for arms drawn from Beta priors, whose state is what is known of them.

    The score of an arm is its `indices.gittins_beta`, or with rows of two states its `indices.gittins_beta_rows`, for
    the prior plus the counts so far. For one play a round and independent priors no policy has a larger expected sum of
    discounted rewards, averaged over the arms. The index is read from a table up to `depth` plays of an arm. After
    n > depth plays it is the index of the known chain with the posterior mean rows, plus what the last entry read
    exceeded that by, times depth / n: this excess is what the arm's information is worth, which vanishes like 1 / n.
    Make it with `BayesGittins.of(prior, discount)`.

    Args:
      tables: [A, 1, C], the indices of A priors of Bernoulli arms by plays and ones; or [A, 2, C], those of rows by the
        first state, plays, moves and stays in state 0.
      prior: [A, 2, 2], the parameters of the priors of both rows.
      discount: from 0 to 0.999999.
      depth: plays of an arm in the table.
      reward: [2], of states 0 and 1, of every arm.
      which: the number of each arm's prior, 0 to A - 1, one integer or [K].
      initial_state: assumed state of an arm before its first play, 0 or 1, one integer or [K].
      independent: whether the rewards of an arm are independent, so that its two rows are one.

    Raises:
      ValueError: from `simulate` and `check_policy`, for arms with other rewards or more states, and for other numbers
        of arms.

    Source: Gittins 1979; the counts of a chain as its states are our own.

    >>> import jax
    >>> policy = BayesGittins.of([[1, 1]], discount=0.9, depth=10)  # Bernoulli arms with uniform priors
    >>> state = policy.init(jnp.array([[0.0, 1.0], [0.0, 1.0]]))
    >>> jax.jit(policy.scores)(None, state, 1)[0].round(3).tolist()
    [0.703, 0.703]
    """

    units = "mapped"

    tables: ArrayLike
    prior: ArrayLike
    discount: ArrayLike = 0.9
    depth: ArrayLike = 60
    reward: ArrayLike = (0.0, 1.0)
    which: ArrayLike = per_arm(0)
    initial_state: ArrayLike = per_arm(0)
    independent: bool = static(False)

    @classmethod
    def of(
        cls,
        prior: ArrayLike,
        discount: float,
        depth: int = 60,
        *,
        reward: ArrayLike = (0.0, 1.0),
        initial_state: ArrayLike = 0,
        ahead: int | None = None,
    ) -> BayesGittins:
        """The policy for arms with these priors; its table is computed on the host, in float64.

        Beyond the table `ahead` more plays are looked at, after which an arm is taken to pay its posterior mean for
        ever. An index is interpolated between 400 charges: of 288 entries of chains, with discounts from 0.8 to 0.99,
        the largest error was 4e-4 of the rewards' range, and half were within 1e-5.

        Args:
          prior: [K, 2], the parameters (b_0, b_1) of the Beta prior of each arm, whose mean chance of result 1 is
            b_1 / (b_0 + b_1), for arms with independent rewards; or [K, 2, 2], those of independent priors for the step
            from each state to states 0 and 1. Positive. With K = 1 all arms have this prior.
          discount: from 0 to 0.999999.
          depth: plays of an arm in the table, 1 to 1,000, or 100 with rows of two states.
          reward: [2], different numbers, of results 0 and 1, or of the states to which a play leads.
          initial_state: as of the class.
          ahead: 1 to 1,000, or 140 with rows of two states; None for the least with discount^ahead <= 0.001, or the
            most.

        Raises:
          ValueError: the argument and what is wrong with it.
        """
        priors, paid = finite("prior", prior), finite("reward", reward)
        axes = priors.ndim
        if axes not in (2, 3) or priors.shape[1:] != (2, 2)[: axes - 1] or not len(priors):
            raise ValueError(f"prior: shape {priors.shape} is neither [K, 2] of Bernoulli arms nor [K, 2, 2] of chains")
        if not (priors > 0).all():
            raise ValueError(f"prior: {priors.min()} is not positive")
        if paid.shape != (2,) or paid[0] == paid[1]:
            raise ValueError(f"reward: {excerpt(reward)} is not two different numbers")
        factor = number("discount", discount, 0, 1 - 1e-6)
        plays = integer("depth", depth, 1, MOST_DEPTH[axes])
        if ahead is None:
            ahead = 1 if factor == 0 else math.ceil(math.log(SMALL) / math.log(factor))
            ahead = min(ahead, MOST_AHEAD[axes])
        last = plays + integer("ahead", ahead, 1, MOST_AHEAD[axes])
        distinct, which = np.unique(priors, axis=0, return_inverse=True)

        def entries(layer: Callable[..., Layer], *arguments: Any) -> np.ndarray:
            layers = [layer(n, *arguments) for n in range(last + 1)]
            return np.concatenate(gittins_layers(layers, paid, factor, plays))

        if axes == 2:
            tables = [[entries(bernoulli_layer, each, paid)] for each in distinct]
        else:
            tables = [[entries(chain_layer, each, paid, first) for first in (0, 1)] for each in distinct]
        return cls(
            np.array(tables),
            np.broadcast_to(distinct[:, None], (len(distinct), 2, 2)) if axes == 2 else distinct,
            factor,
            plays,
            paid,
            0 if len(priors) == 1 else which.reshape(-1),
            initial_state,
            axes == 2,
        )

    def validate(self, task: Task) -> None:
        checks.suits(self, task, ("rested",))
        check_rewards(self, task)
        checks.truth(self, "independent")
        tables, prior = finite("tables", self.tables), finite("prior", self.prior)
        if tables.ndim != 3 or tables.shape[1] != 2 - self.independent or prior.shape != (len(tables), 2, 2):
            raise ValueError(f"tables: shape {tables.shape} does not fit prior {prior.shape}; use BayesGittins.of")
        if not (prior > 0).all():
            raise ValueError(f"prior: {prior.min()} is not positive")
        checks.number(self, "discount", 0, 1 - 1e-6)
        checks.number(self, "depth", 1)
        checks.each_arm(self, "which", task, 0, len(tables) - 1)
        checks.each_arm(self, "initial_state", task, 0, 1)

    def init(self, reward: Array) -> Valued:
        seen = no_transitions(reward)
        first = jnp.broadcast_to(jnp.asarray(self.initial_state, jnp.int32), seen.states.shape)
        index = self._listed(self._which(seen), seen.counts, first)
        return Valued(*seen, index, jnp.zeros_like(index))

    def scores(self, key: Array, state: Valued, t: Array) -> tuple[Array, Valued]:
        return state.indices, state

    def update(self, state: Valued, feedback: Feedback) -> Valued:
        seen, arms = Transitions(*state[:3]).counted(feedback), feedback.arms
        counts, shown = seen.counts[arms], seen.states[arms]
        which = self._which(seen)[arms]
        rows = computed_once(posterior_rows(jnp.asarray(self.prior, float)[which], counts, self.independent))
        paid = jnp.broadcast_to(jnp.asarray(self.reward, float)[None], (len(arms), 2))
        of_rows = gittins_of_rows(rows, paid, jnp.asarray(self.discount, float))
        known = jnp.where(shown == 1, of_rows[:, 1], of_rows[:, 0])
        plays, depth = total(total(counts)).astype(float), jnp.asarray(self.depth, float)
        listed = plays <= depth
        bonus = jnp.where(listed, self._listed(which, counts, shown) - known, state.bonus[arms])
        index = known + bonus * jnp.where(listed, 1.0, depth / plays)
        return Valued(*seen, state.indices.at[arms].set(index), state.bonus.at[arms].set(bonus))

    def _which(self, seen: Transitions) -> Array:
        """The number of each arm's prior, [K]."""
        return jnp.broadcast_to(jnp.asarray(self.which, jnp.int32), seen.states.shape)

    def _listed(self, which: Array, counts: Array, states: Array) -> Array:
        """The indices [M] that the table has for these priors [M], counts [M, 2, 2] and present states [M]."""
        tables = jnp.asarray(self.tables, float)
        entry = cases_before(total(total(counts)), self.independent) + case(counts, self.independent)
        first = jnp.zeros_like(states) if self.independent else first_state(counts, states)
        return tables[which, first, jnp.minimum(entry, tables.shape[-1] - 1)]
