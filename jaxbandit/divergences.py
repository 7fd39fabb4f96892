"""Distances between laws: the Bernoulli KL divergence, and distances between the rows of a transition matrix."""

from __future__ import annotations

from typing import Literal

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.arguments import Numbers, accepts, choice
from jaxbandit.base import total

__all__ = [
    "DISTANCES",
    "Distance",
    "bernoulli_kl",
    "farthest",
    "jensen_shannon",
    "kl",
    "log_p_value",
    "squared_hellinger",
    "threshold",
    "total_variation",
]

Distance = Literal["total_variation", "squared_hellinger", "jensen_shannon", "kl"]
ROWS, PROBABILITIES = Numbers("[..., S]", 0, 1), Numbers("[...]", 0, 1)


@accepts(p=PROBABILITIES, q=PROBABILITIES)
def bernoulli_kl(p: ArrayLike, q: ArrayLike) -> Array:
    """d(p, q) = p log(p/q) + (1-p) log((1-p)/(1-q)), with 0 log 0 = 0; inf where q is 0 or 1 and p is not.

    It is computed as q h((p-q)/q) + (1-q) h((q-p)/(1-q)) with h(e) = (1+e) log(1+e) - e. h is never negative, and this
    form keeps its digits near p = q, where the direct formula cancels.

    Args:
      p, q: broadcast against each other, in [0, 1].

    >>> round(float(bernoulli_kl(0.5, 0.25)), 6)
    0.143841
    """
    p, q = jnp.asarray(p, float), jnp.asarray(q, float)
    return scaled(p - q, q) + scaled(q - p, 1 - q)


def scaled(difference: Array, weight: Array) -> Array:
    """weight h(difference / weight) with h(e) = (1+e) log(1+e) - e; for weight 0, 0 or, if difference > 0, inf."""
    safe = jnp.where(weight > 0, weight, 1)
    e = difference / safe
    series = e * e * (1 / 2 - e * (1 / 6 - e * (1 / 12 - e * (1 / 20 - e * (1 / 30 - e / 42)))))
    left = jnp.maximum(1 + e, 0)
    direct = jnp.where(left > 0, left * jnp.log(jnp.where(left > 0, left, 1)), 0) - e
    small = 0.02 if e.dtype.itemsize == 4 else 1e-3
    value = safe * jnp.where(jnp.abs(e) < small, series, direct)
    return jnp.where(weight > 0, value, jnp.where(difference > 0, jnp.inf, 0))


@accepts(p=ROWS, q=ROWS)
def total_variation(p: ArrayLike, q: ArrayLike) -> Array:
    """Half the L1 distance of two rows: [..., S] and [..., S] to [...], in [0, 1].

    >>> float(total_variation(jnp.array([0.5, 0.5]), jnp.array([0.25, 0.75])))
    0.25
    """
    return total(jnp.abs(jnp.asarray(p, float) - q)) / 2


@accepts(p=ROWS, q=ROWS)
def squared_hellinger(p: ArrayLike, q: ArrayLike) -> Array:
    """H^2(p, q) = sum over s of (sqrt p_s - sqrt q_s)^2 / 2: [..., S] and [..., S] to [...], in [0, 1].

    H^2 is at most the total variation. The paper states this for H instead, which is false.

    >>> float(squared_hellinger(jnp.array([1.0, 0.0]), jnp.array([0.0, 1.0])))
    1.0
    """
    difference = jnp.sqrt(jnp.asarray(p, float)) - jnp.sqrt(jnp.asarray(q, float))
    return total(difference * difference) / 2


@accepts(p=ROWS, q=ROWS)
def jensen_shannon(p: ArrayLike, q: ArrayLike) -> Array:
    """Half of KL(p, m) + KL(q, m) with m = (p + q)/2, in nats: [..., S] and [..., S] to [...], in [0, log 2].

    This is the divergence and not its square root; it is at most log 2 times the total variation.

    >>> round(float(jensen_shannon(jnp.array([1.0, 0.0]), jnp.array([0.0, 1.0]))), 4)
    0.6931
    """
    p, q = jnp.asarray(p, float), jnp.asarray(q, float)
    middle = (p + q) / 2
    return total(scaled(p - middle, middle) + scaled(q - middle, middle)) / 2


@accepts(p=ROWS, q=ROWS)
def kl(p: ArrayLike, q: ArrayLike) -> Array:
    """KL(p, q) = sum over s of p_s log(p_s / q_s): [..., S] and [..., S] to [...]; inf where only q_s is 0.

    >>> float(kl(jnp.array([0.5, 0.5]), jnp.array([1.0, 0.0])))
    inf
    """
    p, q = jnp.asarray(p, float), jnp.asarray(q, float)
    return total(scaled(p - q, q))


DISTANCES = {
    "total_variation": total_variation,
    "squared_hellinger": squared_hellinger,
    "jensen_shannon": jensen_shannon,
    "kl": kl,
}


@accepts(rows=Numbers("[..., S, S]", 0, 1))
def farthest(rows: ArrayLike, distance: Distance = "total_variation") -> Array:
    """The largest distance between any two rows of a matrix, taken in both orders: [..., S, S] to [...].

    >>> float(farthest(jnp.array([[0.5, 0.5], [0.25, 0.75]])))
    0.25
    """
    choice("distance", distance, tuple(DISTANCES))
    rows = jnp.asarray(rows, float)
    states, between = rows.shape[-1], DISTANCES[distance]
    both = distance == "kl"  # the other distances are symmetric
    if states <= 3:
        pairs = [(a, b) for a in range(states) for b in range(states) if a < b or (a > b and both)]
        return jnp.max(jnp.stack([between(rows[..., a, :], rows[..., b, :]) for a, b in pairs]), axis=0)
    return farthest_pair(rows, distance)[0]


