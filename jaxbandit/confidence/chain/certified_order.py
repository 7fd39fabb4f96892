"""What the likelihood ratio W(a, b) for the order of two arms' means is at least, over all chains.

Notation as in `meeting_chains`. Let Q be a chain with the stationary law x, y_s = log x_s, and alpha_s, beta_j >= 0 any
numbers. Since log z >= 1 - 1/z, and the law is stationary,

    D(Q) >= B(y) = sum over s, j of n_sj log((alpha_s + beta_j exp(y_s - y_j)) / N_s)
                   + sum over s of N_s - alpha_s - beta_s,

with equality at the chain Q_sj = n_sj / (alpha_s + beta_j exp(y_s - y_j)) if its law is x. B is convex in y, so one
convex function bounds the loss of likelihood of every chain. For every price rho >= 0

    W(a, b) >= min over y of B_a(y) + rho phi(y) + min over y of B_b(y) - rho phi(y),

    phi(y) = log(sum over s of r_s exp(y_s)) - log(sum over s of (1 - r_s) exp(y_s)).

One of the two logarithms in each minimum counts with a minus, and is not convex. With the entropy H it is

    -log(sum over s of d_s exp(y_s)) = min over weights v of -H(v) - sum over s of v_s (y_s + log d_s),

the state with d_s = 0 having no weight. For fixed weights what is minimised over y is convex, and its minimum k(v) is
concave in v. So in each part of a simplex of weights k is at least the affine function A of the values at its corners,
and the least of A(v) - rho H(v) over all v is -rho log(sum over s of exp(-A_s / rho)). The simplex is cut in equal
parts. Each k(v) is bounded from below by what Newton's steps reached, less what the remaining slope can hide
(`_least`).
"""

from __future__ import annotations

import itertools
from functools import lru_cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.confidence.chain.meeting_chains import Meeting, inverse, tilted

STEPS = 12  # Newton's, of each minimum
PARTS = {2: 1, 3: 24, 4: 16, 5: 12, 6: 8}  # into which an edge of the simplex is cut, by the number of states
ROUNDING = 1e-11  # what a sum in float64 may be wrong by, for each transition
MOST_STATES = max(PARTS)  # with more, the grid would be too coarse to be of use


def certified(counts: Array, counts_b: Array, reward: Array, meets: Meeting) -> Array:
    """A number that is at most W(a, b).

    Args:
      counts, counts_b: [S, S] float64, with departures from every state.
      reward: [S], increasing from 0 to 1, both of them once.
      meets: where the means meet, which makes the bound tight; any other chains and price give a bound as well.
    """
    price, a, b = meets
    first = _bound(counts, a.law, price * a.values, price, reward, 1 - reward)
    law, values, up, down = (numbers[::-1] for numbers in (b.law, -price * b.values, 1 - reward, reward))
    second = _bound(counts_b[::-1, ::-1], law, values, price, up, down)
    return first + second - ROUNDING * (counts.sum() + counts_b.sum())


def _bound(counts: Array, law: Array, values: Array, price: Array, up: Array, down: Array) -> Array:
    """What B(y) + price (log sum of up_s exp(y_s) - log sum of down_s exp(y_s)) is at least; the last `down` is 0."""
    weights, parts, solves = _simplex(len(law))
    _, c = tilted(counts, law, values)
    low, high = -values.min(), (c / law).min()  # alpha and beta are at least 0 for shifts between
    shift = (low + high) / 2
    alpha, beta = jnp.maximum(c - shift * law, 0), jnp.maximum((values + shift) * law, 0)
    convex = Convex(counts, alpha, beta, price, up)
    start = jnp.log(law / law[-1])
    k = jax.vmap(lambda v: _least(convex, v, start))(jnp.asarray(weights, counts.dtype))
    k = k - price * (weights * jnp.log(down[:-1])[None]).sum(1)
    at_corners = k[parts]
    affine = (jnp.asarray(solves, counts.dtype) * at_corners[:, None, :]).sum(2) / jnp.where(price > 0, price, 1)
    least = affine.min(1)
    lower = price * (least - jnp.log(jnp.exp(least[:, None] - affine).sum(1)))
    return jnp.where(jnp.isfinite(at_corners).all(1), lower, -jnp.inf).min()


