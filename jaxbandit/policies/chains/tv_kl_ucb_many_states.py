"""TV-KL-UCB and KL-UCB-MC with more than three states: only the numbers of played arms are computed again."""

from __future__ import annotations

from functools import partial
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
from jaxbandit.policies.parts.memory import ChainMemory, Transitions

TOGETHER = 64  # of `where_needed`: an arm has many numbers, and XLA loops over lanes only if there are many lanes


class Pair(NamedTuple):
    """Two estimated rows of each arm that had the largest distance when all rows were compared.

    Fields:
      first, second: [K] int32, the rows.
      distance: [K], their distance, a lower bound on the largest distance.
      most: [K], an upper bound on the largest distance.
    """

    first: Array
    second: Array
    distance: Array
    most: Array


class Summaries(NamedTuple):
    """Summaries of the transitions of arms with more than three states.

    Most of the work of an index depends on the counts of its arm alone, and these change only when the arm is played.
    The fields `plays` to `pair` are functions of the counts, recomputed for the arms played; the mean and the cycles of
    an arm not yet played are 0, because its index does not depend on them.

    Fields:
      plays: [K] int32.
      departures: [K], plays in the present state.
      mean: [K], the sample mean.
      row, means, lengths: [K, S], `confidence.row.excursions` of the estimated rows: the present state's row, the mean
        rewards of the cycles, and their lengths.
      pair: None for KL-UCB-MC.
      markovian: [K] bool, the classification in the last round.
      uppers: bounds on the index of each arm, with this classification.
    """

    plays: Array
    departures: Array
    mean: Array
    row: Array
    means: Array
    lengths: Array
    pair: Pair | None
    markovian: Array
    uppers: Uppers


def no_summaries(seen: ChainMemory, unvisited: ArrayLike, distance: Distance | None) -> Summaries:
    """The summaries before the first round; no distance for KL-UCB-MC."""
    arms = len(seen.reward)
    none, nothing, no = jnp.zeros(arms), jnp.zeros_like(seen.reward), jnp.zeros(arms, bool)
    pair = None
    if distance is not None:
        rows = estimates(seen.counts, unvisited)  # of the prior: all pairs of rows have the same distance
        apart, row = DISTANCES[distance](rows[:, 0], rows[:, 1]), jnp.zeros_like(seen.states)
        pair = Pair(row, row + 1, apart, apart)
    plays = jnp.zeros_like(seen.states)
    return Summaries(plays, none, none, nothing, nothing, nothing, pair, no, no_uppers(arms))


def renewed(
    known: Summaries, seen: ChainMemory, feedback: Feedback, unvisited: ArrayLike, distance: Distance | None
) -> Summaries:
    """The summaries after a round, from the transitions counted by then."""
    arms = feedback.arms
    counts, states, reward = (leaf[arms] for leaf in (seen.counts, seen.states, seen.reward))
    rows = computed_once(estimates(counts, unvisited))
    mean, plays = Transitions(counts, states, reward).mean_and_plays()
    places = jnp.arange(counts.shape[1])[None]
    departed = left(counts)
    departures = total(jnp.where(places == states[:, None], departed, 0))
    row, means, lengths, _ = excursions(rows, reward, states, jnp.zeros_like(mean))
    played = plays, departures, mean, array_of(row), array_of(means), array_of(lengths)
    kept: Any = jax.tree.map(lambda leaf, new: leaf.at[arms].set(new), known[: len(played)], played)
    pair = known.pair
    if pair is not None and distance is not None:
        number = total(jnp.where(places == feedback.before[:, None], departed, 0))
        pair = _pair_after(pair, arms, rows, number, distance)
    return Summaries(*kept, pair, known.markovian, known.uppers.after(feedback))  # type: ignore[call-arg]


def _pair_after(pair: Pair, arms: Array, rows: Array, departures: Array, distance: Distance) -> Pair:
    """The pair after a round: its distance is recomputed, and the bound on the largest distance updated.

    Args:
      arms: [M], the arms played.
      rows: [M, S, S], their estimates after the round.
      departures: [M], their departures from the state that they left.
    """
    places = jnp.arange(rows.shape[1])[None]
    one, two = (
        jnp.sum(jnp.where((places == which[arms][:, None])[..., None], rows, 0), 1)
        for which in (pair.first, pair.second)
    )
    apart = DISTANCES[distance](one, two)
    if distance == "kl":
        apart = jnp.maximum(apart, DISTANCES[distance](two, one))
    # one more departure moves its row by at most 1 / departures in total variation, and so every distance of that row;
    # 1.001 covers the rounding of all steps since the rows were last compared. Other distances have no such bound, so
    # that all rows are compared again as soon as the pair is not decisive
    most = pair.most[arms] + 1.001 / departures if distance == "total_variation" else jnp.full_like(apart, jnp.inf)
    return pair._replace(distance=pair.distance.at[arms].set(apart), most=pair.most.at[arms].set(most))


def judged(
    known: Summaries, counts: Array, threshold: Array, unvisited: ArrayLike, distance: Distance
) -> tuple[Array, Summaries]:
    """Whether the largest distance of two rows of each arm exceeds the threshold [K], [K] bool, and the summaries.

    All rows are compared if the kept pair is not decisive.
    """

    def compared(counts: Array, unvisited: Array) -> Pair:
        most, first, second = farthest_pair(computed_once(estimates(counts[None], unvisited)), distance)
        return Pair(first[0], second[0], most[0], most[0])

    # a distance above the threshold proves the arm Markovian, and a bound below it that it is not
    kept: Any = known.pair  # KL-UCB-MC alone has none, and it judges no arm
    undecided = (kept.distance <= threshold) & (kept.most > threshold)
    arguments = counts, jnp.broadcast_to(unvisited, undecided.shape)
    pair: Pair = where_needed(undecided, compared, arguments, kept, TOGETHER)
    return pair.distance > threshold, known._replace(pair=pair)


def index(known: Summaries, radius: Array, markovian: Array, solver: Solver) -> tuple[Array, Summaries]:
    """Scores [K], and the summaries with updated bounds on the indices.

    The score of an arm that could be played is its index, that of any other arm an upper bound on its index which is
    smaller than the largest index.

    Args:
      radius: [K], of the KL ball.
      markovian: [K] bool, the arms with the index of `KLUCBMC`; the others have that of `KLUCB`.
    """

    # with the other classification the index is another function of the radius, and old bounds do not apply
    uppers = known.uppers.forgotten(markovian != known.markovian)
    arguments = (known.row, known.means, known.lengths, known.mean, markovian)
    index_of = partial(_index_of_one, solver=solver)
    scores, uppers = largest_upper(uppers, radius, known.mean, known.plays, index_of, arguments, TOGETHER)
    return scores, known._replace(markovian=markovian, uppers=uppers)


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
