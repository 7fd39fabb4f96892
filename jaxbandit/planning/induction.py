"""Backward induction over the steps of an episode."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.planning.iteration import best_actions


def backward_induction(
    worth: Callable[[Array, Array, Array], Array], table: Array, turns: ArrayLike | None = None
) -> Array:
    """What each pair is worth in every step, [H, A, S], from the last step to the first.

    Args:
      worth: from a step h (int32, from 0), the values [S] of the step after it (0 after the last) and what
        `table[h]` was, [A, S], to what the pairs are worth in that step, [A, S].
      table: [H, A, S], of before; overwritten.
      turns: how many steps are planned, from the last backwards; None for all H, 0 to leave the table as it is.

    >>> rows, reward = jnp.array([[[1.0, 0.0], [0.0, 1.0]], [[0.5, 0.5], [0.5, 0.5]]]), jnp.array([[0.0, 1.0]] * 2)
    >>> backward_induction(lambda h, after, old: reward + rows @ after, jnp.zeros((2, 2, 2)))[0].tolist()
    [[0.0, 2.0], [0.5, 1.5]]
    """
    steps = table.shape[0]

    def step(n: Array, loop: tuple[Array, Array]) -> tuple[Array, Array]:
        table, after = loop
        h = steps - 1 - n
        new = worth(h, after, jax.lax.dynamic_index_in_dim(table, h, keepdims=False))
        return jax.lax.dynamic_update_index_in_dim(table, new, h, 0), best_actions(new)[0]

    end = steps if turns is None else turns
    return jax.lax.fori_loop(0, end, step, (table, jnp.zeros(table.shape[2:], table.dtype)))[0]
