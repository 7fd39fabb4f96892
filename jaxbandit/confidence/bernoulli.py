"""Bernoulli KL confidence bounds, in a fixed number of steps, for jit, vmap and every device."""

from __future__ import annotations

import math
from functools import partial
from typing import Literal, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.arguments import Numbers, accepts
from jaxbandit.fast import computed_once, exponential, larger, log_and_excess, log_of_sum, polynomial, smaller

Solver = Literal["halley", "bisection"]
SOLVERS = list(get_args(Solver))
PROBABILITY, RADIUS = Numbers("[...]", 0, 1), Numbers("[...]", 0, math.inf)


@accepts(p=PROBABILITY, radius=RADIUS, solver=SOLVERS)
@partial(jax.jit, static_argnames="solver")
def kl_upper(p: ArrayLike, radius: ArrayLike, solver: Solver = "halley") -> Array:
    """Largest q in [p, 1] with d(p, q) <= radius.

    d(p, q) = p log(p/q) + (1-p) log((1-p)/(1-q)), with 0 log 0 = 0.

    Args:
      p: any shape, in [0, 1].
      radius: broadcast against p, in [0, inf].
      solver: "halley" (default, one step in float32) or "bisection" (32 halvings); both keep to the root's bracket.

    Returns:
      q in the broadcast shape of p and radius; within 16 ULP in float32 for p >= 1e-7.
      upper(0, c) = 1 - exp(-c), upper(1, c) = 1, upper(p, 0) = p and upper(p, inf) = 1; never NaN.

    Raises:
      ValueError: the solver's name is unknown.

    Source: Garivier and Cappe 2011, algorithm 1; the bracket is our own, see `kl_bound`.

    >>> round(float(kl_upper(0.5, 0.1)), 4)
    0.7129
    """
    return kl_bound(p, radius, True, solver)


@accepts(p=PROBABILITY, radius=RADIUS, solver=SOLVERS)
@partial(jax.jit, static_argnames="solver")
def kl_lower(p: ArrayLike, radius: ArrayLike, solver: Solver = "halley") -> Array:
    """Smallest q in [0, p] with d(p, q) <= radius.

    d(p, q) = p log(p/q) + (1-p) log((1-p)/(1-q)), with 0 log 0 = 0. It is not computed as
    1 - upper(1 - p, radius), so that a bound near 1e-5 keeps its digits.

    Args:
      p: any shape, in [0, 1].
      radius: broadcast against p, in [0, inf].
      solver: "halley" (default, one step in float32) or "bisection" (32 halvings); both keep to the root's bracket.

    Returns:
      q, within 16 ULP in float32 of the bound, or of p/1000 where the bound is smaller.
      lower(0, c) = 0, lower(1, c) = exp(-c), lower(p, 0) = p and lower(p, inf) = 0; never NaN.

    Raises:
      ValueError: the solver's name is unknown.

    >>> round(float(kl_lower(0.5, 0.1)), 4)
    0.2871
    """
    return kl_bound(p, radius, False, solver)


@accepts(p=PROBABILITY, radius=RADIUS, upper=Numbers("[...]", 0, 1, kind=bool), solver=SOLVERS)
@partial(jax.jit, static_argnames="solver")
def kl_bound(p: ArrayLike, radius: ArrayLike, upper: ArrayLike, solver: Solver = "halley") -> Array:
    """`kl_upper` where `upper` is true, `kl_lower` where it is false, at the cost of one of them.

    The bound q moves away from p: one of the two outcomes shrinks from its probability P to P exp(-y), the other grows
    from Q = 1 - P to Q + x with x = P (1 - exp(-y)). For the upper bound the shrinking outcome is failure, P = 1 - p;
    for the lower bound it is success, P = p. As a function of y >= 0 the divergence is increasing and convex:

        d(y) = P y - Q log(1 + x/Q),  d'(y) = x / (Q + x),  d''(y) = P Q exp(-y) / (Q + x)^2.

    Bracket: with a = radius/P and s = sqrt(2 a Q) the root of d(y) = radius lies in [max(a, s), a + s]. The left end
    follows from d(y) <= P y and d'' <= P/Q. For the right end let L = (Q/P) log(1 + x/Q): then d = P (y - L) and
    y >= L + L^2 / (2 Q).

    Start: how far y falls short of a + s depends smoothly on s / (a + s) and Q alone. A polynomial in these two starts
    within 0.7 % of the root, and one of Halley's steps from there reaches float32.

    Rounding: near q = p the two terms of d(y) cancel. That does no harm to Halley's step: an error in the last digit of
    P y moves y by one in the last digit of Q, and q by less than its own last digit. Bisection has nothing but the sign
    of d(y) - radius, so there d(y) is the sum of P (y - x/P) and x - Q log(1 + x/Q), which are both positive.

    Args:
      p: any shape, in [0, 1].
      radius: broadcast against p, in [0, inf].
      upper: broadcast against p, bool.
      solver: "halley" or "bisection".

    Returns:
      the bound q in the broadcast shape of p, radius and upper; accuracy and exact cases as in `kl_upper`, `kl_lower`.

    Raises:
      ValueError: the solver's name is unknown.

    >>> kl_bound(jnp.array([0.0, 1.0]), jnp.inf, jnp.array([True, False])).tolist()
    [1.0, 0.0]
    """
    p, radius = jnp.asarray(p, float), jnp.asarray(radius, float)
    shrinking = jnp.where(upper, 1 - p, p)
    lost, kept = _lost_and_kept(shrinking, jnp.where(upper, p, 1 - p), radius, solver)
    return jnp.where(upper, p + shrinking * lost, shrinking * kept)


