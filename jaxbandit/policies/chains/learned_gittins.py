"""Gittins index policies for unknown chains: of the estimated chains, and of chains drawn from the posterior."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.base import Feedback, Task, per_arm, pytree, total
from jaxbandit.fast import computed_once
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.memory import Transitions, no_transitions
from jaxbandit.policies.parts.posteriors import dirichlet, of_rows

WRITTEN_OUT = 3  # states up to which the elimination is unrolled, not a loop


class Indexed(NamedTuple):
    """State of `PlugInGittins`: transitions, and the indices of the estimated chains."""

    counts: Array  # [K, S, S], [K] and [K, S], as in `Transitions`
    states: Array
    reward: Array
    indices: Array  # [K, S]


@pytree
class PlugInGittins:
    """Plug-in Gittins index: the Gittins index of the estimated chains (certainty equivalence).

    With N[s, s'] the transitions of an arm seen and N[s] their sum over s', its row s is estimated as
    (N[s, s'] + prior / S) / (N[s] + prior); its score is the `indices.gittins` of these rows in its present state, inf
    before its first play. The policy is for rested arms. It does not explore: it may play a
    suboptimal arm for ever.

    Args:
      discount: from 0 to 0.999999.
      prior: pseudo-count of each row, divided evenly among the states; at least 1e-30, one number or [K].
      initial_state: assumed state of an arm not seen since the last restart (`environments.restarting`), an integer,
        or [K] integers.

    Raises:
      ValueError: from `simulate` and `check_policy`, for a field out of range.

    >>> policy = PlugInGittins(discount=0.9)
    >>> state = policy.init(jnp.array([[0.0, 1.0], [0.0, 1.0]]))
    >>> jax.jit(policy.scores)(None, state, 1)[0].tolist()
    [inf, inf]
    """

    units = "mapped"

    discount: ArrayLike = 0.99
    prior: ArrayLike = per_arm(1.0)
    initial_state: ArrayLike = per_arm(0)

    def validate(self, task: Task) -> None:
        checks.suits(self, task)
        _check(self, task)

    def init(self, reward: Array) -> Indexed:
        seen = no_transitions(reward)
        return Indexed(*seen, jnp.zeros_like(seen.reward))

    def scores(self, key: Array, state: Indexed, t: Array) -> tuple[Array, Indexed]:
        unplayed = total(total(state.counts)) == 0
        return jnp.where(unplayed, jnp.inf, _in_states(state.indices, state.states)), state

    def update(self, state: Indexed, feedback: Feedback) -> Indexed:
        seen = Transitions(*state[:3]).counted(feedback)
        counts = seen.counts[feedback.arms].astype(float)
        prior: Any = of_rows(self.prior, 0)
        prior = prior[feedback.arms] if jnp.ndim(prior) else prior
        rows = computed_once(
            (counts + of_rows(prior / counts.shape[-1])) / (total(counts) + of_rows(prior, 1))[..., None]
        )
        played = gittins_of_rows(rows, seen.reward[feedback.arms], self.discount)
        table = state.indices.at[feedback.arms[:, None], jnp.arange(counts.shape[-1])[None]].set(played)
        return Indexed(seen.counts, _states_after(self, seen.states, feedback), seen.reward, table)


class Drawn(NamedTuple):
    """State of `PosteriorGittins`: transitions, and those from whose posterior the rows of the episode are drawn."""

    counts: Array  # [K, S, S], [K] and [K, S], as in `Transitions`
    states: Array
    reward: Array
    known: Array  # [K, S, S] int32, transitions seen before the episode
    episode: Array  # uint32, the random number of the episode; 0 before the first restart


@pytree
class PosteriorGittins:
    """Posterior sampling with Gittins indices (MB-PSRL): the Gittins index of chains drawn anew in every episode.

    With N[s, s'] the transitions of an arm seen before the episode, its row s is a draw from the Dirichlet law with
    parameters prior / S + N[s, s'], kept until all arms restart (`environments.restarting`); its score is the
    `indices.gittins` of the drawn rows in its present state. Before the first restart, and in environments without
    restarts, every round is an episode.

    Args:
      discount: from 0 to 0.999999.
      prior: sum of the parameters of each row's prior law, at least 1e-30; one number or one of each arm, [K].
      initial_state: assumed state of an arm not seen since the last restart (`environments.restarting`), an integer,
        or [K] integers.

    Raises:
      ValueError: from `simulate` and `check_policy`, for a field out of range.

    Source: Gast, Gaujal and Khun 2022 (there MB-PSRL); their episodes are as in `environments.restarting`.

    >>> policy = PosteriorGittins(discount=0.9)
    >>> state = policy.init(jnp.array([[0.0, 1.0], [0.0, 1.0]]))
    >>> jax.jit(policy.scores)(jax.random.key(0), state, 1)[0].shape
    (2,)
    """

    units = "mapped"

    discount: ArrayLike = 0.99
    prior: ArrayLike = per_arm(1.0)
    initial_state: ArrayLike = per_arm(0)

    def validate(self, task: Task) -> None:
        checks.suits(self, task)
        _check(self, task)

    def init(self, reward: Array) -> Drawn:
        seen = no_transitions(reward)
        return Drawn(*seen, seen.counts, jnp.uint32(0))

    def scores(self, key: Array, state: Drawn, t: Array) -> tuple[Array, Drawn]:
        # the number of the episode serves as its key: it gives the same rows in all rounds of the episode
        number = jnp.stack([state.episode, jnp.zeros_like(state.episode)])
        words = jnp.where(state.episode > 0, number, jax.random.key_data(key))
        parameters = of_rows(self.prior) / state.known.shape[-1] + state.known.astype(float)
        rows = dirichlet(jax.random.wrap_key_data(words, impl="threefry2x32"), parameters)
        return _in_states(gittins_of_rows(rows, state.reward, self.discount), state.states), state

    def update(self, state: Drawn, feedback: Feedback) -> Drawn:
        seen = Transitions(*state[:3]).counted(feedback)
        states = _states_after(self, seen.states, feedback)
        if feedback.restarted is None:
            return Drawn(seen.counts, states, seen.reward, seen.counts, state.episode)
        episode = jnp.where(feedback.restarted > 0, feedback.restarted, state.episode)
        new = (feedback.restarted > 0) | (episode == 0)
        return Drawn(seen.counts, states, seen.reward, jnp.where(new, seen.counts, state.known), episode)


def gittins_of_rows(rows: Array, reward: Array, discount: ArrayLike) -> Array:
    """Gittins index [M, S] of chains [M, S, S] with rewards [M, S], in S steps: `indices.gittins` for traced numbers.

    >>> rows = jnp.array([[[0.5, 0.5], [0.4, 0.6]]])
    >>> jax.jit(gittins_of_rows)(rows, jnp.array([[0.0, 1.0]]), 0.9).round(4).tolist()
    [[0.5495, 0.6]]
    """
    states = rows.shape[-1]

    def turn(_: Array, loop: tuple[Array, ...]) -> tuple[Array, ...]:
        moves, killed, earned, index, left = loop
        rates = computed_once(jnp.where(left, earned / killed, -jnp.inf))
        here = _first_largest(rates)  # [M, S], the state eliminated
        index = jnp.where(here, (1 - discount) * rates, index)
        left = left & ~here
        row = _pick(jnp.swapaxes(moves, -1, -2), here[:, None])
        stays_out = _pick(killed, here) + total(jnp.where(left, row, 0))
        passing = jnp.where(left, _pick(moves, here[:, None]) / stays_out[:, None], 0)
        return (
            moves + passing[..., None] * row[:, None],
            killed + passing * _pick(killed, here)[:, None],
            earned + passing * _pick(earned, here)[:, None],
            index,
            left,
        )

    earned = total(rows * reward[:, None])
    start = discount * rows, jnp.full_like(earned, 1 - discount), earned, earned, jnp.ones_like(earned, bool)
    return jax.lax.fori_loop(0, states, turn, start, unroll=states <= WRITTEN_OUT)[3]


def _first_largest(values: Array) -> Array:
    """A mask of the largest value along the last axis; the first one on ties.

    The values are compared one by one: XLA does not vectorise argmax, and where it computes a value twice, the maximum
    need not equal any of them.
    """
    top, place = values[..., 0], jnp.zeros(values.shape[:-1], jnp.int32)
    for n in range(1, values.shape[-1]):
        better = values[..., n] > top
        top, place = jnp.where(better, values[..., n], top), jnp.where(better, n, place)
    return jnp.arange(values.shape[-1])[None] == computed_once(place)[:, None]


def _pick(values: Array, here: Array) -> Array:
    """The one value along the last axis that is `here`."""
    return total(jnp.where(here, values, 0))


def _in_states(table: Array, states: Array) -> Array:
    """table[k, states[k]] of every arm k."""
    return _pick(table, jnp.arange(table.shape[-1])[None] == states[:, None])


def _states_after(policy: PlugInGittins | PosteriorGittins, states: Array, feedback: Feedback) -> Array:
    """The states in which the policy assumes the arms to be after a round, possibly with a restart."""
    if feedback.restarted is None:
        return states
    return jnp.where(feedback.restarted > 0, jnp.asarray(policy.initial_state, jnp.int32), states)


def _check(policy: PlugInGittins | PosteriorGittins, task: Task) -> None:
    checks.number(policy, "discount", 0, 1 - 1e-6)
    checks.each_arm(policy, "prior", task, 1e-30)
    checks.each_arm(policy, "initial_state", task, 0, task.reward.shape[1] - 1)
    if (np.asarray(policy.initial_state) % 1).any():
        raise ValueError(f"initial_state: {policy.initial_state} is not an integer")
