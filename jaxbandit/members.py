"""The optional members of environments and policies, with their defaults.

No other file asks whether an environment or a policy has an optional member. Everybody else calls these functions,
which give the default of `FullEnvironment` or `FullPolicy` where a class leaves a member out.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any, ClassVar, Literal, Protocol

import jax
import numpy as np

from jaxbandit.base import Declares, Environment, Policy, State, Task

Units = Literal["own", "shifted", "mapped"]
DECLARED = Declares._fields
# members of earlier versions of the protocol, and their replacements
REPLACED = {
    "scores_and_state": "let scores return the pair of the scores and the state",
    "reordered": "mark fields of one number an arm with jaxbandit.per_arm()",
    "means_at": "write means_now(state, t)",
    **{name: f"write declares = jaxbandit.Declares({name}=..)" for name in DECLARED},
}


class FullEnvironment(Environment, Protocol):
    """All required and optional members of an environment, with the defaults. Deriving from it is optional."""

    declares: ClassVar[Declares] = Declares()

    def validate(self, task: Task) -> None:
        """Raise ValueError for a `Task` that cannot be played. On the host."""

    def comparator(self, plays: int) -> float | np.ndarray | None:
        """The long-run reward a round against which regret is measured; None: the M largest means. On the host.

        It is one number, or an array with one for each round of the horizon.
        """
        return None

    def comparator_name(self, plays: int) -> str | None:
        """The name of the comparator, for "regret against .."; None without one. On the host."""
        return None

    def episode_values(self) -> np.ndarray | None:
        """[H, S] float64 with episodes of H rounds, else None. On the host.

        It is the largest expected reward of the rest of an episode, by the rounds played and the present state. Regret
        is measured against it, and `records` has "episodes", [S] int32, the number of episodes that began in each
        state, and "state_now", int32.
        """
        return None

    def known(self) -> Any:
        """The laws of the arms, a `known_arms.KnownArms`, for planners and indices. On the host."""
        return None

    def numbers(self) -> dict[str, Any]:
        """Numbers or lists of numbers, by name, that describe the environment. On the host.

        They are kept in `provenance["scenarios"]`; single ones are xarray's coordinates, and plots mark rounds listed
        as "breaks".
        """
        return {}

    def shown(self, state: State) -> jax.Array | None:
        """[K] int32, the states that the player sees before the first round. Traced.

        It is required if the pairing is "shared"; the policy's `init` then receives it as its second argument.
        """
        return None

    def records(self, state: State) -> dict[str, Any]:
        """Records of the state besides the visits, by name, such as sums of rewards. Traced.

        A `sums.TwoFloats` is recorded as float64. `simulate` itself records "dynamic_regret" and "external_regret".
        """
        return {}

    def means_now(self, state: State, t: jax.Array) -> Any:
        """[K] floats, the mean reward of a play of each arm in round t, given the state before the round. Traced.

        Required of changing and rotting arms; `means` is then the average over the environment's horizon. A
        `sums.TwoFloats` is for gaps that are too small for the digits of one float. `simulate` adds up the gaps between
        the best arms and the arms played, and records the sum as "dynamic_regret". The best arms are those of an oracle
        that plays the arms with the largest `means_now`: for changing arms, whose rewards do not depend on plays, in
        the player's state; for all others in a state of its own (the greedy oracle).
        """
        return None

    def best_arm_falls_short(self, t: jax.Array) -> Any:
        """The oracle's total of rounds 1 to t minus that of the best fixed arm, a `sums.TwoFloats`. Traced.

        "external_regret", against the best fixed arm, is then recorded.
        """
        return None


class FullPolicy(Policy, Protocol):
    """All required and optional members of a policy, with the defaults. Deriving from it is optional."""

    # whether the round determines which arm may be explored, so that `WithDetector` cannot restart one arm's clock
    takes_turns: ClassVar[bool] = False
    # the rewards that `init` and `update` see: the environment's "own"; "shifted" ones, from which a constant is
    # subtracted where they are far from 0; or "mapped" ones, mapped to [0, 1] where a table leaves it, and shifted
    # where there is no table. The map is made in float64, so that small differences of large rewards are kept.
    units: ClassVar[Units] = "own"
    # whether it needs each arm's feedback in the order of its plays: what is late then waits for that of earlier plays
    in_order: ClassVar[bool] = False

    def validate(self, task: Task) -> None:
        """Raise ValueError for a field out of range, or a `Task` that the policy cannot play. On the host.

        This is the one place that says which arms, rewards, plays and horizons the policy is for; without it, it plays
        every problem but decision processes. It is called before anything is compiled.
        """

    def probabilities(self, state: State, t: jax.Array) -> jax.Array | None:
        """[K], the probability with which a randomised policy plays each arm in round t. Traced.

        With delayed feedback, `update` reads the probability of the play in `Feedback.chances`.
        """
        return None

    def stop(self, state: State, t: jax.Array) -> Any:
        """Whether the policy knows its answer after round t, one bool; None: it never stops. Traced.

        With `simulate(until="stopped")` the run ends after this round, and `answer` is its result.
        """
        return None

    def answer(self, state: State, t: jax.Array) -> Any:
        """The arm that the policy takes for the best after round t, one int32; required with `stop`. Traced."""
        return None


def declares(environment: Any) -> Declares:
    """The declared kind of the environment."""
    return getattr(environment, "declares", FullEnvironment.declares)


def replaced(thing: Any) -> str | None:
    """The error of an object with a member of an earlier version of the protocol, or None."""
    kind = type(thing)
    names = [name for name in REPLACED if name not in DECLARED and callable(getattr(thing, name, None))]
    if callable(getattr(thing, "step", None)):
        names += [name for name in DECLARED if isinstance(getattr(kind, name, None), str | property)]
    return f"{kind.__name__} has {names[0]}; {REPLACED[names[0]]}" if names else None


def has_methods(thing: Any, *names: str) -> bool:
    """Whether an object has all of these methods."""
    return all(callable(getattr(thing, name, None)) for name in names)


def field_names(thing: Any) -> list[str]:
    """The names of a dataclass's fields."""
    return [field.name for field in dataclasses.fields(thing)] if dataclasses.is_dataclass(thing) else []


