"""The form of a bound, and what bounds require of an environment."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from jaxbandit import chains, members
from jaxbandit.arguments import as_floats, excerpt, has
from jaxbandit.base import described
from jaxbandit.members import declares
from jaxbandit.probabilities import EXACT, stochastic

TOLERANCE = 1e-9  # of p01 + p10 = 1, for an arm to count as i.i.d.


class MarkovEnvironment(Protocol):
    """An environment whose arms are Markov chains, as `MarkovArms`."""

    @property
    def transition(self) -> np.ndarray | Array: ...  # [K, S, S]

    @property
    def reward(self) -> np.ndarray | Array | None: ...  # [K, S]; None where rewards have no finite table

    @property
    def initial(self) -> np.ndarray | Array: ...  # [K, S], law of the state before the first play

    def means(self) -> np.ndarray: ...  # [K]


@described
class Bound(NamedTuple):
    """A bound on regret: times log n where `times` is None, else at these times; in units of reward.

    Fields:
      label: what the bound is called.
      holds_for: the arms, or the policies, for which it holds, in words.
      per_arm: [K] or [K, T], 0 for the best arms.
      total: [] or [T], of all arms together.
      times: [T], rounds n; None for a constant of log n.
      cases: the case of the theorem for each arm, "" for the best.
      uncertainty: [K], the most by which a tight constant can exceed `per_arm`.
    """

    label: str
    holds_for: str
    per_arm: np.ndarray
    total: np.ndarray
    times: np.ndarray | None = None
    cases: tuple[str, ...] = ()
    uncertainty: np.ndarray | None = None


class TwoState(NamedTuple):
    """One arm with two states, the second of which pays more."""

    p01: float
    p10: float

    @property
    def sigma(self) -> float:
        """1 minus the second eigenvalue."""
        return self.p01 + self.p10

    @property
    def mean(self) -> float:
        """Stationary probability of state 1."""
        return self.p01 / self.sigma

    @property
    def independent(self) -> bool:
        return abs(self.sigma - 1) <= TOLERANCE


def check_environment(environment: MarkovEnvironment) -> None:
    """Raise ValueError unless it is an environment of rested arms."""
    has("environment", environment, "an environment", "reward", "means")
    if declares(environment).problem != "rested":
        raise ValueError(
            f"environment: {type(environment).__name__} has {declares(environment).problem} arms; the bounds are for "
            "rested arms whose states are seen"
        )


def gaps(environment: MarkovEnvironment) -> np.ndarray:
    """Best mean minus each arm's, [K]; exactly 0 for the best arms; means that differ by rounding count as equal."""
    check_environment(environment)
    means = environment.means()
    distance = means.max() - means
    size = np.abs(means if environment.reward is None else environment.reward).max()
    return np.asarray(np.where(distance <= 1e-12 * size, 0.0, distance))


def unit_numbers(name: str, value: ArrayLike, arms: int = 0, *, ends: bool) -> np.ndarray:
    """`value` in float64: a number in [0, 1], or in (0, 1) without `ends`; with `arms`, or one for each arm."""
    try:
        array = as_floats(name, value)
    except ValueError:
        array = np.asarray(np.nan)
    inside = (array >= 0) & (array <= 1) if ends else (array > 0) & (array < 1)
    if array.shape not in {(), (arms or None,)} or not inside.all():
        others = f", nor {arms} of them" if arms else ""
        raise ValueError(f"{name}: {excerpt(value)} is not a number in {'[0, 1]' if ends else '(0, 1)'}{others}")
    return array


def rounds(times: ArrayLike) -> np.ndarray:
    """`times` [T] in float64."""
    array = as_floats("times", times)
    if array.ndim != 1 or not array.size or not (array >= 1).all() or not np.isfinite(array).all():
        raise ValueError(f"times: {excerpt(times)} are not rounds [T] of at least 1")
    return array


def transitions(environment: MarkovEnvironment) -> np.ndarray:
    """The transitions [K, S, S]."""
    check_environment(environment)
    if members.transition(environment) is None:
        raise ValueError(f"environment: {type(environment).__name__} has no transition matrices; give Markov arms")
    return stochastic("environment", environment.transition, EXACT)


def irreducible(environment: MarkovEnvironment) -> np.ndarray:
    """The transitions [K, S, S] of irreducible arms."""
    transition = transitions(environment)
    for arm, rows in enumerate(transition):
        if chains.recurrent_classes(rows) != [list(range(len(rows)))]:
            raise ValueError(
                f"environment: arm {arm} is not irreducible (some state is left for ever), as the bound assumes"
            )
    return transition


def two_state_arms(environment: MarkovEnvironment) -> list[TwoState]:
    """The arms, the better state second."""
    transition, reward = irreducible(environment), np.asarray(environment.reward, float)
    if transition.shape[1] != 2:
        raise ValueError(f"environment: {transition.shape[1]} states; this bound is for arms with two")
    shared_rewards(environment)
    if reward[0, 1] < reward[0, 0]:
        transition = transition[:, ::-1, ::-1]
    return [TwoState(float(rows[0, 1]), float(rows[1, 0])) for rows in transition]


def shared_rewards(environment: MarkovEnvironment) -> np.ndarray:
    """The rewards [S] of every arm."""
    reward = np.asarray(environment.reward, float)
    if (reward != reward[0]).any():
        raise ValueError("environment: arms pay differently in the same state; this bound assumes equal rewards")
    return np.asarray(reward[0])


def best_and_others(gap: np.ndarray) -> tuple[list[int], list[int]]:
    """The indices of the best arms and of the others."""
    return np.flatnonzero(gap == 0).tolist(), np.flatnonzero(gap > 0).tolist()
