"""How well counts of an arm's transitions agree with a mean reward of at least some value, for the chain as a whole."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxbandit.base import Array
from jaxbandit.confidence import two_state_upper, two_states
from jaxbandit.confidence.two_states import NEVER


class LikeliestChain(NamedTuple):
    """The likeliest chain of a class, as far as later likelihood ratios need it; it depends on the counts alone."""

    mean: Array  # [...]
    parts: two_states.Likeliest


def likeliest_chain(counts: Array, reward: Array, gap: Array | None = None) -> LikeliestChain:
    """The likeliest chain for transition counts, of the chains whose gap is at least `gap`."""
    ordered, low, high = _ordered(counts, reward)
    parts = two_states.likeliest(ordered, gap)
    return LikeliestChain(low + (high - low) * parts.share, parts)


@partial(jax.jit, inline=True)
def chain_likelihood_ratio(
    counts: Array, reward: Array, mean: Array, gap: Array | None = None, chain: LikeliestChain | None = None
) -> Array:
    """How much likelier the likeliest chain is than any whose mean is at least `mean`."""
    chain = likeliest_chain(counts, reward, gap) if chain is None else chain
    ordered, low, high = _ordered(counts, reward)
    width = high - low
    mu = jnp.where(width > 0, (mean - low) / jnp.where(width > 0, width, 1), 2)
    ratio = two_states.likelihood_ratio(ordered, chain.parts, mu, gap)
    return jnp.where(chain.mean >= mean, 0, ratio)


@partial(jax.jit, inline=True)
def chain_mean_upper(counts: Array, reward: Array, level: Array) -> Array:
    """The largest mean of a chain whose log-likelihood is at most `level` below that of the likeliest chain.

    With N_s = sum over j of n_sj and p_sj = n_sj / N_s that is the largest stationary mean over chains Q with

        sum over s of N_s KL(p_s || Q_s) <= level.

    Args:
      counts: n, [..., 2, 2], transitions from state to state, no more than 1e7.
      reward: [..., 2].
      level: [...], at least 0, inf too.

    Returns:
      the mean [...]: within 1e-6 (max reward - min reward) in float32, exactly that of `likeliest_chain` at level 0 and
      never below it; the largest reward where the best paid state was never left; never NaN.

    Source: the confidence region is Burnetas and Katehakis's (1996); the solver is our own, see `two_state_upper`.

    >>> counts = jnp.array([[60, 40], [40, 20]])
    >>> round(float(chain_mean_upper(counts, jnp.array([0.0, 1.0]), jnp.array(2.0))), 4)
    0.4488
    """
    ordered, low, high = _ordered(counts, reward)
    return low + (high - low) * two_state_upper.share_upper(ordered, level)


def _ordered(counts: Array, reward: Array) -> tuple[two_states.Counts, Array, Array]:
    """Counts with the better paid state second, the lower reward and the higher one."""
    first, second = reward[..., 0], reward[..., 1]
    swapped = first > second
    counts = counts.astype(float)
    pairs = [(counts[..., i, j], counts[..., 1 - i, 1 - j]) for i in (0, 1) for j in (0, 1)]
    ordered = two_states.Counts(*(jnp.where(swapped, other, own) for own, other in pairs))
    return ordered, jnp.where(swapped, second, first), jnp.where(swapped, first, second)
