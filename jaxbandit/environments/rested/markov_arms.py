"""Rested Markov arms and their constructors."""

from __future__ import annotations

from dataclasses import field
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from jaxbandit import chains, draws
from jaxbandit.arguments import LARGEST_INTEGER, as_floats, excerpt, finite, integer, number
from jaxbandit.base import Feedback, check_key, described, pytree
from jaxbandit.known_arms import KnownArms
from jaxbandit.probabilities import stochastic

InitialState = int | str | ArrayLike
MOST_STATES = 64


@described
class MarkovState(NamedTuple):
    """The states of the arms of one run.

    Fields:
      states: [K] int32, the state of each arm.
      plays: [K] uint32, how often it was played.
    """

    states: Array
    plays: Array


@pytree
class MarkovArms:
    """Rested arms: playing arm k in state s moves it to s' ~ transition[k, s, .], shows s' and pays reward[k, s'].

    An arm that is not played keeps its state; arms with equal rows are i.i.d. In the paper the state before the move
    pays; here, as in its authors' code, the state after it, which shifts rewards by one play and changes no mean. The
    outcome of the n-th play of an arm depends only on the run, the arm and n: policies are compared on common random
    numbers.

    Build it with `two_state`, `bernoulli`, `markov` or `random_arms`, which check their arguments.

    Fields are NumPy float64 on the host: `transition` [K, S, S], `reward` [K, S], `initial` [K, S] (law of each arm's
    state before its first play), and the thresholds for draws from them.
    """

    transition: np.ndarray | Array
    reward: np.ndarray | Array
    initial: np.ndarray | Array
    transition_thresholds: np.ndarray | Array = field(repr=False)  # [K, S, S-1] uint32
    initial_thresholds: np.ndarray | Array = field(repr=False)  # [K, S-1] uint32

    def means(self) -> np.ndarray:
        """Long-run reward per play of each arm, [K] float64 on the host.

        >>> two_state([0.5, 0.4], [0.4, 0.55]).means().round(4).tolist()
        [0.5556, 0.4211]
        """
        return long_run_means(self.transition, self.reward)

    def known(self) -> KnownArms:
        """The laws and rewards that a planner needs; an arm that is not played keeps its state."""
        return KnownArms.of(self.transition, np.eye(self.reward.shape[1]), self.reward, self.initial)

    def init(self, key: Array) -> MarkovState:
        """The state before the first round of the run with this environment key."""
        arms = jnp.arange(self.reward.shape[0], dtype=jnp.int32)
        bits = draws.play_bits(key, arms, jnp.zeros_like(arms))
        return MarkovState(draws.choose(bits, self.initial_thresholds), jnp.zeros_like(arms, jnp.uint32))

    def step(self, key: Array, state: MarkovState, arms: Array, t: Array) -> tuple[MarkovState, Feedback]:
        """Play `arms` [M] int32, distinct, in round `t`; return the new state and what the player sees."""
        before = state.states[arms]
        number = state.plays[arms] + 1
        bits = draws.play_bits(key, arms, number)
        states = draws.choose(bits, jnp.asarray(self.transition_thresholds), arms, before)
        rewards = jnp.asarray(self.reward, float)[arms, states]
        following = MarkovState(state.states.at[arms].set(states), state.plays.at[arms].set(number))
        return following, Feedback(arms, before, states, rewards, t)


def long_run_means(transition: ArrayLike, reward: ArrayLike) -> np.ndarray:
    """The mean reward [K] under the stationary law of each chain of `transition` [K, S, S], from `reward` [K, S]."""
    laws = np.stack([chains.stationary(rows) for rows in np.asarray(transition)])
    return np.asarray(np.sum(laws * np.asarray(reward), axis=-1))


