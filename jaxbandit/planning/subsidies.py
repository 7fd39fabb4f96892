"""Whittle indices inside the rounds: `indices.whittle` for traced numbers.

Systems of linear equations are solved by elimination from the last state to the first, in which the chance to leave a
state is the sum of the chances of where the arm goes, never 1 less the chance to stay (Grassmann, Taksar and Heyman
1985). So float32 keeps its digits, also without a discount, unless a state is left very seldom (`RAREST`).
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.base import total
from jaxbandit.fast import computed_once, larger

WRITTEN_OUT = 3  # states up to which the steps are written out, not a loop
ROUNDING = 1e-6  # a subsidy that makes playing worse by less counts as one that makes no difference
RAREST = 1e-6  # states that are left for the others less often count as left so often, and the process as ended then
NONE = 3e38  # in place of a subsidy that does not exist


def whittle(active: Array, passive: Array, earned: Array, kept: Array, discount: ArrayLike | None = None) -> Array:
    """Whittle index [..., S] of every state: the least subsidy for which it is optimal not to play there.

    The adaptive greedy algorithm: a subsidy is paid for every round in which the arm is not played. In each of S steps
    the value of not playing in the states found so far, and there alone, is linear in the subsidy; the state in which
    the least subsidy makes one round without a play as good as one with a play is found next, and that subsidy is
    its index. An arm that is not indexable has no Whittle index: the numbers of the steps are returned as they are,
    without a mark. `indices.whittle` on the host recognises such arms. States that are left for the others less often
    than once in a million rounds count as left so often, and a discount counts as its float32 value: for arms that move
    less often, or a discount above 0.9999, the indices of the host are the exact ones.

    Args:
      active, passive: [..., S, S], the rows by which an arm moves that is played, or is not.
      earned, kept: [..., S], what is paid on average for a round in a state in which it is played, or is not.
      discount: from 0 to below 1; None for the long-run average, for which the arm must have a single recurrent class
        whichever states it is played in.

    Returns:
      [..., S], finite numbers.

    Source: Whittle 1988; Nino-Mora 2007; Gast, Gaujal and Khun 2023.

    >>> active, passive = jnp.array([[0.5, 0.5], [0.4, 0.6]]), jnp.array([[0.8, 0.2], [0.2, 0.8]])
    >>> jax.jit(whittle)(active, passive, jnp.array([0.5, 0.6]), jnp.zeros(2), 0.9).round(5).tolist()
    [0.52967, 0.6]
    """
    states = earned.shape[-1]
    factor = jnp.asarray(1 if discount is None else discount, earned.dtype)
    change, more = factor * (active - passive), earned - kept

    def step(_: Array, loop: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        index, stopped, last = loop
        rows, paid = jnp.where(stopped[..., None], passive, active), jnp.where(stopped, kept, earned)
        fixed, slope = _relative_values(rows, paid, stopped.astype(earned.dtype), factor)
        gain = more + total(change * fixed[..., None, :])  # of playing in a state once, less loss * subsidy
        loss = 1 - total(change * slope[..., None, :])
        falls = loss > ROUNDING
        worth = jnp.where(falls, gain / jnp.where(falls, loss, 1), NONE)
        least, here = _least(computed_once(jnp.where(stopped, jnp.inf, worth)))
        subsidy = jnp.where(least < NONE, least, last)
        return jnp.where(here, subsidy[..., None], index), stopped | here, subsidy

    nothing = jnp.zeros_like(more)
    start = nothing, jnp.zeros_like(nothing, bool), nothing[..., 0]
    return jax.lax.fori_loop(0, states, step, start, unroll=states <= WRITTEN_OUT)[0]


def _relative_values(rows: Array, paid: Array, subsidised: Array, factor: Array) -> tuple[Array, Array]:
    """Relative values [..., S] of the rewards and of the subsidies, 0 in the state that is visited most.

    With b the discounted number of rounds until that state is next entered, and a what they pay, the relative values
    are a - g b, where g = a / b in that state. A state that is hardly ever visited would make b large, and the
    difference inexact.
    """
    home = _most_visited(rows)
    elsewhere = factor * jnp.where(home[..., None, :], 0, rows)
    ended = (1 - factor) + factor * total(jnp.where(home[..., None, :], rows, 0))
    amounts = jnp.stack([paid, subsidised, jnp.ones_like(paid)], axis=-2)  # [..., 3, S]
    until = _solved(elsewhere, ended, amounts)
    once = total(jnp.where(home[..., None, :], until, 0))
    mean = once[..., :2] / once[..., 2:]
    values = computed_once(until[..., :2, :] - mean[..., None] * until[..., 2:, :])
    return values[..., 0, :], values[..., 1, :]


def _solved(rows: Array, ended: Array, amounts: Array) -> Array:
    """x [..., C, S] with x_i = given_i + sum over j of rows_ij x_j, where row i lacks ended_i [..., S] to sum to 1."""
    backwards = []
    for last in reversed(range(amounts.shape[-1])):
        row, own = rows[..., last, :last], amounts[..., last]
        leaves = larger(ended[..., last] + total(row), RAREST)[..., None]
        backwards.append((row / leaves, own / leaves))
        share = rows[..., :last, last] / leaves
        rows = computed_once(rows[..., :last, :last] + share[..., None] * row[..., None, :])
        ended = computed_once(ended[..., :last] + share * ended[..., last, None])
        amounts = computed_once(amounts[..., :last] + share[..., None, :] * own[..., None])
    solution: list[Array] = []
    for row, own in reversed(backwards):
        solution.append(own + sum(row[..., j, None] * solution[j] for j in range(len(solution))))
    return jnp.stack(solution, axis=-1)


def _most_visited(rows: Array) -> Array:
    """Where the largest of a chain's long-run shares of rounds is, [..., S] bool; on ties the first."""
    states, shares = rows.shape[-1], []
    for last in range(states - 1, 0, -1):
        row = rows[..., last, :last]
        shares.append(rows[..., :last, last] / larger(total(row), RAREST)[..., None])
        rows = computed_once(rows[..., :last, :last] + shares[-1][..., None] * row[..., None, :])
    law = [jnp.ones_like(rows[..., 0, 0])]
    for share in reversed(shares):
        law.append(computed_once(sum(share[..., i] * law[i] for i in range(len(law)))))  # type: ignore[arg-type]
    return _least(jnp.stack([-weight for weight in law], axis=-1))[1]


def _least(values: Array) -> tuple[Array, Array]:
    """The least of the values [..., S], and where it is [..., S] bool, the first on ties; compared one by one."""
    least, place = values[..., 0], jnp.zeros(values.shape[:-1], jnp.int32)
    for n in range(1, values.shape[-1]):
        better = values[..., n] < least
        least, place = jnp.where(better, values[..., n], least), jnp.where(better, n, place)
    return least, jax.lax.broadcasted_iota(jnp.int32, values.shape, values.ndim - 1) == computed_once(place)[..., None]