def _lost_and_kept(shrinking: Array, growing: Array, radius: Array, solver: Solver) -> tuple[Array, Array]:
    """1 - exp(-y) and exp(-y) at the root y of d(y) = radius; `shrinking` is P of `kl_bound`, `growing` is Q."""
    info = np.finfo(radius.dtype)
    tiny = float(info.tiny)
    shrinking = larger(shrinking, tiny)
    growing = larger(growing, tiny)
    inverse = 1 / growing
    low, near, high = begin(shrinking, growing, radius)
    # The two `computed_once` split the operations into several loops over the runs. These are short enough for a
    # processor to begin with the next runs while it waits for the last ones, which saves a quarter of the time.

    def halley(y: Array) -> Array:
        mass = shrinking * exponential(y)[0]
        grown = growing + mass
        distance = computed_once(shrinking * y - growing * log_of_sum(mass * inverse) - radius)
        # Halley's step with d' = x / (Q + x) and d'' = (P - x) Q / (Q + x)^2, multiplied out to take one division
        bend = (shrinking - mass) * growing
        y = y - 2 * distance * mass * grown / (2 * mass * mass - distance * bend)
        return jnp.where(y > high, high, jnp.where(y >= low, y, low))  # where radius is 0, y is NaN here: low is taken

    def halve(_: int, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = ends
        middle = (low + high) / 2
        lost = exponential(middle)[0]
        above = (
            shrinking * exponential_excess(middle) + growing * log_and_excess(shrinking * lost * inverse)[1] >= radius
        )
        return jnp.where(above, low, middle), jnp.where(above, middle, high)

    if solver == "halley":
        y = near
        for _ in range(1 if info.bits == 32 else 2):
            y = halley(y)
    else:
        low, high = jax.lax.fori_loop(0, 32 if info.bits == 32 else 60, halve, (low, high))
        y = (low + high) / 2
    return exponential(computed_once(y))


def begin(shrinking: Array, growing: Array, radius: Array) -> tuple[Array, Array, Array]:
    """The left end of the root's bracket in `kl_bound`, a y within 0.7 % of the root, and the right end.

    Args:
      shrinking, growing: P, positive, and Q, at least 0; one shape.
      radius: of the same shape, in [0, inf].
    """
    info = np.finfo(radius.dtype)
    most = 1 - math.log(float(info.smallest_subnormal))  # for any larger y, exp(-y) is 0
    ratio = radius / shrinking
    spread = jnp.sqrt(2 * ratio * growing)
    low, high = smaller(larger(ratio, spread), most), smaller(ratio + spread, most)
    w = smaller(spread, most) / larger(smaller(ratio + spread, 2 * most), float(info.tiny))
    return low, larger(high * (1 - w * (1 - w) * shortfall(w, growing)), low), high


# The coefficients of (1 - y / (a + s)) / (w (1 - w)), y the root, as a polynomial of degree 3 in w = s / (a + s) and Q.
# Row i belongs to w^i, column j to Q^j. They were fitted to make the largest error of y smallest; it is 0.65 %.
_SHORTFALL = ([0.8950, 0.9948, -1.3780, 0.4004], [-0.8110, 1.2303, 0.9601], [-0.4849, -2.1508], [0.8971])


def shortfall(w: Array, growing: Array) -> Array:
    """The polynomial of `_SHORTFALL` in w and Q = `growing`."""
    total = jnp.zeros_like(w)
    for row in reversed(_SHORTFALL):
        total = total * w + polynomial(growing, row)
    return total


def exponential_excess(y: Array) -> Array:
    """y - 1 + exp(-y) for y >= 0, to full relative accuracy."""
    terms = 12 if y.dtype.itemsize == 4 else 20
    short = jnp.minimum(y, 1)
    series = polynomial(short, [(-1) ** n / math.factorial(n) for n in range(2, terms)])
    return jnp.where(y < 1, series * short * short, y - exponential(y)[0])
