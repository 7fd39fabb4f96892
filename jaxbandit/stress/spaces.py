"""Spaces of problems: laws that problems are drawn from, as functions of coordinates in which a search can move."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Protocol, get_args

import numpy as np

from jaxbandit import environments
from jaxbandit.arguments import LARGEST, choice, integer, number
from jaxbandit.base import Environment, Family, Paid, Policy, described, pytree, static
from jaxbandit.environments import InitialState
from jaxbandit.families import Exponential, Gaussian, Poisson
from jaxbandit.policies import IMED, IMEDMC, KLUCB, TVKLUCB, UCB1, PosteriorWhittle, Thompson, UCWhittle, Uniform

FAMILIES: dict[str, Family | None] = {
    **{"bernoulli": None, "gaussian": Gaussian(1.0), "poisson": Poisson(), "exponential": Exponential()}
}
DIGITS = 4  # significant digits of a problem's numbers, which its code shows in full


@described
class Problem(NamedTuple):
    """Arms, and the code that makes exactly these arms.

    Fields:
      code: a Python expression, after `import jaxbandit`.
      arms: the environment.
    """

    code: str
    arms: Environment


class Space(Protocol):
    """What `over` and `worst` need of a space, also of a user's own."""

    @property
    def dimension(self) -> int:
        """Number of coordinates of a point."""

    def problem(self, point: np.ndarray) -> Problem:
        """The problem at a point [dimension] in [0, 1]; uniform points give the space's law."""

    def panel(self) -> dict[str, Policy]:
        """The policies that others are compared with."""


@pytree
class TwoStateSpace:
    """Rested arms with two states, which pay 0 and 1.

    For every arm the speed s = p01 + p10 is log-uniform from `slowest` to `fastest` and the share u = p01 / s, the
    arm's mean, uniform from `least_mean` to `most_mean`.

    Args:
      arms: K, at least 2.
      slowest, fastest: in (0, 1].
      least_mean, most_mean: in (0, 1).
      initial_state: of all arms.

    >>> TwoStateSpace().problem(np.full(4, 0.5)).code
    "jaxbandit.environments.two_state(p01=[0.01581, 0.01581], p10=[0.01581, 0.01581], initial_state='stationary')"
    """

    arms: int = static(2)
    slowest: float = 1e-3
    fastest: float = 1.0
    least_mean: float = 0.05
    most_mean: float = 0.95
    initial_state: InitialState = static("stationary")

    def validate(self) -> None:
        """Raise ValueError, with its name, for a field that is out of range."""
        _check_chains(self)

    @property
    def dimension(self) -> int:
        return 2 * self.arms

    def problem(self, point: np.ndarray) -> Problem:
        speed, share = np.reshape(point, (2, self.arms))
        p01, p10 = _leaving(self, speed, share)
        return problem_of("two_state", p01=p01, p10=p10, initial_state=self.initial_state)

    def panel(self) -> dict[str, Policy]:
        return panel_of_chains()


@pytree
class ThreeStateSpace:
    """Rested arms with three states.

    For every arm the speed s is log-uniform from `slowest` to `fastest`. Its transition matrix is
    (1 - s) I + s D, where the rows of D are uniform among all probability vectors.

    Args:
      arms: K, at least 2.
      slowest, fastest: in (0, 1].
      reward: what the states pay.
      initial_state: of all arms.

    >>> ThreeStateSpace().dimension
    14
    """

    arms: int = static(2)
    slowest: float = 1e-3
    fastest: float = 1.0
    reward: tuple[float, float, float] = static((0.0, 0.5, 1.0))
    initial_state: InitialState = static("stationary")

    def validate(self) -> None:
        """Raise ValueError, with its name, for a field that is out of range."""
        _check_chains(self, means=False)

    @property
    def dimension(self) -> int:
        return 7 * self.arms

    def problem(self, point: np.ndarray) -> Problem:
        of_arms = np.reshape(point, (self.arms, 7))
        s = _log_uniform(self.slowest, self.fastest, of_arms[:, 0])[:, None, None]
        first, second = np.moveaxis(of_arms[:, 1:].reshape(self.arms, 3, 2), -1, 0)
        largest = 1 - np.sqrt(1 - first)  # stick-breaking: Beta(1, 2), then a uniform part of the rest
        rest = (1 - largest) * second
        rows = (1 - s) * np.eye(3) + s * np.stack([largest, rest, 1 - largest - rest], axis=-1)
        leaving = np.array(short(np.where(np.eye(3), 0, rows)))  # rounded off the diagonal, so that rows sum to 1
        rows = np.where(np.eye(3), 1 - leaving.sum(-1)[..., None], leaving).round(12).tolist()
        return problem_of("markov", transition=rows, reward=list(self.reward), initial_state=self.initial_state)

    def panel(self) -> dict[str, Policy]:
        return panel_of_chains()


