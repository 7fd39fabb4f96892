"""Rows of a chain, with one entry for each state, and arithmetic on them.

The entries are arrays of one shape [...], for example one number for each arm. A row of up to three states is a list of
entries, which XLA vectorises best; a longer row is one array [S, ...], so that the length of the program hardly depends
on S. A number that belongs to a row as a whole, such as its sum, has the shape [...] beside a list, and [1, ...] beside
an array.

XLA may compute an entry twice, and the two may differ in their last digit, as where one of them merges a product with
the sum that it belongs to. So no entry is expected to equal the largest one: entries within `room` of each other count
as equal, and where one state has to be chosen it is known by its number.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.fast import computed_once, larger, smaller

MOST_LISTED = 3  # states
Row = list[Array] | Array


def row_of(array: Array) -> Row:
    """The row with the entries array[..., j].

    >>> row_of(jnp.array([0.25, 0.75])), row_of(jnp.ones((5, 4))).shape
    ([Array(0.25, dtype=float32), Array(0.75, dtype=float32)], (4, 5))
    """
    states = array.shape[-1]
    return [array[..., j] for j in range(states)] if states <= MOST_LISTED else jnp.moveaxis(array, -1, 0)


def array_of(row: Row) -> Array:
    """The entries of a row along the last axis: the reverse of `row_of`."""
    return jnp.stack(row, -1) if isinstance(row, list) else jnp.moveaxis(row, 0, -1)


def beside(row: Row, number: Array) -> Array:
    """An array [...] in the shape of a number that belongs to this row as a whole."""
    return number if isinstance(row, list) else number[None]


def alone(row: Row, number: Array) -> Array:
    """A number that belongs to this row as a whole, as an array [...]: the reverse of `beside`."""
    return number if isinstance(row, list) else number[0]


def each(function: Callable[..., Array], *rows: Row) -> Row:
    """The row of function(a_j, b_j, ...) for the entries of the rows."""
    if isinstance(rows[0], list):
        return [function(*entries) for entries in zip(*rows, strict=True)]
    return function(*rows)


def kept(row: Row) -> Row:
    """The row; a longer one is computed once, so that its entries have the same digits wherever they are compared."""
    return row if isinstance(row, list) else computed_once(row)


def sum_of(row: Row) -> Array:
    """The sum of row_j over the states, always in the same order."""
    return sum(row) if isinstance(row, list) else _in_pairs(jnp.add, row)  # type: ignore[return-value]


def dot(row: Row, other: Row) -> Array:
    """The sum of row_j other_j over the states."""
    return sum_of(each(lambda a, b: a * b, row, other))


def chosen_sum(row: Row, chosen: Row) -> Array:
    """The sum of row_j over the states where chosen_j is true."""
    return sum_of(each(lambda value, here: jnp.where(here, value, 0), row, chosen))


def some(flags: Array) -> Array:
    """Whether any flag is set; that of a single number is not reduced."""
    return jnp.any(flags) if flags.ndim else flags


def largest(row: Row) -> Array:
    """The largest entry."""
    return reduce(larger, row) if isinstance(row, list) else _in_pairs(larger, row)


def smallest(row: Row) -> Array:
    """The smallest entry."""
    return reduce(smaller, row) if isinstance(row, list) else _in_pairs(smaller, row)


def room(row: Row) -> float:
    """By how much two numbers up to 1 may differ that count as equal: a few roundings."""
    return 8 * float(np.finfo(row[0].dtype).eps)


def first_largest(row: Row) -> Row:
    """Where the largest of the entries is, which are not negative: true for one state, the first of equals."""
    more = 1 + room(row)

    def further(a: tuple[Array, Array], b: tuple[Array, Array]) -> tuple[Array, Array]:
        ahead = b[0] > a[0] * more
        return jnp.where(ahead, b[0], a[0]), jnp.where(ahead, b[1], a[1])

    if isinstance(row, list):
        numbers = [jnp.full(entry.shape, j, jnp.int32) for j, entry in enumerate(row)]
        _, first = reduce(further, zip(row, numbers, strict=True))
        return [first == number for number in numbers]
    states = jax.lax.broadcasted_iota(jnp.int32, row.shape, 0)
    _, first = _in_pairs(further, (row, states))
    return jnp.asarray(states == first)


def at_largest(row: Row, *others: Row) -> list[Array]:
    """The entries of the other rows at the state where `row` is largest; on ties, at the first such state."""
    if isinstance(row, list):
        top, entries = row[-1], [other[-1] for other in others]
        for j in reversed(range(len(row) - 1)):
            entries = [jnp.where(row[j] >= top, other[j], value) for other, value in zip(others, entries, strict=True)]
            top = larger(row[j], top)
        return entries
    return [_in_pairs(_of_larger, (row, other))[1] for other in others]


def _of_larger(a: tuple[Array, Array], b: tuple[Array, Array]) -> tuple[Array, Array]:
    """The pair with the larger first number; the first one of equals."""
    return larger(a[0], b[0]), jnp.where(a[0] >= b[0], a[1], b[1])


def _in_pairs(operation: Callable[[Any, Any], Any], row: Any) -> Any:
    """An associative operation on all entries [S, ...], in pairs of neighbours, then of pairs, and so on: [1, ...].

    XLA's own reductions over a first axis are not vectorised over the last one. The result is computed once: XLA would
    repeat these few cheap operations for every entry of a row that is made with it.
    """
    rest = []
    while (states := len(jax.tree.leaves(row)[0])) > 1:
        pairs = partial(jax.lax.slice_in_dim, limit_index=states - states % 2, stride=2)
        even, odd = (jax.tree.map(partial(pairs, start_index=start), row) for start in (0, 1))
        rest += [jax.tree.map(lambda array: array[-1:], row)] * (states % 2)
        row = operation(even, odd)
    return jax.tree.map(computed_once, reduce(operation, reversed(rest), row))
