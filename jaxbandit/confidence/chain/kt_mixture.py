"""The mixture of Krichevsky and Trofimov over all chains, beside the likeliest chain."""

from __future__ import annotations

import math
from functools import partial

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.arguments import Numbers, accepts
from jaxbandit.base import total
from jaxbandit.fast import computed_once, log

FEW = 8  # counts below which the series is not exact enough


@accepts(counts=Numbers("[..., S, S]", 0))
@partial(jax.jit, inline=True)
def chain_mixture(counts: ArrayLike) -> Array:
    """log M - L^: the logarithm of how much less likely the counts are on average than under the likeliest chain.

    M is the likelihood averaged over chains whose rows are drawn from Dirichlet laws with the parameters 1/2, and L^
    the largest log-likelihood. With n = `counts`, S states and N_s departures from state s

        log M = sum over s of log (Gamma(S/2) / Gamma(N_s + S/2)) + sum over j of log (Gamma(n_sj + 1/2) / Gamma(1/2)),

    which is what predicting the next state with (n_sj + 1/2) / (N_s + S/2) gives, move by move. Whatever the chain P
    and whenever it is played, M over the likelihood under P is a nonnegative martingale with the mean 1, as N grows:
    so P(it is ever above 1 / delta) <= delta.

    It is computed without the terms N log N, that log M and L^ have in common and that are much larger than the
    difference: about (S - 1)/2 log N_s a row.

    Args:
      counts: [..., S, S], up to about 1e7.

    Returns:
      [...], at most 0, within 1e-5 a row in float32.

    Source: Krichevsky and Trofimov 1981 (not opened); Ville 1939 for the martingale.

    >>> round(float(chain_mixture(jnp.array([[10, 20], [15, 25]]))), 4)
    -4.0122
    """
    n = jnp.asarray(counts, float)
    states, departures = n.shape[-1], total(n)
    seen = jnp.where(departures > 0, departures, 1)
    # log Gamma(N + S/2) beyond Gamma(N + 1) or Gamma(N + 1/2), by the factors between
    half, whole = states % 2, states // 2
    beyond = jnp.zeros_like(seen)
    for i in range(whole - 1 + half):
        beyond = beyond + jnp.log1p((i + (0.5 if half else 1)) / seen)
    beyond = beyond + (_rest(seen, 0.5) if half else _rest(seen, 1.0))
    constant = math.lgamma(states / 2) + (states - 1) / 2 * math.log(2 * math.pi) - states / 2 * math.log(math.pi)
    row = constant - (states - 1) / 2 * log(seen) - beyond + total(_rest(n, 0.5))
    return jnp.minimum(total(jnp.where(departures > 0, row, 0)), 0)


def _rest(n: Array, shift: float) -> Array:
    """log Gamma(n + shift) - (n log n - n + log(2 pi) / 2 + (shift - 1/2) log n), shift 1/2 or 1; 0 log 0 = 0."""
    # of few, by Gamma(n + shift) = Gamma(n + FEW + shift) / product: n log n is all that is not a series
    few = jnp.where(n < FEW, n, 0)
    by = jnp.where(n < FEW, n + FEW, n)
    inverse = 1 / by
    square = inverse * inverse
    product, scale = jnp.ones_like(n), jnp.where(n < FEW, inverse, 1 / FEW)
    for i in range(FEW):
        product = product * ((few + (shift + i)) * scale)
    if shift == 1:
        series = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680)))
    else:
        series = -inverse * (1 / 24 - square * (7 / 2880 - square * (31 / 40320 - square * 127 / 215040)))
    lost = (few + (shift - 0.5)) * log(by / jnp.where(few > 0, few, 1)) - log(product) - FEW
    return computed_once(series + jnp.where(n < FEW, lost, 0))
