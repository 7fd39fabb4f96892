"""The upper confidence bound of a mean in a one-parameter family of rewards."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.arguments import Numbers, accepts, finite, has, is_traced
from jaxbandit.base import Family
from jaxbandit.confidence.bernoulli import RADIUS, kl_upper


@accepts(mean=Numbers("[...]", -math.inf, math.inf), radius=RADIUS)
def family_upper(mean: ArrayLike, radius: ArrayLike, family: Family | None = None) -> Array:
    """Largest m >= mean with D(mean || m) <= radius, D the divergence of two means of the family.

    Args:
      mean: any shape; a mean outside the family's range is replaced by the nearest mean in it.
      radius: broadcast against `mean`, in [0, inf].
      family: one of `jaxbandit.families`; None is the Bernoulli family, and this is `kl_upper`.

    Returns:
      m in the broadcast shape of `mean` and `radius`; the upper end of the range where the radius allows every mean.

    Source: Garivier and Cappe 2011, section 4; Moulos 2020 for chains.

    >>> from jaxbandit.families import Gaussian
    >>> float(family_upper(1.0, 0.5, Gaussian(variance=4.0)))
    3.0
    """
    if family is not None:
        has("family", family, "None or one of jaxbandit.families", "range", "upper")
        for leaf in jax.tree.leaves(family):
            if not is_traced(leaf):
                finite("family", leaf)
    return _upper(mean, radius, family)


@jax.jit
def _upper(mean: ArrayLike, radius: ArrayLike, family: Family | None) -> Array:
    low, high = (0.0, 1.0) if family is None else family.range
    mean = jnp.clip(jnp.asarray(mean, float), low, high)
    return kl_upper(mean, radius) if family is None else family.upper(mean, radius)
