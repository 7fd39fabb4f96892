"""Transition probabilities estimated from counts."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.base import total
from jaxbandit.confidence.row import MOST_LISTED
from jaxbandit.fast import computed_once
from jaxbandit.policies.parts.memory import ratio


def estimates(counts: Array, unvisited: ArrayLike) -> Array:
    """Rows [K, S, S] from transition counts [K, S, S].

    A state not yet left is assumed to be left with probability `unvisited`, in equal shares to the other states.

    >>> estimates(jnp.array([[[3, 1], [0, 0]]]), 1.0).tolist()
    [[[0.75, 0.25], [1.0, 0.0]]]
    """
    departures = total(counts)
    if counts.shape[-1] > MOST_LISTED:
        departures = computed_once(departures.astype(float))
    every = jnp.broadcast_to(jnp.arange(counts.shape[-1]), departures.shape)
    return estimated_row(counts, departures, every, unvisited)


def estimated_row(counts: Array, departures: Array, state: Array, unvisited: ArrayLike) -> Array:
    """Rows [..., S] from transition counts [..., S] out of `state` [...], which was left `departures` times."""
    states = counts.shape[-1]
    same = jnp.arange(states).reshape(*[1] * state.ndim, -1) == state[..., None]
    prior = jnp.where(same, 1 - unvisited, unvisited / (states - 1))
    return jnp.where((departures == 0)[..., None], prior, ratio(counts, departures[..., None]))
