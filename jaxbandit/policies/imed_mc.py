"""IMED-MC and its upper-confidence form: policies on the likelihood of an arm's whole chain."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp

from jaxbandit.base import Array, Feedback, pytree, total
from jaxbandit.confidence.likelihood import LikeliestChain, chain_likelihood_ratio, likeliest_chain
from jaxbandit.fast import add_one, log
from jaxbandit.policies.estimates import unit_reward


class Chains(NamedTuple):
    """State of IMED-MC: transitions, and what follows from them for each arm, renewed for the arms played."""

    counts: Array  # [K, S, S] int32, transitions seen
    reward: Array  # [K, S], in [0, 1]


class Known(NamedTuple):
    """What an index needs of an arm's counts alone, [K] each."""

    plays: Array  # int32
    chain: LikeliestChain
    cycles: Array  # log(1 + cycles)


@pytree
class IMEDMC:
    """IMED on the likelihood of the whole chain."""

    exponent: Array | None = None
    gap: Array | None = None

    def init(self, reward: Array) -> Chains:
        arms, states = reward.shape
        return Chains(jnp.zeros((arms, states, states), jnp.int32), unit_reward(reward))

    def scores(self, key: Array, state: Chains, t: Array) -> Array:
        plays, chain, cycles = self._known(state.counts, state.reward)
        best = jnp.max(jnp.where(plays > 0, chain.mean, 0))
        ratio = chain_likelihood_ratio(state.counts, state.reward, best, self._gap(plays), chain)
        return jnp.where(plays == 0, jnp.inf, -(ratio + cycles))

    def update(self, state: Chains, feedback: Feedback) -> Chains:
        counts = add_one(state.counts, feedback.arms, feedback.before, feedback.states)
        return Chains(counts, state.reward)

    def _gap(self, plays: Array) -> Array | None:
        if self.exponent is not None:
            return jnp.maximum(plays, 1).astype(float) ** -self.exponent
        return self.gap

    def _known(self, counts: Array, reward: Array) -> Known:
        plays = total(total(counts))
        cycles = jnp.minimum(counts[:, 0, 1], counts[:, 1, 0])
        return Known(plays, likeliest_chain(counts, reward, self._gap(plays)), log(1 + cycles.astype(float)))
