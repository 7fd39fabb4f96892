"""Two estimated rows of an arm that were far apart: while they decide, the others need not be compared."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.divergences import DISTANCES, Distance, farthest_pair
from jaxbandit.fast import computed_once, where_needed
from jaxbandit.policies.chains.estimated_rows import estimates
from jaxbandit.policies.parts.memory import ChainMemory

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


def first_pair(seen: ChainMemory, unvisited: ArrayLike, distance: Distance) -> Pair:
    """The pair before the first round."""
    rows = estimates(seen.counts, unvisited)  # of the prior: all pairs of rows have the same distance
    apart, row = DISTANCES[distance](rows[:, 0], rows[:, 1]), jnp.zeros_like(seen.states)
    return Pair(row, row + 1, apart, apart)


def other_row(pair: Pair, arms: Array, before: Array) -> Array:
    """The row [M] of the pair of each arm played that is not that of the state it left, `before` [M]."""
    return jnp.where(before == pair.first[arms], pair.second[arms], pair.first[arms])


def pair_after(
    pair: Pair, arms: Array, before: Array, row: Array, other: Array, number: Array, distance: Distance
) -> Pair:
    """The pair after a round: its distance is recomputed, and the bound on the largest distance updated.

    Args:
      arms: [M], the arms played.
      before: [M], the states that they left.
      row: [M, S], the rows of these states, estimated after the round.
      other: [M, S], the row of `other_row`.
      number: [M], how often the states had been left.
    """
    is_first = before == pair.first[arms]
    one, two = jnp.where(is_first[:, None], row, other), jnp.where(is_first[:, None], other, row)
    apart = DISTANCES[distance](one, two)
    if distance == "kl":
        apart = jnp.maximum(apart, DISTANCES[distance](two, one))
    apart = jnp.where(is_first | (before == pair.second[arms]), apart, pair.distance[arms])
    # one more departure moves its row by at most 1 / number in total variation, and so every distance of that row;
    # 1.001 covers the rounding of all steps since the rows were last compared. Other distances have no such bound, so
    # that all rows are compared again as soon as the pair is not decisive
    most = pair.most[arms] + 1.001 / number if distance == "total_variation" else jnp.full_like(apart, jnp.inf)
    return pair._replace(distance=pair.distance.at[arms].set(apart), most=pair.most.at[arms].set(most))


def exceeds(
    pair: Pair, counts: Array, threshold: Array, unvisited: ArrayLike, distance: Distance
) -> tuple[Array, Pair]:
    """Whether the largest distance of two rows of each arm exceeds the threshold [K], [K] bool, and the pairs.

    All rows are compared if the kept pair is not decisive.
    """

    def compared(counts: Array, unvisited: Array) -> Pair:
        most, first, second = farthest_pair(computed_once(estimates(counts[None], unvisited)), distance)
        return Pair(first[0], second[0], most[0], most[0])

    # a distance above the threshold proves the arm Markovian, and a bound below it that it is not
    undecided = (pair.distance <= threshold) & (pair.most > threshold)
    arguments = counts, jnp.broadcast_to(unvisited, undecided.shape)
    pair = where_needed(undecided, compared, arguments, pair, TOGETHER)
    return pair.distance > threshold, pair