def lacks(thing: Any, *names: str) -> list[str]:
    """The members that an object lacks."""
    return [name for name in names if not hasattr(thing, name)]


def validate(thing: Any, task: Task) -> None:
    """Call the object's `validate`, which raises ValueError for a task that it cannot play."""
    method = _own(thing, "validate")
    if method is not None:
        method(task)


def means_now(environment: Any) -> Callable[[State, jax.Array], Any] | None:
    """The method `means_now`, or None."""
    return _own(environment, "means_now")


def best_arm_falls_short(environment: Any, t: jax.Array) -> Any:
    """The oracle's total minus that of the best fixed arm, or None."""
    return (method := _own(environment, "best_arm_falls_short")) and method(t)


def records(environment: Any) -> Callable[[State], dict[str, Any]] | None:
    """The method `records`, or None."""
    return _own(environment, "records")


def known(environment: Any) -> Any:
    """The known laws of the arms, or None."""
    return (method := _own(environment, "known")) and method()


def numbers(environment: Any) -> Any:
    """The declared numbers of an environment; {} by default."""
    return method() if (method := _own(environment, "numbers")) else {}


def comparator(environment: Any, plays: int) -> float | np.ndarray | None:
    """What regret is measured against a round, one number or [horizon]; None for the M largest means."""
    value = (method := _own(environment, "comparator")) and method(plays)
    return None if value is None else np.asarray(value, float) if np.ndim(value) else float(value)


def comparator_name(environment: Any, plays: int) -> str | None:
    """The name of the comparator, or None."""
    return (method := _own(environment, "comparator_name")) and method(plays)


def episode_values(environment: Any) -> np.ndarray | None:
    """The largest expected reward of the rest of an episode, [H, S]; None without episodes."""
    return (method := _own(environment, "episode_values")) and method()


def probabilities(policy: Any) -> Callable[[State, jax.Array], jax.Array] | None:
    """The method `probabilities` of a randomised policy, or None."""
    return _own(policy, "probabilities")


def stops(policy: Any) -> Any:
    """The policy, if it stops and answers, or None."""
    return policy if _own(policy, "stop") and _own(policy, "answer") else None


