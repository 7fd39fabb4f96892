"""Policies that hold another one, and hand on to it all that a policy may have."""

from __future__ import annotations

from typing import Any

from jax import Array

from jaxbandit import members
from jaxbandit.base import Policy, Task


class Wrapper:
    """A policy that holds another one, as its field `policy`, and whose state holds the state of that one, likewise.

    A wrapper has `init` and `update` of its own, and overrides what it does in another way than the policy.
    """

    policy: Policy

    @property
    def probabilities(self) -> Any:
        """The policy's method `probabilities`, of its own state and round; None where it has none."""
        return self._of_own_state(members.probabilities(self.policy))

    @property
    def markovian(self) -> Any:
        """The policy's method `markovian`, of its own state and round; None where it has none."""
        return self._of_own_state(members.markovian(self.policy))

    def _of_own_state(self, method: Any) -> Any:
        return method and (lambda state, t: method(state.policy, self.own_round(state, t)))

    def own_round(self, state: Any, t: Array) -> Array:
        """Round t as the policy counts it."""
        return t

    def validate(self, task: Task) -> None:
        members.validate(self.policy, task)

    def scores(self, key: Array, state: Any, t: Array) -> tuple[Array, Any]:
        """The policy's scores, and the state with what the policy keeps of them."""
        scores, kept = self.policy.scores(key, state.policy, self.own_round(state, t))
        return scores, state._replace(policy=kept)
