"""The chains of two arms with three or more states at which the arms' means meet at the least loss of likelihood.

With n transitions of an arm, N_s departures from state s and p_s its estimated row, let

    D(Q) = sum over s of N_s KL(p_s || Q_s),    W(a, b) = least D_a(P) + D_b(Q) over chains with mean(P) <= mean(Q).

The states are in the order of their rewards, which are scaled to [0, 1]. With phi(Q) = log(mean / (1 - mean)) and a
price rho >= 0 of the constraint phi(P) <= phi(Q) the chains sought are those of least D_a(P) + rho phi(P) and of least
D_b(Q) - rho phi(Q). Such a chain has rows P_sj = n_sj / (c_s + x_s b_j), x its stationary law, b its relative values
times the price, and c_s so that row s adds up to 1. This is a fixed point, which is approached in damped steps; there
can be others far away. `certified_order` bounds W from below over all chains.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

STEPS = 14
DAMPING = 0.5  # the part of a step that is taken; whole steps oscillate where a chain is far from the estimated one
MOST = 0.9  # the largest price, in departures from the state that a lower mean would hold: at 1, nothing bounds D


class Chain(NamedTuple):
    """A chain near the estimated one."""

    rows: Array  # [S, S]
    law: Array  # [S]
    mean: Array
    values: Array  # [S], r_j + h_j in units of phi, h its relative values
    spread: Array  # twice the fall of D by which phi grows by 1, about


class Meeting(NamedTuple):
    """Two arms' chains, and the price rho at which their means meet."""

    price: Array
    leader: Chain
    other: Chain


def meeting(counts: Array, counts_b: Array, reward: Array) -> Meeting:
    """Where the means of arms a and b meet, as far as small changes tell.

    Args:
      counts, counts_b: [S, S] float, with departures from every state.
      reward: [S], increasing from 0 to 1.
    """
    estimated, estimated_b = (n / total_of_rows(n) for n in (counts, counts_b))
    a, b = _chain(estimated, counts, reward), _chain(estimated_b, counts_b, reward)
    most = MOST * smaller_of(counts[0, 1:].sum(), counts_b[-1, :-1].sum())

    def closer(_: Array, carry: tuple[Array, Tilt, Tilt, Chain, Chain]) -> tuple[Array, Tilt, Tilt, Chain, Chain]:
        price, tilt, tilt_b, a, b = carry
        price = jnp.clip(price + (log_odds(a.mean) - log_odds(b.mean)) / (a.spread + b.spread), 0, most)
        tilt, tilt_b = _damped(tilt, a), _damped(tilt_b, b)
        a = _chain(tilted(counts, tilt.law, price * tilt.values)[0], counts, reward)
        b = _chain(tilted(counts_b, tilt_b.law, -price * tilt_b.values)[0], counts_b, reward)
        return price, tilt, tilt_b, a, b

    start = (jnp.zeros_like(a.mean), Tilt(a.law, a.values), Tilt(b.law, b.values), a, b)
    price, _, _, a, b = jax.lax.fori_loop(0, STEPS, closer, start)
    return Meeting(price, a, b)


class Tilt(NamedTuple):
    """What tilts the rows of the next chain."""

    law: Array  # [S]
    values: Array  # [S]


def tilted(counts: Array, law: Array, values: Array) -> tuple[Array, Array]:
    """The rows [S, S] n_sj / (c_s + x_s b_j) with x = `law` and b = `values`, and c [S], so that each adds up to 1."""
    push = law[:, None] * values[None]
    start = jnp.where(counts > 0, counts - push, -jnp.inf).max(1)  # at most c, so that Newton's steps only grow

    def closer(_: Array, c: Array) -> Array:
        share = counts / jnp.where(counts > 0, c[:, None] + push, 1)
        return c + (share.sum(1) - 1) / (share * share / jnp.where(counts > 0, counts, 1)).sum(1)

    c = jax.lax.fori_loop(0, 8, closer, start)
    rows = counts / jnp.where(counts > 0, c[:, None] + push, 1)
    return rows / rows.sum(1)[:, None], c


def divergence(counts: Array, rows: Array) -> Array:
    """D of a chain with these rows."""
    estimated = counts / total_of_rows(counts)
    return -(counts * jnp.log(jnp.where(counts > 0, rows, 1) / jnp.where(counts > 0, estimated, 1))).sum()


def log_odds(mean: Array) -> Array:
    return jnp.log(mean) - jnp.log1p(-mean)


def inverse(matrix: Array) -> Array:
    """The inverse [S, S] by elimination, for matrices whose pivots are not small.

    >>> jax.jit(inverse)(jnp.array([[2.0, 1.0], [1.0, 1.0]])).tolist()
    [[1.0, -1.0], [-1.0, 2.0]]
    """
    size = matrix.shape[0]
    here = jnp.arange(size)[:, None]
    both = jnp.concatenate([matrix, jnp.eye(size, dtype=matrix.dtype)], axis=1)
    for k in range(size):
        row = both[k][None] / both[k, k]
        both = jnp.where(here == k, row, both - both[:, k][:, None] * row)
    return both[:, size:]


def total_of_rows(counts: Array) -> Array:
    return counts.sum(1)[:, None]


def smaller_of(one: Array, other: Array) -> Array:
    return jnp.where(one < other, one, other)


def _chain(rows: Array, counts: Array, reward: Array) -> Chain:
    resolvent = inverse(jnp.eye(len(rows), dtype=rows.dtype) - rows + 1)
    law = resolvent.sum(0)
    paid = (rows * reward[None]).sum(1)
    mean = (law * paid).sum()
    slope = 1 / (mean * (1 - mean))  # of phi by the mean
    values = slope * (reward + (resolvent * (paid - mean)[None]).sum(1))
    centred = values[None] - (rows * values[None]).sum(1)[:, None]
    spread = (law * law * (rows * centred * centred).sum(1) / counts.sum(1)).sum()
    return Chain(rows, law, mean, values, spread)


def _damped(old: Tilt, new: Chain) -> Tilt:
    law = jnp.exp((1 - DAMPING) * jnp.log(old.law) + DAMPING * jnp.log(new.law))
    return Tilt(law / law.sum(), (1 - DAMPING) * old.values + DAMPING * new.values)
