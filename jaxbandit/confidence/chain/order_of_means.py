"""How sure the transition counts of two arms make it that the mean of one is the larger."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.arguments import Numbers, accepts
from jaxbandit.base import described
from jaxbandit.confidence.chain.two_states import TINY, Counts, likeliest, likelihood_ratio
from jaxbandit.fast import larger, smaller

COUNTS, PAID = Numbers("[..., S, S]", 0), Numbers("[..., S]")


@described
class ChainOrder(NamedTuple):
    """The likelihood ratio for the order of two arms' means.

    Fields:
      leader: [...], J-_a(m), what the leader's counts tell against its mean being m or less.
      other: [...], J+_b(m), what the other arm's counts tell against its mean being m or more.
      mean: [...], m, the mean of both arms in the likeliest problem in which the leader is not the better one.
    """

    leader: Array
    other: Array
    mean: Array

    @property
    def ratio(self) -> Array:
        """W(a, b) = J-_a(m) + J+_b(m), [...]."""
        return self.leader + self.other


@accepts(leader=COUNTS, other=COUNTS, reward=PAID)
@partial(jax.jit, inline=True)
def chain_order(leader: ArrayLike, other: ArrayLike, reward: ArrayLike) -> ChainOrder:
    """How much likelier two arms' counts are under any chains than under chains of which `other` has the larger mean.

    With L(P) and L(Q) the log-likelihoods of a = `leader` and b = `other` it is

        W(a, b) = max of L(P) + L(Q) - max of L(P) + L(Q) over chains with mean(P) <= mean(Q)
                = min over m of J-_a(m) + J+_b(m),

    J+ the `chain_likelihood_ratio`, J- the same for a mean of at most m. It is 0 where likeliest chains have means in
    that order; a row that was not seen is free. Both J are convex in the log odds of the better state's share, with
    the number of departures that are moved from one state to the other (see `two_states`) for a slope. So where their
    sum is least both arms' chains have moved the same number nu of departures, and the same odds:

        (a01 - nu) (A1 + nu) / ((A0 - nu) (a10 + nu)) = (b01 + nu) (B1 - nu) / ((B0 + nu) (b10 - nu)),

    a01 the transitions of a from state 0 to 1 and A0 those from state 0. This is solved for nu by bisection. Where a
    state was always left the odds jump, at the last nu, and are then those of the other arm.

    Args:
      leader, other: [..., 2, 2], the transitions of one trajectory each, up to about 1e7 of them.
      reward: [..., 2], paid on arrival by both arms.

    Returns:
      W and its parts; W within 1e-5 max(1, W) for 1e4 transitions, 2e-4 for 1e7, in float64 within 1e-9.

    Raises:
      ValueError: more than two states.

    Source: our own; Garivier and Kaufmann 2016 for the statistic of independent rewards.

    >>> order = chain_order(jnp.array([[10, 20], [15, 25]]), jnp.array([[40, 12], [14, 8]]), jnp.array([0.0, 1.0]))
    >>> round(float(order.ratio), 4), round(float(order.mean), 4)
    (8.421, 0.5042)
    """
    pays = jnp.asarray(reward, float)
    if pays.shape[-1] != 2:
        raise ValueError(f"reward: {pays.shape[-1]} states; this ratio is for arms with two")
    swap = pays[..., 1] < pays[..., 0]
    a, b = _counts(leader, ~swap), _counts(other, swap)  # the leader's worse state counts as its better one
    (share, chain_a), (share_b, chain_b) = likeliest(a, None), likeliest(b, None)
    share_a = 1 - share
    low, high = jnp.zeros_like(share + share_b), smaller(a.n10, b.n10)

    def halved(_: int, bracket: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = bracket
        nu = (low + high) / 2
        apart = _share(b, nu)[0] < _share(a, nu)[1]
        return jnp.where(apart, nu, low), jnp.where(apart, high, nu)

    steps = 30 if low.dtype.itemsize == 4 else 60
    low, high = jax.lax.fori_loop(0, steps, halved, (low, jnp.broadcast_to(high, low.shape)))
    # the share lies between those of each arm at both ends of the bracket
    (b_low, left_b_low), (b_high, left_b_high) = _share(b, low), _share(b, high)
    (left_a_low, a_low), (left_a_high, a_high) = _share(a, low), _share(a, high)
    above = (larger(b_low, a_high) + smaller(b_high, a_low)) / 2
    below = (smaller(left_b_low, left_a_high) + larger(left_b_high, left_a_low)) / 2
    ordered = (share_b < share_a) & (pays[..., 0] != pays[..., 1])
    above, below = jnp.where(ordered, above, 0.5), jnp.where(ordered, below, 0.5)
    first = jnp.where(ordered, larger(likelihood_ratio(a, chain_a, below, above, None), 0), 0)
    second = jnp.where(ordered, larger(likelihood_ratio(b, chain_b, above, below, None), 0), 0)
    share = jnp.where(ordered, above, share_a)
    least, most = smaller(pays[..., 0], pays[..., 1]), larger(pays[..., 0], pays[..., 1])
    return ChainOrder(first, second, least * (1 - share) + most * share)


def _counts(counts: ArrayLike, swap: Array) -> Counts:
    """The counts, with the other state for the better one where `swap`."""
    numbers = jnp.asarray(counts, float)
    n = [[numbers[..., i, j] for j in (0, 1)] for i in (0, 1)]
    return Counts(*(jnp.where(swap, n[1 - i][1 - j], n[i][j]) for i in (0, 1) for j in (0, 1)))


def _share(counts: Counts, nu: Array) -> tuple[Array, Array]:
    """The better state's share after nu departures were moved from it to the other, and the rest of 1; positive."""
    n00, n01, n10, n11 = counts
    a = (n01 + nu) / larger(n00 + n01 + nu, TINY)
    b = jnp.where(nu < n10, (n10 - nu) / larger(n10 + n11 - nu, TINY), 0)
    both = a + b
    both = jnp.where(both > 0, both, 1)
    return larger(a / both, TINY), larger(b / both, TINY)
