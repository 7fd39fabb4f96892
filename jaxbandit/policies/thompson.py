"""Thompson sampling."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from jaxbandit.base import Array, Feedback, pytree, total
from jaxbandit.policies import checks
from jaxbandit.policies.estimates import Visits, count_visits, no_visits


@pytree
class Thompson:
    """Beta-Bernoulli Thompson sampling: a draw from Beta(a + total reward, b + T - total reward), T the arm's plays.

    Rewards between 0 and 1 count as fractions of a success. An arm's score is log(q / (1 - q)) for its draw q: this
    orders the arms as q does, and still tells apart draws close to 1. Arms are not played in turn first, because the
    prior makes the policy try each of them.

    Args:
      a, b: parameters of the prior Beta(a, b), at least 1e-30.

    Raises:
      ValueError: a or b is not a number of at least 1e-30 (raised by `simulate` and `check_policy`).

    Source: Thompson 1933; Kaufmann, Korda and Munos 2012.

    >>> state = Thompson().init(jnp.array([[0.0, 1.0], [0.0, 1.0]]))
    >>> Thompson().scores(jax.random.key(0), state, 1).shape
    (2,)
    """

    a: Array = 1.0
    b: Array = 1.0

    def validate(self, reward: Array) -> None:
        checks.number(self, "a", 1e-30)
        checks.number(self, "b", 1e-30)

    def init(self, reward: Array) -> Visits:
        return no_visits(reward)

    def scores(self, key: Array, state: Visits, t: Array) -> Array:
        counts = state.counts.astype(float)
        # failures have a sum of their own: T less the total reward would lose a few failures among many plays
        gained, missed = total(counts * state.reward), total(counts * (1 - state.reward))
        successes, failures = jax.random.split(key)
        # with independent gamma draws X and Y, X / (X + Y) has the beta law, and X / Y are its odds
        return log_gamma(successes, self.a + gained) - log_gamma(failures, self.b + missed)

    def update(self, state: Visits, feedback: Feedback) -> Visits:
        return count_visits(state, feedback)


def log_gamma(key: Array, shape: Array) -> Array:
    """Logarithms of independent draws from gamma laws of scale 1.

    A draw for shape + 1 is found by rejection and multiplied by u'^(1 / shape), u' uniform, which makes it one for
    `shape`. With d = shape + 2/3 and w = x / sqrt(9 d), x normal, the proposal is d (1 + w)^3; it is accepted if
    log u < d (3 log(1 + w) - 3 w + 3 w^2 / 2 - w^3), u uniform. A proposal is refused with probability at most 0.05
    (0.02 from shape 1 on). There are six proposals, of which the first accepted one counts, and the last one if all
    are refused, which changes no probability by more than 0.05^6 = 2e-8. As the number of proposals is fixed, the
    program takes the same steps whatever is drawn, on every device.

    Args:
      key: a random key.
      shape: [K], positive; the logarithms returned are [K], too.

    Source: Marsaglia and Tsang 2000; the right side is theirs, without the terms that cancel.

    >>> log_gamma(jax.random.key(0), jnp.array([0.5, 2.0])).shape
    (2,)
    """
    d = shape + 2 / 3

    def propose(n: Array, found: tuple[Array, Array]) -> tuple[Array, Array]:
        base, taken = found
        normal, uniform = jax.random.split(jax.random.fold_in(key, n))
        w = jax.random.normal(normal, shape.shape, shape.dtype) / jnp.sqrt(9 * d)
        u = jax.random.uniform(uniform, shape.shape, shape.dtype)
        proposed = jnp.maximum(1 + w, 1e-30)
        # near w = 0 a series is used, for d would magnify the rounding errors of the plain form
        short = w**4 * (-3 / 4 + w * (3 / 5 + w * (-1 / 2 + w * (3 / 7))))
        excess = jnp.where(jnp.abs(w) < 0.05, short, 3 * (jnp.log(proposed) - w + w * w / 2) - w**3)
        accepted = (w > -1) & (jnp.log(u) < d * excess)
        return jnp.where(taken, base, proposed), taken | accepted

    nothing = (jnp.ones_like(shape), jnp.zeros(shape.shape, bool))
    base, _ = jax.lax.fori_loop(0, 6, propose, nothing)
    u = 1 - jax.random.uniform(jax.random.fold_in(key, 6), shape.shape, shape.dtype)  # uniform draws may be 0, never 1
    return jnp.log(d) + 3 * jnp.log(base) + jnp.log(u) / shape
