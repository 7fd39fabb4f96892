"""How much the data say that one arm is better than another: likelihood ratios of independent and of Markov arms."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxbandit.base import described, total
from jaxbandit.divergences import bernoulli_kl

STEPS = 18  # of the bisection for the mean at which two arms meet
TINY = 1e-30
SERIES_FROM = 8  # counts from which Stirling's series is used: its error is below 1e-7


@described
class Evidence(NamedTuple):
    """That the leading arm a is better than each arm b.

    Fields:
      ratio: [K], W(a, b), the log-likelihood ratio of the data to the most likely arms of which b is at least as good
        as a; inf for b = a.
      share: [K], in [0, 1], the part of it that arm a adds: J_a(m) / W at the mean m where both meet; 1/2 if W is 0.
    """

    ratio: Array
    share: Array


def found(leader: Array, own: Array, other: Array) -> Evidence:
    """The evidence from the two parts of each ratio."""
    ratio = own + other
    share = jnp.where(ratio > 0, own / jnp.where(ratio > 0, ratio, 1), 0.5)
    return Evidence(jnp.where(jnp.arange(len(ratio)) == leader, jnp.inf, ratio), share)


def of_bernoulli(leader: Array, ones: Array, plays: Array) -> Evidence:
    """The evidence of independent rewards 0 and 1: W = T_a d(x_a, m) + T_b d(x_b, m), m the mean of both together.

    Args:
      leader: int32.
      ones, plays: [K], of each arm.

    >>> of_bernoulli(jnp.int32(0), jnp.array([8.0, 2.0]), jnp.array([10.0, 10.0])).ratio.round(4).tolist()
    [inf, 3.8549]
    """
    mean = ones / jnp.maximum(plays, 1)
    both = (ones + ones[leader]) / jnp.maximum(plays + plays[leader], 1)
    own, other = plays[leader] * bernoulli_kl(mean[leader], both), plays * bernoulli_kl(mean, both)
    right = (mean <= mean[leader]) & (plays > 0) & (plays[leader] > 0)
    return found(leader, jnp.where(right, own, 0), jnp.where(right, other, 0))


def nearest_on_line(counts: Array, odds: Array) -> tuple[Array, Array]:
    """The chain of two states with q01 = odds q10 of the largest likelihood: q01 and q10, [..].

    q10 is the smaller root of o N q^2 - [(n01 + n10)(1 + o) + o n00 + n11] q + n01 + n10 = 0, N the sum of all counts.

    Args:
      counts: [.., 2, 2] floats, transitions.
      odds: [..], o = P(1) / P(0) of the chain's stationary law.
    """
    moves = counts[..., 0, 1] + counts[..., 1, 0]
    middle = moves * (1 + odds) + odds * counts[..., 0, 0] + counts[..., 1, 1]
    root = jnp.sqrt(jnp.maximum(middle * middle - 4 * odds * total(total(counts)) * moves, 0))
    q10 = jnp.minimum(2 * moves / jnp.maximum(middle + root, TINY), 1)
    return jnp.minimum(odds * q10, 1), q10


def to_line(counts: Array, odds: Array) -> Array:
    """min of sum over s of N_s KL(p_s, q_s) over chains of two states with q01 = odds q10: [..].

    A row that was never left adds nothing.
    """
    rows = total(counts)
    away = jnp.stack(nearest_on_line(counts, odds), -1)
    moved = jnp.stack([counts[..., 0, 1], counts[..., 1, 0]], -1)
    each = bernoulli_kl(moved / jnp.maximum(rows, 1), away)
    return total(jnp.where(rows > 0, rows * each, 0))


def slope(counts: Array, odds: Array) -> Array:
    """The derivative of `to_line` by the odds, at the nearest chain.

    It is n00 q10 / (1 - q01) - n01 / odds, and n10 / odds - n11 / (odds (odds - 1)) where q01 = 1 limits q10.
    """
    q01, q10 = nearest_on_line(counts, odds)
    odds = jnp.maximum(odds, TINY)
    inside = _share(counts[..., 0, 0] * q10, 1 - q01) - counts[..., 0, 1] / odds
    held = (counts[..., 1, 0] - _share(counts[..., 1, 1], odds - 1)) / odds
    limited = (counts[..., 0, 1] + counts[..., 1, 0]) * odds >= total(total(counts))
    return jnp.where(limited & (counts[..., 0, 0] == 0), held, inside)


def _share(part: Array, whole: Array) -> Array:
    """part / whole; 0 where the part is 0."""
    return jnp.where(part > 0, part / jnp.maximum(whole, TINY), 0)


def of_chains(leader: Array, means: Array, counts: Array, reward: Array) -> Evidence:
    """The evidence of Markov arms with two states, W(a, b) = min over m of J_a-(m) + J_b+(m).

    J_b+(m) is the log-likelihood ratio of arm b's transitions to the most likely chain with a mean of at least m, J_a-
    to that with a mean of at most m. W is 0 where a row of one of the two has no transitions, or no
    transition leads to another state, because the mean is then free.

    Args:
      leader: int32, the arm a with the largest mean of `chain_means`.
      means: [K], of `chain_means`.
      counts: [K, 2, 2] int32, transitions; state 1 pays more.
      reward: [K, 2].

    >>> counts = jnp.array([[[10, 20], [15, 25]], [[40, 12], [14, 8]]])
    >>> reward = jnp.array([[0.0, 1.0]] * 2)
    >>> of_chains(jnp.int32(0), chain_means(counts, reward), counts, reward).ratio.round(4).tolist()
    [inf, 8.421]
    """
    counts = counts.astype(float)
    both = jnp.stack([jnp.broadcast_to(counts[leader], counts.shape), counts])  # [2, K, 2, 2]
    low, high = (jnp.stack([jnp.broadcast_to(r[leader], r.shape), r]) for r in (reward[:, 0], reward[:, 1]))

    def odds(mean: Array) -> Array:
        return jnp.maximum(mean - low, 0) / below_high(mean)

    def below_high(mean: Array) -> Array:
        return jnp.maximum(high - mean, 1e-6 * (high - low))

    def narrower(n: int, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        middle = (ends[0] + ends[1]) / 2
        speed = (high - low) / below_high(middle) ** 2  # of the odds
        falls = sum(slope(both, odds(middle)) * speed) < 0
        return jnp.where(falls, middle, ends[0]), jnp.where(falls, ends[1], middle)

    ends = means, jnp.broadcast_to(means[leader], means.shape)
    least, most = jax.lax.fori_loop(0, STEPS, narrower, ends)
    own, other = to_line(both, odds((least + most) / 2))
    complete = (total(counts) > 0).all(-1) & (counts[:, 0, 1] + counts[:, 1, 0] > 0)
    right = complete & complete[leader] & (means <= means[leader])
    return found(leader, jnp.where(right, own, 0), jnp.where(right, other, 0))


def chain_means(counts: Array, reward: Array) -> Array:
    """The mean [K] of each arm's estimated chain; half-way between the rewards where a row was never left."""
    counts = counts.astype(float)
    leaving = jnp.stack([counts[:, 0, 1], counts[:, 1, 0]]) / jnp.maximum(counts.sum(-1).T, 1)  # [2, K]
    moves = leaving.sum(0)
    known = (counts.sum(-1) > 0).all(-1) & (moves > 0)
    share = jnp.where(known, leaving[0] / jnp.where(known, moves, 1), 0.5)
    return reward[:, 0] * (1 - share) + reward[:, 1] * share


