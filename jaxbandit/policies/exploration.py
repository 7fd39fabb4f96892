"""How fast confidence widens with the round."""

from __future__ import annotations

from typing import Literal

import jax.numpy as jnp

from jaxbandit.base import Array

Clock = Literal["round", "arm"]  # what the round is counted by: all plays, or those of the arm


def level(t: Array, exploration: Array | None = None) -> Array:
    """log f(t) with f(t) = 1 + t log^2 t, or max(0, log t + exploration log log t) where a number is given.

    The first is the paper's (section III.A); the second is Garivier and Cappe's 2011, who take 3 in theory and 0 in
    practice.

    Args:
      t: round, from 1.
      exploration: None or a number.

    >>> round(float(level(10)), 4)
    3.9893
    """
    log_t = jnp.log(jnp.asarray(t, float))
    if exploration is None:
        return jnp.log1p(jnp.asarray(t, float) * log_t * log_t)
    return jnp.maximum(log_t + exploration * jnp.log(jnp.maximum(log_t, 1e-30)), 0)