def two_state(
    p01: ArrayLike, p10: ArrayLike, reward: ArrayLike = (0.0, 1.0), *, initial_state: InitialState = 0
) -> MarkovArms:
    """Two-state arms from their transition probabilities.

    Args:
      p01: [K], probability of moving from state 0 to state 1.
      p10: [K], probability of moving from state 1 to state 0.
      reward: [2] or [K, 2].
      initial_state: an integer, [K] integers, "stationary", or a law [K, 2].

    Raises:
      ValueError: as `markov`.

    >>> two_state([0.5, 0.4], [0.4, 0.55]).transition[0].tolist()
    [[0.5, 0.5], [0.4, 0.6]]
    """
    leave = _probabilities("p01", p01)
    back = _probabilities("p10", p10)
    if len(leave) < 2:
        raise ValueError(f"p01: {len(leave)} arms; a bandit needs at least 2")
    if leave.shape != back.shape:
        raise ValueError(f"p01 and p10: shapes {leave.shape} and {back.shape} disagree; give one of each per arm")
    rows = [np.stack([1 - leave, leave], axis=-1), np.stack([back, 1 - back], axis=-1)]
    return markov(np.stack(rows, axis=-2), reward, initial_state=initial_state)


def bernoulli(means: ArrayLike, *, initial_state: InitialState = 0) -> MarkovArms:
    """I.i.d. Bernoulli arms: two-state chains with equal rows.

    Args:
      means: [K], in [0, 1].
      initial_state: an integer, [K] integers, "stationary", or a law [K, 2]; it has no effect on rewards, only on
        the state that the player sees before the first play.

    Raises:
      ValueError: as `markov`.

    >>> bernoulli([0.9, 0.2]).means().round(6).tolist()
    [0.9, 0.2]
    """
    rows = _probabilities("means", means)
    if len(rows) < 2:
        raise ValueError(f"means: {len(rows)} arms; a bandit needs at least 2")
    return markov(
        np.repeat(np.stack([1 - rows, rows], axis=-1)[:, None], 2, axis=1), (0.0, 1.0), initial_state=initial_state
    )


def random_arms(
    key: Array,
    arms: int = 5,
    states: int = 2,
    *,
    concentration: float = 1.0,
    initial_state: InitialState = 0,
) -> MarkovArms:
    """Random arms: rows from a symmetric Dirichlet law (floored at 1e-9), rewards equally spaced over [0, 1].

    Args:
      key: a `jax.random.key`.
      arms, states: K and S, at least 2 each.
      concentration: of the Dirichlet law, at least 1e-30; small values give nearly frozen or periodic chains.

    Raises:
      ValueError: as `markov`, or the concentration is not positive.

    >>> random_arms(jax.random.key(0), arms=3, states=4).transition.shape
    (3, 4, 4)
    """
    concentration = number("concentration", concentration, 1e-30)
    check_key(key)
    arms, states = integer("arms", arms, 2, LARGEST_INTEGER), integer("states", states, 2, MOST_STATES)
    check_initial(initial_state, arms, states)
    rows = jax.random.dirichlet(key, jnp.full((states,), concentration), (arms, states))
    floored = np.maximum(np.asarray(rows, float), 1e-9)
    return markov(floored / floored.sum(-1, keepdims=True), np.linspace(0.0, 1.0, states), initial_state=initial_state)


def markov(transition: ArrayLike, reward: ArrayLike, *, initial_state: InitialState = 0) -> MarkovArms:
    """Rested Markov arms from their transition matrices.

    Args:
      transition: [K, S, S], row-stochastic, K >= 2, S from 2 to 64; every arm with a single recurrent class. Rows of
        float32, whose sums are within 1e-6 of 1, are divided by them in float64.
      reward: [S] or [K, S], reward of the new state; not all equal.
      initial_state: every arm's state before its first play: an integer, [K] integers, or the law [K, S] from which it
        is drawn by the run's key; "stationary" is the arm's stationary law.

    Raises:
      ValueError: the argument and what is wrong with it.

    >>> markov([[[0.5, 0.5], [0.4, 0.6]], [[0.9, 0.1], [0.5, 0.5]]], (0, 1)).means().round(4).tolist()
    [0.5556, 0.1667]
    """
    return markov_of(recurrent(transition), reward, initial_state)


def markov_of(transition: np.ndarray, reward: ArrayLike, initial_state: InitialState) -> MarkovArms:
    """Arms of matrices [K, S, S] as `recurrent` returns them; one alone can be fitted, with nothing to choose from."""
    rewards = rewards_of(reward, *transition.shape[:2])
    initial = initial_law(initial_state, transition)
    return MarkovArms(
        transition=transition,
        reward=rewards,
        initial=initial,
        transition_thresholds=chains.thresholds(transition),
        initial_thresholds=initial_thresholds(initial),
    )


