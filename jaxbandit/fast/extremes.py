"""The larger and the smaller of two numbers, by one comparison each.

`jnp.maximum` takes five instructions on a CPU, because it returns NaN where either number is NaN. A comparison returns
the second number there, and the solvers of `confidence` and `families` rely on that. So the plain form,
`jnp.where(a > b, a, b)`, is what is computed with and without `JAXBANDIT_PLAIN`.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array


def larger(a: Array | np.ndarray | float, b: Array | np.ndarray | float) -> Array:
    """The larger of two numbers, entry by entry; `b` where either is NaN.

    >>> larger(jnp.array([1.0, jnp.nan]), 0.5).tolist()
    [1.0, 0.5]
    """
    return jnp.where(a > b, a, b)


def smaller(a: Array | np.ndarray | float, b: Array | np.ndarray | float) -> Array:
    """The smaller of two numbers, entry by entry; `b` where either is NaN."""
    return jnp.where(a < b, a, b)
