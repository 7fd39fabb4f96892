"""TV-KL-UCB and KL-UCB-MC with more than three states: only the numbers of played arms are computed again."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.base import Feedback
from jaxbandit.confidence import Solver
from jaxbandit.confidence.row import array_of, chosen_sum, dot, excursions, weighted_mean_max
from jaxbandit.divergences import Distance
from jaxbandit.fast import add_one, computed_once, read_own, where_needed
from jaxbandit.policies.chains.estimated_rows import estimated_row, estimates
from jaxbandit.policies.chains.kept_pair import Pair, first_pair, other_row, pair_after
from jaxbandit.policies.chains.mean_lower_bound import (
    Reference,
    after_a_departure,
    entry,
    lower_bound,
    no_reference,
    reference_of,
)
from jaxbandit.policies.chains.upper_on_demand import ROUNDING, Uppers, largest_upper, no_uppers
from jaxbandit.policies.parts.memory import ChainMemory, sample_mean

TOGETHER = 64  # of `where_needed`: an arm has many numbers, and XLA loops over lanes only if there are many lanes
BOUNDED_FROM = 16  # states: of fewer, elimination costs less than what avoids it


class Cycles(NamedTuple):
    """What follows from the counts of an arm by elimination, S^3 / 3 operations; of all arms with a first axis [K].

    Fields:
      row, means, lengths: [S], `confidence.row.excursions` of the estimated rows: the present state's row, the mean
        rewards of the cycles, and their lengths.
      mean: the stationary mean of the estimated rows.
    """

    row: Array
    means: Array
    lengths: Array
    mean: Array


class Bounds(NamedTuple):
    """What decides in most rounds that the arm played last is played again, without its index.

    Fields:
      fresh: [K] bool, whether the cycles are those of the present counts.
      lower: [K], a lower bound on the stationary mean of the estimated rows; -inf or NaN if unknown.
      breaks: [K] int32, plays that did not begin in the state to which the one before had led.
      reference: for `lower`, from the time when the cycles were computed.
    """

    fresh: Array
    lower: Array
    breaks: Array
    reference: Reference


class Summaries(NamedTuple):
    """Summaries of the transitions of arms with more than three states.

    Most of the work of an index depends on the counts of its arm alone, and these change only when the arm is played.
    The fields up to `pair` are recomputed for the arms played, the cycles too, or only where an index is computed.

    Fields:
      arrivals, departed: [K, S] int32, plays that led to each state, and that left it.
      plays: [K] int32.
      departures: [K], plays in the present state.
      mean: [K], the sample mean; 0 for an arm not yet played.
      pair: None for KL-UCB-MC.
      cycles: with `bounds` of the counts when they were computed, otherwise of the present ones.
      bounds: None where elimination is cheaper.
      markovian: [K] bool, the classification in the last round.
      uppers: bounds on the index of each arm, with this classification.
    """

    arrivals: Array
    departed: Array
    plays: Array
    departures: Array
    mean: Array
    pair: Pair | None
    cycles: Cycles
    bounds: Bounds | None
    markovian: Array
    uppers: Uppers


Kept = tuple[Cycles, Bounds | None]


def no_summaries(seen: ChainMemory, unvisited: ArrayLike, distance: Distance | None) -> Summaries:
    """The summaries before the first round; no distance for KL-UCB-MC."""
    arms, states = seen.reward.shape
    none, nothing, no = jnp.zeros(arms), jnp.zeros_like(seen.reward), jnp.zeros(arms, bool)
    pair = None if distance is None else first_pair(seen, unvisited, distance)
    plays, none_yet = jnp.zeros_like(seen.states), jnp.zeros((arms, states), seen.states.dtype)
    bounds = None if states < BOUNDED_FROM else Bounds(no, none, plays, no_reference(arms, states))
    cycles = Cycles(nothing, nothing, nothing, none)
    return Summaries(none_yet, none_yet, plays, none, none, pair, cycles, bounds, no, no_uppers(arms))


def renewed(
    known: Summaries,
    last: Array,
    seen: ChainMemory,
    feedback: Feedback,
    unvisited: ArrayLike,
    distance: Distance | None,
) -> Summaries:
    """The summaries after a round, from the states [K] that were last seen before it and the transitions after it."""
    arms, before, states = feedback.arms, feedback.before, feedback.states
    arrivals, departed = add_one(known.arrivals, arms, states), add_one(known.departed, arms, before)
    reward = seen.reward[arms]
    mean, plays = sample_mean(arrivals[arms], reward)

    def row_of(states: Array) -> tuple[Array, Array]:
        """The estimated rows [M, S] of these states [M] of the arms played, and how often they were left, [M]."""
        places, table = arms * reward.shape[1] + states, seen.counts.reshape(-1, reward.shape[1])
        counts = jnp.stack([read_own(table, places[m]) for m in range(len(arms))])
        number = entry(departed[arms], states).astype(float)
        return computed_once(estimated_row(counts, number, states, unvisited)), number

    row, number = row_of(before)
    pair, cycles, bounds = known.pair, known.cycles, known.bounds
    if pair is not None and distance is not None:
        pair = pair_after(pair, arms, before, row, row_of(other_row(pair, arms, before))[0], number, distance)
    if bounds is None:
        entries = seen.counts[arms], states, reward, jnp.broadcast_to(unvisited, mean.shape)
        new = jax.vmap(lambda *entries: _cycles_of(*entries)[0])(*entries)
        cycles = jax.tree.map(lambda leaf, of_played: leaf.at[arms].set(of_played), cycles, new)
    else:
        breaks = bounds.breaks[arms] + ((before != last[arms]) & (plays > 1))
        reference: Reference = jax.tree.map(lambda leaf: leaf[arms], bounds.reference)
        reference = after_a_departure(reference, row, before, reward)
        lower = jnp.where(breaks == 0, lower_bound(reference, mean, plays, states, reward), -jnp.inf)
        bounds = Bounds(
            bounds.fresh.at[arms].set(False),
            bounds.lower.at[arms].set(lower),
            bounds.breaks.at[arms].set(breaks),
            jax.tree.map(lambda leaf, new: leaf.at[arms].set(new), bounds.reference, reference),
        )
    return Summaries(
        arrivals,
        departed,
        known.plays.at[arms].set(plays),
        known.departures.at[arms].set(entry(departed[arms], states).astype(float)),
        known.mean.at[arms].set(mean),
        pair,
        cycles,
        bounds,
        known.markovian,
        known.uppers.after(feedback),
    )


def index(
    known: Summaries, seen: ChainMemory, radius: Array, markovian: Array, unvisited: ArrayLike, solver: Solver
) -> tuple[Array, Summaries]:
    """Scores [K], and the summaries with updated bounds on the indices.

    The largest score is that of the arm with the largest index. The score of an arm that could be played is its index,
    or a lower bound on it that decides; that of any other arm is an upper bound on its index which is smaller.

    Args:
      radius: [K], of the KL ball.
      markovian: [K] bool, the arms with the index of `KLUCBMC`; the others have that of `KLUCB`.
    """
    mean, bounds = known.mean, known.bounds
    entries = seen.counts, seen.states, seen.reward, jnp.broadcast_to(unvisited, radius.shape)
    index_of, together = partial(_index_of_one, solver=solver), TOGETHER if bounds is None else 1

    def compute(needed: Array, radius: Array, kept: Kept, upper: Array) -> tuple[Kept, Array]:
        cycles, bounds = kept
        if bounds is not None:
            old = cycles, bounds.reference
            cycles, reference = where_needed(needed & ~bounds.fresh, _cycles_of, entries, old, together)
            bounds = bounds._replace(fresh=bounds.fresh | needed, reference=reference)
        arguments = radius, cycles.row, cycles.means, cycles.lengths, mean, markovian
        return (cycles, bounds), where_needed(needed, index_of, arguments, upper, together)

    # with the other classification the index is another function of the radius, and old bounds do not apply
    uppers = known.uppers.forgotten(markovian != known.markovian)
    lower = None if bounds is None else jnp.where(markovian, bounds.lower, mean - ROUNDING)
    centre = jnp.where(markovian, known.cycles.mean, mean)
    kept = known.cycles, bounds
    scores, (cycles, bounds), uppers = largest_upper(uppers, radius, centre, known.plays, lower, compute, kept)
    return scores, known._replace(cycles=cycles, bounds=bounds, markovian=markovian, uppers=uppers)


@jax.jit  # so that it is traced once, and not wherever it is called
def _cycles_of(counts: Array, state: Array, reward: Array, unvisited: Array) -> tuple[Cycles, Reference]:
    """The cycles of one arm, from its counts [S, S], and the reference for bounds on its mean after more plays."""
    rows = computed_once(estimates(counts[None], unvisited)[0])
    row, means, lengths = map(array_of, excursions(rows, reward, state, jnp.zeros(()))[:3])
    last = jnp.arange(len(reward)) == len(reward) - 1
    here = jnp.arange(len(reward)) == state

    def in_order(row: Array) -> Array:
        """The entries of `row` in the order of the states; `excursions` exchanges `state` and the last one."""
        return jnp.where(here, row[-1], jnp.where(last, chosen_sum(row, here), row))

    mean = dot(row, means * lengths) / dot(row, lengths)
    values, times = in_order(lengths * (means - mean)), in_order(lengths) - 1
    return Cycles(row, means, lengths, mean[0]), reference_of(rows, reward, values, times)


@partial(jax.jit, static_argnames="solver")  # so that it is traced once, and not wherever it is called
def _index_of_one(
    radius: Array, row: Array, means: Array, lengths: Array, mean: Array, markovian: Array, solver: Solver
) -> Array:
    """The index of one arm."""
    # one solver for both: the index of `KLUCB` is that of an arm with the row (1 - mean, mean, 0, ..) whose second
    # cycle alone pays, in cycles of one play
    place = jnp.arange(row.shape[-1])
    row = jnp.where(markovian, row, jnp.where(place == 0, 1 - mean, jnp.where(place == 1, mean, 0)))
    means = jnp.where(markovian, means, jnp.where(place == 1, 1.0, 0.0))
    lengths = jnp.where(markovian, lengths, 1)
    return weighted_mean_max(row, means, lengths, radius, solver)[0]
