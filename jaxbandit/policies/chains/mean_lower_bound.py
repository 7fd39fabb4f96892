"""A lower bound on the stationary mean of an estimated chain that costs S operations a play; the mean itself costs S^3.

Let N_sj count the transitions of a path of N plays from state a to state b, let P be the rows N_sj / N_s, r the rewards
of the states and M the stationary mean of P. For any numbers h let g_s = r_s + sum over j of P_sj h_j - h_s. The shares
N_s / N are almost stationary for P: one step of P changes them by 1 / N at the two ends of the path alone. Therefore

    M = m + ((h - r)_b - (h - r)_a) / N + (e_b - e_a) / N,

where m is the mean reward of the states that the plays led to, and e solves e - P e = g - M. As M lies between the
smallest and the largest g, |e_b - e_a| <= (max g - min g) (T_a + T_b), where T is the expected number of plays until
the chain is in one chosen state. If numbers t, 0 in that state, satisfy t_s >= 1 - d + sum over j of P_sj t_j in all
others with d < 1, then T <= t / (1 - d).

So h and t may come from an older estimate: a play changes one row, and with it one g and one of these inequalities. If
h are the relative values of an estimate, all its g are equal, and every play moves them apart by a little.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from jaxbandit.confidence.row import alone, chosen_sum, dot, largest, row_of, smallest
from jaxbandit.fast import larger, smaller

ROUNDING = 1e-5  # more than the relative rounding error of a sum of 64 products


class Reference(NamedTuple):
    """Relative values and times of each arm's chain as it was estimated once, and how far they are off by now.

    Fields:
      values: [K, S], the numbers h.
      times: [K, S], the numbers t.
      highest: [K], the largest value of h - r.
      longest: [K], the largest t.
      size: [K], the largest |h|.
      least, largest: [K], bounds on all g.
      slower: [K], an upper bound on d.
    """

    values: Array
    times: Array
    highest: Array
    longest: Array
    size: Array
    least: Array
    largest: Array
    slower: Array


def no_reference(arms: int, states: int) -> Reference:
    """Before anything was computed: `lower_bound` is -inf."""
    nothing, none = jnp.zeros((arms, states)), jnp.zeros(arms)
    return Reference(nothing, nothing, none, none, none, none, none, none + 1)


def reference_of(rows: Array, reward: Array, values: Array, times: Array) -> Reference:
    """The reference of one arm with the estimated rows [S, S], from numbers h and t [S] that suit them."""
    longest, size = largest(times)[0], largest(jnp.abs(values))[0]
    gain = reward + _product(rows, values[None]) - values
    slower = jnp.where(times > 0, _product(rows, times[None]) - times + 1, 0)
    return Reference(
        values,
        times,
        highest=largest(values - reward)[0],
        longest=longest,
        size=size,
        least=smallest(gain)[0] - ROUNDING * (1 + size),
        largest=largest(gain)[0] + ROUNDING * (1 + size),
        slower=largest(slower)[0] + ROUNDING * longest,
    )


def after_a_departure(known: Reference, row: Array, state: Array, reward: Array) -> Reference:
    """The references [M] of arms that left `state` [M] and whose rows of that state are estimated as `row` [M, S]."""
    value, time, paid = (entry(numbers, state) for numbers in (known.values, known.times, reward))
    gain, rounding = paid + _product(row, known.values) - value, ROUNDING * (1 + known.size)
    slower = _product(row, known.times) - time + 1 + ROUNDING * known.longest
    return known._replace(
        least=smaller(known.least, gain - rounding),
        largest=larger(known.largest, gain + rounding),
        slower=larger(known.slower, jnp.where(time > 0, slower, 0)),
    )


def lower_bound(known: Reference, mean: Array, plays: Array, state: Array, reward: Array) -> Array:
    """A lower bound [M] on the stationary means of estimates from unbroken paths of M arms; -inf or NaN if unknown.

    Args:
      mean: [M], of the rewards [M, S] of the states that the plays led to.
      plays: [M].
      state: [M], the last state.
    """
    ends = known.highest - entry(known.values - reward, state)
    error = 2 * (known.largest - known.least) * known.longest / (1 - known.slower)
    return jnp.where(known.slower < 1, mean - (ends + error) / plays - ROUNDING, -jnp.inf)


def _product(row: Array, other: Array) -> Array:
    """The sums [...] of products of the entries, always in the same order."""
    return alone(row_of(row), dot(row_of(row), row_of(other)))


def entry(row: Array, state: Array) -> Array:
    """row[m, state[m]] for each m."""
    here = jnp.arange(row.shape[-1])[None] == state[:, None]
    return alone(row_of(row), chosen_sum(row_of(row), row_of(here)))
