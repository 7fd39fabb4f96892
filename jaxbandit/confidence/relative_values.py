"""How much less likely the transitions of one chain are, at best, under a chain with a given stationary mean.

N_s departures of state s were seen, n_sj of them to state j; p_s = n_s / N_s. Among all chains Q

    J(m) = the smallest sum over s of N_s KL(p_s || Q_s) with a stationary mean of at least m.

`interior` finds the chain. Its relative values u, and multipliers x_s of the rows' equations, give

    J(m) = sum over s of N_s sum over j of p_sj log(1 - x_s v_sj),    v_sj = u_j - u_s - (m - r_s),

where an error of u or x is squared. A class of chains that mix is given by `gap`: (max r - min r) / (max u - min u) is
at least the gap. For two states that is p01 + p10; for rows that are all the same it is 1.
"""

from __future__ import annotations

from functools import reduce

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base import Array, total
from jaxbandit.confidence.interior import TINY, Box, Point, ahead, staying, step
from jaxbandit.confidence.interior_of_three import Matrix, PointOfThree, step_of_three
from jaxbandit.confidence.larger import larger, smaller
from jaxbandit.confidence.rows import MOST_LISTED, Row, alone, array_of, beside, dot, each, largest, row_of, sum_of
from jaxbandit.confidence.stationary import excursions
from jaxbandit.fast import log, polynomial

STEPS_OF_THREE, STEPS_OF_MORE, STEPS_WITH_GAP = 14, 30, 40
INFINITE = 1e30  # in place of an infinite J
_PRIOR = 0.5  # transitions of each kind that was never seen, in the first step; a tenth of them in the next one
_LAST_PRIOR = 1e-6
_STEPS_OF_BOUND = 8
_TIE = 1e-4  # derivative by the mean of what is added to the likelihood, so that of several best chains


def likelihood_ratio(counts: Array, reward: Array, mean: Array, gap: Array | None = None) -> Array:
    """J(mean): by how much the likeliest chain with at least this mean is less likely than the likeliest one.

    J(m) = max of L - max of L over chains Q with a stationary mean of at least m, where L is the sum of n_sj log Q_sj.
    With a gap both maxima are over chains of the class. J is 0 up to `likeliest_mean`.

    Args:
      counts: n, [..., S, S] int, the transitions of one trajectory, up to about 1e7 of them.
      reward: r, [..., S], in [0, 1], paid on arrival.
      mean: m, [...], in [0, 1].
      gap: None for all chains, or [...] in [0, 1]: chains with (max r - min r) / (max u - min u) of at least gap.

    Returns:
      J [...], at least 0 and never NaN; 1e30 where no chain has the mean, the best reward included. Where the best paid
      state was never left J is 0. In float32, 92 of 100 are within 1e-5 max(1, J) and 97 within 1e-4; of chains
      that hardly move, and means far from their own, 2 in 100 are off by more than 1e-2. The search is local.

    Source: Burnetas and Katehakis 1997 for the ratio; the solver is our own.

    >>> counts = jnp.array([[30, 10, 5], [10, 20, 10], [5, 10, 15]])
    >>> round(float(likelihood_ratio(counts, jnp.array([0.0, 0.5, 1.0]), 0.6)), 2)
    3.5
    """
    counts, reward = jnp.asarray(counts), jnp.asarray(reward, float)
    mean = jnp.broadcast_to(jnp.asarray(mean, float), counts.shape[:-2])
    n, paid = _rows(counts, gap), jnp.moveaxis(reward, -1, 0)
    own, top = estimated_mean(counts, reward), _most(paid)
    if gap is None:
        ratio = _ratio(n, _found(n, paid, mean, None, free=False), paid)
    else:
        high = _span(reward, gap, mean.shape)
        within = _found(n, paid, own, high, free=True)
        ratio = _ratio(n, _found(n, paid, mean, high, free=False), paid) - _ratio(n, within, paid)
        own = _possible(within.mean, paid)
    ratio = jnp.where(own >= mean, 0, smaller(larger(ratio, 0), INFINITE))
    return jnp.where((mean >= top) & (own < mean), INFINITE, ratio)


