"""The arms of a lower bound for non-stationary bandits: in each batch of rounds one random arm is better."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit import chains, draws
from jaxbandit.arguments import LARGEST_INTEGER, integer
from jaxbandit.base import Declares, Feedback, Task, pytree, static
from jaxbandit.environments.changing.changing_arms import check_budget
from jaxbandit.environments.changing.segments import check_horizon, facts, split
from jaxbandit.sums import TwoFloats


class LowerBoundState(NamedTuple):
    """The states of the arms of one run that the player last saw, and the better arm."""

    shown: Array  # [K] int32, the state each arm last showed; 0 before that
    better: Array  # int32, the better arm of the next round


@pytree
class LowerBoundArms:
    """Bernoulli arms with mean 1/2, except for one arm in each batch of rounds, with mean 1/2 + gap.

    The better arm of a batch is drawn from the run's key, uniformly. The dynamic regret is gap times the number of
    rounds in which it was not among the arms played.

    Build it with `lower_bound_instance`, which checks its arguments.

    Fields:
      gap: a number.
      batch: the number of rounds of a batch.
      horizon: the number of rounds for which the arms were made.
      thresholds: [2] uint32, for draws of state 1, of the other arms and of the better one.
      chances: two arrays [2] float32, the means of the better arm and of the others.
      choice: [K - 1] uint32, thresholds for the draw of the better arm.
      count: K, static.
    """

    declares: ClassVar = Declares(pairing="round", problem="changing")

    gap: np.float64 | Array
    batch: int | Array
    horizon: int | Array
    thresholds: np.ndarray | Array = field(repr=False)
    chances: TwoFloats = field(repr=False)
    choice: np.ndarray | Array = field(repr=False)
    count: int = static(2)

    @property
    def reward(self) -> np.ndarray:
        """[K, 2], what each state of each arm pays: 0 and 1."""
        return np.broadcast_to(np.array([0.0, 1.0]), (self.count, 2))

    @property
    def breaks(self) -> np.ndarray:
        """The first rounds of all batches but the first, [B]."""
        return np.arange(int(self.batch) + 1, int(self.horizon) + 1, int(self.batch))

    @property
    def variation(self) -> float:
        """The largest possible variation, spent if the better arm changes after every batch."""
        return float(self.gap) * len(self.breaks)

    def means(self) -> np.ndarray:
        """Expected reward of a play of each arm before the better arms are drawn, [K] float64: all are equal.

        >>> lower_bound_instance(10_000, 3).means().round(6).tolist()
        [0.510527, 0.510527]
        """
        return np.full(self.count, 0.5 + float(self.gap) / self.count)

    def means_now(self, state: LowerBoundState, t: Array) -> TwoFloats:
        """The probability that each arm pays 1 in round t, [K], as sums of two floats."""
        is_better = jnp.arange(self.count, dtype=jnp.int32) == state.better
        high, low = (jnp.asarray(part, float) for part in self.chances)
        return TwoFloats(jnp.where(is_better, high[0], high[1]), jnp.where(is_better, low[0], low[1]))

    def validate(self, task: Task) -> None:
        """Raise ValueError for a horizon other than that of the arms."""
        check_horizon(task, self.horizon)

    def numbers(self) -> dict[str, float | list[int]]:
        """Numbers for the result: the variation and the breaks."""
        return facts(self.breaks, self.variation)

    def init(self, key: Array) -> LowerBoundState:
        """The state before the first round, with the better arm of the first batch."""
        return LowerBoundState(jnp.zeros(self.count, jnp.int32), self._better(key, jnp.int32(1)))

    def step(self, key: Array, state: LowerBoundState, arms: Array, t: Array) -> tuple[LowerBoundState, Feedback]:
        """Play `arms` [M] int32, distinct, in round `t`; return the new state and what the player sees."""
        bits = draws.play_bits(key, arms, jnp.broadcast_to(t, arms.shape))
        others, of_better = jnp.asarray(self.thresholds)
        states = (bits >= jnp.where(arms == state.better, of_better, others)).astype(jnp.int32)
        following = LowerBoundState(state.shown.at[arms].set(states), self._better(key, t + 1))
        return following, Feedback(arms, state.shown[arms], states, states.astype(float), t)

    def _better(self, key: Array, t: Array) -> Array:
        """The better arm of the batch of round t, int32."""
        batch = 1 + (t - 1) // jnp.asarray(self.batch, jnp.int32)
        # arm numbers end at K - 1, so that K is free for this draw
        bits = draws.play_bits(key, jnp.full(1, self.count), batch[None])
        return draws.choose(bits, jnp.asarray(self.choice)[None])[0]


def lower_bound_instance(horizon: int, budget: float, arms: int = 2) -> LowerBoundArms:
    """Bernoulli arms for which every policy's dynamic regret is of order (K budget)^(1/3) horizon^(2/3).

    With K = `arms`, batches have b = ceil(K^(1/3) (horizon / budget)^(2/3)) rounds, and in each of them one arm, drawn
    uniformly, is better by min(sqrt(K / b) / 4, budget b / horizon).

    Args:
      horizon: the number of rounds.
      budget: the variation budget, from 1 / K to horizon / K.
      arms: K, at least 2.

    Raises:
      ValueError: the argument and what is wrong with it; from `simulate`, for another horizon.

    Source: Besbes, Gur and Zeevi 2014, the arms in the proof of theorem 1.

    >>> arms = lower_bound_instance(10_000, 3)
    >>> arms.batch, round(float(arms.gap), 9)
    (282, 0.021053798)
    """
    horizon, count = integer("horizon", horizon, 2, LARGEST_INTEGER), integer("arms", arms, 2, 2**16)
    budget = check_budget(budget, horizon, count)
    batch = int(np.ceil(count ** (1 / 3) * (horizon / budget) ** (2 / 3)))
    gap = np.float64(min(np.sqrt(count / batch) / 4, budget * batch / horizon))
    return LowerBoundArms(
        gap=gap,
        batch=batch,
        horizon=horizon,
        thresholds=chains.thresholds(np.array([[0.5, 0.5], [0.5 - gap, 0.5 + gap]]))[:, 0],
        chances=split(np.array([0.5 + gap, 0.5])),
        choice=chains.thresholds(np.full(count, 1 / count)),
        count=count,
    )