@pytree
class IndependentSpace:
    """Independent rewards of a one-parameter family, means uniform from `least_mean` to `most_mean`.

    Args:
      family: "bernoulli", "gaussian" (variance 1), "poisson" or "exponential".
      arms: K, at least 2.
      least_mean, most_mean: within what the family allows.

    >>> IndependentSpace("poisson", most_mean=3.0).problem(np.array([0.1, 0.9])).code
    'jaxbandit.environments.poisson(means=[0.345, 2.705])'
    """

    family: Literal["bernoulli", "gaussian", "poisson", "exponential"] = static("bernoulli")
    arms: int = static(2)
    least_mean: float = 0.05
    most_mean: float = 0.95

    def validate(self) -> None:
        """Raise ValueError, with its name, for a field that is out of range."""
        choice("family", self.family, FAMILIES)
        integer("arms", self.arms, 2, 1000)
        check_order(self, "least_mean", "most_mean", -LARGEST, LARGEST)

    @property
    def dimension(self) -> int:
        return self.arms

    def problem(self, point: np.ndarray) -> Problem:
        return problem_of(self.family, means=short(uniform(self.least_mean, self.most_mean, np.asarray(point))))

    def panel(self) -> dict[str, Policy]:
        family = FAMILIES[self.family]
        return {"KL-UCB": KLUCB(family=family), "IMED": IMED(family=family), "Thompson": Thompson(family=family)}


@pytree
class RestlessSpace:
    """Restless arms with two states, which pay 0 and 1 and move whether they are played or not.

    Every arm has a law by which it moves when it is played and another one by which it moves when it is not, each
    drawn as in `TwoStateSpace`.

    Args:
      arms: K, at least 2.
      slowest, fastest: in (0, 1].
      least_mean, most_mean: in (0, 1).
      paid: "played" (default), or "all": all arms pay, played or not, and show their states in every round.

    >>> RestlessSpace().dimension
    8
    """

    arms: int = static(2)
    slowest: float = 1e-3
    fastest: float = 1.0
    least_mean: float = 0.05
    most_mean: float = 0.95
    paid: Paid = static("played")

    def validate(self) -> None:
        """Raise ValueError, with its name, for a field that is out of range."""
        choice("paid", self.paid, get_args(Paid))
        _check_chains(self)

    @property
    def dimension(self) -> int:
        return 4 * self.arms

    def problem(self, point: np.ndarray) -> Problem:
        speed, share = np.reshape(point, (2, 2, self.arms))
        p01, p10 = map(np.array, _leaving(self, speed, share))
        rows = np.stack([np.stack([1 - p01, p01], -1), np.stack([p10, 1 - p10], -1)], -2).round(12)
        options = {} if self.paid == "played" else {"observed": True, "paid": self.paid}
        transition, passive = rows.tolist()
        return problem_of("restless", transition=transition, reward=[0.0, 1.0], passive=passive, **options)

    def panel(self) -> dict[str, Policy]:
        if self.paid == "all":
            optimistic = UCWhittle(scale=0.1)
            return {"posterior Whittle": PosteriorWhittle(), "UCWhittle, scale 0.1": optimistic, "random": Uniform()}
        return {"KL-UCB": KLUCB(), "Thompson": Thompson(), "UCB1": UCB1()}


def _check_chains(space: Any, means: bool = True) -> None:
    integer("arms", space.arms, 2, 1000)
    check_order(space, "slowest", "fastest", 1e-9, 1.0)
    if means:
        check_order(space, "least_mean", "most_mean", 1e-6, 1 - 1e-6)


def check_order(space: Any, low: str, high: str, least: float, most: float) -> None:
    first = number(low, getattr(space, low), least, most)
    if number(high, getattr(space, high), least, most) < first:
        raise ValueError(f"{high}: {getattr(space, high)} is below {low}, {first}")


def panel_of_chains() -> dict[str, Policy]:
    return {
        **{"IMED-MC": IMEDMC(), "IMED-MC, exponent 0.5": IMEDMC(exponent=0.5)},
        **{"KL-UCB": KLUCB(), "TV-KL-UCB": TVKLUCB()},
    }


def _leaving(space: Any, speed: np.ndarray, share: np.ndarray) -> tuple[list[Any], list[Any]]:
    """p01 and p10 of arms with two states, from their coordinates."""
    s = _log_uniform(space.slowest, space.fastest, speed)
    u = uniform(space.least_mean, space.most_mean, share)
    return short(s * u), short(s * (1 - u))


def uniform(low: float, high: float, u: np.ndarray) -> np.ndarray:
    return low + (high - low) * u


def _log_uniform(low: float, high: float, u: np.ndarray) -> np.ndarray:
    return low * (high / low) ** u


def short(numbers: np.ndarray) -> list[Any]:
    """The numbers with `DIGITS` significant digits."""
    return np.vectorize(lambda number: float(f"{number:.{DIGITS}g}"))(numbers).tolist()


def problem_of(name: str, **arguments: Any) -> Problem:
    """The arms that a function of `environments` makes."""
    code = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
    return Problem(f"jaxbandit.environments.{name}({code})", getattr(environments, name)(**arguments))