def likeliest_mean(counts: Array, reward: Array, gap: Array | None = None) -> Array:
    """The stationary mean [...] of the likeliest chain of the class, of several the largest; arguments as above.

    >>> counts = jnp.array([[30, 10, 5], [10, 20, 10], [5, 10, 15]])
    >>> round(float(likeliest_mean(counts, jnp.array([0.0, 0.5, 1.0]))), 4)
    0.4348
    """
    counts, reward = jnp.asarray(counts), jnp.asarray(reward, float)
    own = estimated_mean(counts, reward)
    if gap is None:
        return own
    n, paid = _rows(counts, gap), jnp.moveaxis(reward, -1, 0)
    within = _found(n, paid, own, _span(reward, gap, own.shape), free=True)
    return _possible(within.mean, paid)


def mean_upper(counts: Array, reward: Array, level: Array) -> Array:
    """The largest mean m [...] with J(m) <= level, over all chains.

    The root is sought in y, m = low + (top - low) (1 - exp(-y)), by Newton's steps on the square root of J, which is
    nearly a line near `low`; the derivative of J by m is the sum of the weights. A step that would leave the interval
    in which the root is known to lie goes to the interval's middle.

    Args:
      counts, reward: as in `likelihood_ratio`.
      level: [...], at least 0, inf too.

    >>> counts = jnp.array([[30, 10, 5], [10, 20, 10], [5, 10, 15]])
    >>> round(float(mean_upper(counts, jnp.array([0.0, 0.5, 1.0]), 3.5)), 3)
    0.6
    """
    counts, reward = jnp.asarray(counts), jnp.asarray(reward, float)
    n, paid = _rows(counts, None), jnp.moveaxis(reward, -1, 0)
    low, top = estimated_mean(counts, reward), _most(paid)
    level = jnp.broadcast_to(jnp.asarray(level, float), low.shape)
    span = top - low
    root = jnp.sqrt(larger(level, TINY))

    def better(_: Array, carry: tuple[Array, ...]) -> tuple[Array, ...]:
        y, left, right = carry
        mean = low + span * -jnp.expm1(-y)
        point = _found(n, paid, mean, None, free=False)
        ratio = larger(_ratio(n, point, paid), TINY)
        slope = larger(jnp.sum(point.weight, 0) * span * jnp.exp(-y), TINY) / 2
        left, right = jnp.where(ratio <= level, y, left), jnp.where(ratio <= level, right, y)
        moved = y + (root - jnp.sqrt(ratio)) * jnp.sqrt(ratio) / slope
        slack = 1e-3 * y  # at the root itself, rounding decides on which side of it the next step lands
        inside = (moved > left - slack) & (moved < right + slack)
        return jnp.where(inside, moved, (left + right) / 2), left, right

    begin = jnp.ones_like(low)
    y, _, _ = jax.lax.fori_loop(0, _STEPS_OF_BOUND, better, (begin, 0 * begin, 17 * begin))
    return jnp.where(level > 0, smaller(low + span * -jnp.expm1(-y), top), low)


def estimated_mean(counts: Array, reward: Array) -> Array:
    """The largest stationary mean of a chain with the rows p_s, and any row in a state that was never left."""
    left, states = total(counts), counts.shape[-1]
    eye = jnp.broadcast_to(jnp.eye(states, dtype=bool), counts.shape)
    p = counts.astype(float) / jnp.maximum(left, 1)[..., None].astype(float)
    p = jnp.where((left > 0)[..., None], p, 1 / states)
    entered = total(jnp.swapaxes(jnp.where(eye, 0, counts), -1, -2))
    last = row_of((left == 0) & (entered > 0))  # entered by the last play, and by no other
    often = row_of(left)
    home, most, ends = (jnp.zeros(left.shape[:-1], kind) for kind in (jnp.int32, jnp.int32, bool))
    for s in range(states):
        chosen = (often[s] > most) & ~ends | last[s]
        home, most, ends = jnp.where(chosen, s, home), jnp.where(chosen, often[s], most), ends | last[s]
    row, means, lengths, _ = excursions(p, reward, home, jnp.zeros(home.shape))
    taken = each(lambda a, b: a * b, row, lengths)
    mean = jnp.where(ends, alone(row, largest(means)), alone(row, dot(taken, means) / sum_of(taken)))
    stays = total(jnp.where(eye, counts, 0)) == left
    return larger(mean, alone(row, largest(row_of(jnp.where(stays, reward, -1)))))


