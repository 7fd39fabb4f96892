"""IMED-MC for three states or more: the search for J is made only for arms that could be played."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxbandit.base import described, total
from jaxbandit.confidence.chain import LikeliestChain, likeliest_chain, ratio_to, spread_of_values
from jaxbandit.fast import larger, log, where_needed
from jaxbandit.policies.chains.upper_on_demand import GIVEN_AWAY
from jaxbandit.policies.parts.memory import ChainMemory

NEVER = 1e29  # J is at least this where no chain of the class has so large a mean
OF_THREE = 48  # arms that are searched at a time where there are three states and no gap, in float32; else one
INSIDE = 1 - 1e-4  # of the range that a class allows; closer to its edge rounding would decide, and J is searched for


@described
class Bounds(NamedTuple):
    """Bounds on J and on the index of each arm.

    For given counts J grows with m. So J(m') is at most J(m) for every m >= m', and an arm whose index is too large
    with J(m') in place of J(m) does not have the least index.

    Fields:
      mean: [K], the mean m' at which J was computed since the arm's last play; -1 where it was not.
      ratio: [K], J(m'); 0 where it was not computed.
      lower: [K], for the next round: lower bounds on the indices; the least index itself.
    """

    mean: Array
    ratio: Array
    lower: Array

    def renewed(self, seen: ChainMemory, leads: Array, chain: LikeliestChain, gap: Array | None, arms: Array) -> Bounds:
        """The bounds for the next round.

        Args:
          seen, leads, chain, gap: fields of the policy's state, after the round.
          arms: [M], the arms played.
        """
        counts, reward = seen.counts, seen.reward
        candidate = (total(total(counts)) > 0) & ~leads
        best = jnp.max(jnp.where(candidate, chain.mean, 0))
        log_cycles = log(1 + cycles(counts, reward, chain.mean).astype(float))
        # the arms with the best mean have J = 0; another arm is played only if its index is at most the least of theirs
        least = jnp.min(jnp.where(candidate & (chain.mean >= best), log_cycles, jnp.inf))
        # a play changes the counts, and with them J of that arm
        mean, ratio = self.mean.at[arms].set(-1), self.ratio.at[arms].set(0)
        # J(m') bounds J(best) where m' is at most the best mean; else only log(1 + cycles) is a bound
        lower = jnp.where((chain.mean < best) & (mean <= best), ratio, 0) + log_cycles
        needed = candidate & (chain.mean < best) & (mean != best) & (lower <= least)
        of_all = (jnp.broadcast_to(number, mean.shape) for number in (best, least))
        arguments = (counts, reward, chain, gap, log_cycles, *of_all)
        together = OF_THREE if gap is None and reward.shape[1] == 3 else 1
        return Bounds(*where_needed(needed, _bounds_of, arguments, (mean, ratio, lower), together))


def no_bounds(arms: int) -> Bounds:
    """The bounds before the first round."""
    nothing = jnp.zeros(arms)
    return Bounds(nothing - 1, nothing, nothing)


def _bounds_of(
    counts: Array, reward: Array, chain: LikeliestChain, gap: Array | None, log_cycles: Array, best: Array, least: Array
) -> tuple[Array, Array, Array]:
    """m', J(m') and the index, or a bound on it, of one arm that could be played."""

    def search(n: Array, bounds: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        """J(best), then J(m') at a smaller m' if the arm is not played; a loop compiles the search only once."""
        mean, _, index = bounds
        ratio = ratio_to(chain, counts, reward, mean, gap, quick=True)
        index = jnp.where(n == 0, ratio + log_cycles, index)
        # how far the index exceeds the least one; m' uses up most of it, so that the bound holds when `best` falls
        margin = index - least
        # J is nearly a square of the distance from the arm's own mean, so that its slope is about 2 J / distance
        lower = larger(best - GIVEN_AWAY * margin * (best - chain.mean) / (2 * larger(ratio, 1e-30)), chain.mean)
        again = (n == 0) & (margin > 0) & (ratio < NEVER)
        return jnp.where(again, lower, mean), ratio, index

    nothing = jnp.zeros_like(best)
    return jax.lax.fori_loop(0, 2, search, (best, nothing, nothing))


def likeliest_where_needed(counts: Array, reward: Array, gap: Array | None) -> LikeliestChain:
    """The most likely chain of each arm in its class, with a search only if the overall maximiser is not in the class.

    The most likely of all chains needs no search, and is in the class for arms that move often.

    Args:
      counts, reward: [M, S, S], [M, S].
      gap: [M], of the classes; None for the class of all chains.
    """
    mean, nothing = likeliest_chain(counts, reward).mean, jnp.zeros(counts.shape[0])
    if gap is None:
        return LikeliestChain(mean, nothing)
    span = jnp.max(reward, -1) - jnp.min(reward, -1)
    # negated, so that NaN, which is a gap of 0 times the infinite spread of an arm that never left a state, is outside
    outside = ~(gap * spread_of_values(counts, reward) <= INSIDE * span)
    return where_needed(outside, likeliest_chain, (counts, reward, gap), LikeliestChain(mean, nothing))


def cycles(counts: Array, reward: Array, mean: Array) -> Array:
    """The cycles of each arm, [K]: moves from states that pay less than its mean to the others, or back if fewer.

    For two states this is min(n01, n10). The states that pay least always count as below the mean and those that pay
    most as not below it, wherever rounding puts the mean, so that the number grows with every tour of all states. For
    an arm with constant rewards plays are counted, because it has only one kind of states.

    Args:
      counts: [K, S, S] int32.
      reward: [K, S].
      mean: [K].

    >>> counts, number = jnp.array([[[0, 2, 1], [3, 0, 0], [0, 1, 5]]]), jax.jit(cycles)
    >>> number(counts, jnp.array([[0.0, 0.5, 1.0]]), jnp.array([0.7])).tolist()
    [1]
    >>> number(counts, jnp.array([[0.4, 0.4, 0.4]]), jnp.array([0.4])).tolist()
    [12]
    """
    low, high = reward[:, 0], reward[:, 0]
    for s in range(1, reward.shape[1]):
        low, high = jnp.minimum(low, reward[:, s]), jnp.maximum(high, reward[:, s])
    if counts.shape[1] == 2:
        number = jnp.minimum(counts[:, 0, 1], counts[:, 1, 0])
    else:
        poor = (reward < jnp.minimum(mean, high)[:, None]) | (reward == low[:, None])
        out = total(total(jnp.where(poor[:, :, None] & ~poor[:, None, :], counts, 0)))
        back = total(total(jnp.where(~poor[:, :, None] & poor[:, None, :], counts, 0)))
        number = jnp.minimum(out, back)
    return jnp.where(low == high, total(total(counts)), number)
