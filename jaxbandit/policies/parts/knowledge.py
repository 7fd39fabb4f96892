"""For which arms a policy was made that knows their laws: others are refused, so that no table is used by mistake."""

from __future__ import annotations

from operator import attrgetter
from typing import Any, TypeVar

import numpy as np

from jaxbandit import members
from jaxbandit.base import Task
from jaxbandit.members import declares

T = TypeVar("T")
CLOSE, TINY = 1e-6, 1e-12  # relative and absolute difference up to which numbers are the same but for rounding


def made_for(policy: T, arms: Any, *names: str) -> T:
    """The policy, which keeps those laws of the arms from which it was made, for `check_made_for`.

    They are an attribute of the object and no field of its class, as no program depends on them; so what JAX makes of
    the policy has none. A policy that is made from numbers by hand has none either, and plays all arms that they fit.

    Args:
      names: attributes of the environment on which the policy's numbers depend. Which arms pay counts always.
    """
    object.__setattr__(policy, "_made_for", _laws(arms, names))  # the class is frozen
    return policy


def check_made_for(policy: Any, task: Task) -> None:
    """Refuse a task with other arms than those that the policy was made for.

    Raises:
      ValueError: what differs, and what to do.
    """
    known: dict[str, Any] | None = vars(policy).get("_made_for")
    if known is None:
        return
    found, kind = _laws(task.environment, tuple(known)), type(policy).__name__
    other = [name.rpartition(".")[2] for name in known if name in found and not _alike(known[name], found[name])]
    if "paid" in other:
        raise ValueError(
            f"{kind} was made for arms of which {_KINDS[known['paid']]}; in {task.name} {_KINDS[found['paid']]}; make "
            f"it with {kind}.of from these"
        )
    if other:
        raise ValueError(
            f"{kind} was made for other arms than those of {task.name}, which differ in {', '.join(other)}; make it "
            f"with {kind}.of from these, or to play them all the same, with {kind}(..) from the numbers"
        )


_KINDS = {"played": "those that are played pay", "all": "all pay, played or not"}


def _laws(arms: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """By name, the attributes that the environment has, and which of its arms pay."""
    found: dict[str, Any] = {"paid": declares(arms).paid}
    for name in names:
        try:
            found[name] = attrgetter(name)(arms)
        except AttributeError:
            if (
                name == "passive" and members.transition(arms) is not None
            ):  # arms that are not played stay where they are
                rows = np.asarray(arms.transition)
                found[name] = np.broadcast_to(np.eye(rows.shape[-1]), rows.shape)
    if found.get("passive", ()) is None:
        found["passive"] = arms.transition
    return found


def _alike(one: Any, other: Any) -> bool:
    if any(value is None or isinstance(value, str) for value in (one, other)):
        return bool(one == other) if type(one) is type(other) else False
    return np.shape(one) == np.shape(other) and np.allclose(np.asarray(one), np.asarray(other), CLOSE, TINY)
