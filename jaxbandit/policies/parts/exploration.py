"""Exploration levels of KL policies: log f(t) and its variants."""

from __future__ import annotations

from typing import Literal

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.fast import computed_once, log, log_of_sum
from jaxbandit.policies.parts.memory import positive

Clock = Literal["round", "arm"]  # the time of an arm: t, or t / T, T the arm's plays


def level(
    t: ArrayLike,
    exploration: ArrayLike | None = None,
    clock: Clock = "round",
    plays: Array = None,  # type: ignore[assignment]
    horizon: ArrayLike | None = None,
) -> Array:
    """log f(t) with f(t) = 1 + t log^2 t, or max(0, log t + exploration log log t) for a number.

    The first is the paper's (section III.A); the second is Garivier and Cappe's 2011, with 3 in theory and 0 in
    practice. With the arm's clock t / T replaces t, T the arm's plays. With a horizon n the level is that of
    KL-UCB++ (Menard and Garivier 2017): log+(y (1 + log+(y)^2)) with y = n / (K T) and log+ = max(0, log).

    Args:
      t: round, from 1.
      exploration: None or a number.
      clock: "round" or "arm".
      plays: [K], of each arm; needed for the arm's clock and for a horizon.
      horizon: None or n.

    Returns:
      One number for all arms, or one for each, [K], if `plays` are used.

    >>> round(float(level(10)), 4)
    3.9893
    >>> level(50, 0.0, "arm", jnp.array([10, 40])).round(4).tolist()  # log 5 and log 1.25
    [1.6094, 0.2231]
    """
    if horizon is not None:
        log_y = computed_once(log_equal_share(horizon, plays))
        return log_y + log_of_sum(log_y * log_y)
    if clock == "arm":
        t = jnp.asarray(t, float) / positive(plays)  # JAX divides two int32 in float32 whatever the default float is
    log_t = jnp.log(jnp.asarray(t, float))
    if exploration is None:
        return jnp.log1p(jnp.asarray(t, float) * log_t * log_t)
    return jnp.maximum(log_t + exploration * jnp.log(jnp.maximum(log_t, 1e-30)), 0)


def log_equal_share(n: ArrayLike, plays: Array) -> Array:
    """max(0, log(n / (K T))) for each of K arms, T its plays [K]: 0 for an arm with n / K plays or more.

    >>> log_equal_share(100, jnp.array([5, 50])).round(4).tolist()  # log 10
    [2.3026, 0.0]
    """
    equal = jnp.asarray(n, float) / plays.shape[0]
    return log(jnp.maximum(equal / positive(plays), 1))
