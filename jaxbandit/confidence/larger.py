"""Maximum and minimum by one comparison.

`jnp.maximum` takes five instructions on a CPU, because it passes on what is not a number; these take one, and the
solvers of this folder count on what they return then.
"""

from __future__ import annotations

import jax.numpy as jnp

from jaxbandit.base import Array


def larger(a: Array | float, b: Array | float) -> Array:
    """The larger of two numbers, entry by entry; `b` where either is NaN."""
    return jnp.where(a > b, a, b)


def smaller(a: Array | float, b: Array | float) -> Array:
    """The smaller of two numbers, entry by entry; `b` where either is NaN."""
    return jnp.where(a < b, a, b)
