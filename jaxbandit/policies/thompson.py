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

    Rewards between 0 and 1 count as fractions of a success. Scores are the draws' log odds, which tell draws near 1
    apart. There is no round-robin start: the prior explores.

    Args:
      a, b: of the prior, at least 1e-30.

    Raises:
      ValueError: from `simulate` and `check_policy`, unless both are.

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
        # summed apart: the plays less the reward gained would lose the few failures among many plays
        gained, missed = total(counts * state.reward), total(counts * (1 - state.reward))
        successes, failures = jax.random.split(key)
        return log_gamma(successes, self.a + gained) - log_gamma(failures, self.b + missed)

    def update(self, state: Visits, feedback: Feedback) -> Visits:
        return count_visits(state, feedback)


def log_gamma(key: Array, shape: Array) -> Array:
    """Logarithms of draws from gamma laws with these shapes [K], positive.

    With d = shape + 2/3 and w = x / sqrt(9 d), x normal, d (1 + w)^3 is proposed for shape + 1, and taken if
    log u < d (3 log(1 + w) - 3 w + 3 w^2 / 2 - w^3), u uniform; then multiplied by u'^(1 / shape). A proposal is
    refused with probability at most 0.05 (0.02 from shape 1 on); after six of them the last is taken as it is, which
    changes no probability by more than 0.05^6 = 2e-8. A fixed number makes one straight program for every device.

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
        short = w**4 * (-3 / 4 + w * (3 / 5 + w * (-1 / 2 + w * (3 / 7))))  # what d would magnify the rounding of
        excess = jnp.where(jnp.abs(w) < 0.05, short, 3 * (jnp.log(proposed) - w + w * w / 2) - w**3)
        accepted = (w > -1) & (jnp.log(u) < d * excess)
        return jnp.where(taken, base, proposed), taken | accepted

    nothing = (jnp.ones_like(shape), jnp.zeros(shape.shape, bool))
    base, _ = jax.lax.fori_loop(0, 6, propose, nothing)
    u = 1 - jax.random.uniform(jax.random.fold_in(key, 6), shape.shape, shape.dtype)  # never 0
    return jnp.log(d) + 3 * jnp.log(base) + jnp.log(u) / shape
