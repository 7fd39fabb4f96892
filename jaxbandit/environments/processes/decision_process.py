"""Markov decision processes: the arms are actions in one state that they share, for ever or in episodes."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from jaxbandit import chains, decision_processes, draws
from jaxbandit.arguments import as_floats, excerpt, finite, integer
from jaxbandit.base import Declares, Feedback, pytree, static
from jaxbandit.environments.rested.markov_arms import initial_thresholds
from jaxbandit.known_arms import KnownArms
from jaxbandit.probabilities import stochastic

MOST_STATES, MOST_VALUES = 1024, 10_000_000  # the second bounds steps * states, the values of an episode


class ProcessState(NamedTuple):
    """The state of the process of one run."""

    state: Array  # int32
    starts: Array | None = None  # [S] int32, the number of episodes that began in each state; None without episodes


@pytree
class DecisionProcess:
    """A decision process: action a in state s pays reward[a, s] and moves the process to s' ~ transition[a, s, .].

    An arm is an action, and one is taken a round. The player sees the state. Plays are counted by the state in which
    the action was taken, so that the counts determine the rewards. The random numbers of a round depend only on the run
    and the round: two policies that take the same action in the same state and round see the same transition.

    With `steps` = H it has episodes: after every H rounds the state is drawn anew from `initial`. `Feedback.states` is
    then the state that the last action moved to, `Feedback.shown` the one in which the new episode begins, and
    `Feedback.restarted` is positive. The number of episodes that began in each state is recorded as "episodes", and the
    state after each recorded round as "state_now".

    Build it with `decision_process`, which checks its arguments, `riverswim`, `grid`, `random_decision_process` or
    `as_decision_process`.

    Fields are NumPy float64 on the host: `transition` [A, S, S], `reward` [A, S], `initial` [S] (law of the first
    state), the thresholds that draw from them, and `steps`, None or an integer.
    """

    declares: ClassVar = Declares(pairing="shared", problem="decision process", pays="before")

    transition: np.ndarray | Array
    reward: np.ndarray | Array
    initial: np.ndarray | Array
    transition_thresholds: np.ndarray | Array = field(repr=False)  # [A, S, S-1] uint32
    initial_thresholds: np.ndarray | Array = field(repr=False)  # [S-1] uint32
    steps: int | None = static(None)

    def means(self) -> np.ndarray:
        """Long-run reward a round of always taking each action, [A] float64 on the host.

        >>> from jaxbandit.environments import riverswim
        >>> riverswim().means().round(4).tolist()
        [0.005, 0.4286]
        """
        moves, paid, initial = (np.asarray(array) for array in (self.transition, self.reward, self.initial))
        always = [(moves[a : a + 1], paid[a : a + 1]) for a in range(len(moves))]
        if self.steps is None:
            alone = np.zeros(len(initial), int)
            return np.array([initial @ decision_processes.long_run(*one, alone).gain for one in always])
        whole = [initial @ decision_processes.episodes(*one, self.steps).values[0] for one in always]
        return np.array(whole) / self.steps

    def known(self) -> KnownArms:
        """The laws and rewards that a planner needs; an action that is not taken moves nothing and pays nothing."""
        rows, reward, initial = (np.asarray(law, float) for law in (self.transition, self.reward, self.initial))
        stay = np.broadcast_to(np.eye(len(initial)), rows.shape)
        return KnownArms(rows, stay, reward, np.zeros_like(reward), reward, initial, steps=self.steps, pays="before")

    def comparator(self, plays: int) -> float:
        """The largest long-run reward a round (the gain); with episodes, 1/H of the best expected reward of one.

        >>> from jaxbandit.environments import riverswim
        >>> round(riverswim().comparator(1), 10), round(riverswim(steps=20).comparator(1) * 20, 9)
        (0.4286224338, 3.397263959)
        """
        if (values := self.episode_values()) is not None:
            return float(self.initial @ values[0]) / len(values)
        return self.numbers()["gain"]

    def episode_values(self) -> np.ndarray | None:
        """[H, S], the best expected reward of the rest of an episode (`decision_processes.episodes`); None without."""
        if self.steps is None:
            return None
        return decision_processes.episodes(self.transition, self.reward, self.steps, reward_axes="action, state").values

    def numbers(self) -> dict[str, float]:
        """Numbers for the result: gain and span of the bias, or an episode's length and best expected reward."""
        if self.steps is not None:
            return {"steps": self.steps, "episode_value": self.steps * self.comparator(1)}
        best = decision_processes.optimal(self.transition, self.reward, reward_axes="action, state")
        return {"gain": float(self.initial @ best.gain), "bias_span": best.span}

    def init(self, key: Array) -> ProcessState:
        """The state before the first round of the run with this environment key."""
        first, _ = self._first(key, jnp.int32(0))
        return ProcessState(first, None if self.steps is None else jnp.zeros(self.initial.shape[0], jnp.int32))

    def shown(self, state: ProcessState) -> Array:
        """The state, which all actions share, [A] int32."""
        return jnp.broadcast_to(state.state, self.reward.shape[:1])

    def step(self, key: Array, state: ProcessState, arms: Array, t: Array) -> tuple[ProcessState, Feedback]:
        """Take the action `arms` [1] int32 in round `t`; return the new state and what the player sees."""
        before = state.state[None]
        bits = draws.play_bits(key, jnp.zeros(1, jnp.int32), t[None])
        states = draws.choose(bits, jnp.asarray(self.transition_thresholds), arms, before)
        feedback = Feedback(arms, before, states, jnp.asarray(self.reward, float)[arms, before], t)
        if self.steps is None or state.starts is None:
            return ProcessState(states[0]), feedback
        ended = t % self.steps == 0
        first, number = self._first(key, t)
        begins = ((t - 1) % self.steps == 0) & (jnp.arange(self.initial.shape[0]) == before)
        now = ProcessState(jnp.where(ended, first, states[0]), state.starts + begins.astype(jnp.int32))
        return now, feedback._replace(shown=self.shown(now), restarted=jnp.where(ended, number, jnp.uint32(0)))

    def records(self, state: ProcessState) -> dict[str, Array]:
        """The number of episodes that began in each state, and the state, for the regret of episodes."""
        return {} if state.starts is None else {"episodes": state.starts, "state_now": state.state}

    def _first(self, key: Array, t: Array) -> tuple[Array, Array]:
        """The state in which the episode after round t (or the first, 0) begins, and a positive number for it."""
        bits, number = draws.play_bits_64(key, jnp.ones(1, jnp.int32), t[None])
        states = draws.choose(jnp.minimum(bits, jnp.uint32(2**32 - 2)), jnp.asarray(self.initial_thresholds)[None])
        return states[0], number[0] | 1


