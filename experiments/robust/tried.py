"""Policies that were tried in search of one that is good on all random arms with two states, beside the library's."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from jaxbandit import Feedback, pytree
from jaxbandit.base import total
from jaxbandit.confidence.chain import likeliest_chain, ratio_to
from jaxbandit.fast import computed_once, exponential, log
from jaxbandit.policies.chains.imed_mc import Chains, Classes, cycles
from jaxbandit.policies.parts.leaders import least_index, no_leaders
from jaxbandit.policies.parts.memory import Memory, Transitions, no_transitions, no_visits
from jaxbandit.policies.parts.posteriors import log_gamma


@pytree
class Sieved:
    """IMED-MC over chains whose gap is at least factor T^-exponent, with log(1 + c^(1 - share) T^share) for log(1 + c).

    With factor 1 and share 0 it is `IMEDMC(exponent=exponent)`. A larger factor gives slow arms up sooner, while plays
    are few; a larger share gives up sooner arms that were played often and moved seldom.
    """

    exponent: float = 0.5
    factor: float = 1.0
    share: float = 0.0
    scale: float = 1.0  # of J

    def init(self, reward: Array) -> Classes:
        state = no_transitions(reward)
        gap = jnp.ones(reward.shape[:1])
        return Classes(*state, no_leaders(reward), likeliest_chain(state.counts, state.reward, gap), gap)

    def scores(self, key: Array, state: Classes, t: Array) -> tuple[Array, Classes]:
        plays = total(total(state.counts))
        best = jnp.max(jnp.where(plays > 0, state.chain.mean, 0))
        ratio = self.scale * ratio_to(state.chain, state.counts, state.reward, best, state.gap)
        return least_index(ratio + _weight(self.share, state, plays, state.chain.mean), plays, state.leads), state

    def update(self, state: Classes, feedback: Feedback) -> Classes:
        seen = Transitions(*state[:3]).counted(feedback)
        counts = computed_once(seen.counts[feedback.arms].astype(float))
        plays = jnp.maximum(total(total(counts)), 1)
        gap = computed_once(jnp.minimum(1, self.factor * exponential(self.exponent * jnp.log(plays))[1]))
        played = likeliest_chain(counts, seen.reward[feedback.arms], gap), gap
        kept: Any = jax.tree.map(lambda old, new: old.at[feedback.arms].set(computed_once(new)), state[4:], played)
        return Classes(*seen, state.leads, *kept)


@pytree
class Expecting:
    """IMED-MC that has seen `moves` transitions out of every state before it begins: an arm that stays is given up.

    `share` is that of `Sieved`.
    """

    moves: float = 1.0
    share: float = 0.0

    def init(self, reward: Array) -> Chains:
        return Chains(*no_transitions(reward), no_leaders(reward))

    def scores(self, key: Array, state: Chains, t: Array) -> tuple[Array, Chains]:
        counts = computed_once(state.counts.astype(float) + self.moves * (1 - jnp.eye(state.counts.shape[-1]))[None])
        chain, plays = likeliest_chain(counts, state.reward), total(total(state.counts))
        best = jnp.max(jnp.where(plays > 0, chain.mean, 0))
        ratio = ratio_to(chain, counts, state.reward, best)
        return least_index(ratio + _weight(self.share, state, plays, chain.mean), plays, state.leads), state

    def update(self, state: Chains, feedback: Feedback) -> Chains:
        return Chains(*Transitions(*state[:3]).counted(feedback), state.leads)


@pytree
class Tempered:
    """`ThompsonMC` for two states that pay 0 and 1, with every transition counted `times` times: it explores less."""

    leaving: float = 1.0
    staying: float = 1.0
    times: float = 2.0

    def init(self, reward: Array) -> Transitions:
        return no_transitions(reward)

    def scores(self, key: Array, state: Transitions, t: Array) -> tuple[Array, Transitions]:
        prior = jnp.where(jnp.eye(2, dtype=bool), self.staying, self.leaving)[None]
        drawn = log_gamma(key, self.times * state.counts.astype(float) + prior)
        of_row = jnp.logaddexp(drawn[..., 0], drawn[..., 1])
        return computed_once((drawn[:, 0, 1] - of_row[:, 0]) - (drawn[:, 1, 0] - of_row[:, 1])), state

    def update(self, state: Transitions, feedback: Feedback) -> Transitions:
        return state.counted(feedback)


@pytree
class Eliminating:
    """Successive elimination on sample means: of the arms not ruled out, the one with the fewest plays is played.

    An arm is ruled out while its mean + r is less than the largest mean - r, r = sqrt(width log t / (2 T)).
    """

    width: float = 1.0

    def init(self, reward: Array) -> Memory:
        return no_visits(reward)

    def scores(self, key: Array, state: Memory, t: Array) -> tuple[Array, Memory]:
        mean, plays = state.mean_and_plays()
        radius = jnp.sqrt(self.width * jnp.log(t) / (2 * jnp.maximum(plays, 1)))
        return jnp.where(mean + radius < jnp.max(mean - radius), -jnp.inf, -plays.astype(float)), state

    def update(self, state: Memory, feedback: Feedback) -> Memory:
        return state.counted(feedback)


def _weight(share: float, state: Chains | Classes, plays: Array, mean: Array) -> Array:
    """log(1 + c^(1 - share) T^share) up to 1: what IMED-MC adds to J, between counting cycles c and plays T."""
    cycled = log(1 + cycles(state.counts, state.reward, mean).astype(float))
    return (1 - share) * cycled + share * log(1 + plays.astype(float))
