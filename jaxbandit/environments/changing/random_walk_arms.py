"""Gaussian arms whose means do random walks, free or pulled back to a centre."""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from jaxbandit import draws, families, quantiles
from jaxbandit.arguments import excerpt, finite
from jaxbandit.base import Declares, Family, Feedback, Range, pytree
from jaxbandit.fast import computed_once, look_up
from jaxbandit.sums import TwoFloats, add_rewards, add_to_each, no_sums


class RandomWalkState(NamedTuple):
    """The means of the arms of one run in the next round, and the sums of rewards."""

    means: TwoFloats  # [K]
    rewards: TwoFloats  # [K]


@pytree
class RandomWalkArms:
    """Arms with normal rewards whose means m move after every round, whether the arms are played or not.

    With independent standard normal numbers N, m_1 = start + spread N and m_{t+1} = m_t - rate (m_t - centre) +
    diffusion N. A play of round t pays m_t + deviation N. Walks and rewards depend only on the run, the arm and the
    round: policies are compared on common random numbers. The state shown is always 0.

    Build it with `random_walk`, which checks its arguments.

    Fields: `start`, `diffusion`, `deviation`, `rate`, `centre` and `spread`, each [K].
    """

    declares: ClassVar = Declares(pairing="round", problem="changing")
    reward: ClassVar[None] = None
    reward_range: ClassVar[Range] = (-math.inf, math.inf)

    start: np.ndarray | Array
    diffusion: np.ndarray | Array
    deviation: np.ndarray | Array
    rate: np.ndarray | Array
    centre: np.ndarray | Array
    spread: np.ndarray | Array

    @property
    def arms(self) -> int:
        """K."""
        return int(self.start.shape[0])

    @property
    def family(self) -> Family:
        """The family of the rewards of a round, normal laws with the variances [K] of the arms."""
        return families.Gaussian(np.asarray(self.deviation) ** 2)

    def means(self) -> np.ndarray:
        """The expected mean of each arm in the long run, [K] float64: its centre, or its start if nothing pulls it.

        >>> random_walk([1.0, 2.0], 0.1, decay=[1.0, 0.9], centre=5.0).means().tolist()
        [1.0, 5.0]
        """
        return np.where(np.asarray(self.rate) == 0, self.start, self.centre)

    def means_now(self, state: RandomWalkState, t: Array) -> TwoFloats:
        """The mean reward of each arm in round t, [K], as sums of two floats.

        >>> import jax
        >>> arms = random_walk([1.0, 2.0], 0.0, decay=0.5)
        >>> state, _ = jax.jit(arms.step)(jax.random.key(0), arms.init(jax.random.key(0)), jnp.array([1]), 1)
        >>> arms.means_now(state, 2).high.tolist()
        [0.5, 1.0]
        """
        return state.means

    def init(self, key: Array) -> RandomWalkState:
        """The state before the first round of the run with this environment key."""
        every, spread = self._arms(), jnp.asarray(self.spread, float)
        away = computed_once(spread * _normal(key, self.arms + every, jnp.zeros_like(every)))
        starts = TwoFloats(jnp.asarray(self.start, float), jnp.zeros(self.arms))
        return RandomWalkState(add_to_each(starts, away), no_sums(self.arms))

    def step(self, key: Array, state: RandomWalkState, arms: Array, t: Array) -> tuple[RandomWalkState, Feedback]:
        """Play `arms` [M] int32, distinct, in round `t`; return the new state and what the player sees."""
        every, means = self._arms(), state.means
        diffusion, rate, centre = (jnp.asarray(part, float) for part in (self.diffusion, self.rate, self.centre))
        noise = look_up(jnp.asarray(self.deviation, float), arms) * _normal(key, arms, jnp.broadcast_to(t, arms.shape))
        # computed once, because the sums must add exactly the floats that are paid and that move the means
        rewards = computed_once(look_up(means.high, arms) + noise)
        pull = computed_once(rate * ((means.high - centre) + means.low))
        # arm numbers end at K - 1, so that those from K on are free for the walks
        moves = computed_once(diffusion * _normal(key, self.arms + every, jnp.broadcast_to(t, every.shape)) - pull)
        nothing = jnp.zeros_like(arms)
        following = RandomWalkState(add_to_each(means, moves), add_rewards(state.rewards, arms, rewards))
        return following, Feedback(arms, nothing, nothing, rewards, t)

    def records(self, state: RandomWalkState) -> dict[str, TwoFloats]:
        """The sum of rewards of each arm, recorded beside the plays."""
        return {"rewards": state.rewards}

    def _arms(self) -> Array:
        """The numbers of all arms, [K] int32."""
        return jnp.arange(self.arms, dtype=jnp.int32)


