"""Checks of a policy's fields, on the host, for its `validate`."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np

from jaxbandit import arguments
from jaxbandit.arguments import LARGEST, as_floats
from jaxbandit.base import Family, Range
from jaxbandit.confidence import Solver
from jaxbandit.probabilities import stochastic


def number(
    policy: Any, name: str, low: float = -LARGEST, high: float = LARGEST, *, above: bool = False, below: bool = False
) -> None:
    """Refuse the field `name` unless it is one finite number in [low, high], above low or below high where it says so.

    Raises:
      ValueError: the field's name, its value and the range.
    """
    if isinstance(getattr(policy, name), bool | np.bool_):
        raise ValueError(f"{name}: {getattr(policy, name)} is not a number")
    hint = "; for a grid give a list of policies"
    arguments.number(name, getattr(policy, name), low, high, above=above, below=below, hint=hint)


def choice(policy: Any, name: str, choices: tuple[str, ...]) -> None:
    """Refuse the field `name` unless it is one of `choices`.

    Raises:
      ValueError: the field's name, its value and the choices.
    """
    arguments.choice(name, getattr(policy, name), choices)


def truth(policy: Any, name: str) -> None:
    """Refuse the field `name` unless it is True or False.

    Raises:
      ValueError: the field's name and its value.
    """
    arguments.truth(name, getattr(policy, name))


def kl_fields(policy: Any) -> None:
    """Check the fields that every KL policy has, `exploration` and `solver`."""
    if policy.exploration is not None:
        number(policy, "exploration")
    choice(policy, "solver", get_args(Solver))


def family(policy: Any, reward: Any) -> None:
    """Refuse a field `family` that is neither None nor a family of `jaxbandit.families` which has these rewards.

    Raises:
      ValueError: what it is instead, or from the family's own `validate`.
    """
    if policy.family is None:
        return
    if isinstance(policy.family, type) or not all(hasattr(policy.family, part) for part in ("divergence", "upper")):
        raise ValueError(f"family: {policy.family!r} is none; None or one of jaxbandit.families is needed")
    policy.family.validate(reward)


def range_of(family: Family | None) -> Range:
    """The rewards that a policy with this family plays where no table lists them; in [0, 1] if it has none."""
    low, high = (0.0, 1.0) if family is None else family.range
    return float(low), float(high)


def laws(policy: Any, name: str, shape: tuple[int, ...]) -> None:
    """Refuse the field `name` unless it has this shape and its last axis holds probabilities that sum to 1.

    Raises:
      ValueError: the field's name and what is wrong with it.
    """
    array = as_floats(name, getattr(policy, name))
    if array.shape != shape:
        raise ValueError(f"{name}: shape {array.shape} is not {shape}")
    stochastic(name, array)
