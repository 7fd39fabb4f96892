"""IMED-MC for three states and more: J, which a search finds, is computed only for arms whose turn it could be."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxbandit.base import Feedback, total
from jaxbandit.confidence.chain import LikeliestChain, likeliest_chain, ratio_to, spread_of_values
from jaxbandit.fast import larger, log, where_needed
from jaxbandit.policies.parts.leaders import leaders
from jaxbandit.policies.parts.memory import Transitions

NEVER = 1e29  # what J is at least where no chain has the mean
GIVEN_AWAY = 0.6  # of the margin by which an arm is out, so that it stays out for longer
INSIDE = 1 - 1e-4  # of the spread that a class allows: closer to its edge the search decides


class OnDemand(NamedTuple):
    """What IMED-MC keeps of arms with three states and more.

    For an arm's counts as they are J grows with m. So J(m') is at most J(m) for every m of at least m', and an arm
    whose index is too large even with J(m') in the place of J(m) is not the least, whatever J(m) is.

    Fields:
      seen: the transitions.
      leads: [K] bool, the arms that are played without an index.
      mean, shortfall: [K], of the likeliest chain of each arm's class its mean, and J of it; renewed at its plays.
      gap: [K], of that class; None for all chains.
      at: [K], the mean m' for which J is known since the arm's last play; -1 where it is for none.
      known: [K], J(m'); 0 where it is for none.
      lower: [K], of the round to come: the index of the arm with the least, and for all others at most the index.
    """

    seen: Transitions
    leads: Array
    mean: Array
    shortfall: Array
    gap: Array | None
    at: Array
    known: Array
    lower: Array


def begun(seen: Transitions, leads: Array, gap: Array | None) -> OnDemand:
    """The state before the first round, without a play of any arm."""
    chain = _likeliest(seen.counts, seen.reward, gap)
    nothing = jnp.zeros(len(seen.reward))
    return OnDemand(seen, leads, *chain, gap, nothing - 1, nothing, nothing)


def compared(state: OnDemand, feedback: Feedback, gap: Array | None) -> OnDemand:
    """The state after a round, with the indices of the next one.

    Args:
      gap: [M], of the classes of the arms that were played; None for all chains.
    """
    arms, seen = feedback.arms, state.seen.counted(feedback)
    counts, reward = seen.counts, seen.reward
    mean, shortfall = (
        old.at[arms].set(new)
        for old, new in zip((state.mean, state.shortfall), _likeliest(counts[arms], reward[arms], gap), strict=True)
    )
    gaps = None if gap is None or state.gap is None else state.gap.at[arms].set(gap)
    plays, leads = total(total(counts)), state.leads
    if arms.shape[0] > 1:
        leads = leaders(mean, plays, feedback)
    candidate = (plays > 0) & ~leads
    best = jnp.max(jnp.where(candidate, mean, 0))
    fixed = log(1 + cycles(counts, reward, mean).astype(float))
    # the arms with the best mean have J = 0; another arm is played only if its index is at most the least of theirs
    least = jnp.min(jnp.where(candidate & (mean >= best), fixed, jnp.inf))
    at, known = state.at.at[arms].set(-1), state.known.at[arms].set(0)
    lower = jnp.where((mean < best) & (at <= best), known, 0) + fixed
    needed = candidate & (mean < best) & (at != best) & (lower <= least)
    of_all = (jnp.broadcast_to(number, mean.shape) for number in (best, least))
    at, known, lower = where_needed(
        needed, _index_of, (counts, reward, LikeliestChain(mean, shortfall), gaps, fixed, *of_all), (at, known, lower)
    )
    return OnDemand(seen, leads, mean, shortfall, gaps, at, known, lower)


def _index_of(
    counts: Array, reward: Array, chain: LikeliestChain, gap: Array | None, fixed: Array, best: Array, least: Array
) -> tuple[Array, Array, Array]:
    """m', J(m') and the index of one arm."""

    def once(n: Array, kept: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        """First J(best), then, for an arm that is out, J(m') of a smaller m'; a loop compiles the search only once."""
        at, _, index = kept
        found = ratio_to(chain, counts, reward, at, gap, quick=True)
        index = jnp.where(n == 0, found + fixed, index)
        margin = index - least
        # J is nearly a square of the distance from the arm's own mean, so that its slope is about 2 J / distance
        lower = larger(best - GIVEN_AWAY * margin * (best - chain.mean) / (2 * larger(found, 1e-30)), chain.mean)
        moves = (n == 0) & (margin > 0) & (found < NEVER)
        return jnp.where(moves, lower, at), found, index

    found: tuple[Array, Array, Array] = jax.lax.fori_loop(
        0, 2, once, (best, jnp.zeros_like(best), jnp.zeros_like(best))
    )
    return found


def _likeliest(counts: Array, reward: Array, gap: Array | None) -> tuple[Array, Array]:
    """Of the likeliest chain in each arm's class the mean [M], and J of it.

    Where the likeliest of all chains is in the class, as for arms that move often, nothing is searched.
    """
    mean, nothing = likeliest_chain(counts, reward).mean, jnp.zeros(counts.shape[0])
    if gap is None:
        return mean, nothing
    span = jnp.max(reward, -1) - jnp.min(reward, -1)
    outside = ~(gap * spread_of_values(counts, reward) <= INSIDE * span)

    def search(counts: Array, reward: Array, gap: Array) -> tuple[Array, Array]:
        chain = likeliest_chain(counts, reward, gap)
        return chain.mean, chain.parts  # type: ignore[return-value]

    found: tuple[Array, Array] = where_needed(outside, search, (counts, reward, gap), (mean, nothing))
    return found


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
