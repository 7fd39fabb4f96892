"""TV-KL-UCB and KL-UCB-MC with more than three states: nothing is computed again that a play has not changed."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.base import Feedback, total
from jaxbandit.confidence import Solver
from jaxbandit.confidence.row import array_of, excursions, weighted_mean_max
from jaxbandit.divergences import DISTANCES, Distance, farthest_pair
from jaxbandit.fast import computed_once, where_needed
from jaxbandit.policies.chains.estimated_rows import estimates, left
from jaxbandit.policies.chains.upper_on_demand import Uppers, largest_upper, no_uppers
from jaxbandit.policies.parts.memory import Transitions, no_transitions, sample_mean

TOGETHER = 64  # of `where_needed`


class Pair(NamedTuple):
    """Two estimated rows of each arm that were the farthest from each other when all were compared.

    Fields:
      first, second: [K] int32, the rows.
      distance: [K], how far they are from each other; the farthest rows are at least as far.
      most: [K], how far the farthest rows are at most.
    """

    first: Array
    second: Array
    distance: Array
    most: Array


class Summaries(NamedTuple):
    """State for arms with more than three states: transitions, and what follows from them for each arm.

    Most of the work of an index depends on the counts of its arm alone, and these change only when the arm is played.
    The fields `plays` to `pair` are functions of those, renewed for the arms played; the mean and the cycles of an arm
    not yet played are 0, as its index does not depend on them.
    """

    counts: Array  # [K, S, S], [K] and [K, S], as in `Transitions`
    states: Array
    reward: Array
    plays: Array  # [K] int32
    departures: Array  # [K], plays in the present state
    mean: Array  # [K], sample mean
    row: Array  # [K, S], `confidence.row.excursions` of the estimates: the present state's row,
    means: Array  # [K, S], mean rewards of the cycles
    lengths: Array  # [K, S], and their lengths
    pair: Pair | None  # None for KL-UCB-MC
    markovian: Array  # [K] bool, the verdicts in the last round
    uppers: Uppers  # of the index of each arm, with this verdict


def begun(reward: Array, unvisited: ArrayLike, distance: Distance | None) -> Summaries:
    """The state before the first round; no distance for KL-UCB-MC."""
    state, arms = no_transitions(reward), len(reward)
    none, nothing, no = jnp.zeros(arms), jnp.zeros_like(state.reward), jnp.zeros(arms, bool)
    pair = None
    if distance is not None:
        rows = estimates(state.counts, unvisited)  # any two of these are as far apart as any others
        apart, row = DISTANCES[distance](rows[:, 0], rows[:, 1]), jnp.zeros_like(state.states)
        pair = Pair(row, row + 1, apart, apart)
    kept = jnp.zeros_like(state.states), none, none, nothing, nothing, nothing
    return Summaries(*state, *kept, pair, no, no_uppers(arms))


def counted(state: Summaries, feedback: Feedback, unvisited: ArrayLike, distance: Distance | None) -> Summaries:
    """The state after a round."""
    arms, before = feedback.arms, feedback.before
    transitions = Transitions(*state[:3]).counted(feedback)
    counts, states, reward = (leaf[arms] for leaf in transitions)
    rows = computed_once(estimates(counts, unvisited))
    mean, plays = sample_mean(sum(counts[:, s] for s in range(counts.shape[1])), reward)  # type: ignore[arg-type]
    places = jnp.arange(counts.shape[1])[None]
    departed = left(counts)
    departures = total(jnp.where(places == states[:, None], departed, 0))
    row, means, lengths, _ = excursions(rows, reward, states, jnp.zeros_like(mean))
    played = plays, departures, mean, array_of(row), array_of(means), array_of(lengths)
    kept: Any = jax.tree.map(lambda leaf, new: leaf.at[arms].set(new), state[3:9], played)
    pair = state.pair
    if pair is not None and distance is not None:
        number = total(jnp.where(places == before[:, None], departed, 0))
        one, two = (
            jnp.sum(jnp.where((places == which[arms][:, None])[..., None], rows, 0), 1)
            for which in (pair.first, pair.second)
        )
        apart = DISTANCES[distance](one, two)
        if distance == "kl":
            apart = jnp.maximum(apart, DISTANCES[distance](two, one))
        # one more departure moves its row by 1 / departures at most; a little more for all roundings together
        most = pair.most[arms] + 1.001 / number if distance == "total_variation" else jnp.full_like(apart, jnp.inf)
        pair = pair._replace(distance=pair.distance.at[arms].set(apart), most=pair.most.at[arms].set(most))
    return Summaries(*transitions, *kept, pair, state.markovian, state.uppers.after(feedback))  # type: ignore[call-arg]


def judged(state: Summaries, threshold: Array, unvisited: ArrayLike, distance: Distance) -> tuple[Array, Summaries]:
    """Whether any two rows of each arm are farther apart than the threshold, [K] bool, and what is known now.

    All rows are compared where the two that are kept do not decide.
    """
    if state.pair is None:  # KL-UCB-MC takes every arm for Markovian
        return jnp.ones_like(state.markovian), state

    def compared(counts: Array, unvisited: Array) -> Pair:
        most, first, second = farthest_pair(computed_once(estimates(counts[None], unvisited)), distance)
        return Pair(first[0], second[0], most[0], most[0])

    undecided = (state.pair.distance <= threshold) & (state.pair.most > threshold)
    given = state.counts, jnp.broadcast_to(unvisited, undecided.shape)
    pair: Pair = where_needed(undecided, compared, given, state.pair, TOGETHER)
    return pair.distance > threshold, state._replace(pair=pair)


def index(state: Summaries, radius: Array, markovian: Array, solver: Solver) -> tuple[Array, Summaries]:
    """Scores [K], and what is known of the indices.

    The score of an arm that could be played is its index; of any other a number that is at least its index, and smaller
    than the largest index.

    Args:
      radius: [K], of the KL ball.
      markovian: [K] bool, for which arms it is the index of `KLUCBMC`, and not that of `KLUCB`.
    """

    def index_of(radius: Array, row: Array, means: Array, lengths: Array, mean: Array, markovian: Array) -> Array:
        place = jnp.arange(row.shape[-1])
        row = jnp.where(markovian, row, jnp.where(place == 0, 1 - mean, jnp.where(place == 1, mean, 0)))
        means = jnp.where(markovian, means, jnp.where(place == 1, 1.0, 0.0))
        lengths = jnp.where(markovian, lengths, 1)
        return weighted_mean_max(row, means, lengths, radius, solver)[0]

    uppers = state.uppers.forgotten(markovian != state.markovian)
    arguments = (state.row, state.means, state.lengths, state.mean, markovian)
    scores, uppers = largest_upper(uppers, radius, state.mean, state.plays, index_of, arguments, TOGETHER)
    return scores, state._replace(markovian=markovian, uppers=uppers)
