"""How sure the transition counts of two arms make it that the mean of one is the larger."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.arguments import Numbers, accepts
from jaxbandit.base import described
from jaxbandit.confidence.chain.certified_order import MOST_STATES, certified
from jaxbandit.confidence.chain.meeting_chains import Meeting, divergence, log_odds, meeting
from jaxbandit.confidence.chain.two_states import TINY, Counts, likeliest, likelihood_ratio
from jaxbandit.fast import computed_once, larger, smaller

STEPS = 6  # Newton's steps in float32; twice as many in float64
FAR = 3.4  # the longest step, where what stands for its exponential still grows
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

    a01 the transitions of a from state 0 to 1 and A0 those from state 0. This is solved for nu by Newton's steps. Where
    a state was always left the odds jump, at the last nu, and are then those of the other arm.

    With three and more states it is a search (`meeting_chains`), of which `chain_order_lower` is the certain side. It
    is 0 where an arm never left one of its states, and less than W where a left its worst state, or b its best one,
    so seldom that both means meet only far from the estimated chains.

    Args:
      leader, other: [..., S, S], the transitions of one trajectory each, up to about 1e7 of them.
      reward: [..., S], paid on arrival by both arms; with more than two states one alone pays most, and one least.

    Returns:
      W and its parts; with two states W within 1e-5 max(1, W) for 1e4 transitions, 2e-4 for 1e7, in float64 within
      1e-9.

    Source: our own; Garivier and Kaufmann 2016 for the statistic of independent rewards.

    >>> order = chain_order(jnp.array([[10, 20], [15, 25]]), jnp.array([[40, 12], [14, 8]]), jnp.array([0.0, 1.0]))
    >>> round(float(order.ratio), 4), round(float(order.mean), 4)
    (8.421, 0.5042)
    """
    pays = jnp.asarray(reward, float)
    if pays.shape[-1] != 2:
        return ChainOrder(*_of_many(leader, other, pays, certain=False)[:3])
    swap = pays[..., 1] < pays[..., 0]
    a, b = _counts(leader, ~swap), _counts(other, swap)  # the leader's worse state counts as its better one
    (share, chain_a), (share_b, chain_b) = likeliest(a, None), likeliest(b, None)
    share_a = 1 - share
    ordered = (share_b < share_a) & (pays[..., 0] != pays[..., 1])
    above, below = _meeting(a, b)
    above, below = computed_once(jnp.where(ordered, above, 0.5)), computed_once(jnp.where(ordered, below, 0.5))
    first = jnp.where(ordered, larger(likelihood_ratio(a, chain_a, below, above, None), 0), 0)
    second = jnp.where(ordered, larger(likelihood_ratio(b, chain_b, above, below, None), 0), 0)
    share = jnp.where(ordered, above, share_a)
    least, most = smaller(pays[..., 0], pays[..., 1]), larger(pays[..., 0], pays[..., 1])
    return ChainOrder(first, second, least * (1 - share) + most * share)


