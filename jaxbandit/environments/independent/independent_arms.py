"""Arms with i.i.d. rewards from a law on the real numbers: Gaussian, Poisson, exponential, beta, uniform."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from jaxbandit import draws
from jaxbandit.arguments import excerpt, finite
from jaxbandit.base import Family, Feedback, Range, pytree
from jaxbandit.environments.independent import inverse_laws, laws
from jaxbandit.fast import computed_once
from jaxbandit.sums import TwoFloats, add_rewards, no_sums

LARGEST_MEAN = 3000  # of a Poisson arm, whose thresholds then fit in their table
LEAST_SHAPE, LARGEST_SHAPE = 0.01, 1e6  # of a beta arm


class Played(NamedTuple):
    """The numbers of plays, on which the next draws depend, and the sums of rewards."""

    plays: Array  # [K] uint32
    rewards: TwoFloats  # [K]


@pytree
class IndependentArms:
    """Arms with i.i.d. rewards, each from its own law; the state shown is always 0.

    The n-th reward of an arm is the arm's quantile function at 64 random bits, which depend only on the run, the arm
    and n: policies are compared on common random numbers. Policies that need states cannot play these arms.

    Build it with `gaussian`, `poisson`, `exponential`, `beta` or `uniform`, which check their arguments.
    """

    reward: ClassVar[None] = None

    law: laws.Law

    @property
    def arms(self) -> int:
        """K."""
        return int(jax.tree.leaves(self.law)[0].shape[0])

    @property
    def reward_range(self) -> Range:
        """The least and the largest possible reward."""
        return self.law.range()

    @property
    def family(self) -> Family | None:
        """The one-parameter family of the arms' laws, with numbers [K]; None if they have no family."""
        return self.law.family()

    def means(self) -> np.ndarray:
        """Mean reward of each arm, [K] float64 on the host.

        >>> beta([1, 3], [1, 1]).means().tolist()
        [0.5, 0.75]
        """
        return self.law.means()

    @property
    def offset(self) -> float:
        """A number near the rewards, if they are so far from 0 that float32 blurs them; else 0."""
        return self.law.offset() if isinstance(self.law, laws.GaussianLaw | laws.UniformLaw) else 0.0

    def shifted(self, offset: float) -> IndependentArms | None:
        """The arms with a constant subtracted from all rewards; None if their laws cannot be moved."""
        if isinstance(self.law, laws.GaussianLaw | laws.UniformLaw):
            return IndependentArms(self.law.shifted(offset))
        return None

    def init(self, key: Array) -> Played:
        """The state before the first round."""
        return Played(jnp.zeros(self.arms, jnp.uint32), no_sums(self.arms))

    def step(self, key: Array, state: Played, arms: Array, t: Array) -> tuple[Played, Feedback]:
        """Play `arms` [M] int32, distinct; return the new plays and sums of rewards, and what the player sees."""
        number = state.plays[arms] + 1
        # computed once, because the sum must add exactly the float that the player sees
        rewards = computed_once(self.law.draw(draws.play_bits_64(key, arms, number), arms))
        nothing = jnp.zeros_like(arms)
        following = Played(state.plays.at[arms].set(number), add_rewards(state.rewards, arms, rewards))
        return following, Feedback(arms, nothing, nothing, rewards, t)

    def records(self, state: Played) -> dict[str, TwoFloats]:
        """The sum of rewards of each arm, recorded beside the plays."""
        return {"rewards": state.rewards}


def gaussian(means: ArrayLike, deviation: ArrayLike = 1.0) -> IndependentArms:
    """Arms with normal rewards.

    A reward is off by at most 5e-7 of its distance from the mean, and reaches 9.08 standard deviations on both sides.

    Args:
      means: [K], K >= 2.
      deviation: standard deviation, positive: a number or [K].

    Raises:
      ValueError: the argument and what is wrong with it.

    >>> gaussian([0.5, 0.2], deviation=2.0).means().tolist()
    [0.5, 0.2]
    """
    mean = _numbers("means", means)
    spread = finite("deviation", deviation)
    if spread.shape not in ((), mean.shape) or not (spread > 0).all():
        raise ValueError(f"deviation: {excerpt(deviation)} is not positive, one number or [K] = ({len(mean)},)")
    return IndependentArms(laws.GaussianLaw(mean, np.broadcast_to(spread, mean.shape).copy()))


