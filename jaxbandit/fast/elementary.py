"""Exponential and logarithm, with full relative accuracy for the arguments that occur in a confidence bound.

XLA's own float32 `exp` and `log` spend half their operations on infinities, zeros and NaN, which the bounds never need,
and it does not vectorise `log1p` on a CPU at all. JAX's own functions are the plain forms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.fast.slow_paths import PLAIN

_LOG_2 = math.log(2)
_LOG_2_HIGH = 0.693359375  # log(2) rounded to 9 bits, so that its products with whole numbers up to 2^15 are exact
_ROOT_HALF = 0x3F3504F3  # the bits of sqrt(1/2)
# Coefficients, from power 0 up, of (exp(r) - 1 - r) / r^2 for |r| <= log(2)/2 and of (log(1 + f) - f + f^2/2) / f^3 for
# sqrt(1/2) <= 1 + f < sqrt(2). They were fitted to make the largest relative error smallest: it is 1.4e-8 for
# exp(r) - 1 and 3.2e-8 for log(1 + f).
_EXPONENTIAL = [0.499999982, 0.166665436, 0.0416671999, 0.00836652061, 0.00138825209]
_LOGARITHM = [0.333339107, -0.25001337, 0.199630634, -0.16577585, 0.149147724, -0.142674845, 0.0870041811]

# The same, up from power 0 of x^2, of sin(pi x / 2) / x and cos(pi x / 2) for |x| <= 1: errors of 5e-9 and 5e-8.
_SINE = [1.57079632, -0.645963711, 0.079689679, -0.00467376662, 0.000151485131]
_COSINE = [0.999999953, -1.23369821, 0.253650745, -0.0208106275, 0.00085819062]


def polynomial(x: Array, coefficients: Sequence[float]) -> Array:
    """Sum over n of coefficients[n] x^n, in the shape of x."""
    total = jnp.full_like(x, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        total = total * x + coefficient
    return total


def exponential(y: Array | np.ndarray) -> tuple[Array, Array]:
    """1 - exp(-y) and exp(-y) for y >= 0, each to full relative accuracy; exp(-y) is 0 from y = 87 on in float32.

    Write -y = r - n log 2 with a whole number n and |r| <= log(2)/2. Then exp(-y) = 2^-n exp(r), and 1 - exp(-y) is
    (1 - 2^-n) - 2^-n (exp(r) - 1), whose two terms do not cancel: the first is 0 for n = 0, and larger than the second
    otherwise.

    >>> [round(float(share), 6) for share in exponential(jnp.array(0.5))]
    [0.393469, 0.606531]
    """
    if PLAIN or y.dtype.itemsize > 4:
        return -jnp.expm1(-y), jnp.exp(-y)
    inside = jnp.where(y < 87, y, 87.0)
    n = jnp.floor(inside * (1 / _LOG_2) + 0.5)
    r = (n * _LOG_2_HIGH - inside) + n * (_LOG_2 - _LOG_2_HIGH)
    scale = jax.lax.bitcast_convert_type((127 - n.astype(jnp.int32)) << 23, jnp.float32)
    grown = r + r * r * polynomial(r, _EXPONENTIAL)
    return (1 - scale) - scale * grown, jnp.where(y > 87, 0, scale * (1 + grown))


def log(x: Array | np.ndarray) -> Array:
    """The natural logarithm of positive, finite, normal (not subnormal) floats; other arguments give wrong numbers.

    >>> round(float(log(jnp.array(10.0))), 6)
    2.302585
    """
    if PLAIN or x.dtype.itemsize > 4:
        return jnp.log(x)
    bits = jax.lax.bitcast_convert_type(x, jnp.int32) - _ROOT_HALF
    f = jax.lax.bitcast_convert_type((bits & 0x7FFFFF) + _ROOT_HALF, jnp.float32) - 1
    return (bits >> 23).astype(x.dtype) * _LOG_2 + (f + f * f * (f * polynomial(f, _LOGARITHM) - 0.5))


def log_of_sum(u: Array) -> Array:
    """log(1 + u) for u >= 0, to full relative accuracy, in place of `jnp.log1p`, which XLA does not vectorise on a CPU.

    The float 1 + u loses digits of a small u; the difference is added afterwards. The absolute value of 1 + u keeps a
    compiler from simplifying (1 + u) - 1 to u, which would remove that correction.
    """
    if PLAIN:
        return jnp.log1p(u)
    whole = jnp.abs(1 + u)
    return log(whole) + jnp.where(u < 1, u - (whole - 1), 0)


def log_and_excess(u: Array) -> tuple[Array, Array]:
    """log(1 + u) and u - log(1 + u) for u >= 0, each to full relative accuracy.

    For a small u the second is what the first is computed from; by itself it would lose all its digits.

    >>> [round(float(number), 6) for number in log_and_excess(jnp.array(0.5))]
    [0.405465, 0.094535]
    """
    if PLAIN or u.dtype.itemsize > 4:
        short = jnp.minimum(u, 1)
        s = short / (2 + short)  # log(1 + u) = 2 artanh(s)
        square = s * s  # at most 1/9, so each term of the series is at least 9 times smaller than the one before
        terms = math.ceil(-math.log(2 * float(np.finfo(u.dtype).eps)) / math.log(9))
        series = s * (short - 2 * square * polynomial(square, [1 / (2 * n + 3) for n in range(terms)]))
        logarithm = jnp.log1p(u)
        return logarithm, jnp.where(u < 1, series, u - logarithm)
    bits = jax.lax.bitcast_convert_type(1 + u, jnp.int32) - _ROOT_HALF
    doublings = bits >> 23
    f = jax.lax.bitcast_convert_type((bits & 0x7FFFFF) + _ROOT_HALF, jnp.float32) - 1
    f = jnp.where(doublings == 0, u, f)  # 1 + u has lost digits of a small u
    lost = f * f * (0.5 - f * polynomial(f, _LOGARITHM))  # f - log(1 + f)
    logarithm = doublings.astype(u.dtype) * _LOG_2 + (f - lost)
    return logarithm, jnp.where(doublings == 0, lost, u - logarithm)


def cosine_and_sine(x: Array) -> tuple[Array, Array]:
    """cos(pi x / 2) and sin(pi x / 2) for -1 <= x <= 1, in place of JAX's, which XLA does not vectorise on a CPU.

    >>> [round(float(number), 6) for number in cosine_and_sine(jnp.array(1 / 3))]
    [0.866025, 0.5]
    """
    if PLAIN or x.dtype.itemsize > 4:
        return jnp.cos(x * (math.pi / 2)), jnp.sin(x * (math.pi / 2))
    square = x * x
    return polynomial(square, _COSINE), x * polynomial(square, _SINE)
