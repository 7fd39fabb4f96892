"""The arms of an application: their names, their states, and what an answer says of them."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit import members
from jaxbandit.arguments import LARGEST, as_floats, excerpt, finite, list_of, number
from jaxbandit.base import Feedback, Range, Task
from jaxbandit.cores import check_threads
from jaxbandit.reward_units import RewardUnits, check_distinct, reward_units
from jaxbandit.simulation.asking.contracts import check_task
from jaxbandit.simulation.asking.tracing import EnvironmentShapes, Size, policy_program

UNKNOWN = "leave a play whose outcome is not known open"


class RealArms:
    """The arms as the `validate` of a policy sees them: rested arms whose laws are unknown.

    Fields: `names` of the arms; `states`, the names of the states of each arm, or None if rewards are real numbers;
    `reward` [K, S] float64, or None; `reward_range`; `arms`, the number K; `kind`, the default float type.
    """

    def __init__(self, names: Iterable[str], states: Any, rewards: Any) -> None:
        self.names = _names("arms", names)
        self.arms = len(self.names)
        self.kind = np.dtype(jnp.result_type(float))
        self.states: list[list[str]] | None = None
        self.reward: np.ndarray | None = None
        self.added: list[list[Any]] = []  # the arguments of `with_arm` of the arms that were added
        if (states is None) == (rewards is None):
            raise ValueError("states: give either states={'name': reward, ..} or rewards=(low, high), not both")
        if states is None:
            self.reward_range = _range(rewards)
        else:
            self.states, self.reward = _table(self.names, states)
            self.reward_range = float(self.reward.min()), float(self.reward.max())

    def with_arm(self, name: str, states: list[str] | None, rewards: list[float] | None) -> RealArms:
        """These arms and one more, with these states and their rewards."""
        more = copy.copy(self)
        more.names, more.arms = [*self.names, name], self.arms + 1
        more.added = [*self.added, [name, states, rewards]]
        if self.reward is not None and self.states is not None and states is not None and rewards is not None:
            row = np.append(rewards, np.full(self.reward.shape[1] - len(rewards), rewards[0]))
            more.states, more.reward = [*self.states, states], np.vstack([self.reward, row])
            more.reward_range = float(more.reward.min()), float(more.reward.max())
        return more

    def new_arm(self, name: Any, states: Any, like: int | None = None) -> list[Any]:
        """The arguments of `with_arm` for a new arm, checked; by default it has the states of all others.

        It has those of the arm with the number `like`, if that is given.
        """
        _names("arm", [name])
        if like is not None and states is not None:
            raise ValueError("states: leave it out; the new arm has those of the arm that it is like")
        if self.states is None or self.reward is None:
            if states is not None:
                raise ValueError("states: the arms have none; leave it out")
            return [name, None, None]
        if like is not None:
            return [name, self.states[like], self.reward[like, : len(self.states[like])].tolist()]
        if states is None:
            rows = {(tuple(names), tuple(row)) for names, row in zip(self.states, self.reward.tolist(), strict=True)}
            if len(rows) > 1:
                raise ValueError("states: missing; the arms have different states, so give those of the new arm")
            return [name, self.states[0], self.reward[0, : len(self.states[0])].tolist()]
        (names,), rewards = _table([name], {name: states})
        if len(names) > self.reward.shape[1]:
            raise ValueError(f"states: {len(names)} states; the arms have {self.reward.shape[1]} at most")
        return [name, names, rewards[0].tolist()]

    def means(self) -> np.ndarray:
        """[K] NaN, because nobody knows them."""
        return np.full(self.arms, np.nan)

    @property
    def table(self) -> np.ndarray:
        """[K, S], or [K, 0] if rewards are real numbers: the argument of the policy's `init`."""
        return np.zeros((self.arms, 0)) if self.reward is None else self.reward

    def described(self) -> dict[str, Any]:
        """The arms in JSON."""
        return {
            "arms": self.names,
            "states": self.states,
            "rewards": list(self.reward_range) if self.reward is None else self.reward.tolist(),
        }

    def arm(self, argument: str, name: Any) -> int:
        """The number of the arm with this name."""
        if not isinstance(name, str) or name not in self.names:
            raise ValueError(f"{argument}: {excerpt(name)} is not an arm; the arms are {excerpt(self.names)}")
        return self.names.index(name)

    def numbers(self, argument: str, names: list[Any]) -> list[int]:
        """The numbers of the arms with these names, the least first; a name that comes twice is an error."""
        return sorted(self.arm(argument, name) for name in _names(argument, names)) if names else []

    def outcome(self, arm: int, state: Any, reward: Any) -> tuple[int, float]:
        """The state that an answer says, and its reward, float64; state 0 if rewards are numbers."""
        if self.reward is None or self.states is None:
            if state is not None:
                raise ValueError(f"state: {excerpt(state)}; the arms have no states, give reward=..")
            low, high = self.reward_range
            try:
                paid = number("reward", reward, max(low, -LARGEST), min(high, LARGEST))
            except ValueError as error:
                raise ValueError(f"{error}; {UNKNOWN}") from None
            return 0, paid
        row, names = self.reward[arm], self.states[arm]
        place = None
        if state is not None:
            if not isinstance(state, str) or state not in names:
                raise ValueError(
                    f"state: {excerpt(state)} is not a state of arm {self.names[arm]!r}; its states are "
                    f"{excerpt(names)}; {UNKNOWN}"
                )
            place = names.index(state)
        if reward is not None:
            paying = self._paying(arm, row[: len(names)], reward)
            if place is None and len(paying) > 1:
                raise ValueError(f"reward: {reward} is paid by {[names[n] for n in paying]}; name the state")
            place = paying[0] if place is None else place
            if place not in paying:
                raise ValueError(f"reward: {reward}, and state {names[place]!r} pays {row[place]}; correct one")
        if place is None:
            raise ValueError(f"state: None; name one of {excerpt(names)}, or give reward=..; {UNKNOWN}")
        return place, float(row[place])

    def priors(self, prior: Any) -> list[list[Any]]:
        """[arm, its imagined answers] for each arm with a prior, in the order of the arms."""
        if not isinstance(prior, Mapping):
            raise ValueError(f"prior: {excerpt(prior)} is not a dict of answers, such as {{'red': ['clicked']}}")
        numbers = {self.arm("prior", name): said for name, said in prior.items()}
        return [[arm, self.imagined(arm, numbers[arm])] for arm in sorted(numbers)]

    def imagined(self, arm: int, answers: Any) -> list[list[Any]]:
        """[state, reward] of each answer that is imagined of an arm before its first play."""
        outcomes = []
        for place, answer in enumerate(list_of("prior", answers)):
            state, reward = (answer, None) if isinstance(answer, str) else (None, answer)
            try:
                outcomes.append(list(self.outcome(arm, state, reward)))
            except ValueError as error:
                text = str(error).removesuffix(f"; {UNKNOWN}")
                raise ValueError(f"prior: answer {place + 1} of arm {self.names[arm]!r}: {text}") from None
        return outcomes

    def _paying(self, arm: int, row: np.ndarray, reward: Any) -> list[int]:
        """The states of the arm that pay the reward."""
        try:
            paid = number("reward", reward)
        except ValueError as error:
            raise ValueError(f"{error}; {UNKNOWN}") from None
        same = row == paid
        if not same.any():  # a reward that was rounded, as one of JAX
            same = row.astype(self.kind) == self.kind.type(paid)
        paying: list[int] = np.flatnonzero(same).tolist()
        if not paying:
            raise ValueError(
                f"reward: {reward}; no state of arm {self.names[arm]!r} pays it, they pay {excerpt(row.tolist())}; for "
                "real numbers make the player with rewards=(low, high)"
            )
        return paying


