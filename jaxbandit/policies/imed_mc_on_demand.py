"""IMED-MC for arms with three states and more: an arm's J, which a search finds, is computed only where it can decide."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from jaxbandit.base import Feedback, total
from jaxbandit.confidence.chain import LikeliestChain, likeliest_chain, ratio_to
from jaxbandit.fast import larger, log, where_needed
from jaxbandit.policies.leaders import leaders
from jaxbandit.policies.memory import Transitions

NEVER = 1e29  # what J is at least where no chain has the mean
GIVEN_AWAY = 0.6  # of the margin by which an arm is out, so that it stays out for longer


class OnDemand(NamedTuple):
    """What IMED-MC keeps of arms with three states and more.

    J grows with m for an arm's counts as they are. So J(m') is at most J(m) for every m of at least m', and an arm whose
    index is too large even with J(m') in the place of J(m) is not the least, whatever J(m) is.

    Fields:
      seen: the transitions.
      leads: [K] bool, the arms that are played without an index.
      chain: of each arm the likeliest one, renewed at its plays.
      at: [K], the mean m' for which J is known since the arm's last play; -1 where nothing is known.
      known: [K], J(m'); 0 where nothing is known.
      index: [K], of the round to come: exact for the arm with the least, and for all others at most their index.
    """

    seen: Transitions
    leads: Array
    chain: LikeliestChain
    at: Array
    known: Array
    index: Array


def begun(seen: Transitions, leads: Array) -> OnDemand:
    """The state before the first round."""
    nothing = jnp.zeros(len(seen.reward))
    return OnDemand(seen, leads, likeliest_chain(seen.counts, seen.reward), nothing - 1, nothing, nothing)


def compared(state: OnDemand, feedback: Feedback) -> OnDemand:
    """The state after a round, with the indices of the next one."""
    arms, seen = feedback.arms, state.seen.counted(feedback)
    counts, reward = seen.counts, seen.reward
    played = likeliest_chain(counts[arms], reward[arms])
    mean, parts = (old.at[arms].set(new) for old, new in zip(state.chain, played, strict=True))
    plays, leads = total(total(counts)), state.leads
    if arms.shape[0] > 1:
        leads = leaders(mean, plays, feedback)
    best = jnp.max(jnp.where((plays > 0) & ~leads, mean, 0))
    fixed = log(1 + cycles(counts, reward, mean).astype(float))
    # the arms with the best mean have J = 0: no other arm is played unless its index is at most the least of theirs
    candidate = (plays > 0) & ~leads
    least = jnp.min(jnp.where(candidate & (mean >= best), fixed, jnp.inf))
    at, known = state.at.at[arms].set(-1), state.known.at[arms].set(0)
    lower = jnp.where(mean >= best, 0, jnp.where(at <= best, known, 0)) + fixed
    needed = candidate & (mean < best) & (at != best) & (lower <= least)

    def index_of(
        counts: Array, reward: Array, mean: Array, parts: Array, best: Array, fixed: Array, least: Array
    ) -> tuple[Array, Array, Array]:
        """m', J(m') and the index of one arm."""
        one = LikeliestChain(mean[None], parts[None])

        def ratio(m: Array) -> Array:
            return ratio_to(one, counts[None], reward[None], m[None], quick=True)[0]

        exact = ratio(best)
        margin = exact + fixed - least
        # J is nearly a square of the distance from the arm's own mean, so that its slope is about twice J / distance
        further = best - GIVEN_AWAY * margin * (best - mean) / (2 * larger(exact, 1e-30))
        is_out = (margin > 0) & (exact < NEVER)
        at = jnp.where(is_out, larger(further, mean), best)
        return at, jnp.where(is_out, ratio(at), exact), exact + fixed

    same = jnp.broadcast_to(best, mean.shape), fixed, jnp.broadcast_to(least, mean.shape)
    at, known, index = where_needed(needed, index_of, (counts, reward, mean, parts, *same), (at, known, lower))
    return OnDemand(seen, leads, LikeliestChain(mean, parts), at, known, index)


def cycles(counts: Array, reward: Array, mean: Array) -> Array:
    """How often an arm went from states that pay less than its mean to the others, or back if that is less: [K].

    For two states this is min(n01, n10). The states that pay least always count as below the mean and those that pay
    most as not below it, wherever rounding puts the mean, so that the number grows with every tour of all states. For
    an arm that always pays the same, plays are counted, because it has no two kinds of states.

    Args:
      counts: [K, S, S] int32.
      reward: [K, S].
      mean: [K].

    >>> cycles(jnp.array([[[0, 2, 1], [3, 0, 0], [0, 1, 5]]]), jnp.array([[0.0, 0.5, 1.0]]), jnp.array([0.7])).tolist()
    [1]
    >>> cycles(jnp.array([[[0, 2, 1], [3, 0, 0], [0, 1, 5]]]), jnp.array([[0.4, 0.4, 0.4]]), jnp.array([0.4])).tolist()
    [12]
    """
    low, high = reward[:, 0], reward[:, 0]
    for s in range(1, reward.shape[1]):
        low, high = jnp.minimum(low, reward[:, s]), jnp.maximum(high, reward[:, s])
    if counts.shape[1] == 2:
        moved = jnp.minimum(counts[:, 0, 1], counts[:, 1, 0])
    else:
        poor = (reward < jnp.minimum(mean, high)[:, None]) | (reward == low[:, None])
        out = total(total(jnp.where(poor[:, :, None] & ~poor[:, None, :], counts, 0)))
        back = total(total(jnp.where(~poor[:, :, None] & poor[:, None, :], counts, 0)))
        moved = jnp.minimum(out, back)
    return jnp.where(low == high, total(total(counts)), moved)
