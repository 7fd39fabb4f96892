"""First laws of hidden chains that are tied to the stationary law of their rows."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

STEPS = 3  # of ascent in one round of expectation maximisation
LENGTHS = (0.0, 1 / 64, 1 / 16, 1 / 4, 1 / 2, 1.0)  # of a step; the best one is taken, and 0 is the last resort
LEAST = 1e-12  # probability in a row, so that every state leads to every other one
NOTHING = 1e-30  # for divisions: of a state that leads to no other one


def stationary(rows: Array) -> Array:
    """The stationary law [S] of rows [S, S], by elimination without subtractions, as `chains.stationary`, traced."""
    rates = rows
    for last in range(len(rows) - 1, 0, -1):
        into = rates[:last, last] / jnp.maximum(jnp.sum(rates[last, :last]), NOTHING)
        rates = rates.at[:last, last].set(into).at[:last, :last].add(jnp.outer(into, rates[last, :last]))
    weights = jnp.ones(1)
    for state in range(1, len(rows)):
        weights = jnp.append(weights, weights @ rates[:state, state])
    return weights / jnp.sum(weights)


def improved_rows(rows: Array, moves: Array, begun: Array) -> Array:
    """Rows [S, S] with a larger sum of moves log(rows) + begun log(stationary law of the rows).

    Args:
      rows: [S, S], from which it starts, all positive.
      moves: [S, S], expected transitions.
      begun: [S], expected first states.

    The largest one has no closed form. Each step goes along the natural gradient, in the metric of the rows' Fisher
    information; without first states a step of length 1 ends at the frequencies of moves.
    """

    def value(rows: Array) -> Array:
        return jnp.sum(moves * jnp.log(rows)) + jnp.sum(begun * jnp.log(stationary(rows)))

    weights = jnp.sum(moves, axis=1) + begun

    def step(_: int, rows: Array) -> Array:
        slope = jax.grad(value)(rows)
        centred = slope - jnp.sum(rows * slope, axis=1, keepdims=True)
        direction = rows * centred / jnp.where(weights > 0, weights, 1.0)[:, None]
        tried = jnp.maximum(rows[None] + jnp.array(LENGTHS)[:, None, None] * direction[None], LEAST)
        tried /= jnp.sum(tried, axis=-1, keepdims=True)
        return tried[jnp.nanargmax(jax.vmap(value)(tried))]

    return jax.lax.fori_loop(0, STEPS, step, rows)