def poisson(means: ArrayLike) -> IndependentArms:
    """Arms with Poisson rewards, drawn exactly: each value has its probability to within 2^-64.

    Args:
      means: [K], K >= 2, from 0 to 3,000.

    Raises:
      ValueError: the argument and what is wrong with it.

    >>> poisson([4.0, 5.5]).means().tolist()
    [4.0, 5.5]
    """
    mean = _numbers("means", means, 0, LARGEST_MEAN)
    least, thresholds = zip(*map(inverse_laws.poisson_thresholds, mean.tolist()), strict=True)
    return IndependentArms(laws.PoissonLaw(mean, np.array(least, np.int32), np.stack(thresholds)))


def exponential(means: ArrayLike) -> IndependentArms:
    """Arms with exponential rewards, with a relative error of 5e-7, from 2^-64 to 44.4 times the mean.

    Args:
      means: [K], K >= 2, positive.

    Raises:
      ValueError: the argument and what is wrong with it.

    >>> exponential([1.0, 0.5]).means().tolist()
    [1.0, 0.5]
    """
    mean = _numbers("means", means)
    if not (mean > 0).all():
        raise ValueError(f"means: {mean.min()} is not positive")
    return IndependentArms(laws.ExponentialLaw(mean))


def beta(a: ArrayLike, b: ArrayLike) -> IndependentArms:
    """Arms with beta rewards, in [0, 1].

    The log-odds of a reward are piecewise polynomials of the log-odds of a uniform number; for every arm they are
    checked to be within 1e-7 of their size and slope.

    Args:
      a, b: [K], K >= 2, from 0.01 to 1e6, and not both below 0.1 in one arm.

    Raises:
      ValueError: the argument and what is wrong with it.

    >>> beta([0.5, 2.0], [0.5, 3.0]).means().tolist()
    [0.5, 0.4]
    """
    first, second = (_numbers(name, value, LEAST_SHAPE, LARGEST_SHAPE) for name, value in (("a", a), ("b", b)))
    if first.shape != second.shape:
        raise ValueError(f"a and b: shapes {first.shape} and {second.shape} disagree; give one of each per arm")
    table = np.stack([inverse_laws.beta_log_odds(*pair) for pair in zip(first.tolist(), second.tolist(), strict=True)])
    return IndependentArms(laws.BetaLaw(first, second, table))


def uniform(low: ArrayLike, high: ArrayLike) -> IndependentArms:
    """Arms with uniform rewards between two numbers.

    Args:
      low, high: [K], K >= 2, low below high.

    Raises:
      ValueError: the argument and what is wrong with it.

    >>> uniform([0.0, 0.1], [1.0, 0.5]).means().tolist()
    [0.5, 0.3]
    """
    least, most = _numbers("low", low), _numbers("high", high)
    if least.shape != most.shape:
        raise ValueError(f"low and high: shapes {least.shape} and {most.shape} disagree; give one of each per arm")
    if not (least < most).all():
        raise ValueError(f"low: {least.tolist()} is not below high = {most.tolist()} in every arm")
    return IndependentArms(laws.UniformLaw(least, most))


def _numbers(name: str, values: ArrayLike, low: float = -np.inf, high: float = np.inf) -> np.ndarray:
    """One number for each arm, [K] in float64."""
    array = finite(name, values)
    if array.ndim != 1 or len(array) < 2:
        raise ValueError(f"{name}: shape {array.shape} is not [K] with at least 2 arms")
    if not ((array >= low) & (array <= high)).all():
        raise ValueError(f"{name}: {array.tolist()} lie outside {low:g} to {high:g}")
    return array
