"""Markov arms whose transition matrices change at given rounds, rested or restless."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar, Literal, NamedTuple, get_args, overload

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from jaxbandit import chains, draws
from jaxbandit.arguments import choice, finite, truth
from jaxbandit.base import Declares, Feedback, Paid, Task, pytree, static
from jaxbandit.environments.changing.changing_all_paying import ChangingAllPayingArms, changing_all_paying
from jaxbandit.environments.changing.segments import Segments, check_horizon, facts, row, segments, starts_of
from jaxbandit.environments.rested.markov_arms import (
    InitialState,
    initial_law,
    initial_thresholds,
    long_run_means,
    recurrent,
    rewards_of,
)
from jaxbandit.fast import look_up_each
from jaxbandit.sums import TwoFloats


class ChangingChainState(NamedTuple):
    """The states of the arms of one run, and those that the player last saw."""

    states: Array  # [K] int32
    shown: Array | None  # [K] int32, the state each arm last showed; None for rested arms, which are still in it


@pytree
class ChangingMarkovArms:
    """Arm k moves by transition[b, k] in segment b of the rounds, shows its new state s' and pays reward[k, s'].

    Rested arms move only when they are played, in every segment; `restless` ones move in every round, and show their
    states when they are played. An arm keeps its state when the matrices change.

    The random numbers of a move depend only on the run, the arm and the round.

    `means_now` has the stationary means of the current matrices, which are the mean rewards of a play once an arm has
    mixed; the dynamic regret is measured against the largest of them.

    Build it with `changing_markov`, which checks its arguments.

    Fields: `segments`, with the stationary means; `transition` [L, K, S, S], `reward` [K, S], `initial` [K, S]
    and the thresholds for draws from them, as in `MarkovArms`; `restless`, static.
    """

    declares: ClassVar = Declares(pairing="round", problem="changing")

    segments: Segments
    transition: np.ndarray | Array
    reward: np.ndarray | Array
    initial: np.ndarray | Array
    transition_thresholds: np.ndarray | Array = field(repr=False)  # [L, K, S, S-1] uint32
    initial_thresholds: np.ndarray | Array = field(repr=False)  # [K, S-1] uint32
    restless: bool = static(False)

    @property
    def breaks(self) -> np.ndarray:
        """The rounds in which a matrix differs from that of the round before, [B]."""
        return self.segments.breaks(self.transition)

    @property
    def variation(self) -> float:
        """The sum over breaks of the largest change of a stationary mean."""
        return self.segments.variation

    def means(self) -> np.ndarray:
        """The stationary means averaged over all rounds, [K]; without a horizon those of the last segment."""
        return self.segments.average()

    def means_now(self, state: ChangingChainState, t: Array) -> TwoFloats:
        """The stationary mean reward of each arm's matrix in round t, [K], as sums of two floats.

        >>> arms = changing_markov([101], [[[[0.5, 0.5], [0.5, 0.5]]] * 2, [[[0.9, 0.1], [0.1, 0.9]]] * 2], (0, 1))
        >>> arms.means_now(None, jnp.int32(101)).high.round(6).tolist()
        [0.5, 0.5]
        """
        return self.segments.means_now(t)

    def validate(self, task: Task) -> None:
        """Raise ValueError for a horizon other than that of the arms."""
        check_horizon(task, self.segments.horizon)

    def numbers(self) -> dict[str, float | list[int]]:
        """Numbers for the result: the variation and the breaks."""
        return facts(self.breaks, self.variation)

    def init(self, key: Array) -> ChangingChainState:
        """The state before the first round of the run with this environment key."""
        every = self._arms()
        first = draws.choose(draws.play_bits(key, every, jnp.zeros_like(every)), self.initial_thresholds)
        return ChangingChainState(first, first if self.restless else None)

    def step(self, key: Array, state: ChangingChainState, arms: Array, t: Array) -> tuple[ChangingChainState, Feedback]:
        """Play `arms` [M] int32, distinct, in round `t`; return the new state and what the player sees."""
        thresholds = row(self.transition_thresholds, self.segments.number(t))
        visible = state.states if state.shown is None else state.shown
        before = visible[arms]
        if self.restless:
            every = self._arms()
            bits = draws.play_bits(key, every, jnp.broadcast_to(t, every.shape))
            states = draws.choose(bits, look_up_each(thresholds, state.states))
            seen = states[arms]
            known = jnp.where((arms[:, None] == every[None]).any(axis=0), states, visible)
        else:
            bits = draws.play_bits(key, arms, jnp.broadcast_to(t, arms.shape))
            seen = draws.choose(bits, thresholds, arms, before)
            states, known = state.states.at[arms].set(seen), None
        following = ChangingChainState(states, known)
        return following, Feedback(arms, before, seen, jnp.asarray(self.reward, float)[arms, seen], t)

    def _arms(self) -> Array:
        """The numbers of all arms, [K] int32."""
        return jnp.arange(self.reward.shape[0], dtype=jnp.int32)


@overload
def changing_markov(
    breaks: ArrayLike,
    transition: ArrayLike,
    reward: ArrayLike,
    initial_state: InitialState = 0,
    *,
    restless: bool = False,
    horizon: int | None = None,
    paid: Literal["played"] = "played",
) -> ChangingMarkovArms: ...


@overload
def changing_markov(
    breaks: ArrayLike,
    transition: ArrayLike,
    reward: ArrayLike,
    initial_state: InitialState = 0,
    *,
    restless: bool = False,
    horizon: int | None = None,
    paid: Literal["all"],
    passive: ArrayLike | None = None,
    observed: bool = False,
    cost: ArrayLike = 0.0,
) -> ChangingAllPayingArms: ...


def changing_markov(
    breaks: ArrayLike,
    transition: ArrayLike,
    reward: ArrayLike,
    initial_state: InitialState = 0,
    *,
    restless: bool = False,
    horizon: int | None = None,
    paid: Paid = "played",
    passive: ArrayLike | None = None,
    observed: bool = False,
    cost: ArrayLike = 0.0,
) -> ChangingMarkovArms | ChangingAllPayingArms:
    """Markov arms whose matrices change at breaks: those of segment b hold in rounds breaks[b-1] <= t < breaks[b].

    Args:
      breaks: [B] integers, increasing, from 2: the first round of each segment but the first.
      transition: [B + 1, K, S, S], row-stochastic, K >= 2, S from 2 to 64; every arm with a single recurrent class.
      reward: [S] or [K, S], reward of the new state; not all equal.
      initial_state: every arm's state before the first round: an integer, [K] integers, or the law [K, S] from which it
        is drawn by the run's key; "stationary" is the stationary law of its first matrix.
      restless: whether arms also move in rounds in which they are not played.
      horizon: the number of rounds, over which `means` averages; None if the last segment has no end. With paid="all"
        it is required.
      paid: "played", the arms that are played pay; or "all", for restless arms with a budget of plays: every arm pays
        in every round, and a play changes how it moves (`ChangingAllPayingArms`). The next three are for "all" alone.
      passive: [B + 1, K, S, S], or [K, S, S] for all segments: the laws of an arm that is not played.
      observed: whether the player sees the states of all arms in every round.
      cost: of a play, one number or [K].

    Raises:
      ValueError: the argument and what is wrong with it; from `simulate`, for another horizon.

    >>> slow = [[0.99, 0.01], [0.01, 0.99]]
    >>> arms = changing_markov([50], [[slow, [[0.5, 0.5], [0.4, 0.6]]], [[[0.5, 0.5], [0.4, 0.6]], slow]], (0, 1))
    >>> arms.segments.means[1].round(4).tolist(), round(arms.variation, 4)
    ([0.5556, 0.5], 0.0556)
    """
    matrices_of_segments = finite("transition", transition)
    if matrices_of_segments.ndim != 4 or not len(matrices_of_segments):
        raise ValueError(f"transition: shape {matrices_of_segments.shape} is not [B + 1, K, S, S]")
    rows = np.stack([_of_segment(number, matrices) for number, matrices in enumerate(matrices_of_segments)])
    starts, horizon = starts_of(breaks, "transition", len(rows), horizon)
    choice("paid", paid, get_args(Paid))
    restless, observed = truth("restless", restless), truth("observed", observed)
    if paid == "all":
        if not restless:
            raise ValueError('paid: "all" is for arms that move in every round; give restless=True, too')
        return changing_all_paying(starts, horizon, rows, reward, passive, initial_state, observed, cost)
    for name, wanted in (("passive", passive is not None), ("observed", observed), ("cost", np.any(cost))):
        if wanted:
            raise ValueError(f'{name}: is for arms that all pay; give paid="all", too, or leave it out')
    rewards = rewards_of(reward, *rows.shape[1:3])
    initial = initial_law(initial_state, rows[0])
    return ChangingMarkovArms(
        segments=segments(np.stack([long_run_means(moves, rewards) for moves in rows]), starts, horizon),
        transition=rows,
        reward=rewards,
        initial=initial,
        transition_thresholds=chains.thresholds(rows),
        initial_thresholds=initial_thresholds(initial),
        restless=restless,
    )


def _of_segment(number: int, matrices: np.ndarray) -> np.ndarray:
    """The matrices [K, S, S] of a segment, checked."""
    try:
        return recurrent(matrices)
    except ValueError as error:
        raise ValueError(f"{error} (segment {number})") from error
