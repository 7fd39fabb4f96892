"""The log-likelihood ratio of the transitions of one chain, for chains with a given stationary mean.

n_sj transitions from state s to state j were seen, N_s departures from state s, p_s = n_s / N_s. For three and more
states this module computes

    J(m) = the smallest sum over s of N_s KL(p_s || Q_s) over the chains Q with a stationary mean of at least m.

With a gap g, Q is among the chains whose relative values u obey (max r - min r) / (max u - min u) >= g. For two states
the left side is p01 + p10; for a chain whose rows are all the same it is 1. `multistart` searches for the minimum from
several starting points, because there can be several local minima. Three states without a gap are solved in the
program's floats and all other cases in float64, because the equations of a chain that hardly moves need more digits
than float32 has.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from jaxbandit.base import total
from jaxbandit.confidence.chain.interior_point import TINY
from jaxbandit.confidence.chain.multistart import STEPS_OF_THREE, class_likeliest, least
from jaxbandit.confidence.row.arithmetic import alone, array_of, dot, each, largest, row_of, sum_of
from jaxbandit.confidence.row.stationary_mean import excursions
from jaxbandit.fast import larger, smaller

_STEPS_OF_BOUND = 8


def in_double_where_needed(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of counts, ..., gap, computed in float64 except for three states without a gap.

    Its results are rounded to the program's floats.
    """

    @wraps(function)
    def run(counts: Array, *numbers: Array | None, gap: Array | None = None, **options: int) -> Any:
        if counts.shape[-1] == 3 and gap is None:  # whose steps are written for float32
            return function(counts, *numbers, gap=gap, **options)
        dtype = jnp.result_type(float)
        with jax.enable_x64(True):
            wide = [None if a is None else jax.lax.convert_element_type(a, jnp.float64) for a in (*numbers, gap)]
            results = function(counts, *wide[:-1], gap=wide[-1], **options)
            return jax.tree.map(lambda a: jax.lax.convert_element_type(a, dtype), results)

    return run


@in_double_where_needed
def likeliest(counts: Array, reward: Array, *, gap: Array | None) -> tuple[Array, Array]:
    """The stationary mean [...] of the class's likeliest chain, the largest if there are several, and J of that chain.

    Args:
      counts: n, [..., S, S] int, the transitions of one trajectory, up to about 1e7 of them.
      reward: r, [..., S], in [0, 1], paid on arrival.
      gap: None for all chains, for which J is 0; or [...] in [0, 1].

    >>> counts = jnp.array([[30, 10, 5], [10, 20, 10], [5, 10, 15]])
    >>> mean, _ = jax.jit(likeliest)(counts, jnp.array([0.0, 0.5, 1.0]), gap=None)
    >>> round(float(mean), 4)
    0.4348
    """
    if gap is None:
        mean = estimated_mean(counts, reward)
        return mean, jnp.zeros_like(mean)
    return class_likeliest(counts, reward, gap)


@in_double_where_needed
def likelihood_ratio(
    counts: Array, reward: Array, mean: Array, *, gap: Array | None, steps: int = STEPS_OF_THREE
) -> Array:
    """J(mean) [...] as above, over all chains or those of the class; 1e30 where none was found, never NaN.

    Args:
      counts, reward, gap: as in `likeliest`.
      mean: m, [...], larger than that of the likeliest chain, and less than the largest reward.
      steps: for three states without a gap.

    Source: Burnetas and Katehakis 1997 for the ratio; the solver is our own.

    >>> counts = jnp.array([[30, 10, 5], [10, 20, 10], [5, 10, 15]])
    >>> ratio = jax.jit(likelihood_ratio)(counts, jnp.array([0.0, 0.5, 1.0]), jnp.array(0.6), gap=None)
    >>> round(float(ratio), 2)
    3.5
    """
    return least(counts, reward, mean, gap, steps)[0]


