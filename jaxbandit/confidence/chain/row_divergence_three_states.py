"""The log-likelihood ratio of a row of three states, for rows by which the expected value of a move is at least 0.

n_j moves to state j were seen, a move to j is worth v_j, and p_j = n_j / N. Among all rows q

    K(v) = the smallest N KL(p || q) with sum of q_j v_j >= 0
         = the largest sum of n_j log(1 - x v_j) over x >= 0 with x v_j <= 1.

With the best move's v_m and y = 1 - x v_m, the largest lies where a quadratic in y is 0, or at y = 1 where the sum of
n_j v_j is at least 0. In y nothing cancels: 1 - x v_j = (v_m - v_j) / v_m + y v_j / v_m.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.fast import larger, log, polynomial

TINY = 1e-30


def divergence(n: list[Array], v: list[Array], apart: list[Array]) -> Array:
    """K [...] of three counts and three values; apart = v_0 - v_1, v_0 - v_2, v_1 - v_2, in which digits are kept."""
    first = (apart[0] >= 0) & (apart[1] >= 0)
    second = ~first & (apart[2] >= 0)

    def chosen(a: Array, b: Array, c: Array) -> Array:
        """The one of a, b and c that belongs to the best move."""
        return jnp.where(first, a, jnp.where(second, b, c))

    best, most = chosen(*v), chosen(*n)
    (one, many), (other, more) = ((jnp.where(first, a[1], a[0]), jnp.where(first | second, a[2], a[1])) for a in (v, n))
    inverse = 1 / larger(best, TINY)
    r, s = one * inverse, many * inverse  # values of the other two moves in units of the best one's
    c = jnp.where(first, apart[0], jnp.where(second, -apart[0], -apart[1])) * inverse
    d = jnp.where(first, apart[1], jnp.where(second, apart[2], -apart[2])) * inverse
    square = (most + other + more) * r * s
    line = most * (c * s + d * r) + other * r * d + more * s * c
    whole = most * c * d
    worth = most + other * r + more * s
    root = jnp.sqrt(larger(line * line - 4 * square * whole, 0))
    y = jnp.where(line < 0, 2 * whole / larger(root - line, TINY), (root + line) / larger(-2 * square, TINY))
    # near y = 1 the root of the same equation in x keeps more digits
    turned = most * (r + s) + other * r * (1 + s) + more * s * (1 + r)
    x = -2 * worth / larger(jnp.sqrt(larger(turned * turned - 4 * square * worth, 0)) - turned, TINY)
    near = y > 0.5
    y, x = jnp.where(near, 1 - x, larger(y, 0)), jnp.where(near, x, 1 - y)
    y, x = jnp.where(worth < 0, y, 1), jnp.where(worth < 0, x, 0)
    total = most * log_and_rest(x, y) + other * log_and_rest(x * r, c + r * y) + more * log_and_rest(x * s, d + s * y)
    # 0 and not infinity where only the best move was seen: at the solution its v is 0, and less by rounding alone
    return jnp.where((best > 0) | (worth >= 0), total - x * worth, jnp.inf)


def log_and_rest(w: Array, left: Array) -> Array:
    """log(1 - w) + w, where `left` is 1 - w without its rounding; near 0 by the series.

    >>> [f"{number:.4g}" for number in log_and_rest(jnp.array([0.5, 1e-3]), jnp.array([0.5, 0.999])).tolist()]
    ['-0.1931', '-5.003e-07']
    """
    near = jnp.abs(w) < 0.25
    small = jnp.where(near, w, 0)
    series = polynomial(small, [-1 / k for k in range(2, 12 if np.finfo(w.dtype).bits == 32 else 26)])
    return jnp.where(near, small * small * series, w + log(larger(left, 1e-30)))
