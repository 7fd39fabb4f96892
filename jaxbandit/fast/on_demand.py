"""What `over_runs` does in a way of its own: an expensive function where it is needed, and reads of long tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.custom_batching import custom_vmap

from jaxbandit.fast.batching import over_runs
from jaxbandit.fast.comparisons import any_of, computed_once
from jaxbandit.fast.slow_paths import PLAIN
from jaxbandit.fast.target import for_cpu

TOGETHER = 1  # entries that are computed at a time


def where_needed(
    needed: Array, function: Callable[..., Any], arguments: Any, otherwise: Any, together: int = TOGETHER
) -> Any:
    """`function` for each entry of one run whose flag is set; for an entry without a flag that, or `otherwise`.

    In a batch of runs (`over_runs`) the entries with a flag are collected, computed a few at a time and put back, so
    that a round without a flag costs little more than the flags. What is computed for an entry does not depend on the
    others. The plain form is `jax.vmap(function)(*arguments)`: the flags say where that may be left out. For one run
    alone all entries are computed, one after the other, because that is traced sooner.

    Args:
      needed: [N] bool.
      function: of pytrees of arrays of one entry, to a pytree of arrays; it takes all traced values as arguments.
      arguments: a tuple of pytrees whose leaves have the entries as their first axis, [N, ...].
      otherwise: a pytree like the one that the function returns, leaves [N, ...].
      together: how many entries are computed at a time. With 1, XLA loops over the numbers of the entry, and each entry
        takes only its own iterations of a loop: this is fastest for most functions, and compiles soonest. With some 50
        XLA loops over the entries, which pays for a function of plain numbers in loops of fixed length. With 4 to 32 it
        writes the code out for each entry, which is slower. Programs for other devices than CPUs take one entry of each
        run at a time.

    Raises:
      ValueError: `otherwise` is another kind of pytree than what the function returns.

    >>> where_needed(jnp.array([True, True]), jnp.sqrt, (jnp.array([4.0, 9.0]),), jnp.array([7.0, 8.0])).tolist()
    [2.0, 3.0]
    """
    if PLAIN:
        return _alike(jax.vmap(function)(*arguments), otherwise)
    once = jax.jit(function)  # traced once, for this form and for that of many runs

    def every(*arguments: Any) -> Any:
        return jax.lax.map(lambda entry: once(*entry), arguments)

    asked = custom_vmap(lambda needed, arguments, otherwise: every(*arguments))

    @asked.def_vmap
    def of_all(size: int, batched: Any, needed: Array, arguments: Any, otherwise: Any) -> Any:
        axes = jax.tree.map(lambda there: 0 if there else None, batched[1])
        results = jax.vmap(every, in_axes=tuple(axes), axis_size=size)(*arguments)
        return results, jax.tree.map(lambda leaf: True, results)

    leaves, structure = jax.tree.flatten((needed, arguments, otherwise))

    def runs_last(flat: list[Array]) -> list[Array]:
        """For `over_runs`: the same, of leaves with the runs as their last axis; constants stand before them."""
        return jax.tree.leaves(_collected(once, together, *jax.tree.unflatten(structure, flat[-len(leaves) :])))

    of_all.runs_last = runs_last  # type: ignore[attr-defined]
    return _alike(asked(needed, arguments, otherwise), otherwise)


def _alike(results: Any, otherwise: Any) -> Any:
    """The results, if they have the structure of `otherwise`.

    `over_runs` would treat the difference as an unknown form of a jaxpr and compute all entries, so it is an error
    here.
    """
    returned: Any = jax.tree.structure(results)
    promised: Any = jax.tree.structure(otherwise)
    if returned != promised:
        raise ValueError(
            f"otherwise: its structure is {promised}, and the function returns {returned}; make them alike"
        )
    return results


def _collected(function: Callable[..., Any], together: int, needed: Array, arguments: Any, otherwise: Any) -> Any:
    """`where_needed` for many runs: flags [N, R], leaves [N, ..., R].

    Runs stand in rows of `together` lanes. Each turn takes from every lane the first entry that still has a flag. There
    is no sum over all flags, no sort and no scatter, because XLA would cut the program into pieces at them.
    """
    entries, runs = needed.shape
    lanes = min(together, runs) if for_cpu() else runs
    across = -(-runs // lanes)  # rows of lanes for each entry
    rows = entries * across

    def in_rows(leaf: Array) -> Array:
        """[N, ..., R] to [N, ..., across, lanes]."""
        full = jnp.pad(leaf, [(0, 0)] * (leaf.ndim - 1) + [(0, across * lanes - runs)])
        return full.reshape(*leaf.shape[:-1], across, lanes)

    numbers = jnp.arange(rows, dtype=jnp.int32).reshape(entries, across)[..., None]
    lane = jnp.arange(lanes, dtype=jnp.int32)
    batched = over_runs(function)

    def first_of(left: Array) -> Array:
        """The row of each lane's first flag [lanes]; `rows` where there is none."""
        flat = left.reshape(rows, lanes)

        def look(n: Array, row: Array) -> Array:
            back = rows - 1 - n
            return jnp.where(jax.lax.dynamic_index_in_dim(flat, back, keepdims=False), back, row)

        return jax.lax.fori_loop(0, rows, look, jnp.full(lanes, rows, jnp.int32))

    def goes_on(loop: tuple[Array, Array, Any]) -> Array:
        return any_of(loop[1] < rows)

    def turn(loop: tuple[Array, Array, Any]) -> tuple[Array, Array, Any]:
        left, first, results = loop
        place = jnp.minimum(first, rows - 1)
        entry, run = place // across, jnp.minimum(place % across * lanes + lane, runs - 1)
        if across == 1:
            chosen = jax.tree.map(lambda leaf: _selected(leaf, entry), arguments)
        else:
            chosen = jax.tree.map(lambda leaf: _taken(leaf, entry, run), arguments)
        here = numbers == first[None, None]

        def put(old: Array, new: Array) -> Array:
            if lanes == 1:  # one place, which is written where it is
                at: list[Any] = [entry[0], *[0] * (old.ndim - 3), run[0], 0]
                return jax.lax.dynamic_update_slice(old, new[None, ..., None, :], at)
            where = here.reshape(entries, *[1] * (old.ndim - 3), across, lanes)
            return jnp.where(where, new[None, ..., None, :], old)

        results = jax.tree.map(put, results, batched(*chosen))
        left = left & ~here
        return left, first_of(left), results

    flags = in_rows(needed)
    results = jax.lax.while_loop(goes_on, turn, (flags, first_of(flags), jax.tree.map(in_rows, otherwise)))[2]
    return jax.tree.map(lambda leaf: leaf.reshape(*leaf.shape[:-2], across * lanes)[..., :runs], results)


