"""Log-likelihood ratios of an arm's transition counts, for a stationary mean of at least some value.

Arms with two states are solved in closed form (`two_states`, `two_states_upper`), those with more by
Newton's steps (`many_states`, `multistart`).
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.arguments import Numbers, accepts
from jaxbandit.confidence.chain import many_states, two_states, two_states_upper
from jaxbandit.confidence.chain.multistart import INFINITE, STEPS_OF_THREE
from jaxbandit.confidence.chain.two_states import TINY
from jaxbandit.fast import larger, smaller

COUNTS, PAID, GAP = Numbers("[..., S, S]", 0), Numbers("[..., S]"), Numbers("[...]", 0, 1)


class LikeliestChain(NamedTuple):
    """What likelihood ratios need of the likeliest chain of a class; it depends on the counts alone."""

    mean: Array  # [...]
    parts: two_states.Likeliest | Array  # with more than two states J of this chain among all chains, [...]


@accepts(counts=COUNTS, reward=PAID, mean=Numbers("[...]"), gap=GAP)
@partial(jax.jit, inline=True)
def chain_likelihood_ratio(
    counts: ArrayLike, reward: ArrayLike, mean: Array | float, gap: Array | float | None = None
) -> Array:
    """How much likelier the counts are under the likeliest chain than under any chain whose mean is at least `mean`.

    With L(Q) = sum over s and j of n_sj log Q_sj, n = `counts`, and m = `mean` it is

        J(m) = max of L(Q) - max of L(Q) over chains Q with a stationary mean of at least m,

    without a gap the smallest sum over s of N_s KL(p_s || Q_s) over the chains of the second maximum, with N_s the
    departures from state s and p_s its estimated row. A chain's gap is the range of the rewards over the range of its
    relative values (`chains.reward_gap`); for two states P01 + P10. With a gap, both maxima are over chains that have
    at least that.

    Args:
      counts: [..., S, S], the transitions of one trajectory, up to about 1e7 of them.
      reward: [..., S], paid on arrival, in [0, 1] for more than two states.
      mean: broadcast against [...].
      gap: None for all chains, or broadcast against [...], in [0, 1].

    Returns:
      J [...], at least 0, exactly 0 up to `chain_mean`; 1e30 where no chain is good enough; never NaN. Two states:
      within 1e-5 max(1, J), or the effect of a change of `mean` by four units in its last place; with a gap within
      3e-4. Three states: 99.7 of 100 are within 1e-3 max(1, J), 99 within 1e-5. More states, and classes of chains with
      more than two, are solved in float64: 99 of 100 within 1e-3. The rest are arms that never came back to a state:
      there J may be too large by some tenths, or is so large that no policy would play the arm.

    Source: Burnetas and Katehakis 1997 for the ratio; the closed form for two states and the class are our own.

    >>> counts = jnp.array([[60, 40], [40, 20]])
    >>> round(float(chain_likelihood_ratio(counts, jnp.array([0.0, 1.0]), 0.5)), 4)
    5.4115
    """
    return ratio_to(likeliest_chain(counts, reward, gap), counts, reward, mean, gap)


@accepts(counts=COUNTS, reward=PAID, gap=GAP)
@partial(jax.jit, inline=True)
def chain_mean(counts: ArrayLike, reward: ArrayLike, gap: Array | float | None = None) -> Array:
    """The stationary mean [...] of the likeliest chain; of several equally likely ones, the largest.

    Args:
      counts: [..., S, S], the transitions of one trajectory, up to about 1e7 of them.
      reward: [..., S], paid on arrival, in [0, 1] for more than two states.
      gap: None for all chains, or broadcast against [...], in [0, 1], for the chains with at least this gap.

    >>> round(float(chain_mean(jnp.array([[900, 1], [2, 600]]), jnp.array([0.0, 1.0]), 0.03)), 6)
    0.092796
    """
    return likeliest_chain(counts, reward, gap).mean


@accepts(counts=COUNTS, reward=PAID, level=Numbers("[...]", 0, np.inf))
@partial(jax.jit, inline=True)
def chain_mean_upper(counts: Array, reward: Array, level: Array | float) -> Array:
    """The largest mean of a chain whose log-likelihood is at most `level` below that of the likeliest chain.

    That is the largest m with J(m) <= level, J as in `chain_likelihood_ratio`, over all chains.

    Args:
      counts: [..., S, S], the transitions of one trajectory, up to about 1e7 of them.
      reward: [..., S], paid on arrival, in [0, 1] for more than two states.
      level: broadcast against [...], at least 0, inf too.

    Returns:
      the mean [...]; for two states within 1e-6 (max reward - min reward) in float32, exactly `chain_mean` at level 0
      and never below it; the largest reward where the best paid state was never left; never NaN. More states: in a test
      of 12 hard counts two are off by more than 1e-4.

    Source: the confidence region is Burnetas and Katehakis's (1996); the solver is our own, see `two_states_upper`.

    >>> counts = jnp.array([[60, 40], [40, 20]])
    >>> round(float(chain_mean_upper(counts, jnp.array([0.0, 1.0]), jnp.array(2.0))), 4)
    0.4488
    """
    if counts.shape[-1] > 2:
        upper: Array = many_states.mean_upper(counts, reward, jnp.asarray(level, float))
        if counts.shape[-1] == 3:
            pairs = _pairs(counts, reward)
            of_pairs = chain_mean_upper(pairs.counts, pairs.reward, jnp.broadcast_to(level, upper.shape)[None])
            for closed, of_pair in zip(pairs.closed, of_pairs, strict=True):
                upper = jnp.where(closed, larger(upper, of_pair), upper)
        return upper
    ordered, low, high = _ordered(counts, reward)
    return low + (high - low) * two_states_upper.share_upper(ordered, level)


def likeliest_chain(counts: ArrayLike, reward: ArrayLike, gap: Array | float | None = None) -> LikeliestChain:
    """The likeliest chain, of the chains whose gap is at least `gap`."""
    counts, reward = jnp.asarray(counts), jnp.asarray(reward, float)
    if counts.shape[-1] > 2:
        return LikeliestChain(*many_states.likeliest(counts, reward, gap=_for_each(gap, counts)))
    ordered, low, high = _ordered(counts, reward)
    share, parts = two_states.likeliest(ordered, gap)
    # exact where the share is 0 or 1, and where both states pay the same
    mean = jnp.where(high > low, low * (1 - share) + high * share, low)
    return LikeliestChain(mean, parts)


def ratio_to(
    chain: LikeliestChain,
    counts: ArrayLike,
    reward: ArrayLike,
    mean: ArrayLike,
    gap: Array | float | None = None,
    quick: bool = False,
) -> Array:
    """`chain_likelihood_ratio`, given the likeliest chain.

    `quick` takes half the time for three states without a gap; of the counts met in play, 2 in 1,000 are then off
    by more than 0.1 max(1, J).
    """
    counts, reward = jnp.asarray(counts), jnp.asarray(reward, float)
    if not isinstance(chain.parts, (two_states.Estimates, two_states.InClass)):
        mean = jnp.broadcast_to(jnp.asarray(mean, float), chain.mean.shape)
        steps = STEPS_OF_THREE // 2 if quick else STEPS_OF_THREE
        ratio = many_states.likelihood_ratio(counts, reward, mean, gap=_for_each(gap, counts), steps=steps)
        ratio = ratio - chain.parts
        if counts.shape[-1] == 3 and gap is None:
            pairs = _pairs(counts, reward)
            of_pairs = chain_likelihood_ratio(pairs.counts, pairs.reward, mean[None])
            for closed, of_pair in zip(pairs.closed, of_pairs, strict=True):
                ratio = jnp.where(closed, smaller(ratio, of_pair), ratio)
        ratio = jnp.where(mean < jnp.max(reward, -1), larger(ratio, 0), INFINITE)
        return jnp.where(chain.mean >= mean, 0, ratio)
    ordered, low, high = _ordered(counts, reward)
    least = float(np.finfo(chain.mean.dtype).eps)
    above, below = larger(mean - low, TINY), larger(high - mean, least)
    ratio = two_states.likelihood_ratio(ordered, chain.parts, above, below, gap)
    return jnp.where(chain.mean >= mean, 0, jnp.where(mean < high, ratio, INFINITE))


def _for_each(gap: Array | float | None, counts: Array) -> Array | None:
    return None if gap is None else jnp.broadcast_to(jnp.asarray(gap, float), counts.shape[:-2])


class _Pairs(NamedTuple):
    """Each pair of the three states as a chain of its own, along one axis, so that one program solves all three."""

    counts: Array  # [3, ..., 2, 2]
    reward: Array  # [3, ..., 2]
    closed: Array  # [3, ...] bool, whether no play led from them to the third state


def _pairs(counts: Array, reward: Array) -> _Pairs:
    """The pairs of three states.

    Chains that hardly ever return to the third state have nearly the pair's mean, and the search is slow to reach them.
    """
    pairs = []
    for a, b, other in ((0, 1, 2), (0, 2, 1), (1, 2, 0)):
        rows = [jnp.stack([counts[..., s, a], counts[..., s, b]], -1) for s in (a, b)]
        paid = jnp.stack([reward[..., a], reward[..., b]], -1)
        pairs.append(_Pairs(jnp.stack(rows, -2), paid, counts[..., a, other] + counts[..., b, other] == 0))
    return _Pairs(*map(jnp.stack, zip(*pairs, strict=True)))


def _ordered(counts: ArrayLike, reward: ArrayLike) -> tuple[two_states.Counts, Array, Array]:
    """Counts with the better paid state second, the lower reward and the higher one."""
    counts, reward = jnp.asarray(counts), jnp.asarray(reward, float)
    first, second = reward[..., 0], reward[..., 1]
    swapped = first > second
    counts = counts.astype(float)
    pairs = [(counts[..., i, j], counts[..., 1 - i, 1 - j]) for i in (0, 1) for j in (0, 1)]
    ordered = two_states.Counts(*(jnp.where(swapped, other, own) for own, other in pairs))
    return ordered, jnp.where(swapped, second, first), jnp.where(swapped, first, second)
