"""The optional members of environments and policies, and what holds for those that have none.

No other file asks whether an environment or a policy has an optional member. Everybody else calls these functions,
which give the default of `base.FullEnvironment` or `base.FullPolicy` where a class leaves a member out.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from jaxbandit.base import Declares, FullEnvironment, FullPolicy, State, Task

DECLARED = Declares._fields
# what earlier forms of the protocol had, and what to write instead
REPLACED = {
    "scores_and_state": "let scores return the pair of the scores and the state",
    "reordered": "mark fields of one number an arm with jaxbandit.per_arm()",
    "means_at": "write means_now(state, t)",
    **{name: f"write declares = jaxbandit.Declares({name}=..)" for name in DECLARED},
}


def declares(environment: Any) -> Declares:
    """What kind of environment this is."""
    return getattr(environment, "declares", FullEnvironment.declares)


def replaced(thing: Any) -> str | None:
    """What is wrong with a thing that has a member of an earlier form of the protocol; None where it has none."""
    kind = type(thing)
    names = [name for name in REPLACED if name not in DECLARED and callable(getattr(thing, name, None))]
    if callable(getattr(thing, "step", None)):
        names += [name for name in DECLARED if isinstance(getattr(kind, name, None), str | property)]
    return f"{kind.__name__} has {names[0]}; {REPLACED[names[0]]}" if names else None


def has_methods(thing: Any, *names: str) -> bool:
    """Whether a thing has all of these methods."""
    return all(callable(getattr(thing, name, None)) for name in names)


def field_names(thing: Any) -> list[str]:
    """The names of a dataclass's fields."""
    return [field.name for field in dataclasses.fields(thing)] if dataclasses.is_dataclass(thing) else []


def lacks(thing: Any, *names: str) -> list[str]:
    """Those of the members that a thing does not have."""
    return [name for name in names if not hasattr(thing, name)]


def validate(thing: Any, task: Task) -> None:
    """Let an environment or a policy refuse a task."""
    method = _own(thing, "validate")
    if method is not None:
        method(task)


def means_now(environment: Any) -> Callable[[State, jax.Array], Any] | None:
    """The method `means_now`, or None."""
    return _own(environment, "means_now")


def best_arm_falls_short(environment: Any, t: jax.Array) -> Any:
    """By how much the best single arm falls short of the oracle; None where that is not known."""
    method = _own(environment, "best_arm_falls_short")
    return None if method is None else method(t)


def records(environment: Any) -> Callable[[State], dict[str, Any]] | None:
    """The method `records`, or None."""
    return _own(environment, "records")


def known(environment: Any) -> Any:
    """The laws of the arms; None where the environment does not tell them."""
    method = _own(environment, "known")
    return None if method is None else method()


def numbers(environment: Any) -> Any:
    """What an environment says of itself; {} by default."""
    method = _own(environment, "numbers")
    return {} if method is None else method()


def comparator(environment: Any, plays: int) -> float | None:
    """The long-run reward that regret is measured against; None for the sum of the M largest means."""
    method = _own(environment, "comparator")
    value = None if method is None else method(plays)
    return None if value is None else float(value)


def comparator_name(environment: Any, plays: int) -> str | None:
    """What the comparator is, or None."""
    method = _own(environment, "comparator_name")
    return None if method is None else method(plays)


def episode_values(environment: Any) -> np.ndarray | None:
    """The largest expected reward of the rest of an episode, [H, S]; None where there are no episodes."""
    method = _own(environment, "episode_values")
    return None if method is None else method()


def probabilities(policy: Any) -> Callable[[State, jax.Array], jax.Array] | None:
    """The method `probabilities` of a policy that chooses by chance, or None."""
    return _own(policy, "probabilities")


def markovian(policy: Any) -> Callable[[State, jax.Array], jax.Array] | None:
    """The method `markovian` of a policy that tells Markov arms from independent ones, or None."""
    return _own(policy, "markovian")


def takes_turns(policy: Any) -> bool:
    """Whether the round decides which arm a policy may explore."""
    return getattr(policy, "takes_turns", FullPolicy.takes_turns)


def transition(environment: Any) -> Any:
    """The transition probabilities of the arms, [K, S, S]; None for arms that are not Markov chains."""
    return getattr(environment, "transition", None)


def passive(environment: Any) -> Any:
    """The transition probabilities of arms that are not played, [K, S, S]; None where the environment names none."""
    return getattr(environment, "passive", None)


def family(environment: Any, otherwise: Any = None) -> Any:
    """The one-parameter family of the arms' rewards, or `otherwise`."""
    return getattr(environment, "family", otherwise)


def steps(environment: Any) -> int | None:
    """How many rounds an episode has; None where there are no episodes."""
    return getattr(environment, "steps", None)


def breaks(environment: Any) -> Any:
    """The rounds in which arms change; None where the environment names none."""
    return getattr(environment, "breaks", None)


def _own(thing: Any, name: str) -> Any:
    """The method that a thing has itself; None where it has none, or only the default of the protocol."""
    method = getattr(thing, name, None)
    defaults = [vars(protocol).get(name) for protocol in (FullEnvironment, FullPolicy)]
    return method if callable(method) and getattr(method, "__func__", method) not in defaults else None
