"""The arms with the largest scores."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from jaxbandit.arguments import as_floats, integer
from jaxbandit.fast import PLAIN, computed_once

FEW_PLAYS = 16  # up to which the arms are found one after the other


def top_arms(scores: ArrayLike, plays: int) -> Array:
    """The `plays` arms with the largest scores, [M] int32; the lowest arm first on ties; NaN counts as -inf.

    Raises:
      ValueError: scores are not numbers [K], or plays is not from 1 to K.

    >>> top_arms(jnp.array([0.5, 0.7, 0.7]), 2).tolist()
    [1, 2]
    """
    if not isinstance(scores, jax.core.Tracer):
        scores = jnp.asarray(_checked(scores))
    number = scores.shape[0]
    integer("plays", plays, 1, number)
    if PLAIN:
        return jnp.argsort(jnp.where(scores == scores, scores, -jnp.inf), descending=True)[:plays].astype(jnp.int32)
    if plays == 1 and number <= 256:
        return _first_of_all(computed_once(scores))[None]
    scores = jnp.where(scores == scores, scores, -jnp.inf)
    # XLA vectorises comparisons, and maxima over many arms, over the runs; sorts, `top_k` and maxima over few arms it
    # computes for one run at a time
    if plays > 1 and number <= 32:
        return _by_rank(computed_once(scores), plays)
    if plays <= FEW_PLAYS:
        return _one_after_the_other(computed_once(scores), plays)
    scores = jnp.where(scores == 0, 0.0, scores)  # for top_k, -0.0 is less than 0.0
    return jax.lax.top_k(scores, plays)[1].astype(jnp.int32)


def _checked(scores: ArrayLike) -> Array | np.ndarray:
    """Scores [K] that are not traced, checked."""
    array = as_floats("scores", scores)
    if array.ndim != 1 or not array.size:
        raise ValueError(f"scores: shape {array.shape} is not [K]")
    return scores if isinstance(scores, jax.Array) else array


def _first_of_all(scores: Array) -> Array:
    """The arm with the largest score, by comparing them one by one; NaN counts as -inf."""
    top, arm = jnp.where(scores[0] == scores[0], scores[0], -jnp.inf), jnp.int32(0)
    for k in range(1, scores.shape[0]):
        better = scores[k] > top
        top, arm = jnp.where(better, scores[k], top), jnp.where(better, k, arm)
    return computed_once(arm)


def _one_after_the_other(scores: Array, plays: int) -> Array:
    """The first arms, by one maximum after the other over the arms that are left."""
    every, leaders = jnp.arange(scores.shape[0], dtype=jnp.int32), []
    left = jnp.ones(scores.shape, bool)
    for _ in range(plays):
        top = jnp.max(jnp.where(left, scores, -jnp.inf))
        leaders.append(computed_once(jnp.min(jnp.where(left & (scores == top), every, every.size))))
        left = left & (every != leaders[-1])
    return jnp.stack(leaders)


def _by_rank(scores: Array, plays: int) -> Array:
    """The first arms by how many others are ahead of them."""
    number = scores.shape[0]
    arms = jnp.arange(number, dtype=jnp.int32)
    ahead = (((scores[k] > scores) | ((scores[k] == scores) & (k < arms))) for k in range(number))
    places = computed_once(sum(arm.astype(jnp.int32) for arm in ahead))  # type: ignore[arg-type]
    return computed_once(jnp.stack([sum(jnp.where(places[k] == m, k, 0) for k in range(number)) for m in range(plays)]))
