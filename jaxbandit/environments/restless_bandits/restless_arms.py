"""Restless arms: every arm moves in every round, played or not."""

from __future__ import annotations

from dataclasses import field
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit import draws
from jaxbandit.base import Declares, Feedback, pytree, static
from jaxbandit.environments.rested.markov_arms import long_run_means
from jaxbandit.fast import look_up_each
from jaxbandit.known_arms import KnownArms


class RestlessState(NamedTuple):
    """The states of the arms of one run, and those that the player last saw."""

    states: Array  # [K] int32, the current states, shown only by a play
    shown: Array  # [K] int32, the state each arm last showed; its first state before that


@pytree
class RestlessArms:
    """Restless arms: in every round arm k moves from s to s' ~ transition[k, s, .] if it is played, else by `passive`.

    A played arm shows the state s' it moves to and pays reward[k, s']; the others move unseen, by passive[k, s, .], or
    by the same law as when played where `passive` is None. `Feedback.before` is the state that the arm last showed,
    which is what the player knows; the arm has moved on since, so that (before, states) is one transition of the chain
    only for an arm that was played in the round before, too. `observed` arms all show their states in every round: then
    it always is one.

    The random numbers of a move depend only on the run, the arm and the round. An arm that is played in every round
    moves as a rested arm with the same key, and without `passive` an arm's path is the same under every policy. With
    the identity as `passive` the arms are rested in law, with other draws.

    Build it with `restless`, which checks its arguments.

    It has the fields of `MarkovArms`, and `passive` [K, S, S] or None with its thresholds.
    """

    transition: np.ndarray | Array
    reward: np.ndarray | Array
    initial: np.ndarray | Array
    transition_thresholds: np.ndarray | Array = field(repr=False)  # [K, S, S-1] uint32
    initial_thresholds: np.ndarray | Array = field(repr=False)  # [K, S-1] uint32
    passive: np.ndarray | Array | None = None
    passive_thresholds: np.ndarray | Array | None = field(default=None, repr=False)  # [K, S, S-1] uint32
    observed: bool = static(False)  # whether the player sees all arms in every round

    @property
    def declares(self) -> Declares:
        """Restless arms, all of whose states are visible if they are `observed`."""
        return Declares(pairing="round", problem="observed" if self.observed else "restless")

    def means(self) -> np.ndarray:
        """Long-run reward per round of each arm if it alone is played for ever, [K] float64 on the host.

        >>> from jaxbandit.environments import restless
        >>> restless([[[0.5, 0.5], [0.4, 0.6]], [[0.6, 0.4], [0.55, 0.45]]], (0, 1)).means().round(4).tolist()
        [0.5556, 0.4211]
        """
        return long_run_means(self.transition, self.reward)

    def known(self) -> KnownArms:
        """The laws and rewards that a planner needs."""
        passive = self.transition if self.passive is None else self.passive
        return KnownArms.of(self.transition, passive, self.reward, self.initial)

    def init(self, key: Array) -> RestlessState:
        """The state before the first round of the run with this environment key."""
        every = self._arms()
        first = draws.choose(draws.play_bits(key, every, jnp.zeros_like(every)), self.initial_thresholds)
        return RestlessState(first, first)

    def step(self, key: Array, state: RestlessState, arms: Array, t: Array) -> tuple[RestlessState, Feedback]:
        """Play `arms` [M] int32, distinct, in round `t`; return the new state and what the player sees."""
        every = self._arms()
        played = (arms[:, None] == every[None]).any(axis=0)
        bits = draws.play_bits(key, every, jnp.broadcast_to(t, every.shape))
        thresholds = look_up_each(jnp.asarray(self.transition_thresholds), state.states)
        if self.passive_thresholds is not None:
            waiting = look_up_each(jnp.asarray(self.passive_thresholds), state.states)
            thresholds = jnp.where(played[:, None], thresholds, waiting)
        states = draws.choose(bits, thresholds)
        seen = states[arms]
        rewards = jnp.asarray(self.reward, float)[arms, seen]
        known = states if self.observed else jnp.where(played, states, state.shown)
        feedback = Feedback(arms, state.shown[arms], seen, rewards, t, shown=states if self.observed else None)
        return RestlessState(states, known), feedback

    def _arms(self) -> Array:
        """The numbers of all arms, [K] int32."""
        return jnp.arange(self.reward.shape[0], dtype=jnp.int32)