class Convex(NamedTuple):
    """The convex part, B(y) + price log of the sum of up_s exp(y_s)."""

    counts: Array
    alpha: Array
    beta: Array
    price: Array
    up: Array

    def at(self, y: Array) -> tuple[Array, Array, Array]:
        """Its value, slopes [S] and curvature [S, S]."""
        added = self.beta[None] * jnp.exp(y[:, None] - y[None])
        whole = self.alpha[:, None] + added
        seen = self.counts > 0
        departures = self.counts.sum(1)
        share = jnp.where(seen, added / jnp.where(seen, whole, 1), 0)
        flow = self.counts * share
        paid = self.up * jnp.exp(y)
        law = paid / paid.sum()
        logs = jnp.log(jnp.where(seen, whole / departures[:, None], 1))
        value = (self.counts * logs).sum() + (departures - self.alpha - self.beta).sum()
        pairs = flow * (1 - share) + (flow * (1 - share)).T
        here = jnp.eye(len(y), dtype=bool)
        curvature = jnp.where(here, pairs.sum(1)[:, None], 0) - pairs
        curvature = curvature + self.price * (jnp.where(here, law[:, None], 0) - law[:, None] * law[None])
        slopes = flow.sum(1) - flow.sum(0) + self.price * law
        return value + self.price * jnp.log(paid.sum()), slopes, curvature


def _least(convex: Convex, weights: Array, start: Array) -> Array:
    """What the convex part less price (weights . y) is at least, for all y; -inf where Newton's steps ended too early.

    The third derivative of such a function f along a direction d is at most the second one times the range of d, the
    largest entry less the smallest. So with lambda^2 = f' H^-1 f' at y, H its curvature, kappa the most that the range
    of d is where d' H d = 1, and t = kappa lambda < 1,

        min f >= f(y) - (t + (1 - t) log(1 - t)) / kappa^2.
    """

    def at(y: Array) -> tuple[Array, Array, Array]:
        value, slopes, curvature = convex.at(y)
        pull = convex.price * weights
        return value - (pull * y[:-1]).sum(), slopes[:-1] - pull, inverse(curvature[:-1, :-1])

    def closer(_: Array, y: Array) -> Array:
        _, slopes, inverted = at(y)
        step = -(inverted * slopes[None]).sum(1)
        range_ = jnp.maximum(step.max(), 0) - jnp.minimum(step.min(), 0)
        damped = jnp.where(range_ > 1e-9, jnp.log1p(range_) / jnp.where(range_ > 1e-9, range_, 1), 1)
        moved = y + jnp.append(damped * step, 0)
        return jnp.where(jnp.isfinite(moved).all(), moved, y)

    value, slopes, inverted = at(jax.lax.fori_loop(0, STEPS, closer, start))
    own = (jnp.where(jnp.eye(len(slopes), dtype=bool), inverted, 0)).sum(1)
    range_squared = jnp.maximum((own[:, None] + own[None] - inverted - inverted.T).max(), own.max())  # kappa^2
    decrement = (slopes * (inverted * slopes[None]).sum(1)).sum()  # lambda^2
    t = jnp.sqrt(jnp.maximum(decrement * range_squared, 0))
    hidden = jnp.where(t < 1e-3, decrement, (t + (1 - t) * jnp.log1p(-jnp.minimum(t, 0.99))) / range_squared)
    return jnp.where((t < 0.99) & jnp.isfinite(value - hidden), value - hidden, -jnp.inf)


@lru_cache
def _simplex(states: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The simplex of weights of all states but the last, cut in parts with equal volumes (Freudenthal's triangulation).

    Returns:
      the corners' weights [C, S - 1]; the corners of the parts [P, S - 1], as numbers of rows of these; the inverses
      [P, S - 1, S - 1] of the parts' weights, which make an affine function's coefficients from its values.
    """
    free, edge = states - 2, PARTS[states]
    corners = [u for u in itertools.product(range(edge + 1), repeat=free) if list(u) == sorted(u)]
    number = {u: n for n, u in enumerate(corners)}
    parts = []
    for first in corners:
        for order in itertools.permutations(range(free)):
            path = [first]
            for axis in order:
                path.append(tuple(x + (i == axis) for i, x in enumerate(path[-1])))
            if all(u in number for u in path):
                parts.append([number[u] for u in path])
    cuts = np.array([(0, *u, edge) for u in corners], float) / edge
    weights = np.diff(cuts, axis=1)
    return weights, np.array(parts), np.linalg.inv(weights[np.array(parts)])
