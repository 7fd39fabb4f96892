"""Policies that hold another one, and hand on to it all that a policy may have."""

from __future__ import annotations

import dataclasses
from typing import Any, Self

from jax import Array

from jaxbandit.base import Policy, Task


def _asked_of(name: str) -> Any:
    """The method `name` of the wrapped policy, of its own state and round; missing where the policy lacks it."""

    def ask(wrapper: Wrapper) -> Any:
        own = getattr(wrapper.policy, name, None)
        if not callable(own):  # a field of the policy may have the name, too
            raise AttributeError(f"{type(wrapper.policy).__name__} has no method {name}")
        return lambda state, t: own(state.policy, wrapper.own_round(state, t))

    return property(ask)


class Wrapper:
    """A policy that holds another one, as its field `policy`, and whose state holds the state of that one, likewise.

    A wrapper has `init` and `update` of its own, and overrides what it does in another way than the policy.
    """

    policy: Policy

    probabilities = _asked_of("probabilities")
    markovian = _asked_of("markovian")

    def own_round(self, state: Any, t: Array) -> Array:
        """Round t as the policy counts it."""
        return t

    def validate(self, task: Task) -> None:
        if hasattr(self.policy, "validate"):
            self.policy.validate(task)

    def reordered(self, order: Array) -> Self:
        """The same for arms that stand in another order (see `base.Policy`)."""
        if not hasattr(self.policy, "reordered"):
            return self
        return dataclasses.replace(self, policy=self.policy.reordered(order))  # type: ignore[type-var]

    def scores(self, key: Array, state: Any, t: Array) -> tuple[Array, Any]:
        """The policy's scores, and the state with what the policy keeps of them."""
        scores, kept = self.policy.scores(key, state.policy, self.own_round(state, t))
        return scores, state._replace(policy=kept)