def price(counts: Array) -> Array:
    """L^ - log M of each arm, at least 0: what the mixture of Krichevsky and Trofimov loses to the likeliest law: [K].

    M is the likelihood of the arm's transitions (or states) averaged over all rows by the Dirichlet law of halves; it
    is also the product of (n_sj + 1/2) / (N_s + S/2) in the order of the transitions.

    Args:
      counts: [K, .., S] int32, each row apart.

    >>> price(jnp.array([[[10, 20], [15, 25]], [[40, 12], [14, 8]]])).round(4).tolist()
    [4.0122, 3.9908]
    """
    counts = counts.astype(float)
    rows = counts.sum(-1)
    states = counts.shape[-1]
    halves = jax.scipy.special.gammaln(states / 2) - states * jax.scipy.special.gammaln(0.5)
    of_rows = _beyond_power(rows, states / 2) - _beyond_power(counts, 0.5).sum(-1) - halves
    return of_rows.reshape(len(counts), -1).sum(-1)


def _beyond_power(n: Array, offset: float) -> Array:
    """log Gamma(n + offset) - n log n + n, without the digits that a difference of large numbers loses."""
    large = jnp.maximum(n, SERIES_FROM)
    x = large + offset
    # Stirling: log Gamma(x) = (x - 1/2) log x - x + log(2 pi) / 2 + 1 / (12 x) - 1 / (360 x^3)
    series = large * jnp.log1p(offset / large) + (offset - 0.5) * jnp.log(x) - offset
    series = series + 0.5 * jnp.log(2 * jnp.pi) + 1 / (12 * x) - 1 / (360 * x**3)
    small = jnp.minimum(n, SERIES_FROM)
    direct = jax.scipy.special.gammaln(small + offset) - small * jnp.log(jnp.maximum(small, 1)) + small
    return jnp.where(n > SERIES_FROM, series, direct)