def recurrent(transition: ArrayLike, most: int = MOST_STATES, least: int = 2) -> np.ndarray:
    """Return matrices [K, S, S] in float64 of K >= `least` arms with one recurrent class each, S up to `most`."""
    rows = finite("transition", transition)
    if rows.ndim != 3 or rows.shape[1] != rows.shape[2] or rows.shape[1] < 2:
        raise ValueError(f"transition: shape {rows.shape} is not [K, S, S] with S >= 2")
    if rows.shape[1] > most:
        raise ValueError(f"transition: {rows.shape[1]} states; at most {most} are supported")
    if rows.shape[0] < least:
        raise ValueError("transition: one arm only; a bandit needs at least 2")
    rows = stochastic("transition", rows)
    for arm, chain in enumerate(rows):
        if len(classes := chains.recurrent_classes(chain)) > 1:
            raise ValueError(
                f"transition: arm {arm} is reducible, recurrent classes {classes}: its mean depends on its start"
            )
    return rows


def rewards_of(reward: ArrayLike, arms: int, states: int) -> np.ndarray:
    """Return the reward of each state of each arm, [K, S] in float64."""
    rewards = of_states("reward", reward, arms, states)
    if rewards.min() == rewards.max():
        raise ValueError(f"reward: every state of every arm pays {rewards.min()}, and every arm is optimal")
    return rewards


def of_states(name: str, values: ArrayLike, arms: int, states: int) -> np.ndarray:
    """Return one number for each state of each arm, [K, S] in float64, from [S] or [K, S]."""
    table = finite(name, values)
    if table.shape not in ((states,), (arms, states)):
        raise ValueError(f"{name}: shape {table.shape} is neither [S] = ({states},) nor [K, S] = ({arms}, {states})")
    return np.broadcast_to(table, (arms, states)).copy()


def initial_thresholds(law: np.ndarray) -> np.ndarray:
    """Thresholds [K, S-1] of the arms' first states, from their law [K, S]; states rarer than 2^-31 are left out."""
    return chains.thresholds(np.where(law < chains.RAREST, 0, law))


def initial_law(initial_state: InitialState, transition: np.ndarray) -> np.ndarray:
    """The law [K, S] of each arm's state before its first play, of arms with these matrices [K, S, S]."""
    arms, states = transition.shape[:2]
    check_initial(initial_state, arms, states)
    if isinstance(initial_state, str):
        return np.stack([chains.stationary(rows) for rows in transition])
    if np.ndim(initial_state) == 2:
        return stochastic("initial_state", np.asarray(initial_state, float))
    return np.broadcast_to(np.eye(states)[np.asarray(initial_state)], (arms, states)).copy()


def check_initial(initial_state: InitialState, arms: int, states: int) -> None:
    """Raise ValueError unless these are states before the first play of K = `arms` arms with S = `states` states."""
    if isinstance(initial_state, str):
        if initial_state != "stationary":
            raise ValueError(f'initial_state: {excerpt(initial_state)} is neither an integer nor "stationary"')
        return
    law = as_floats("initial_state", initial_state)
    if law.shape == (arms, states):
        stochastic("initial_state", finite("initial_state", law))
        return
    start = np.asarray(initial_state)
    if start.shape not in ((), (arms,)) or not np.issubdtype(start.dtype, np.integer):
        raise ValueError(
            f'initial_state: {excerpt(initial_state)} is not an integer, {arms} integers, "stationary" or a law [K, S]'
        )
    if (start < 0).any() or (start >= states).any():
        raise ValueError(f"initial_state: {initial_state} is out of range 0..{states - 1}")


def _probabilities(name: str, values: ArrayLike) -> np.ndarray:
    array = finite(name, values)
    if array.ndim != 1:
        raise ValueError(f"{name}: shape {array.shape} is not [K]")
    if (array < 0).any() or (array > 1).any():
        raise ValueError(f"{name}: a probability lies outside [0, 1]")
    chains.thresholds(np.stack([1 - array, array], axis=-1), name)  # raises ValueError for what is too rare to be drawn
    return array
