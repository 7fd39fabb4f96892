"""Environments that the library does not have, for tests of the protocol: a decision process and arms that swap."""

from dataclasses import fields
from typing import ClassVar

import jax.numpy as jnp
import numpy as np

import jaxbandit
from jaxbandit import Feedback, chains, draws
from jaxbandit.base import Declares

MOVES = np.array([[[0.9, 0.1], [0.6, 0.4]], [[0.2, 0.8], [0.3, 0.7]]])  # [action, s, s']
PAYS = np.array([[0.0, 1.0], [0.5, 0.25]])  # [action, s], paid by the state that is left


@jaxbandit.pytree
class Process:
    """A decision process with two actions and two states; `reward` [K, S] is paid by the state that is left."""

    declares: ClassVar = Declares(pairing="shared", problem="decision process", pays="before")

    transition: np.ndarray
    reward: np.ndarray
    start: int = 1

    def means(self):
        return np.array([chains.stationary(rows) @ paid for rows, paid in zip(self.transition, self.reward)])

    def comparator(self, plays):
        """The best of the four gains of a player who chooses by the state."""
        gains = []
        for first in (0, 1):
            for second in (0, 1):
                rows = np.stack([self.transition[first, 0], self.transition[second, 1]])
                gains.append(chains.stationary(rows) @ [self.reward[first, 0], self.reward[second, 1]])
        return float(max(gains))

    def init(self, key):
        return jnp.asarray(self.start, jnp.int32)

    def shown(self, state):
        return jnp.full(2, state)

    def step(self, key, state, arms, t):
        row = jnp.asarray(chains.thresholds(MOVES))[arms, state]
        states = draws.choose(draws.play_bits(key, jnp.zeros(1, jnp.int32), t[None]), row)
        before = jnp.full(1, state)
        return states[0], Feedback(arms, before, states, jnp.asarray(self.reward, float)[arms, before], t)


def telling(arms, change):
    """These arms, of which the player is told in a round what `change` makes of the feedback."""

    @jaxbandit.pytree
    class Telling(type(arms)):
        def step(self, key, state, arms, t):
            following, feedback = super(type(self), self).step(key, state, arms, t)
            return following, change(feedback)

    return Telling(**{field.name: getattr(arms, field.name) for field in fields(arms)})


@jaxbandit.pytree
class Learner:
    """Knows where the process begins and is; plays action 0 where the state is 1 and action 1 where it is 0."""

    def init(self, reward, view):
        return view[0]

    def scores(self, key, state, t):
        return jnp.where(jnp.arange(2) == state, 0.0, 1.0), state

    def update(self, state, feedback):
        return feedback.states[0]


@jaxbandit.pytree
class Swapping:
    """Two arms that pay 0 or 1, with means that change places for good after round `swap`."""

    declares: ClassVar = Declares(pairing="round", problem="changing")

    high: float = 0.9
    low: float = 0.2
    swap: int = 300

    @property
    def reward(self):
        return np.array([[0.0, 1.0], [0.0, 1.0]])

    def means(self):
        return np.full(2, (self.high + self.low) / 2)

    def means_now(self, state, t):
        return jnp.where((jnp.arange(2) == 0) == (t <= self.swap), self.high, self.low)

    def init(self, key):
        return jnp.zeros(2, jnp.int32)

    def step(self, key, state, arms, t):
        mean = jnp.where((arms == 0) == (t <= self.swap), self.high, self.low)
        bits = draws.play_bits(key, arms, jnp.broadcast_to(t, arms.shape))
        states = (bits.astype(float) < mean * 2.0**32).astype(jnp.int32)
        worse = (arms == 0) == (t > self.swap)
        return state.at[arms].add(worse.astype(jnp.int32)), Feedback(arms, 0 * arms, states, states.astype(float), t)

    def records(self, state):
        return {"lost": state}  # how often each arm was played while it was the worse one


@jaxbandit.pytree
class Rotting:
    """Arms that pay 0 or 1: the n-th play, from 1, pays 1 with probability floor + (start - floor) keep^(n - 1)."""

    declares: ClassVar = Declares(problem="rotting")

    start: np.ndarray
    floor: np.ndarray
    keep: float = 0.99

    @property
    def reward(self):
        return np.tile([0.0, 1.0], (len(self.start), 1))

    def means(self):
        return np.asarray(self.floor, float)

    def chances(self, plays):
        start, floor = jnp.asarray(self.start, float), jnp.asarray(self.floor, float)
        return floor + (start - floor) * jnp.asarray(self.keep, float) ** plays

    def means_now(self, state, t):
        return self.chances(state[0])

    def init(self, key):
        return jnp.zeros(len(self.start), jnp.int32), jnp.zeros(len(self.start), jnp.int32)

    def step(self, key, state, arms, t):
        plays, view = state
        bits = draws.play_bits(key, arms, plays[arms] + 1)
        states = (bits.astype(float) < self.chances(plays)[arms] * 2.0**32).astype(jnp.int32)
        feedback = Feedback(arms, view[arms], states, states.astype(float), t)
        return (plays.at[arms].add(1), view.at[arms].set(states)), feedback
