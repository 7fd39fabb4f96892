"""Checks of policies and environments on the host: their methods, their numbers, and their tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, get_args

import jax
import numpy as np

from jaxbandit import members
from jaxbandit.arguments import choice, excerpt
from jaxbandit.base import Declares, Paid, Pairing, Pays, Problem, Shows, Task
from jaxbandit.members import declares

# parts of policies, by methods that no policy has, and how each becomes one
PARTS = {
    ("choose", "validate"): "Identify(sampling={}())",
    ("begin", "track"): "Identify(sampling={}())",
    ("begin", "excess"): "Identify(stopping={}())",
    ("watched", "share"): "WithDetector(KLUCB(), {}(..))",
    ("initial_state",): "KLUCB(memory={}(..))",
}


def check_contract(where: str, thing: Any, methods: tuple[str, ...], kind: str) -> None:
    """Raise ValueError unless the object has these methods."""
    if isinstance(thing, type):
        raise ValueError(f"{where}: {thing.__name__} is a class; give {thing.__name__}()")
    if (old_form := members.replaced(thing)) is not None:
        raise ValueError(f"{where}: {old_form}")
    if missing := [name for name in methods if not members.has_methods(thing, name)]:
        name = type(thing).__name__
        whole = [f"; give {use.format(name)}" for names, use in PARTS.items() if members.has_methods(thing, *names)]
        raise ValueError(f"{where}: {kind} is needed, and {name} has no {', '.join(missing)}{''.join(whole)}")


def check_declares(where: str, environment: Any) -> None:
    """Raise ValueError where `declares` is not a `Declares` of the words that there are."""
    if "declares" in members.field_names(environment):
        raise ValueError(f"{where}.declares: is a field; write declares = jaxbandit.Declares(..) without an annotation")
    declared = declares(environment)
    if not isinstance(declared, Declares):
        raise ValueError(f"{where}.declares: {excerpt(declared)} is not a Declares; write jaxbandit.Declares(..)")
    for name, choices in (("pairing", Pairing), ("problem", Problem), ("pays", Pays), ("paid", Paid), ("shows", Shows)):
        choice(f"{where}.declares.{name}", getattr(declared, name), get_args(choices))
    if (declared.pairing == "shared") != (declared.problem == "decision process"):
        raise ValueError(
            f'{where}.declares: the pairing "shared" and the problem "decision process" go together; declare both or '
            "neither"
        )


def check_leaves(where: str, thing: Any) -> None:
    """Raise ValueError unless the object is a pytree of numbers."""
    try:
        leaves, _ = jax.tree_util.tree_flatten_with_path(thing, is_leaf=lambda part: isinstance(part, Iterator))
    except ValueError:  # JAX sorts the keys of a dict
        raise ValueError(f"{where}: has a dict whose keys cannot be sorted") from None
    for place, leaf in leaves:
        if leaf is thing:
            raise ValueError(f"{where}: {type(thing).__name__} is not a pytree; decorate it with @jaxbandit.pytree")
        field = f"{where}{jax.tree_util.keystr(place)}"
        if not isinstance(leaf, int | float | np.ndarray | np.generic | jax.Array):
            raise ValueError(
                f"{field}: {excerpt(leaf)} is not a number; make a field that is part of the program static()"
            )
        if not isinstance(leaf, jax.Array) and not _fits(np.asarray(leaf)):
            raise ValueError(f"{field}: {excerpt(leaf)} is not a number of JAX; give a float, or a smaller integer")


def _fits(array: np.ndarray) -> bool:
    """Whether JAX can hold the numbers; without x64 it would truncate integers of more than 32 bits."""
    if array.dtype.kind not in "iu":
        return array.dtype.kind in "bfcV" and array.dtype.itemsize <= 16 and array.dtype != np.longdouble
    known = np.iinfo(jax.dtypes.canonicalize_dtype(array.dtype))
    return not array.size or bool(known.min <= array.min() and array.max() <= known.max)


def check_task(where: str, policy: Any, task: Task) -> None:
    """Raise ValueError for a task that the policy's `validate` rejects, or if its `init` takes too few arguments."""
    if declares(task.environment).pairing == "shared" and not members.takes_states(policy):
        raise ValueError(
            f"{where}: {type(policy).__name__} is for arms with states of their own; the arms of {task.name} share one "
            "state (a decision process), for which a policy's init takes (reward, shown)"
        )
    validate(where, policy, task)


def validate(where: str, thing: Any, task: Task) -> None:
    """Raise ValueError for a task that the `validate` of the policy or environment rejects."""
    try:
        members.validate(thing, task)
    except ValueError as error:
        field = str(error).partition(":")[0]
        raise ValueError(f"{where}{': ' if members.lacks(thing, field) else '.'}{error}") from error


def named_things(argument: str, things: Mapping[Any, Any]) -> dict[str, Any]:
    """The dict with its keys as texts."""
    named = {str(name): thing for name, thing in things.items()}
    if len(named) < len(things):
        raise ValueError(f"{argument}: two names are the same as text among {list(things)}")
    return named