def _rows(counts: Array, gap: Array | None) -> Row:
    """n_sj as a row over j, whose entries are arrays [S, ...] over s; a list for three states without a gap."""
    n = jnp.moveaxis(counts, -2, 0).astype(float)
    listed = counts.shape[-1] == MOST_LISTED and gap is None
    return [n[..., j] for j in range(MOST_LISTED)] if listed else jnp.moveaxis(n, -1, 0)


def _possible(mean: Array, paid: Array) -> Array:
    """The mean, kept between the smallest and the largest reward, also where the steps have not arrived."""
    return larger(smaller(mean, _most(paid)), -_most(-paid))


def _span(reward: Array, gap: Array, shape: tuple[int, ...]) -> Array:
    """The largest difference of relative values that the class of chains allows."""
    gap = larger(jnp.broadcast_to(jnp.asarray(gap, float), shape), 1e-12)
    return larger(jnp.max(reward, -1) - jnp.min(reward, -1), 1e-12) / gap


def _found(n: Row, paid: Array, mean: Array, high: Array | None, free: bool) -> Point:
    """The likeliest chain with this mean, or of any mean."""
    begun, extra = _begun(n, paid, mean, high)
    many = STEPS_WITH_GAP if high is not None else STEPS_OF_THREE if isinstance(n, list) else STEPS_OF_MORE
    push = jnp.full_like(mean, _TIE) if free else None

    def again(i: Array, carry: tuple[Point, Array]) -> tuple[Point, Array]:
        point, share = carry
        seen = jnp.where(i < many - 3, share, 0)
        target = each(lambda a, b: jnp.where(a > 0, a + seen * b, larger(share * b, _LAST_PRIOR)), n, extra)
        barrier = larger(_PRIOR * share, _LAST_PRIOR)
        return step(point, target, paid, barrier, push), share * 0.1

    share = jnp.ones((), mean.dtype)
    if isinstance(n, list):
        return _found_of_three(n, paid, begun, extra)
    point: Point = jax.lax.fori_loop(0, many, again, (begun, share))[0]
    return point


def _found_of_three(n: Row, paid: Array, begun: Point, extra: Row) -> Point:
    """The same for three states and a given mean."""
    places = range(3)

    def turned(row: Row) -> Matrix:
        """A row over j of arrays over s, as numbers [s][j]."""
        return [[row[j][s] for j in places] for s in places]

    seen, more, gain = turned(n), turned(extra), [begun.mean - paid[s] for s in places]

    def again(i: Array, carry: tuple[PointOfThree, Array]) -> tuple[PointOfThree, Array]:
        point, share = carry
        kept = jnp.where(i < STEPS_OF_THREE - 3, share, 0)
        target = [
            [jnp.where(a > 0, a + kept * b, larger(share * b, _LAST_PRIOR)) for a, b in zip(row, added, strict=True)]
            for row, added in zip(seen, more, strict=True)
        ]
        return step_of_three(point, target, gain), share * 0.1

    matrices = (turned(row) for row in (begun.q, begun.slack, begun.drift))
    point = PointOfThree(*matrices, *map(list, (begun.weight, begun.total, begun.value, begun.moment)))
    share = jnp.ones((), begun.mean.dtype)
    point, _ = jax.lax.fori_loop(0, STEPS_OF_THREE, again, (point, share))
    slack, drift = ([jnp.stack([row[j] for row in rows]) for j in places] for rows in (point.slack, point.drift))
    weight, total, value = (jnp.stack(numbers) for numbers in (point.weight, point.total, point.value))
    return begun._replace(slack=slack, drift=drift, weight=weight, total=total, value=value)