def accepted_error(policy: Any) -> float | None:
    """The probability of a wrong answer that a policy which stops accepts, its field `delta`; None without one."""
    delta = getattr(policy, "delta", None)
    return None if delta is None or np.ndim(delta) else float(delta)


def markovian(policy: Any) -> Callable[[State, jax.Array], jax.Array] | None:
    """The method `markovian` of a policy that classifies arms as Markovian or i.i.d., or None."""
    return _own(policy, "markovian")


def takes_turns(policy: Any) -> bool:
    """Whether the round determines which arm a policy may explore."""
    return getattr(policy, "takes_turns", FullPolicy.takes_turns)


def units(policy: Any) -> Units:
    """The units of reward in which a policy sees rewards."""
    kind: Units = getattr(policy, "units", FullPolicy.units)
    return kind


def in_units(environment: Any, low: float, span: float) -> Any:
    """The environment with its rewards in other units, (reward - low) / span; None if it cannot be made.

    One of this package pays by its field `reward` [K, S], or holds one that does, or has a method `shifted`. A class of
    a user may compute with its rewards in other ways.
    """
    if not type(environment).__module__.startswith("jaxbandit."):
        return None
    if environment.reward is None:
        shifted = getattr(environment, "shifted", None)
        return None if shifted is None or span != 1 else shifted(low)
    if "reward" in field_names(environment):
        return dataclasses.replace(environment, reward=(np.asarray(environment.reward, float) - low) / span)
    for name in ("environment", "arms", "each"):
        if name in field_names(environment):
            inner = in_units(getattr(environment, name), low, span)
            return None if inner is None else dataclasses.replace(environment, **{name: inner})
    return None


def offset(environment: Any) -> float:
    """A number near the rewards without a finite table, if these are so far from 0 that float32 blurs them; else 0."""
    inner = getattr(environment, "environment", None)
    return float(getattr(environment, "offset", 0.0)) if inner is None else offset(inner)


def in_order(policy: Any) -> bool:
    """Whether a policy, or its stopping rule, needs each arm's feedback in the order of its plays."""
    return getattr(policy, "in_order", FullPolicy.in_order)


def takes_states(policy: Any) -> bool:
    """Whether a policy's `init` also takes the states shown, as arms that share one state need it."""
    try:
        inspect.signature(policy.init).bind(None, None)
    except (TypeError, ValueError):
        return False
    return True


def transition(environment: Any) -> Any:
    """The transition probabilities of the arms, [K, S, S]; None for arms that are not Markov chains."""
    return getattr(environment, "transition", None)


def passive(environment: Any) -> Any:
    """The transition probabilities of arms that are not played, [K, S, S]; None where the environment names none."""
    return getattr(environment, "passive", None)


def passive_reward(environment: Any) -> Any:
    """What arms that are not played pay, [K, S], where all arms pay; None for what those that are played do."""
    return getattr(environment, "passive_reward", None)


def family(environment: Any, otherwise: Any = None) -> Any:
    """The one-parameter family of the arms' rewards, or `otherwise`."""
    return getattr(environment, "family", otherwise)


def steps(environment: Any) -> int | None:
    """How many rounds an episode has; None where there are no episodes."""
    return getattr(environment, "steps", None)


def breaks(environment: Any) -> Any:
    """The rounds in which arms change; None where the environment names none."""
    return getattr(environment, "breaks", None)


def spending(environment: Any) -> dict[str, Any] | None:
    """The costs of plays, the purse and the horizon of arms that cost, by name; None for others."""
    names = ("cost", "purse", "horizon")
    return None if lacks(environment, *names) else {name: getattr(environment, name) for name in names}


def players(environment: Any) -> dict[str, Any] | None:
    """The player of each arm, and which of the shared arms it is, by name; None for arms of one player."""
    names = ("player", "channel")
    return None if lacks(environment, *names) else {name: getattr(environment, name) for name in names}


def _own(thing: Any, name: str) -> Any:
    """The method that a thing has itself; None where it has none, or only the default of the protocol."""
    method = getattr(thing, name, None)
    defaults = [vars(protocol).get(name) for protocol in (FullEnvironment, FullPolicy)]
    return method if callable(method) and getattr(method, "__func__", method) not in defaults else None
