"""The arms for which a policy with known laws was made; playing other arms with it is an error."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from jaxbandit import members
from jaxbandit.arguments import has
from jaxbandit.base import Problem, Task
from jaxbandit.known_arms import KnownArms
from jaxbandit.members import declares

T = TypeVar("T")
CLOSE, TINY = 1e-6, 1e-12  # relative and absolute rounding error of equal numbers
PAYING = {"played": "those that are played pay", "all": "all pay, played or not"}


def laws_of(name: str, arms: Any, what: str, problems: tuple[Problem, ...]) -> KnownArms:
    """The known laws of an environment, for a policy that is made from them.

    Args:
      name: the argument's name, and `what` it must be, for errors.
      problems: the problems for which the policy's formula holds.
    """
    has(name, arms, what, "known")
    laws = members.known(arms)
    if laws is None:
        raise ValueError(f"{name}: {what} is needed, and {type(arms).__name__} does not tell its laws (known)")
    check_problem(name, arms, what, problems)
    return laws


def check_problem(name: str, arms: Any, what: str, problems: tuple[Problem, ...]) -> None:
    """Raise ValueError for an environment of another problem; the arguments are those of `laws_of`."""
    if (kind := declares(arms).problem) not in problems:
        raise ValueError(f'{name}: {what} is needed, and {type(arms).__name__} has the problem "{kind}"')


def made_for(policy: T, laws: KnownArms, *irrelevant: str) -> T:
    """The policy, with the laws from which it was made as an attribute, for `check_made_for`.

    They are an attribute of the object and not a field of its class, because no program depends on them; so copies that
    JAX makes of the policy lack it. So does a policy that is made from numbers, which plays all arms of its shape.

    Args:
      irrelevant: fields of the laws on which the policy's numbers do not depend.
    """
    follow = ("earned", "kept")  # computed from the other fields
    compared = {name: law for name, law in laws._asdict().items() if name not in (*follow, *irrelevant)}
    object.__setattr__(policy, "_made_for", compared)  # because the class is frozen
    return policy


def check_made_for(policy: Any, task: Task) -> None:
    """Raise ValueError for a task with arms other than those for which the policy was made.

    Arms without known laws are not checked.
    """
    made: dict[str, Any] | None = vars(policy).get("_made_for")
    if made is None:
        return
    kind, which = type(policy).__name__, declares(task.environment).paid
    laws = members.known(task.environment)
    if made["paid"] != which:
        cure = "these"
        if laws is None:  # as real arms, whose laws nobody knows
            cure = f'restless(.., paid="{which}"), or, to play them nevertheless, with {kind}(..) from the numbers'
        raise ValueError(
            f"{kind} was made for arms where {PAYING[made['paid']]}; in {task.name} {PAYING[which]}; make "
            f"it with {kind}.of from {cure}"
        )
    different = [] if laws is None else [name for name, law in made.items() if not _alike(law, getattr(laws, name))]
    if different:
        raise ValueError(
            f"{kind} was made for other arms than those of {task.name}, which differ in {', '.join(different)}; make "
            f"it with {kind}.of from these, or, to play them nevertheless, with {kind}(..) from the numbers"
        )


def _alike(one: Any, other: Any) -> bool:
    if any(value is None or isinstance(value, str) for value in (one, other)):
        return bool(one == other) if type(one) is type(other) else False
    return np.shape(one) == np.shape(other) and np.allclose(np.asarray(one), np.asarray(other), CLOSE, TINY)
