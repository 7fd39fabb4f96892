"""The largest and the smallest stationary mean of a chain when one of its rows is known up to a KL radius."""

from __future__ import annotations

import jax.numpy as jnp

from jaxbandit.base import Array
from jaxbandit.confidence.ball import weighted_mean_max
from jaxbandit.confidence.bernoulli import Solver
from jaxbandit.confidence.sums import largest, total

ESCAPE = 1e-12  # of every other row's mass towards the present state, so that the chain returns


def stationary_mean_upper(
    transition: Array, reward: Array, state: Array, radius: Array, solver: Solver = "halley"
) -> Array:
    """The largest stationary mean when row `state` may be any q with KL(transition[state] || q) <= radius.

    The other rows stay. With h_b and g_b the expected reward and number of plays from state b until the chain is next
    in `state` (0 in `state` itself) the mean is (reward[state] + sum of q_b h_b) / (1 + sum of q_b g_b), a weighted
    mean of the cycles' means, which `ball.weighted_mean_max` maximises without a search. Every other row moves to
    `state` with 1e-12 more than it says, so that rows which never return (or were seen once) are no exception.

    Args:
      transition: [..., S, S], rows sum to 1.
      reward: [..., S], finite.
      state: [...] int, whose row is uncertain.
      radius: [...], in [0, inf].
      solver: "halley" (default) or "bisection".

    Returns:
      the mean [...], within 2e-6 times the range of the rewards in float32 where every state leads back to `state`, as
      in any estimate from plays. Never NaN. Elsewhere about one random chain in 200 is worse, by up to 1e-3.

    Raises:
      ValueError: the solver's name is unknown.

    Source: the paper's section IV, algorithm 2, whose maximisation over the simplex is solved exactly.

    >>> chain = jnp.array([[0.5, 0.5, 0.0], [0.2, 0.5, 0.3], [0.1, 0.4, 0.5]])
    >>> [round(float(stationary_mean_upper(chain, jnp.array([0.0, 0.5, 1.0]), 0, c)), 4) for c in (0.0, 0.1, jnp.inf)]
    [0.5319, 0.6156, 0.7143]
    """
    p, means, lengths, radius = excursions(transition, reward, state, radius)
    return weighted_mean_max(p, means, lengths, radius, solver)[0]


def stationary_mean_lower(
    transition: Array, reward: Array, state: Array, radius: Array, solver: Solver = "halley"
) -> Array:
    """The smallest stationary mean; arguments and accuracy as in `stationary_mean_upper`.

    >>> chain = jnp.array([[0.5, 0.5, 0.0], [0.2, 0.5, 0.3], [0.1, 0.4, 0.5]])
    >>> round(float(stationary_mean_lower(chain, jnp.array([0.0, 0.5, 1.0]), 0, 0.1)), 4)
    0.4198
    """
    p, means, lengths, radius = excursions(transition, reward, state, radius)
    return -weighted_mean_max(p, -means, lengths, radius, solver)[0]


def excursions(
    transition: Array, reward: Array, state: Array, radius: Array
) -> tuple[Array, Array, Array, Array]:
    """Row `state` [..., S]; mean reward and expected length [..., S] of the cycle with each first step; radius [...].

    Eliminates state after state without subtractions (Grassmann, Taksar and Heyman): what leaves a state is the sum
    of the others in its row, never 1 less the diagonal, so that rows close to frozen keep their digits. The elimination
    is that of all states but the last; `state` and the last state change places before it and after.
    """
    transition, reward = jnp.asarray(transition, float), jnp.asarray(reward, float)
    state, radius = jnp.asarray(state), jnp.asarray(radius, float)
    states = transition.shape[-1]
    shape = jnp.broadcast_shapes(transition.shape[:-2], reward.shape[:-1], state.shape, radius.shape)
    transition = jnp.broadcast_to(transition, (*shape, states, states))
    reward = jnp.broadcast_to(reward, (*shape, states))
    here = jnp.broadcast_to(state, shape)[..., None] == jnp.arange(states)

    def at_state(values: Array) -> Array:
        return total(jnp.where(here, values, 0))

    def swapped(values: Array) -> list[Array]:
        """The last axis as a list, `state` and the last state in each other's place."""
        last = values[..., -1]
        return [jnp.where(here[..., a], last, values[..., a]) for a in range(states - 1)] + [at_state(values)]

    lowest = -largest(-reward)
    rows = [jnp.stack(swapped(transition[..., a, :]), -1) for a in range(states)]
    p = total(jnp.moveaxis(jnp.where(here[..., :, None], transition, 0), -2, -1))
    others = [jnp.where(here[..., a, None], rows[-1], rows[a]) for a in range(states - 1)]
    moves = [[row[..., b] for b in range(states - 1)] + [row[..., -1] + ESCAPE] for row in others]
    earned = swapped(reward - lowest[..., None])
    home = earned.pop()
    played = [jnp.ones_like(home)] * (states - 1)
    leaving = []
    for k in range(states - 1):
        leaving.append(sum(moves[k][k + 1 :]))
        for a in range(k + 1, states - 1):
            share = moves[a][k] / leaving[k]
            moves[a] = [moves[a][b] + share * moves[k][b] if b > k else moves[a][b] for b in range(states)]
            earned[a], played[a] = earned[a] + share * earned[k], played[a] + share * played[k]
    for k in reversed(range(states - 1)):
        for b in range(k + 1, states - 1):
            earned[k] = earned[k] + moves[k][b] * earned[b]
            played[k] = played[k] + moves[k][b] * played[b]
        earned[k], played[k] = earned[k] / leaving[k], played[k] / leaving[k]
    h, g = (jnp.stack(swapped(jnp.stack([*part, 0 * home], -1)), -1) for part in (earned, played))
    return p, lowest[..., None] + (home[..., None] + h) / (1 + g), 1 + g, jnp.broadcast_to(radius, shape)