def check_rewards(name: str, policy: Any, arms: RealArms) -> RewardUnits:
    """The units of reward in which the policy sees these arms.

    Raises:
      ValueError: rewards of states that differ, and that are the same number for the policy.
    """
    units = reward_units(policy, arms.table, arms.reward_range)
    check_distinct(name, arms.table, units)
    return units


def check_plays(policy: Any, arms: RealArms, plays: int = 1) -> str:
    """Raise ValueError unless the policy can play so many of these arms a round; returns a hash of its code."""
    check_threads()
    check_task("policy", policy, Task(arms, plays, name="the player"))
    if plays > 1 and members.in_order(policy):
        raise ValueError(f"plays: {plays}; {type(policy).__name__} needs an arm's answers in order; choose one a round")
    real = jnp.result_type(float)
    chances: Any = None if members.probabilities(policy) is None else jax.ShapeDtypeStruct((plays,), real)
    empty: Any = None
    shown = EnvironmentShapes(None, Feedback(empty, empty, empty, empty, empty, chances=chances), {}, None)
    form = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(jnp.shape(leaf), jnp.result_type(leaf)), policy)
    return policy_program("policy", form, Size(arms.arms, arms.table.shape[1], plays, real), shown).hash


def check_new_rewards(policy: Any, rewards: list[float] | None, units: RewardUnits) -> None:
    """Raise ValueError for a new arm whose rewards a policy that maps rewards to [0, 1] would see outside of it."""
    seen = units.seen([] if rewards is None else rewards)
    if members.units(policy) == "mapped" and ((seen < 0) | (seen > 1)).any():
        low, high = (units.low + units.span * end for end in (0, 1))
        raise ValueError(
            f"states: the new arm pays {excerpt(rewards)}, and {type(policy).__name__} sees rewards on the scale of "
            f"the first arms, from {low:g} to {high:g}; begin a new player whose states include these rewards"
        )