def decision_process(
    transition: ArrayLike,
    reward: ArrayLike,
    initial_state: int | ArrayLike = 0,
    *,
    steps: int | None = None,
    reward_axes: str | None = None,
) -> DecisionProcess:
    """A decision process from its matrices, one for each action.

    Args:
      transition: [A, S, S], row-stochastic, A >= 2, S from 2 to 1024: [a, s, s'] is the probability that action a moves
        the process from s to s'.
      reward: [A, S], what action a pays in state s, whatever the next state, not all equal; or as
        `decision_processes.reward_of_actions`. Of rewards that depend on the next state the mean is paid.
      initial_state: an integer, or the law [S] of the first state, which sums to 1.
      steps: H, rounds of an episode, each of which begins in a state drawn by `initial_state`, at most 10^7 / S; None
        if the process never ends.
      reward_axes: "action, state" or "state, action", the first axes of `reward`; needed where A = S.

    Raises:
      ValueError: the argument and what is wrong with it.

    >>> moves, pays = [[[0.5, 0.5], [0.4, 0.6]], [[1, 0], [1, 0]]], [[0, 1], [0.2, 0]]
    >>> process = decision_process(moves, pays, reward_axes="action, state")
    >>> process.means().round(4).tolist(), round(process.comparator(1), 4)
    ([0.5556, 0.2], 0.5556)
    """
    rows = finite("transition", transition)
    if rows.ndim != 3 or rows.shape[1] != rows.shape[2] or rows.shape[1] < 2:
        raise ValueError(f"transition: shape {rows.shape} is not [A, S, S] with S >= 2, a matrix for each action")
    if rows.shape[1] > MOST_STATES:
        raise ValueError(f"transition: {rows.shape[1]} states; at most {MOST_STATES} are supported")
    if len(rows) < 2:
        raise ValueError("transition: one action only leaves no choice; give at least 2 matrices")
    rows = stochastic("transition", rows)
    paid = decision_processes.reward_of_actions(rows, reward, reward_axes)
    if paid.min() == paid.max():
        raise ValueError(f"reward: every action pays {paid.min()} in every state, so that every policy is optimal")
    law = first_law(initial_state, rows.shape[1])
    return DecisionProcess(
        transition=rows,
        reward=paid.copy(),
        initial=law,
        transition_thresholds=chains.thresholds(rows),
        initial_thresholds=initial_thresholds(law),
        steps=rounds_of(steps, len(law)),
    )


def rounds_of(steps: int | None, states: int) -> int | None:
    """Return `steps`, the length of an episode, if a process with this many states can have it."""
    return None if steps is None else integer("steps", steps, 1, MOST_VALUES // states)


def first_law(initial_state: int | ArrayLike, states: int) -> np.ndarray:
    """The law [S] of the first state."""
    array = as_floats("initial_state", initial_state)
    if array.shape == (states,):
        return stochastic("initial_state", finite("initial_state", initial_state))
    if array.ndim or np.asarray(initial_state).dtype.kind not in "iu":
        raise ValueError(
            f"initial_state: {excerpt(initial_state)} is neither an integer nor a law [S] = ({states},) of states"
        )
    if not 0 <= array < states:
        raise ValueError(f"initial_state: {initial_state!r} is out of range 0..{states - 1}")
    return np.asarray(np.eye(states)[int(array)])
