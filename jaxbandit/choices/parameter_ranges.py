"""The fields of a policy that are fitted, with the ranges in which they lie."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.arguments import excerpt, finite
from jaxbandit.base import Policy
from jaxbandit.choices.choice_data import Choices
from jaxbandit.choices.choice_likelihood import check_policy
from jaxbandit.members import field_names, probabilities


class Ranges(NamedTuple):
    """The fitted fields, by name.

    Fields:
      names: P names.
      low: [P] float64.
      high: [P] float64.
      begin: [P] float64, their values in the policy that was given.
    """

    names: tuple[str, ...]
    low: Any
    high: Any
    begin: Any

    @property
    def width(self) -> Any:
        """[P]."""
        return self.high - self.low

    def policy(self, policy: Policy, values: Array | np.ndarray) -> Policy:
        """The policy with these values [P] of the fitted fields."""
        for n, name in enumerate(self.names):
            policy = _with(policy, name, values[n])
        return policy

    def inside(self, angles: Array) -> Array:
        """Values [P] of any real numbers: low + (high - low) sin^2, so that an optimum at an edge is a regular one."""
        return self.low + self.width * jnp.sin(angles) ** 2

    def angles(self, values: np.ndarray) -> np.ndarray:
        """Numbers [..., P] with these values, away from the edges, where gradients vanish."""
        share = np.clip((values - self.low) / self.width, 0.02, 0.98)
        return np.asarray(np.arcsin(np.sqrt(share)))


def _with(policy: Any, name: str, value: Any) -> Any:
    """The policy with another value of a field, `policy.exploration` for one of the policy that it holds."""
    field, _, rest = name.partition(".")
    return dataclasses.replace(policy, **{field: _with(getattr(policy, field), rest, value) if rest else value})


def _value(policy: Any, name: str) -> Any:
    """The value of a field."""
    holder = policy
    for field in name.split("."):
        if field not in field_names(holder):
            raise ValueError(f"ranges: {name!r} is not a field of {type(policy).__name__}")
        holder = getattr(holder, field)
    return holder


def ranges_of(policy: Any, ranges: Mapping[str, Any], choices: Choices | None = None) -> Ranges:
    """Check the ranges of a policy's fields.

    Raises:
      ValueError: the policy has no `probabilities`, a field is not one of the policy's, holds no single number or an
        integer, or a range is none, or one in which the policy cannot play.
    """
    if probabilities(policy) is None:
        raise ValueError(
            f"policy: {type(policy).__name__} has no method probabilities(state, t), whose logarithm is fitted; "
            "policies.Soft(policy, temperature) has one"
        )
    if not isinstance(ranges, Mapping) or not ranges:
        raise ValueError(f"ranges: {excerpt(ranges)} is not a dict such as {{'learning_rate': (0, 1)}}")
    ends, begin = [], []
    for name, pair in ranges.items():
        value = _value(policy, name) if isinstance(name, str) else None
        if not isinstance(value, float | np.ndarray | np.generic | Array | int) or np.ndim(value):
            raise ValueError(f"ranges: {name} is {excerpt(value)}; give the policy one number, with which to begin")
        if np.asarray(value).dtype.kind != "f":
            raise ValueError(
                f"ranges: {name} is {excerpt(value)}; only real numbers are fitted, and a whole one is written as 1.0"
            )
        two = finite(f"ranges[{name!r}]", pair)
        if two.shape != (2,) or not two[0] < two[1]:
            raise ValueError(f"ranges[{name!r}]: {excerpt(pair)} is not (low, high) with low < high")
        ends.append(two)
        begin.append(np.clip(float(value), *two))
    low, high = np.transpose(ends)
    made = Ranges(tuple(ranges), low, high, np.array(begin))
    if choices is not None:
        for n, name in enumerate(ranges):
            for end in (low, high):
                values = made.begin.copy()
                values[n] = end[n]
                check_policy(f"ranges[{name!r}]", made.policy(policy, values), choices)
    return made