@accepts(leader=COUNTS, other=COUNTS, reward=PAID)
@partial(jax.jit, inline=True)
def chain_order_lower(leader: ArrayLike, other: ArrayLike, reward: ArrayLike) -> Array:
    """A number that is at most W(a, b), whatever chains make the counts most likely: for error rates that must hold.

    With two states it is the ratio of `chain_order`. With S states and distinct chains for each there can be several
    local minima of D_a(P) + D_b(Q) over chains with mean(P) <= mean(Q). It is bounded from below over all of them by
    convex functions of the logarithms of the stationary laws, one for each point of a grid over S - 1 weights
    (`certified_order` has the proof).

    Args:
      leader, other: [..., S, S], the transitions of one trajectory each, up to about 1e7 of them; up to six states.
      reward: [..., S], paid on arrival by both arms; with more than two states one alone pays most, and one least.

    Returns:
      [...], at least 0; on random chains from .98 to 1 of the ratio of `chain_order` with three and four states, from
      .89 with five and .83 with six; computed in float64.

    Raises:
      ValueError: more than six states.

    Source: our own.

    >>> n = jnp.array([[30, 10, 5], [10, 20, 10], [5, 10, 15]]), jnp.array([[50, 9, 4], [10, 30, 6], [6, 9, 10]])
    >>> reward = jnp.array([0.0, 0.5, 1.0])
    >>> round(float(chain_order(*n, reward).ratio), 3), round(float(chain_order_lower(*n, reward)), 3)
    (1.242, 1.242)
    """
    pays = jnp.asarray(reward, float)
    if pays.shape[-1] == 2:
        return chain_order(leader, other, pays).ratio
    if pays.shape[-1] > MOST_STATES:
        raise ValueError(f"reward: {pays.shape[-1]} states; the bound is for at most {MOST_STATES}")
    return _of_many(leader, other, pays, certain=True)[3]


def _of_many(leader: ArrayLike, other: ArrayLike, reward: Array, *, certain: bool) -> tuple[Array, ...]:
    """The fields of `ChainOrder` with any number of states, and what W is at least; in float64."""
    dtype = jnp.result_type(float)
    with jax.enable_x64(True):
        a, b, pays = (jax.lax.convert_element_type(jnp.asarray(x), jnp.float64) for x in (leader, other, reward))
        batch = jnp.broadcast_shapes(a.shape[:-2], b.shape[:-2], pays.shape[:-1])
        wide = [jnp.broadcast_to(x, (*batch, *x.shape[-axes:])) for x, axes in ((a, 2), (b, 2), (pays, 1))]
        pairs = jnp.vectorize(partial(_of_pair, certain=certain), signature="(s,s),(s,s),(s)->(),(),(),()")
        return tuple(jax.lax.convert_element_type(x, dtype) for x in pairs(*wide))


def _of_pair(a: Array, b: Array, reward: Array, *, certain: bool) -> tuple[Array, Array, Array, Array]:
    order = jnp.argsort(reward)
    a, b, pays = a[order][:, order], b[order][:, order], reward[order]
    span = jnp.where(pays[-1] > pays[0], pays[-1] - pays[0], 1)
    scaled = (pays - pays[0]) / span
    left = (a.sum(1).min() > 0) & (b.sum(1).min() > 0)
    a, b = jnp.where(left, a, 1), jnp.where(left, b, 1)
    meets = meeting(a, b, scaled)
    between = (log_odds(meets.leader.mean) - log_odds(meets.other.mean)) * meets.price / 2  # 0 where the means meet
    first, second = divergence(a, meets.leader.rows) + between, divergence(b, meets.other.rows) + between
    sound = left & (meets.price > 0) & (scaled[1] > 0) & (scaled[-2] < 1) & jnp.isfinite(first + second)
    lower = _certain(a, b, scaled, meets) if certain else jnp.zeros_like(first)
    mean = pays[0] + span * (meets.leader.mean + meets.other.mean) / 2
    first, second = (jnp.where(sound, jnp.maximum(x, 0), 0) for x in (first, second))
    return first, second, mean, jnp.where(sound, lower, 0)


def _certain(a: Array, b: Array, reward: Array, meets: Meeting) -> Array:
    return jnp.maximum(jnp.nan_to_num(certified(a, b, reward, meets), nan=0.0, neginf=0.0), 0)


def _counts(counts: ArrayLike, swap: Array) -> Counts:
    """The counts, with the other state for the better one where `swap`."""
    numbers = jnp.asarray(counts, float)
    n = [[numbers[..., i, j] for j in (0, 1)] for i in (0, 1)]
    return Counts(*(jnp.where(swap, n[1 - i][1 - j], n[i][j]) for i in (0, 1) for j in (0, 1)))