def farthest_pair(rows: Array, distance: Distance) -> tuple[Array, Array, Array]:
    """The largest distance between any two of S > 1 rows [..., S, S], and the two rows [...] int32 that have it."""
    states, between = rows.shape[-1], DISTANCES[distance]
    both = distance == "kl"  # the other distances are symmetric
    circle = jnp.concatenate([rows, rows], axis=-2)

    def one(best: tuple[Array, Array], places: Array) -> tuple[tuple[Array, Array], None]:
        """The larger of `best` and the distance of each row to the row this many places further on."""
        most, at = best
        other = between(rows, jax.lax.dynamic_slice_in_dim(circle, places, states, -2))
        return (jnp.maximum(most, other), jnp.where(other > most, places, at)), None

    shape = rows.shape[:-1]
    start = jnp.zeros(shape), jnp.ones(shape, jnp.int32)
    (most, at), _ = jax.lax.scan(one, start, jnp.arange(1, states if both else states // 2 + 1, dtype=jnp.int32))
    first, apart, largest = jnp.zeros(shape[:-1], jnp.int32), at[..., 0], most[..., 0]
    for row in range(1, states):
        more = most[..., row] > largest
        first, apart = jnp.where(more, row, first), jnp.where(more, at[..., row], apart)
        largest = jnp.maximum(largest, most[..., row])
    return largest, first, (first + apart) % states


@accepts(elapsed=Numbers("[...]", 0), exponent=Numbers("[...]", 0), scale=Numbers("[...]", 0))
def threshold(elapsed: ArrayLike, exponent: ArrayLike = 0.25, scale: ArrayLike = 1.0) -> Array:
    """Threshold of the test for Markovian arms, scale elapsed^-exponent (1 + 1e-5): an arm is classified as Markovian
    where the distance of its `farthest` rows is larger.

    Where `elapsed` is a fourth power, distances between rows of ratios of counts can equal scale elapsed^-exponent
    exactly. With the last factor such an arm is i.i.d. in every precision.

    Args:
      elapsed: rounds or plays, any shape; below 1 counts as 1.
      exponent, scale: 1/4 and 1 in the paper.

    Source: the paper's algorithm 1.

    >>> round(float(threshold(16)), 4)
    0.5
    """
    return scale * jnp.maximum(jnp.asarray(elapsed), 1).astype(float) ** -exponent * (1 + 1e-5)  # type: ignore[operator]


@accepts(counts=Numbers("[..., S, S]", 0))
def log_p_value(counts: ArrayLike) -> Array:
    """Upper bound on log P of the likelihood-ratio test of independence: [..., S, S] to [...], at most 0.

    With n_s departures from state s, n from all, estimated rows p_s and the frequencies p of all arrivals, the test
    statistic is G = sum over s of n_s KL(p_s, p), the logarithm of the ratio of the largest likelihoods as a chain and
    as independent draws. The bound is log(n (n + 1) C(n + S - 1, S - 1)) - G + m + m log(G / m) with m = S (S - 1) if
    G > m, else 0, and P(it is at most log a for some n) <= a for independent draws with any law q and a <= 1:
    1. G <= sum over s of n_s KL(p_s, q), since p minimises the right-hand side. The draws that follow the visits of
       each state are independent of each other and have the law q.
    2. For fixed n_s, the moment generating function of n_s KL(p_s, q) is at most that of a gamma variable with shape
       S - 1 and rate 1 (Agrawal), so that of the sum at most that of one with shape m, and the sum exceeds g > m with
       probability at most exp(-g) (e g / m)^m (Chernoff).
    3. The n_s are random; this is summed over their C(n + S - 1, S - 1) values, and over n with the weights
       1 / (n (n + 1)), whose sum is 1. So an arm may also be played, or not, for what it has shown.

    Args:
      counts: transitions from each state (rows) to each state (columns).

    Source: step 2's first half is from the abstract of Agrawal 2020, whose theorem I.2 the paper proposes for a test
    with the KL distance; its text was not opened. The test is ours.

    >>> counts = jnp.array([[[50, 50], [50, 50]], [[90, 10], [10, 90]]])
    >>> [round(float(value), 2) for value in jax.jit(log_p_value)(counts)]
    [0.0, -48.5]
    """
    counts = jnp.asarray(counts, float)
    states = counts.shape[-1]
    departures, arrivals = total(counts), total(jnp.swapaxes(counts, -1, -2))
    n = jnp.maximum(total(departures), 1)
    rows, law = counts / jnp.where(departures > 0, departures, 1)[..., None], (arrivals / n[..., None])[..., None, :]
    statistic = total(departures * total(scaled(rows - law, law)))
    shape = max(states * (states - 1), 1)
    excess = jnp.maximum(statistic / shape, 1)
    places = jnp.arange(1, states).reshape(*(1,) * n.ndim, -1)
    values = total(jnp.log1p(n[..., None] / places))  # log C(n + S - 1, S - 1)
    return jnp.minimum(jnp.log(n) + jnp.log1p(n) + values - shape * (excess - 1 - jnp.log(excess)), 0)
