"""The row with the largest expected value in an L1 ball around a row, and in a box.

`confidence.kl_ball_max` does the same for a KL ball. States are never sorted, because XLA sorts one run at a time: a
table [S, S], computed once for all rows, says which of two states has the larger value.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from jaxbandit.base import total
from jaxbandit.fast import computed_once, smaller

WRITTEN_OUT = 8  # states up to which sums over them are written out, not a loop


def l1_ball_max(rows: Array, radius: Array, values: Array) -> tuple[Array, Array]:
    """The largest sum of q_j values_j over rows q with sum of |q_j - p_j| <= radius, and a row that reaches it.

    The state with the largest value gains radius / 2, or what is missing to 1; the states with the least values lose
    as much.

    Args:
      rows: p, [..., S], each sums to 1.
      radius: [...], at least 0.
      values: [S].

    Returns:
      maximum [...] and maximiser [..., S].

    Source: Jaksch, Ortner and Auer 2010, figure 2.

    >>> maximum, row = jax.jit(l1_ball_max)(jnp.array([0.5, 0.3, 0.2]), 0.5, jnp.array([0.0, 1.0, 2.0]))
    >>> round(float(maximum), 4), [round(float(q), 4) for q in row]
    (1.2, [0.25, 0.3, 0.45])
    """
    states = values.shape[0]
    number = jnp.arange(states)
    first = number[:, None] < number[None]
    above = _ahead(values, first)
    ahead = above[0].astype(jnp.int32)  # the number of states before each one
    for i in range(1, states):
        ahead = ahead + above[i]
    best = _beside(ahead == 0, rows)
    gained = smaller(1 - total(jnp.where(best, rows, 0)), jnp.asarray(radius) / 2)
    others = jnp.where(best, 0, rows)
    # the best state's own entry is in no sum, as it loses nothing
    cut = jnp.clip(gained[..., None] - _added(others, above.T), 0, others)
    row = jnp.where(best, rows + gained[..., None], others - cut)
    return total(row * _beside(values, row)), row


def box_max(low: Array, high: Array, values: Array) -> tuple[Array, Array]:
    """The largest sum of q_j values_j over rows q with low_j <= q_j <= high_j, and a row that reaches it.

    All states begin at `low`; what is missing to 1 goes to the state with the largest value up to its `high`, then to
    the next.

    Args:
      low, high: [..., S], from 0 to 1; the sum of `low` is at most 1 and that of `high` at least 1.
      values: [S].

    Returns:
      maximum [...] and maximiser [..., S].

    >>> low, high = jnp.array([0.2, 0.1, 0.0]), jnp.array([1.0, 0.5, 0.3])
    >>> maximum, row = jax.jit(box_max)(low, high, jnp.array([0.0, 1.0, 2.0]))
    >>> round(float(maximum), 4), [round(float(q), 4) for q in row]
    (1.1, [0.2, 0.5, 0.3])
    """
    number = jnp.arange(values.shape[0])
    above = _ahead(values, number[:, None] < number[None])
    room = high - low
    missing = 1 - total(low)
    row = low + jnp.clip(missing[..., None] - _added(room, above), 0, room)
    return total(row * _beside(values, row)), row


def _ahead(values: Array, first: Array) -> Array:
    """[i, j], whether state i has a larger value than state j; on ties, whether it comes first.

    Of two states exactly one comes before the other, whatever rounding does: XLA may compute a value twice, the two may
    differ, and a state could even come before itself.
    """
    values = computed_once(values)
    not_less = values[:, None] >= values[None]
    return jnp.where(first, not_less, ~not_less.T & ~jnp.eye(values.shape[0], dtype=bool))


def _added(amounts: Array, chosen: Array) -> Array:
    """[..., j], the sum of the amounts [..., i] over the states i with chosen[i, j]."""
    states, sums = chosen.shape[0], jnp.zeros_like(amounts)
    if states <= WRITTEN_OUT:
        for i in range(states):
            sums = sums + jnp.where(_beside(chosen[i], amounts), amounts[..., i : i + 1], 0)
        return sums

    def add(i: Array, sums: Array) -> Array:
        row = jax.lax.dynamic_index_in_dim(chosen, i, keepdims=False)
        return sums + jnp.where(_beside(row, amounts), jax.lax.dynamic_slice_in_dim(amounts, i, 1, -1), 0)

    return jax.lax.fori_loop(0, states, add, sums)


def _beside(of_states: Array, rows: Array) -> Array:
    """Numbers of the states [S] with axes of length 1 before them, as many as rows [.., S] have."""
    return of_states.reshape(*[1] * (rows.ndim - 1), -1)