class Moved(NamedTuple):
    """An arm's likeliest chain after nu departures were moved from its better state to the other."""

    odds: tuple[Array, Array]  # of the better state, their numerator and denominator
    slope: Array  # by which the logarithm of the odds grows with nu


def _moved(counts: Counts, nu: Array, ahead: Array) -> Moved:
    """The odds are (n01 + nu) (N1 - nu) / ((N0 + nu) (n10 - nu)); `ahead` is the least that n10 - nu may be."""
    n00, n01, n10, n11 = counts
    empty, full, stayed, left = n01 + nu, n00 + n01 + nu, larger(n10 + n11 - nu, ahead), larger(n10 - nu, ahead)
    out, back = full * empty, stayed * left
    return Moved((empty * stayed, full * left), (n00 * back + n11 * out) / larger(out * back, TINY))


def _meeting(a: Counts, b: Counts) -> tuple[Array, Array]:
    """The share of the better state of b, that is of the worse state of a, where W is least, and the rest of 1.

    There both arms have moved the same nu, and the product of their odds is 1. Near both ends of -least < nu < most
    logarithms of odds are nearly straight lines in u = log((nu + least) / (most - nu)). So Newton's steps are made in
    u, with (12 + 6 d + d^2) / (12 - 6 d + d^2) for the exponential of a step d.
    """
    least, most = smaller(a.n01, b.n01), smaller(a.n10, b.n10)
    close = most * (2 * float(np.finfo(most.dtype).eps))
    # the start: the factors that vanish at an end, the others as they are half of the way
    half = most / 2
    rest = (a.n00 + a.n01 + half) * (b.n00 + b.n01 + half)
    rest = rest / larger((a.n10 + a.n11 - half) * (b.n10 + b.n11 - half), TINY)
    linear = rest * (a.n10 + b.n10) + (a.n01 + b.n01)
    constant = larger(rest * a.n10 * b.n10 - a.n01 * b.n01, 0)
    root = jnp.sqrt(larger(linear * linear - 4 * (rest - 1) * constant, 0))
    nu = smaller(2 * constant / larger(linear + root, TINY), most - close)
    for _ in range(STEPS if nu.dtype.itemsize == 4 else 2 * STEPS):
        ahead, behind = larger(most - nu, close), nu + least
        one, other = _moved(a, nu, ahead), _moved(b, nu, ahead)
        up, down = one.odds[0] * other.odds[0], one.odds[1] * other.odds[1]
        slope = larger((one.slope + other.slope) * behind * ahead, TINY)
        step = 2 * (down - up) / larger(down + up, TINY) * (least + most) / slope
        step = smaller(larger(step, -FAR), FAR)
        near, far = 12 + step * step - 6 * step, 12 + step * step + 6 * step
        nu = nu + 12 * step * behind * ahead / larger(ahead * near + behind * far, TINY)
        nu = smaller(larger(nu, 0), most - close)
    nu = computed_once(nu)
    one, other = _moved(a, nu, most - nu), _moved(b, nu, most - nu)
    (left_a, of_a), (of_b, left_b) = (_shares(*moved.odds) for moved in (one, other))
    # the tangents meet there; an arm that always left its better state jumps at the end, there the other one counts
    weight = other.slope / larger(one.slope + other.slope, TINY)
    ends_a, ends_b = (a.n11 == 0) & (a.n10 <= b.n10), (b.n11 == 0) & (b.n10 <= a.n10)
    weight = jnp.where(ends_a & ends_b, 0.5, jnp.where(ends_a, 0, jnp.where(ends_b, 1, weight)))
    return of_b + weight * (of_a - of_b), left_b + weight * (left_a - left_b)


def _shares(numerator: Array, denominator: Array) -> tuple[Array, Array]:
    """The share of a state from its odds, and the rest of 1; positive."""
    whole = numerator + denominator
    whole = 1 / jnp.where(whole > 0, whole, 1)
    return larger(numerator * whole, TINY), larger(denominator * whole, TINY)
