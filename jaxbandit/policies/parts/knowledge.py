"""For which arms a policy was made that is told their laws: others are refused, so that no table is used by mistake."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from jaxbandit import members
from jaxbandit.arguments import has
from jaxbandit.base import Problem, Task
from jaxbandit.known_arms import KnownArms
from jaxbandit.members import declares

T = TypeVar("T")
CLOSE, TINY = 1e-6, 1e-12  # relative and absolute difference up to which numbers are the same but for rounding
PAYING = {"played": "those that are played pay", "all": "all pay, played or not"}


def laws_of(name: str, arms: Any, what: str, problems: tuple[Problem, ...]) -> KnownArms:
    """The laws that an environment tells, for a policy that is made from them.

    Args:
      name: the argument's name, and `what` it must be, for errors.
      problems: those that the policy's formula is for.

    Raises:
      ValueError: the environment tells none, or is of another kind.
    """
    has(name, arms, what, "known")
    laws, kind = members.known(arms), declares(arms).problem
    if laws is None or kind not in problems:
        fault = "does not tell its laws (known)" if laws is None else f'has the problem "{kind}"'
        raise ValueError(f"{name}: {what} is needed, and {type(arms).__name__} {fault}")
    return laws


def made_for(policy: T, laws: KnownArms, *irrelevant: str) -> T:
    """The policy, which keeps the laws that it was made from, for `check_made_for`.

    They are an attribute of the object and no field of its class, as no program depends on them; so what JAX makes of
    the policy has none. A policy that is made from numbers by hand has none either, and plays all arms that they fit.

    Args:
      irrelevant: fields of the record on which the policy's numbers do not depend.
    """
    follow = ("earned", "kept")  # from the other fields
    compared = {name: law for name, law in laws._asdict().items() if name not in (*follow, *irrelevant)}
    object.__setattr__(policy, "_made_for", compared)  # the class is frozen
    return policy


def check_made_for(policy: Any, task: Task) -> None:
    """Raise ValueError for a task with other arms than those that the policy was made for: what differs, and the cure.

    Arms that do not tell their laws are taken at their word.
    """
    made: dict[str, Any] | None = vars(policy).get("_made_for")
    if made is None:
        return
    kind, which = type(policy).__name__, declares(task.environment).paid
    if made["paid"] != which:
        raise ValueError(
            f"{kind} was made for arms of which {PAYING[made['paid']]}; in {task.name} {PAYING[which]}; make "
            f"it with {kind}.of from these"
        )
    laws = members.known(task.environment)
    different = [] if laws is None else [name for name, law in made.items() if not _alike(law, getattr(laws, name))]
    if different:
        raise ValueError(
            f"{kind} was made for other arms than those of {task.name}, which differ in {', '.join(different)}; make "
            f"it with {kind}.of from these, or to play them all the same, with {kind}(..) from the numbers"
        )


def _alike(one: Any, other: Any) -> bool:
    if any(value is None or isinstance(value, str) for value in (one, other)):
        return bool(one == other) if type(one) is type(other) else False
    return np.shape(one) == np.shape(other) and np.allclose(np.asarray(one), np.asarray(other), CLOSE, TINY)
