"""The optional members of environments and policies, with their defaults.

No other file asks whether an environment or a policy has an optional member. Everybody else calls these functions,
which give the default of `base.FullEnvironment` or `base.FullPolicy` where a class leaves a member out.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from jaxbandit.base import Declares, FullEnvironment, FullPolicy, State, Task

DECLARED = Declares._fields
# members of earlier versions of the protocol, and their replacements
REPLACED = {
    "scores_and_state": "let scores return the pair of the scores and the state",
    "reordered": "mark fields of one number an arm with jaxbandit.per_arm()",
    "means_at": "write means_now(state, t)",
    **{name: f"write declares = jaxbandit.Declares({name}=..)" for name in DECLARED},
}


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
    method = _own(environment, "best_arm_falls_short")
    return None if method is None else method(t)


def records(environment: Any) -> Callable[[State], dict[str, Any]] | None:
    """The method `records`, or None."""
    return _own(environment, "records")


def known(environment: Any) -> Any:
    """The known laws of the arms, or None."""
    method = _own(environment, "known")
    return None if method is None else method()


def numbers(environment: Any) -> Any:
    """The declared numbers of an environment; {} by default."""
    method = _own(environment, "numbers")
    return {} if method is None else method()


def comparator(environment: Any, plays: int) -> float | None:
    """The long-run reward against which regret is measured; None for the sum of the M largest means."""
    method = _own(environment, "comparator")
    value = None if method is None else method(plays)
    return None if value is None else float(value)


def comparator_name(environment: Any, plays: int) -> str | None:
    """The name of the comparator, or None."""
    method = _own(environment, "comparator_name")
    return None if method is None else method(plays)


def episode_values(environment: Any) -> np.ndarray | None:
    """The largest expected reward of the rest of an episode, [H, S]; None without episodes."""
    method = _own(environment, "episode_values")
    return None if method is None else method()


def probabilities(policy: Any) -> Callable[[State, jax.Array], jax.Array] | None:
    """The method `probabilities` of a randomised policy, or None."""
    return _own(policy, "probabilities")


def markovian(policy: Any) -> Callable[[State, jax.Array], jax.Array] | None:
    """The method `markovian` of a policy that classifies arms as Markovian or i.i.d., or None."""
    return _own(policy, "markovian")


def takes_turns(policy: Any) -> bool:
    """Whether the round determines which arm a policy may explore."""
    return getattr(policy, "takes_turns", FullPolicy.takes_turns)


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
