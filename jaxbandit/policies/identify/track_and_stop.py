"""The sampling rule Track-and-Stop: plays follow the shares that would be optimal if the estimates were true."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import Array

from jaxbandit.base import Task, pytree
from jaxbandit.policies.identify.sampling_rules import Seen

HALVINGS = 18  # of the plays of an arm, and of the evidence that they give
FARTHEST = 12.0  # an arm has from 2^-12 to 2^12 plays for one of the leader
DOUBLING = 5  # shares are computed again 2^5 times while the number of rounds doubles

# J_a and J_b [K] of x [K], if each arm b had x_b times the plays of the leader a, and what was seen in the same shares
Information = Callable[[Array], tuple[Array, Array]]


@pytree
class TrackAndStop:
    """D-tracking: the arm that is farthest behind its optimal share of plays; the fewest plays where these are few.

    With T plays after t rounds it plays an arm with T_k < sqrt(t) - K / 2 that has the fewest plays; if there is none,
    the arm with the largest t w_k - T_k. The weights w maximise the least evidence that plays in these shares give if
    the arms are as they are estimated: as chains with `ChainGLR` and `Blocks`, independent ones with `BernoulliGLR`.
    They are uniform while an arm is as good as the leader or a row was never seen. They take some hundred evaluations
    of W, so from round 64 on they are computed 32 times while the number of rounds doubles.

    Source: Garivier and Kaufmann 2016 (from memory), who compute the weights in every round.

    >>> seen = Seen(jnp.int32(0), (), (), (), jnp.array([50, 30, 20]))
    >>> weights = jnp.array([0.5, 0.25, 0.25])  # they are not computed again in round 101
    >>> TrackAndStop().track(seen, weights, lambda x: (x, x), jnp.int32(101))[0].tolist()
    [0.0, -5.0, 5.0]
    """

    def validate(self, task: Task) -> None:
        """It plays all arms."""

    def begin(self, arms: int) -> Array:
        return jnp.full(arms, 1 / arms)

    def track(self, seen: Seen, weights: Array, information: Information, t: Array) -> tuple[Array, Array]:
        """Scores [K] of round t, of which the largest is played, and the weights [K] that are kept."""
        octave = 31 - jax.lax.clz(jnp.asarray(t, jnp.int32))
        due = t % (1 << jnp.maximum(octave - DOUBLING, 0)) == 0  # the same rounds in every run
        new = optimal_shares(information, seen.leader, seen.plays.shape[0], jnp.where(due, HALVINGS, 0))
        weights = jnp.where(due, new, weights)
        plays, rounds = seen.plays.astype(float), (t - 1).astype(float)
        few = plays.min() < jnp.sqrt(rounds) - len(plays) / 2
        return jnp.where(few, -plays, rounds * weights - plays), weights


def optimal_shares(information: Information, leader: Array, arms: int, halvings: Array) -> Array:
    """The shares of plays [K] that maximise the least evidence against an arm; uniform if there is none against one.

    With x_b plays of arm b for one of the leader a, the evidence is g_b(x_b), which increases. All are equal to y at
    the optimum, and the derivatives say that the sum over b of J_a / (J_b / x_b) is 1. It increases with y.

    Args:
      information: J_a and J_b [K] of these plays x [K].
      halvings: of y; 0 for shares that are not needed.
    """
    others = jnp.arange(arms) != leader

    def plays_for(y: Array) -> tuple[Array, Array]:
        """log2 of the x at which each g_b is y, and the sum of the derivatives' quotients."""

        def halved(_: int, ends: tuple[Array, Array]) -> tuple[Array, Array]:
            low, high = ends
            middle = (low + high) / 2
            enough = sum(information(jnp.exp2(middle))) >= y
            return jnp.where(enough, low, middle), jnp.where(enough, middle, high)

        ends = jnp.full(arms, -FARTHEST), jnp.full(arms, FARTHEST)
        _, x = jax.lax.fori_loop(0, HALVINGS, halved, ends)
        own, other = information(jnp.exp2(x))
        quotient = own * jnp.exp2(x) / jnp.where(other > 0, other, 1)
        return x, jnp.where(others & (other > 0), quotient, jnp.where(others & (own > 0), jnp.inf, 0)).sum()

    def step(_: Array, ends: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        low, high, x = ends
        middle = (low + high) / 2
        x, quotients = plays_for(middle)
        return jnp.where(quotients < 1, middle, low), jnp.where(quotients < 1, high, middle), x

    most = jnp.where(others, sum(information(jnp.full(arms, 2.0**FARTHEST))), jnp.inf).min()
    _, _, x = jax.lax.fori_loop(0, halvings, step, (jnp.zeros_like(most), most, jnp.zeros(arms)))
    shares = jnp.where(others & (most > 0), jnp.exp2(x), 1)
    return shares / shares.sum()
