"""Non-stationary Bernoulli arms: piecewise constant means, a sinusoid, an adversary's table of rewards."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from jaxbandit import chains, draws
from jaxbandit.arguments import LARGEST_INTEGER, finite, integer, number, truth
from jaxbandit.base import Declares, Feedback, Task, pytree
from jaxbandit.environments.changing.segments import (
    Segments,
    check_horizon,
    facts,
    row,
    segments,
    split,
    starts_of,
)
from jaxbandit.sums import TwoFloats


class ChangingState(NamedTuple):
    """The states of the arms of one run that the player last saw."""

    shown: Array  # [K] int32, the state each arm last showed; 0 before that


@pytree
class ChangingArms:
    """Arms that pay 0 or 1, independently in every round, with probabilities of 1 that depend on the round.

    The probabilities of round t are means_now(state, t). The reward of an arm depends only on the run, the arm and the
    round, whatever was played before: policies are compared on common random numbers.

    Build it with `piecewise`, `sinusoid` or `rewards_table`, which check their arguments.

    Fields:
      segments: the means in each segment of the rounds.
      thresholds: [L, K] uint32, for draws from them.
      hindsight: two arrays [L] float32, for a table of rewards: the cumulative reward of the best arm of every round
        minus that of the best fixed arm so far; None elsewhere.
    """

    declares: ClassVar = Declares(pairing="round", problem="changing")

    segments: Segments
    thresholds: np.ndarray | Array = field(repr=False)
    hindsight: TwoFloats | None = field(default=None, repr=False)

    @property
    def reward(self) -> np.ndarray:
        """[K, 2], what each state of each arm pays: 0 and 1."""
        return np.broadcast_to(np.array([0.0, 1.0]), (self.segments.means.shape[-1], 2))

    @property
    def breaks(self) -> np.ndarray:
        """The rounds in which a mean differs from that of the round before, [B]."""
        return self.segments.breaks(self.segments.means)

    @property
    def variation(self) -> float:
        """The sum over rounds of the largest change of a mean: the part of a variation budget that is spent.

        >>> round(piecewise([3000, 5000], [[0.5, 0.3], [0.5, 0.9], [0.5, 0.4]]).variation, 9)
        1.1
        """
        return self.segments.variation

    def means(self) -> np.ndarray:
        """The means averaged over all rounds, [K] float64; without a horizon those of the last segment.

        >>> piecewise([6], [[0.5, 0.3], [0.5, 0.9]], horizon=10).means().round(9).tolist()
        [0.5, 0.6]
        """
        return self.segments.average()

    def means_now(self, state: ChangingState, t: Array) -> TwoFloats:
        """The probability that each arm pays 1 in round t, [K], as sums of two floats.

        >>> piecewise([6], [[0.5, 0.3], [0.5, 0.9]]).means_now(None, jnp.int32(6)).high.round(3).tolist()
        [0.5, 0.9]
        """
        return self.segments.means_now(t)

    def best_arm_falls_short(self, t: Array) -> TwoFloats | None:
        """The best arms of t rounds, each in its round, minus the best fixed arm; None unless there is a table."""
        if self.hindsight is None:
            return None
        return TwoFloats(*(row(part, jnp.maximum(t, 1) - 1).astype(float) for part in self.hindsight))

    def validate(self, task: Task) -> None:
        """Raise ValueError for a horizon other than that of the arms, and for several plays of arms with a table."""
        check_horizon(task, self.segments.horizon)
        if self.hindsight is not None and task.plays > 1:
            raise ValueError(f"plays: {task.plays}; a table of rewards is for one play a round")

    def numbers(self) -> dict[str, float | list[int]]:
        """Numbers for the result: the variation and the breaks."""
        return facts(self.breaks, self.variation)

    def init(self, key: Array) -> ChangingState:
        """The state before the first round."""
        return ChangingState(jnp.zeros(self.segments.means.shape[-1], jnp.int32))

    def step(self, key: Array, state: ChangingState, arms: Array, t: Array) -> tuple[ChangingState, Feedback]:
        """Play `arms` [M] int32, distinct, in round `t`; return the new state and what the player sees."""
        bits = draws.play_bits(key, arms, jnp.broadcast_to(t, arms.shape))
        states = draws.choose(bits, row(self.thresholds, self.segments.number(t))[:, None], arms)
        following = ChangingState(state.shown.at[arms].set(states))
        return following, Feedback(arms, state.shown[arms], states, states.astype(float), t)


def piecewise(breaks: ArrayLike, levels: ArrayLike, horizon: int | None = None) -> ChangingArms:
    """Bernoulli arms whose means change at breaks: level b holds in rounds breaks[b-1] <= t < breaks[b].

    Args:
      breaks: [B] integers, increasing, from 2: the first round of each level but the first.
      levels: [B + 1, K], K >= 2, in [0, 1].
      horizon: the number of rounds, over which `means` averages; None if the last level has no end.

    Raises:
      ValueError: the argument and what is wrong with it; from `simulate`, for another horizon.

    Source: Garivier and Moulines 2011, section 1.

    >>> arms = piecewise([3000, 5000], [[0.5, 0.3, 0.4], [0.5, 0.3, 0.9], [0.5, 0.3, 0.4]], horizon=10_000)
    >>> arms.breaks.tolist(), arms.means().round(4).tolist()
    ([3000, 5000], [0.5, 0.3, 0.5])
    """
    means = _probabilities("levels", levels, "[B + 1, K]")
    starts, horizon = starts_of(breaks, "levels", len(means), horizon)
    return ChangingArms(segments(means, starts, horizon), _thresholds(means, "levels"))


def sinusoid(horizon: int, budget: float, amplitude: float = 0.3, until: float = 1.0) -> ChangingArms:
    """Two Bernoulli arms with means 1/2 +- amplitude sin(budget pi t / (2 amplitude until horizon)).

    The swings spend the variation budget by round until * horizon; after that the means are constant.

    Args:
      horizon: the number of rounds; all means are kept, in 32 bytes a round.
      budget: V, from 1/2 to amplitude until horizon, so that a half swing takes two rounds or more.
      amplitude: in (0, 1/2].
      until: in (0, 1].

    Raises:
      ValueError: the argument and what is wrong with it; from `simulate`, for another horizon.

    Source: Besbes, Gur and Zeevi 2014, section 5, with amplitude 0.3, and until = 1/3 in their second instance.

    >>> arms = sinusoid(10_000, 3)
    >>> round(arms.variation, 9), arms.segments.means[0].round(9).tolist()
    (2.999528761, [0.500471239, 0.499528761])
    """
    horizon = integer("horizon", horizon, 2, LARGEST_INTEGER)
    budget = check_budget(budget, horizon, 2)
    amplitude = number("amplitude", amplitude, 0, 0.5, above=True)
    until = number("until", until, 0, 1, above=True)
    if budget > amplitude * until * horizon:
        raise ValueError(
            f"budget: {budget:g} cannot be spent in {until * horizon:g} rounds by swings of {amplitude:g}; give at "
            f"most amplitude until horizon, {amplitude * until * horizon:g}"
        )
    t = np.minimum(np.arange(1, horizon + 1), until * horizon)
    swing = amplitude * np.sin(budget * np.pi * t / (2 * amplitude * until * horizon))
    means = np.clip(0.5 + np.stack([swing, -swing], axis=-1), 0, 1)
    return ChangingArms(segments(means, None, horizon), _thresholds(means, "amplitude"))


def rewards_table(rewards: ArrayLike, draw: bool = False) -> ChangingArms:
    """An oblivious adversary: in round t arm k pays rewards[t-1, k], which is 0 or 1.

    With `draw=True` an entry between 0 and 1 is a probability: arm k pays 1 with probability rewards[t-1, k], else 0,
    never the fraction itself. One arm is played a round. `metrics.regret` is the regret
    against the best single arm in hindsight: the largest sum of a column of the table up to t, minus the entries
    of the arms played. This regret may be negative. The dynamic regret is recorded, too.

    Args:
      rewards: [n, K], K >= 2, for n rounds: 0 or 1, or in [0, 1] with `draw`; 16 K + 8 bytes a round are kept.
      draw: whether entries are the probabilities of a reward of 1.

    Raises:
      ValueError: the argument and what is wrong with it; from `simulate`, if its horizon is not n.

    Source: Auer, Cesa-Bianchi, Freund and Schapire 2002, section 2.

    >>> import jax
    >>> arms = rewards_table([[1, 0], [0, 1], [0, 1]])
    >>> jax.jit(arms.step)(jax.random.key(0), arms.init(jax.random.key(0)), jnp.array([1]), 2)[1].rewards.tolist()
    [1.0]
    """
    means = _probabilities("rewards", rewards, "[n, K]", "a reward")
    if not truth("draw", draw) and (fractions := means[(means > 0) & (means < 1)]).size:
        raise ValueError(
            f"rewards: {fractions[0]:g} is neither 0 nor 1, and an arm pays one of these; with draw=True an entry is "
            "the probability that the arm pays 1"
        )
    short = np.cumsum(means.max(1, keepdims=True) - means, axis=0).min(1)
    return ChangingArms(segments(means, None, len(means)), _thresholds(means, "rewards"), split(short))


def check_budget(budget: float, horizon: int, arms: int) -> float:
    """Return the variation budget as a number."""
    budget = number("budget", budget)
    if not 1 / arms <= budget <= horizon / arms:
        raise ValueError(
            f"budget: {budget:g} cannot be spent by {arms} arms in {horizon:,} rounds; give a number from 1/K to "
            f"horizon/K, {1 / arms:g} to {horizon / arms:g}"
        )
    return budget


def _thresholds(means: np.ndarray, name: str) -> np.ndarray:
    """Thresholds of 32 bits [L, K] for draws of state 1 with these probabilities [L, K]."""
    return chains.thresholds(np.stack([1 - means, means], axis=-1), name)[..., 0]


def _probabilities(name: str, values: ArrayLike, shape: str, what: str = "a probability") -> np.ndarray:
    array = finite(name, values)
    if array.ndim != 2 or not len(array) or array.shape[1] < 2:
        raise ValueError(f"{name}: shape {array.shape} is not {shape} with at least 2 arms")
    if (array < 0).any() or (array > 1).any():
        raise ValueError(f"{name}: {what} lies outside [0, 1]")
    return array