def check_some_arms(argument: str, policy: Any, table: np.ndarray) -> None:
    """Raise ValueError for a policy that cannot choose among some of its arms, or whose arms are fixed."""
    name = type(policy).__name__
    if members.probabilities(policy) is not None or members.takes_turns(policy):
        raise ValueError(
            f"{argument}: {name} chooses by chance or in turns among all arms; use an index policy, as UCB1"
        )

    def rows(arms: int) -> list[Any]:
        return jax.tree.leaves(jax.eval_shape(policy.init, jax.ShapeDtypeStruct((arms, table.shape[1]), float)))

    arms = len(table)
    try:
        each_has_one = all(
            a.shape[:1] == (arms,) and b.shape == (arms + 1, *a.shape[1:]) for a, b in zip(rows(arms), rows(arms + 1))
        )
    except (TypeError, ValueError):  # the policy has a field for this number of arms
        each_has_one = False
    if not each_has_one:
        raise ValueError(f"{argument}: the state of {name} has no row for each arm; use an index policy, as UCB1")


def _names(argument: str, names: Any) -> list[str]:
    """The names, as a list of distinct texts."""
    listed = list_of(argument, names)
    if not listed or not all(isinstance(name, str) and name for name in listed):
        raise ValueError(f"{argument}: {excerpt(names)} is not a list of names, such as ['red', 'green']")
    if len(set(listed)) < len(listed):
        raise ValueError(f"{argument}: {excerpt(listed)} names one twice")
    return listed


def _range(rewards: Any) -> Range:
    """The least and the largest reward."""
    ends = as_floats("rewards", rewards)
    if ends.shape != (2,) or not ends[0] < ends[1]:
        raise ValueError(f"rewards: {excerpt(rewards)} is not (low, high), such as (0, 1) or (-math.inf, math.inf)")
    return float(ends[0]), float(ends[1])


def _table(arms: list[str], states: Any) -> tuple[list[list[str]], np.ndarray]:
    """The names of the states of each arm, and their rewards [K, S].

    An arm with fewer states than another one gets some that it never shows, which pay what its first state pays.
    """
    if not isinstance(states, Mapping) or not states:
        raise ValueError(f"states: {excerpt(states)} is not a dict of rewards, such as {{'ignored': 0, 'clicked': 1}}")
    if not any(isinstance(value, Mapping) for value in states.values()):
        states = dict.fromkeys(arms, states)
    if set(states) != set(arms) or not all(isinstance(value, Mapping) and value for value in states.values()):
        raise ValueError(
            f"states: {excerpt(list(states))} is neither one dict of rewards nor a dict of them for each arm, "
            f"which are {excerpt(arms)}"
        )
    names = [_names("states", states[arm]) for arm in arms]
    rows = [finite("states", [states[arm][name] for name in states[arm]]) for arm in arms]
    most = max(map(len, rows))
    if any(row.ndim != 1 for row in rows):
        raise ValueError("states: the reward of a state is one number")
    return names, np.array([np.append(row, np.full(most - len(row), row[0])) for row in rows])