def random_walk(
    start: ArrayLike,
    diffusion: ArrayLike,
    deviation: ArrayLike = 1.0,
    *,
    decay: ArrayLike = 1.0,
    centre: ArrayLike = 0.0,
    spread: ArrayLike = 0.0,
) -> RandomWalkArms:
    """Arms with normal rewards whose means do random walks: m_{t+1} = decay m_t + (1 - decay) centre + diffusion N.

    A play of round t pays m_t + deviation N, and m_1 = start + spread N, where every N is a standard normal number of
    its own; so every run has walks of its own. With a decay below 1 a mean is in the long run normal around the centre,
    with standard deviation diffusion / sqrt(1 - decay^2); with this spread and start = centre it is so from the first
    round on. Means are kept as sums of two floats, so that steps that are small beside them are not lost.

    Args:
      start: [K], K >= 2, the means of the first round.
      diffusion: at least 0; the standard deviation of a step of a mean.
      deviation: positive; the standard deviation of a reward.
      decay: in [0, 1]; the part of its distance from the centre that a mean keeps in a round. 1 is a free walk.
      centre: to which means decay; of no effect where the decay is 1.
      spread: at least 0; the standard deviation of the means of the first round.

    All but `start` are a number or [K].

    Raises:
      ValueError: the argument and what is wrong with it.

    Source: Sutton and Barto 2018, exercise 2.5, for the free walk (read as others quote it); Daw, O'Doherty, Dayan,
    Seymour and Dolan 2006, supplementary methods, for the walk with decay (the description of the task was read).

    >>> arms = random_walk([50.0] * 4, diffusion=2.8, deviation=4.0, decay=0.9836, centre=50.0)
    >>> arms.means().tolist()
    [50.0, 50.0, 50.0, 50.0]
    """
    starts = finite("start", start)
    if starts.ndim != 1 or len(starts) < 2:
        raise ValueError(f"start: shape {starts.shape} is not [K] with at least 2 arms")

    def of_each(name: str, values: ArrayLike, low: float = -np.inf, high: float = np.inf) -> np.ndarray:
        numbers = finite(name, values)
        if numbers.shape not in ((), starts.shape) or not ((numbers >= low) & (numbers <= high)).all():
            reach = (
                "" if low == -np.inf else " that is not negative" if high == np.inf else f" from {low:g} to {high:g}"
            )
            raise ValueError(f"{name}: {excerpt(values)} is not a number{reach}, or [K] = ({len(starts)},) of them")
        return np.broadcast_to(numbers, starts.shape).copy()

    deviations = of_each("deviation", deviation, 0)
    if not (deviations > 0).all():
        raise ValueError(f"deviation: {excerpt(deviation)} is not positive; the rewards of an arm need some noise")
    return RandomWalkArms(
        start=starts,
        diffusion=of_each("diffusion", diffusion, 0),
        deviation=deviations,
        rate=1 - of_each("decay", decay, 0, 1),
        centre=of_each("centre", centre),
        spread=of_each("spread", spread, 0),
    )


def _normal(key: Array, arms: Array, rounds: Array) -> Array:
    """Standard normal numbers [M] of the arms [M] int32 in the rounds [M] int32."""
    return quantiles.normal(draws.play_bits_64(key, arms, rounds), jnp.result_type(float))
