"""A dear function computed for those entries of a batch only that ask for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.custom_batching import custom_vmap

from jaxbandit.fast.batching import over_runs
from jaxbandit.fast.comparisons import computed_once
from jaxbandit.fast.switch import PLAIN

TOGETHER = 16  # entries that are computed at a time
SIDE = 64  # of the squares in which flags are counted


def where_needed(needed: Array, function: Callable[..., Any], arguments: Any, otherwise: Any) -> Any:
    """`function` for the entries whose flag is set, `otherwise` for all others: of one run.

    In a batch of runs the entries with a flag are gathered, computed a few at a time and put back, so that a round in
    which nobody asks costs little more than the flags. What is computed for an entry does not depend on the others.

    Args:
      needed: [N] bool.
      function: of pytrees of arrays of one entry, to a pytree of arrays.
      arguments: a tuple of pytrees whose leaves have the entries as their first axis, [N, ...].
      otherwise: a pytree like the one that the function returns, leaves [N, ...].

    >>> where_needed(jnp.array([True, False]), jnp.sqrt, (jnp.array([4.0, 9.0]),), jnp.array([7.0, 8.0])).tolist()
    [2.0, 8.0]
    """

    def for_all(needed: Array, arguments: Any, otherwise: Any) -> Any:
        found = jax.vmap(function)(*arguments)
        return jax.tree.map(lambda new, old: jnp.where(_like(needed, new), new, old), found, otherwise)

    if PLAIN:
        return for_all(needed, arguments, otherwise)
    asked = custom_vmap(for_all)

    @asked.def_vmap
    def of_runs(runs: int, has: Any, needed: Array, arguments: Any, otherwise: Any) -> Any:
        def full(leaf: Array, there: bool) -> Array:
            return leaf if there else jnp.broadcast_to(leaf, (runs, *leaf.shape))

        given = jax.tree.map(full, (needed, arguments, otherwise), tuple(has))
        flat = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), given)
        found = _gathered(function, *flat)
        shaped = jax.tree.map(lambda leaf: leaf.reshape(runs, -1, *leaf.shape[1:]), found)
        return shaped, jax.tree.map(lambda leaf: True, shaped)

    return asked(needed, arguments, otherwise)


def _gathered(function: Callable[..., Any], needed: Array, arguments: Any, otherwise: Any) -> Any:
    """`where_needed` for all runs together: flags [N], leaves [N, ...]."""
    size = needed.shape[0]
    rank, count = _ranks(needed)
    each = over_runs(function)
    slots = jnp.arange(TOGETHER)

    def some(loop: tuple[Array, Any]) -> tuple[Array, Any]:
        done, found = loop
        slot = jnp.where(needed & (rank >= done) & (rank < done + TOGETHER), rank - done, TOGETHER)
        places = jnp.zeros(TOGETHER, jnp.int32).at[slot].set(jnp.arange(size, dtype=jnp.int32), mode="drop")
        chosen = jax.tree.map(lambda leaf: _taken(leaf, places), arguments)
        values = each(*chosen)
        where = jnp.where(slots < count - done, places, size)
        found = jax.tree.map(lambda old, new: old.at[where].set(jnp.moveaxis(new, -1, 0), mode="drop"), found, values)
        return done + TOGETHER, found

    return jax.lax.while_loop(lambda loop: loop[0] < count, some, (jnp.int32(0), otherwise))[1]


def _taken(leaf: Array, places: Array) -> Array:
    """The entries at these places, as the last axis."""
    found = jnp.moveaxis(leaf[places], 0, -1)
    return computed_once(found) if found.dtype != bool else found


def _ranks(needed: Array) -> tuple[Array, Array]:
    """How many flags are set before each one [N], and how many there are; by small products of matrices."""
    size = needed.shape[0]
    width = -(-size // SIDE)
    flags = jnp.pad(needed, (0, width * SIDE - size)).reshape(SIDE, width).astype(jnp.float32)
    within = flags @ jnp.triu(jnp.ones((width, width), jnp.float32), 1)
    rows = flags.sum(1)
    before = jnp.tril(jnp.ones((SIDE, SIDE), jnp.float32), -1) @ rows
    rank = (within + before[:, None]).reshape(-1)[:size]
    return rank.astype(jnp.int32), rows.sum().astype(jnp.int32)


def _like(needed: Array, leaf: Array) -> Array:
    return needed.reshape(needed.shape + (1,) * (leaf.ndim - needed.ndim))
