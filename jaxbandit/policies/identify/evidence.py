"""How much the data say that one arm is better than another: likelihood ratios of independent and of Markov arms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxbandit.base import described
from jaxbandit.confidence import chain_order, chain_order_lower
from jaxbandit.divergences import bernoulli_kl
from jaxbandit.fast import computed_once, where_needed

Pair = Callable[[Any, Any], tuple[Array, Array]]  # J_a(m) and J_b(m) of two arms, from what is known of each


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


def against_all(pair: Pair, leader: Array, arms: Any) -> Evidence:
    """The evidence that the leader is better than each other arm, of K - 1 pairs of arms.

    Args:
      pair: of a and b, entries of `arms`: J_a(m) and J_b(m), whose sum is W(a, b).
      leader: int32, the arm a.
      arms: a pytree with leaves [K, ...], what `pair` asks for of each arm.
    """
    number = len(jax.tree.leaves(arms)[0])
    lower = jnp.arange(number - 1) < leader  # arms below the leader, which come first
    own = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf[leader], leaf[1:].shape), arms)
    others = jax.tree.map(lambda leaf: _chosen(lower, leaf[:-1], leaf[1:]), arms)
    first, second = map(computed_once, jax.vmap(pair)(own, others))
    ratio = first + second
    share = jnp.where(ratio > 0, first / jnp.where(ratio > 0, ratio, 1), 0.5)
    return Evidence(_with_leader(leader, ratio, jnp.inf), _with_leader(leader, computed_once(share), 0.5))


def certain_against_all(asked: Array, leader: Array, counts: Array, reward: Array) -> Array:
    """[K], what W(a, b) of Markov arms is at least (`confidence.chain_order_lower`), of use only where `asked`.

    Args:
      asked: [K] bool, the arms b.
      leader: int32, the arm a.
      counts: [K, S, S], transitions.
      reward: [K, S].
    """

    def lower(own: Array, other: Array, reward: Array) -> Array:
        return chain_order_lower(own, other, reward).astype(reward.dtype)

    own = jnp.broadcast_to(counts[leader], counts.shape)
    return where_needed(asked, lower, (own, counts, reward), jnp.zeros(len(counts), reward.dtype), together=4)


def _chosen(which: Array, one: Array, other: Array) -> Array:
    return jnp.where(which.reshape(-1, *[1] * (one.ndim - 1)), one, other)


def _with_leader(leader: Array, others: Array, own: float) -> Array:
    """[K] of the others' numbers [K - 1] and the leader's."""
    arms = jnp.arange(len(others) + 1)
    filled = jnp.where(arms < leader, jnp.append(others, own), jnp.append(own, others))
    return jnp.where(arms == leader, own, filled)


def of_bernoulli(one: tuple[Array, Array], other: tuple[Array, Array]) -> tuple[Array, Array]:
    """J_a and J_b of independent rewards 0 and 1: T_a d(x_a, m) and T_b d(x_b, m), m the mean of both together.

    Args:
      one, other: the ones and the plays of arm a and of arm b.

    >>> own, against = of_bernoulli((jnp.float32(8), jnp.float32(10)), (jnp.float32(2), jnp.float32(10)))
    >>> round(float(own + against), 4)
    3.8549
    """
    (ones, plays), (ones_b, plays_b) = one, other
    mean, mean_b = ones / jnp.maximum(plays, 1), ones_b / jnp.maximum(plays_b, 1)
    both = (ones + ones_b) / jnp.maximum(plays + plays_b, 1)
    right = (mean_b <= mean) & (plays > 0) & (plays_b > 0)
    own, against = plays * bernoulli_kl(mean, both), plays_b * bernoulli_kl(mean_b, both)
    return jnp.where(right, own, 0), jnp.where(right, against, 0)


def of_chains(one: tuple[Array, Array], other: tuple[Array, Array]) -> tuple[Array, Array]:
    """J_a and J_b of Markov arms, the parts of W(a, b) of `confidence.chain_order`.

    Args:
      one, other: transitions [S, S] and rewards [S] of arm a and of arm b; the rewards are the same.

    >>> reward = jnp.array([0.0, 1.0])
    >>> own, against = of_chains((jnp.array([[10, 20], [15, 25]]), reward), (jnp.array([[40, 12], [14, 8]]), reward))
    >>> round(float(own + against), 4)
    8.421
    """
    order = chain_order(one[0], other[0], one[1])
    return order.leader, order.other
