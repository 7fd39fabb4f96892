"""The stationary law of a chain in continuous time, traced, from the logarithms of its rates."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from jaxbandit.fast import computed_once, exponential, larger, log_of_sum

WRITTEN_OUT = 8  # states up to which the elimination is unrolled, not a loop
NEVER = -1e38  # in place of log 0: finite, so that differences of such numbers are not NaN


def log_stationary(rates: Array) -> Array:
    """Logarithms, up to a common summand, of the stationary law of chains in continuous time: [K, S].

    States are eliminated from the last one on without subtractions. All is done with logarithms, so that nothing
    underflows, however slowly a chain moves.

    Args:
      rates: [K, S, S], logarithms of the rates at which each state is left for each other; the diagonal does not count.

    Source: Grassmann, Taksar and Heyman 1985.

    >>> jax.jit(log_stationary)(jnp.log(jnp.array([[[1.0, 0.2], [0.6, 1.0]]]))).round(4).tolist()  # -log 3
    [[0.0, -1.0986]]
    """
    return (_of_few if rates.shape[-1] <= WRITTEN_OUT else _of_many)(rates)


def _of_few(rates: Array) -> Array:
    """`log_stationary` with one state fewer in the array at every step."""
    shares = []
    for last in range(rates.shape[-1] - 1, 0, -1):
        row = rates[:, last, :last]
        shares.append(computed_once(rates[:, :last, last] - log_total(row)[:, None]))
        rates = computed_once(log_add(rates[:, :last, :last], shares[-1][..., None] + row[:, None]))
    law = jnp.zeros_like(rates[:, 0])
    for share in reversed(shares):
        law = jnp.concatenate([law, log_total(law + share)[:, None]], axis=-1)
    return law


def _of_many(rates: Array) -> Array:
    """`log_stationary` in loops: the program for 64 states is as short as for ten."""
    states = rates.shape[-1]
    number = jnp.arange(states)[None]

    def eliminate(n: Array, rates: Array) -> Array:
        last = states - 1 - n
        row = jnp.where(number < last, rates[:, last], NEVER)
        share = computed_once(rates[:, :, last] - log_total(row)[:, None])
        return jnp.where(number[None] == last, share[..., None], log_add(rates, share[..., None] + row[:, None]))

    def add(n: Array, law: Array) -> Array:
        entering = jnp.where(number < n, law + rates[:, :, n], NEVER)
        return jnp.where(number == n, log_total(entering)[:, None], law)

    rates = jax.lax.fori_loop(0, states - 1, eliminate, rates)
    return jax.lax.fori_loop(1, states, add, jnp.zeros_like(rates[:, 0]))


def log_add(a: Array, b: Array) -> Array:
    """log(exp(a) + exp(b))."""
    return larger(a, b) + log_of_sum(exponential(jnp.abs(a - b))[1])


def log_total(values: Array) -> Array:
    """log of the sum of exp(values) over the last axis, in pairs: [..., S] to [...]."""
    while (number := values.shape[-1]) > 1:
        half = number // 2
        pairs = log_add(values[..., :half], values[..., half : 2 * half])
        values = jnp.concatenate([pairs, values[..., 2 * half :]], axis=-1)
    return values[..., 0]