def _begun(n: Row, paid: Array, mean: Array, high: Array | None) -> tuple[Point, Row]:
    """The point to begin from, and the transitions that were added to n so that its chain has about the mean asked for.

    They are half a transition of each kind that was not seen, and transitions to the best paid state, in each state
    as many as make the chain leave the state by the same factor more often.
    """
    same = staying(n, paid)
    first = each(lambda a: jnp.where(a > 0, a, _PRIOR), n)
    top, bottom = _most(paid), -_most(-paid)
    leaving = sum_of(each(lambda a, here: jnp.where(here, 0, a), first, same))
    best = [(a >= top)[None] for a in paid] if isinstance(n, list) else (paid >= top[None])[:, None]

    def odds(a: Array) -> Array:
        return larger(a - bottom, TINY) / larger(top - a, 1e-7)

    moved, factor = first, jnp.ones_like(mean)
    q, now, value = _chain(moved, paid)
    for _ in range(2):
        factor = larger(smaller(factor * odds(mean) / odds(now), 1e9), 1.0)
        more = leaving * beside(n, (factor - 1)[None])
        moved = each(lambda a, here, more=more: a + jnp.where(here, more, 0), first, best)
        q, now, value = _chain(moved, paid)
    whole = sum_of(moved)
    slack = each(lambda a: a * 0 + whole, moved)
    nothing, box = jnp.zeros_like(paid), None
    moment = nothing - (mean - now)[None]
    if high is not None:
        lowest = -_most(-value)
        span = larger(_most(value) - lowest, TINY)
        shrunk = smaller(0.8 * high / span, 1.0)
        value = smaller(0.1 * high, span)[None] + (value - lowest[None]) * shrunk[None]
        box = Box(high, _PRIOR / value, _PRIOR / (high[None] - value))
    point = Point(q, slack, each(jnp.zeros_like, n), nothing, alone(n, whole), value, mean, moment, nothing, box)
    if high is not None:
        point = point._replace(moment=alone(n, dot(q, ahead(point, paid))))
    return point, each(lambda a, b: a - b, moved, n)


def _chain(counts: Row, paid: Array) -> tuple[Row, Array, Array]:
    """The rows of a chain, all positive, its stationary mean and its relative values, which are 0 in the last state."""
    whole = sum_of(counts)
    q = each(lambda a: a / whole, counts)
    reward = jnp.moveaxis(paid, 0, -1)
    home = jnp.full(reward.shape[:-1], reward.shape[-1] - 1, jnp.int32)
    transition = jnp.moveaxis(jnp.stack(q), (0, 1), (-1, -2))
    row, means, lengths, _ = excursions(transition, reward, home, jnp.zeros(home.shape))
    taken = each(lambda a, b: a * b, row, lengths)
    mean = alone(row, dot(taken, means) / sum_of(taken))
    lasting = jnp.moveaxis(array_of(lengths), -1, 0)
    gained = lasting * (jnp.moveaxis(array_of(means), -1, 0) - mean[None]) / lasting[-1:]
    return q, mean, gained - gained[-1:]


def _ratio(n: Row, point: Point, paid: Array) -> Array:
    """The sum over s of N_s sum over j of p_sj log(1 - x_s v_sj), x_s = weight_s / total_s.

    Where x v is small it is x times minus the mean of v, less sums of positive terms: the first order of the
    logarithms, which all but cancels, is taken out.
    """
    v = ahead(point, paid)
    x = beside(n, point.weight / point.total)
    inverse = 1 / point.total

    def excess(v: Array, slack: Array, drift: Array) -> Array:
        w = x * v
        near = jnp.abs(w) < 0.25
        small = jnp.where(near, w, 0)
        one = larger((slack + drift) * beside(n, inverse), 1e-12)
        return jnp.where(near, _excess(small), w + log(one))

    parts = dot(n, each(excess, v, point.slack, point.drift)) - x * dot(n, v)
    return total(jnp.moveaxis(alone(n, parts), 0, -1))


def _excess(w: Array) -> Array:
    """log(1 - w) + w for |w| <= 1/4, by its series."""
    return w * w * polynomial(w, [-1 / k for k in range(2, 12 if np.finfo(w.dtype).bits == 32 else 26)])


def _most(values: Array) -> Array:
    """The largest along the first axis."""
    return reduce(larger, values) if len(values) <= MOST_LISTED else jnp.max(values, 0)