def _taken(leaf: Array, entry: Array, run: Array) -> Array:
    """leaf[entry, ..., run] of a leaf [N, ..., R], with the lanes as the last axis; read once for all its consumers."""
    entries = jnp.moveaxis(leaf[entry, ..., run], 0, -1)
    return _once(entries)


def _selected(leaf: Array, entry: Array) -> Array:
    """leaf[entry, ..., run] of a leaf [N, ..., R] whose runs are the lanes: all entries are compared, not gathered."""
    entries = leaf[0]
    for n in range(1, leaf.shape[0]):
        entries = jnp.where(jnp.broadcast_to(entry == n, entries.shape), leaf[n], entries)
    return _once(entries)


def _once(array: Array) -> Array:
    """The array, computed once for all its consumers; except random bits, which would be rounded to floats."""
    return array if array.dtype in (bool, jnp.uint32) else computed_once(array)


def read_own(tables: Any, place: Array) -> Any:
    """`table[place]` for each of one run's own tables, leaves [N, ..], place within bounds: leaves [..].

    `over_runs` reads short tables by comparing all their entries, and moves the axis of the runs of long ones. This
    reads an entry of each run where it stands, which costs the same however long the tables are.

    >>> read_own({"x": jnp.array([5, 6, 7])}, jnp.int32(1))["x"].tolist()
    6
    """

    def plain(tables: Any, place: Array) -> Any:
        return jax.tree.map(lambda table: table[place], tables)

    if PLAIN:
        return plain(tables, place)
    asked = custom_vmap(plain)

    @asked.def_vmap
    def of_all(size: int, batched: Any, tables: Any, place: Array) -> Any:
        axes = jax.tree.map(lambda there: 0 if there else None, batched)
        entries = jax.vmap(plain, in_axes=tuple(axes), axis_size=size)(tables, place)
        return entries, jax.tree.map(lambda leaf: True, entries)

    def runs_last(flat: list[Array]) -> list[Array]:
        *leaves, places = flat[-len(jax.tree.leaves(tables)) - 1 :]
        run = jnp.arange(places.shape[-1])
        return [jnp.moveaxis(leaf[places, ..., run], 0, -1) for leaf in leaves]

    of_all.runs_last = runs_last  # type: ignore[attr-defined]
    return asked(tables, place)
