"""How well counts of an arm's transitions agree with a mean reward of at least some value, for the chain as a whole."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base import Array
from jaxbandit.confidence import two_states
from jaxbandit.confidence.larger import larger
from jaxbandit.confidence.two_states import TINY

NEVER = 1e30  # where no chain is good enough


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
    least = float(np.finfo(chain.mean.dtype).eps)
    above, below = larger(mean - low, TINY), larger(high - mean, least)
    ratio = two_states.likelihood_ratio(ordered, chain.parts, above, below, gap)
    return jnp.where(chain.mean >= mean, 0, jnp.where(mean < high, ratio, NEVER))


def _ordered(counts: Array, reward: Array) -> tuple[two_states.Counts, Array, Array]:
    """Counts with the better paid state second, the lower reward and the higher one."""
    first, second = reward[..., 0], reward[..., 1]
    swapped = first > second
    counts = counts.astype(float)
    pairs = [(counts[..., i, j], counts[..., 1 - i, 1 - j]) for i in (0, 1) for j in (0, 1)]
    ordered = two_states.Counts(*(jnp.where(swapped, other, own) for own, other in pairs))
    return ordered, jnp.where(swapped, second, first), jnp.where(swapped, first, second)
