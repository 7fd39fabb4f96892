"""Arms of which only some are offered in each round (sleeping bandits)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from jaxbandit import members
from jaxbandit.arguments import as_floats, excerpt
from jaxbandit.base import Declares, Environment, Feedback, Policy, State, pytree
from jaxbandit.draws import play_bits
from jaxbandit.members import declares
from jaxbandit.selection import top_arms
from jaxbandit.sums import TwoFloats

SLEEPING = "sleeping"  # the problem of a result with arms that are not always offered
PROBLEMS = ("rested", "hidden", "changing")
LARGEST_WORD = 2**32 - 1


@pytree
class OfferedArms:
    """Arms of which some are offered in each round; all else is as in the environment that it holds.

    Fields:
      environment: the arms.
      long_run: two arrays [K] whose sum is the long-run reward of a play of each arm.
      given: [N, K] bool, whether each arm is offered in round t, in row (t - 1) mod N; None if that is drawn.
      drawn: [K] uint32, the number of 2^32 words of random bits with which an arm is offered; None if given.
    """

    environment: Any
    long_run: TwoFloats
    given: Array | np.ndarray | None = None
    drawn: Array | np.ndarray | None = None

    @property
    def declares(self) -> Declares:
        """The kind of the arms."""
        return declares(self.environment)

    @property
    def reward(self) -> Any:
        """[K, S], the reward of each state of each arm, or None."""
        return self.environment.reward

    @property
    def arms(self) -> int:
        """K."""
        return int(np.shape(self.long_run.high)[-1])

    @property
    def records(self) -> Any:
        """The method of the arms, or None."""
        return members.records(self.environment)

    def means(self) -> Any:
        """[K] float64, long-run reward per play. On the host."""
        return self.environment.means()

    def init(self, key: Array) -> State:
        """The state of the arms before the first round."""
        return self.environment.init(key)

    def step(self, key: Array, state: State, arms: Array, t: Array) -> tuple[State, Feedback]:
        """A round of the arms."""
        after: tuple[State, Feedback] = self.environment.step(key, state, arms, t)
        return after

    def means_now(self, state: State, t: Array) -> Any:
        """[K], the mean reward of a play of each arm in round t; the long-run one of arms that do not change."""
        method = members.means_now(self.environment)
        if method is not None:
            return method(state, t)
        return TwoFloats(*(jnp.asarray(part, float) for part in self.long_run))

    def offered(self, key: Array, t: Array, plays: int) -> Array:
        """[K] bool, which arms are offered in round t; at least `plays` of them.

        Args:
          key: the run's environment key; its draw depends on the arm and the round alone.
        """
        if self.given is not None:
            rows = jnp.asarray(self.given)
            return rows[(t - 1) % rows.shape[0]]
        words = jnp.asarray(self.drawn)
        arms = jnp.arange(words.shape[0], dtype=jnp.uint32)
        bits = play_bits(key, arms + jnp.uint32(2**31), jnp.broadcast_to(t, arms.shape))  # arms have lower numbers
        nearest = top_arms(-bits.astype(float) / words.astype(float), plays)
        return (bits < words) | (nearest[:, None] == jnp.arange(words.shape[0])[None]).any(axis=0)


def masked(scores: Array, offered: Array) -> Array:
    """The scores [K]; -inf for arms that are not offered, and more for all others, also for -inf and NaN.

    >>> masked(jnp.array([2.0, jnp.nan, 1.0]), jnp.array([False, True, True])).tolist()
    [-inf, -3.4028234663852886e+38, 1.0]
    """
    lowest = float(np.finfo(scores.dtype).min)
    return jnp.where(offered, jnp.where(scores >= lowest, scores, lowest), -jnp.inf)


def chances(probabilities: Array, offered: Array, arms: Array) -> Array:
    """The probabilities [M] of `arms`, divided by the sum over the arms offered, as masked Gumbel scores have them.

    >>> chances(jnp.array([0.5, 0.25, 0.25]), jnp.array([False, True, True]), jnp.array([1])).tolist()
    [0.5]
    """
    among = jnp.where(offered, probabilities, 0)
    whole = jnp.sum(among)
    return jnp.where(whole > 0, among[arms] / jnp.where(whole > 0, whole, 1), 1 / jnp.sum(offered))


def checked_offers(offered: ArrayLike, arms: int, plays: int) -> np.ndarray:
    """Rows [N, K] bool of the arms offered in each round, or probabilities [K]; at least `plays` arms have to be."""
    array = as_floats("offered", offered)
    if array.ndim > 2 or (array.ndim and array.shape[-1] != arms) or not array.size:
        raise ValueError(
            f"offered: shape {array.shape} is neither [N, K], whether each of {arms} arms is offered in each round, "
            "nor [K], the probabilities with which they are"
        )
    if array.ndim < 2:
        array = np.broadcast_to(array, (arms,))
        if not ((array >= 0) & (array <= 1)).all():
            raise ValueError(f"offered: {excerpt(offered)} are not probabilities between 0 and 1")
        if ((array > 0) & (array < 2.0**-31)).any():
            raise ValueError(
                "offered: a positive probability is below 2^-31, too rare to be drawn; make it 0 or larger"
            )
        if (array > 0).sum() < plays:
            raise ValueError(
                f"offered: {(array > 0).sum()} arms have a positive probability, and plays is {plays}; offer more"
            )
        return array
    if not ((array == 0) | (array == 1)).all():
        raise ValueError(f"offered: {excerpt(offered)} are not all True or False")
    few = np.flatnonzero(array.sum(-1) < plays)
    if few.size:
        raise ValueError(
            f"offered: {array[few[0]].sum():.0f} arms in round {few[0] + 1}, and plays is {plays}; offer at least so "
            "many in every round"
        )
    return array.astype(bool)


def offer(named: Mapping[str, Environment], offered: np.ndarray, means: np.ndarray) -> list[OfferedArms]:
    """The environments, of which only the offered arms can be played.

    Args:
      offered: of `checked_offers`.
      means: [C, K] float64, the long-run reward of a play of each arm.
    """
    kind = np.dtype(jnp.result_type(float))
    words = None
    if offered.ndim == 1:
        words = np.minimum(np.rint(offered * 2.0**32), LARGEST_WORD).astype(np.uint32)
    made = []
    for (name, environment), exact in zip(named.items(), means, strict=True):
        declared = declares(environment)
        if declared.problem not in PROBLEMS or (declared.paid, declared.shows) != ("played", "played"):
            raise ValueError(
                f"offered: scenarios[{name!r}] are {declared.problem} arms, whose best arms are not those with the "
                "largest means in each round; arms can be offered if they are rested, hidden or changing, pay if they "
                "are played, and do not show the rewards of others"
            )
        high = exact.astype(kind)
        long_run = TwoFloats(high, (exact - high).astype(kind))
        made.append(OfferedArms(environment, long_run, offered if words is None else None, words))
    return made


def check_choosers(policies: Mapping[str, list[Policy]]) -> None:
    """Raise ValueError for a policy that plays arms in turns, whether they are offered or not."""
    for label, variants in policies.items():
        if any(map(members.takes_turns, variants)):
            raise ValueError(
                f"policies[{label!r}]: {type(variants[0]).__name__} plays or explores arms in turns, whether they are "
                "offered or not; use another policy, or leave offered out"
            )


def in_words(offered: np.ndarray) -> str:
    """How the arms are offered."""
    if offered.ndim == 2:
        return f"as given for {len(offered):,} rounds"
    low, high = offered.min(), offered.max()
    return f"with probability {low:.4g}" + (f" to {high:.4g}" if high > low else "")
