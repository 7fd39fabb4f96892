"""How much the data say that one arm is better than another: likelihood ratios of independent and of Markov arms."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from jaxbandit.base import described
from jaxbandit.confidence import chain_order
from jaxbandit.divergences import bernoulli_kl


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


def _evidence(leader: Array, own: Array, other: Array) -> Evidence:
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
    return _evidence(leader, jnp.where(right, own, 0), jnp.where(right, other, 0))


def of_chains(leader: Array, counts: Array, reward: Array) -> Evidence:
    """The evidence of Markov arms with two states, W(a, b) of `confidence.chain_order`.

    Args:
      leader: int32, the arm a with the largest mean of its likeliest chain.
      counts: [K, 2, 2] int32, transitions.
      reward: [K, 2], the same for all arms.

    >>> counts = jnp.array([[[10, 20], [15, 25]], [[40, 12], [14, 8]]])
    >>> of_chains(jnp.int32(0), counts, jnp.array([[0.0, 1.0]] * 2)).ratio.round(4).tolist()
    [inf, 8.421]
    """
    own = jnp.broadcast_to(counts[leader], counts.shape)
    order = chain_order(own, counts, reward)
    return _evidence(leader, order.leader, order.other)