@in_double_where_needed
def mean_upper(counts: Array, reward: Array, level: Array, *, gap: None = None) -> Array:
    """The largest mean m [...] with J(m) <= level, over all chains.

    The root is sought in y, m = low + (top - low) (1 - exp(-y)), by Newton's steps on the square root of J, which is
    nearly a line near `low`; the derivative of J by m is the sum of the weights. A step that would leave the interval
    in which the root is known to lie goes to the interval's middle.

    Args:
      counts, reward: as in `likeliest`.
      level: [...], at least 0, inf too.
      gap: a class of chains has no such bound here.

    >>> counts = jnp.array([[30, 10, 5], [10, 20, 10], [5, 10, 15]])
    >>> round(float(jax.jit(mean_upper)(counts, jnp.array([0.0, 0.5, 1.0]), jnp.array(3.5))), 3)
    0.6
    """
    low, top = estimated_mean(counts, reward), jnp.max(reward, -1)
    level = jnp.broadcast_to(level, low.shape)
    span = top - low
    root = jnp.sqrt(larger(level, TINY))

    # 1 - exp(-y) comes as near to 1 as floats do at y = 17, so that means next to the best reward can be met
    def better(_: Array, carry: tuple[Array, ...]) -> tuple[Array, ...]:
        y, left, right = carry
        mean = low + span * -jnp.expm1(-y)
        ratio, slope = least(counts, reward, mean, gap)
        ratio = larger(ratio, TINY)
        slope = larger(slope * span * jnp.exp(-y), TINY) / 2  # sqrt(ratio) times the derivative of sqrt(J) by y
        left, right = jnp.where(ratio <= level, y, left), jnp.where(ratio <= level, right, y)
        proposal = y + (root - jnp.sqrt(ratio)) * jnp.sqrt(ratio) / slope
        slack = 1e-3 * y  # at the root itself, rounding decides on which side of it the next step lands
        inside = (proposal > left - slack) & (proposal < right + slack)
        return jnp.where(inside, proposal, (left + right) / 2), left, right

    begin = jnp.ones_like(low)
    y, _, _ = jax.lax.fori_loop(0, _STEPS_OF_BOUND, better, (begin, 0 * begin, 17 * begin))
    return jnp.where(level > 0, smaller(low + span * -jnp.expm1(-y), top), low)


def estimated_mean(counts: Array, reward: Array) -> Array:
    """The largest stationary mean of a chain with the rows p_s, and any row in a state that was never left."""
    left, states = total(counts), counts.shape[-1]
    eye = jnp.broadcast_to(jnp.eye(states, dtype=bool), counts.shape)
    p = counts.astype(float) / jnp.maximum(left, 1)[..., None].astype(float)
    p = jnp.where((left > 0)[..., None], p, 1 / states)  # a state that was never left may lead anywhere
    entered = total(jnp.swapaxes(jnp.where(eye, 0, counts), -1, -2))
    last = row_of((left == 0) & (entered > 0))  # entered by the last play, and by no other
    often = row_of(left)
    # cycles are counted from the state that was left most often, whose row has the most digits; but from the state that
    # the last play came to for the first time, if there is one, as its row is free
    home, most, ends = (jnp.zeros(left.shape[:-1], kind) for kind in (jnp.int32, jnp.int32, bool))
    for s in range(states):
        chosen = (often[s] > most) & ~ends | last[s]
        home, most, ends = jnp.where(chosen, s, home), jnp.where(chosen, often[s], most), ends | last[s]
    row, means, lengths, _ = excursions(p, reward, home, jnp.zeros(home.shape))
    taken = each(lambda a, b: a * b, row, lengths)
    mean = jnp.where(ends, alone(row, largest(means)), alone(row, dot(taken, means) / sum_of(taken)))
    # such a chain may also stay for ever in a single state that was never left for another one
    stays = total(jnp.where(eye, counts, 0)) == left
    return larger(mean, alone(row, largest(row_of(jnp.where(stays, reward, -1)))))


def spread_of_values(counts: Array, reward: Array) -> Array:
    """The range [...] of the relative values h of the chain with the rows p_s; inf where a state was never left.

    A cycle from the last state, whose h is 0, that begins with a step to state b, takes n plays and collects R in them
    has R - n m = r_b - m + h_b, m the chain's mean.

    >>> counts = jnp.array([[30, 10, 5], [10, 20, 10], [5, 10, 15]])
    >>> from jaxbandit import chains
    >>> values = chains.relative_values(counts / counts.sum(1, keepdims=True), [0.0, 0.5, 1.0])
    >>> spread = jax.jit(spread_of_values)(counts, jnp.array([0.0, 0.5, 1.0]))
    >>> bool(abs(spread - (values.max() - values.min())) < 1e-6)
    True
    """
    left, states = total(counts), counts.shape[-1]
    p = counts.astype(float) / jnp.maximum(left, 1)[..., None].astype(float)
    home = jnp.full(left.shape[:-1], states - 1)
    row, means, lengths = (array_of(numbers) for numbers in excursions(p, reward, home, jnp.zeros(home.shape))[:3])
    taken = row * lengths
    mean = (total(taken * means) / total(taken))[..., None]
    values = (means - mean) * lengths / lengths[..., -1:]
    spread = jnp.max(values, -1) - jnp.min(values, -1)
    return jnp.where(jnp.min(left, -1) > 0, spread, jnp.inf)
