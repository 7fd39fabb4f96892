"""IMED-MC and its upper-confidence form: policies on the likelihood of an arm's whole chain."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxbandit.base import Array, Feedback, pytree, total
from jaxbandit.confidence.likelihood import LikeliestChain, chain_likelihood_ratio, likeliest_chain
from jaxbandit.fast import add_one, log
from jaxbandit.policies import checks
from jaxbandit.policies.estimates import unit_reward


class Chains(NamedTuple):
    """State of a policy that weighs whole chains."""

    counts: Array  # [K, S, S] int32, transitions seen
    reward: Array  # [K, S], in [0, 1]
    chain: LikeliestChain | None


@pytree
class IMEDMC:
    """IMED on the likelihood of the whole chain."""

    exponent: Array | None = None
    gap: Array | None = None

    def init(self, reward: Array) -> Chains:
        arms, states = reward.shape
        counts = jnp.zeros((arms, states, states), jnp.int32)
        reward = unit_reward(reward)
        return Chains(counts, reward, self._likeliest(counts, reward) if self._narrow() else None)

    def scores(self, key: Array, state: Chains, t: Array) -> Array:
        chain = state.chain if state.chain is not None else likeliest_chain(state.counts, state.reward)
        plays = total(total(state.counts))
        best = jnp.max(jnp.where(plays > 0, chain.mean, 0))
        ratio = chain_likelihood_ratio(state.counts, state.reward, best, self._gap(state.counts), chain)
        cycles = jnp.minimum(state.counts[:, 0, 1], state.counts[:, 1, 0])
        return jnp.where(plays == 0, jnp.inf, -(ratio + log(1 + cycles.astype(float))))

    def update(self, state: Chains, feedback: Feedback) -> Chains:
        counts = add_one(state.counts, feedback.arms, feedback.before, feedback.states)
        if state.chain is None:
            return state._replace(counts=counts)
        played = self._likeliest(counts[feedback.arms], state.reward[feedback.arms])
        chain = jax.tree.map(lambda leaf, new: leaf.at[feedback.arms].set(new), state.chain, played)
        return Chains(counts, state.reward, chain)

    def _narrow(self) -> bool:
        return self.exponent is not None or self.gap is not None

    def _gap(self, counts: Array) -> Array | None:
        if self.exponent is not None:
            return jnp.maximum(total(total(counts)), 1).astype(float) ** -self.exponent
        return self.gap

    def _likeliest(self, counts: Array, reward: Array) -> LikeliestChain:
        return likeliest_chain(counts, reward, self._gap(counts))
