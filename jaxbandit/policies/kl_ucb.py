"""KL-UCB on the sample mean, and its round-robin variant."""

from __future__ import annotations

import jax.numpy as jnp

from jaxbandit.base import Array, Feedback, pytree, static
from jaxbandit.confidence import Solver, kl_upper
from jaxbandit.policies.estimates import Visits, count_visits, no_visits, sample_mean
from jaxbandit.policies.exploration import level


@pytree
class KLUCB:
    """KL-UCB on the sample mean (KL-UCB-SM): max{q : d(mean, q) <= log f(t) / T}, T the arm's plays.

    Args:
      exploration: None for f(t) = 1 + t log^2 t, or a number c for log t + c log log t.
      solver: of `confidence.kl_upper`.

    Source: Garivier and Cappe 2011; the paper's section V.

    >>> state = KLUCB().init(jnp.array([[0.0, 1.0], [0.0, 1.0]]))
    >>> KLUCB().scores(None, state, 1).tolist()
    [inf, inf]
    """

    exploration: Array | None = None
    solver: Solver = static("halley")

    def init(self, reward: Array) -> Visits:
        return no_visits(reward)

    def scores(self, key: Array, state: Visits, t: Array) -> Array:
        return kl_index(self, state, t)[0]

    def update(self, state: Visits, feedback: Feedback) -> Visits:
        return count_visits(state, feedback)


@pytree
class RoundRobinKLUCB:
    """Leader unless a challenger (KL-UCB-SM2): the best sample mean is played unless the KL-UCB index of the candidate,
    arm t mod K, exceeds it.

    The candidate's score is its index, the other arms' scores are their means: with M plays a round the same rule
    replaces the least of the M leaders.

    Args:
      exploration, solver: as in `KLUCB`.

    Source: Moulos 2020, reduced to one play and no least share of plays as in the paper's section V; f as in `KLUCB`.

    >>> state = RoundRobinKLUCB().init(jnp.array([[0.0, 1.0], [0.0, 1.0]]))
    >>> RoundRobinKLUCB().scores(None, state, 1).tolist()
    [inf, inf]
    """

    exploration: Array | None = None
    solver: Solver = static("halley")

    def init(self, reward: Array) -> Visits:
        return no_visits(reward)

    def scores(self, key: Array, state: Visits, t: Array) -> Array:
        index, mean = kl_index(self, state, t)
        arms = jnp.arange(mean.shape[0])
        return jnp.where((arms == t % mean.shape[0]) | jnp.isinf(index), index, mean)

    def update(self, state: Visits, feedback: Feedback) -> Visits:
        return count_visits(state, feedback)


def kl_index(policy: KLUCB | RoundRobinKLUCB, state: Visits, t: Array) -> tuple[Array, Array]:
    """The KL-UCB index [K], inf for an arm not yet played, and the sample means [K]."""
    mean, plays = sample_mean(state.counts, state.reward)
    radius = level(t, policy.exploration) / jnp.maximum(plays, 1).astype(float)
    return jnp.where(plays == 0, jnp.inf, kl_upper(mean, radius, policy.solver)), mean
