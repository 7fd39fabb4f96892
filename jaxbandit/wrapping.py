"""The base class of policies that wrap another policy."""

from __future__ import annotations

from typing import Any

from jax import Array

from jaxbandit import members
from jaxbandit.base import Policy, Task


class Wrapper:
    """A policy that wraps another one: its field `policy` is that policy, and so is the field of its state.

    A wrapper has its own `init` and `update`; all other members are those of the policy unless it overrides them.
    """

    policy: Policy

    @property
    def probabilities(self) -> Any:
        """The policy's method `probabilities`, as a function of the wrapper's state and the round, or None."""
        return self._of_own_state(members.probabilities(self.policy))

    @property
    def markovian(self) -> Any:
        """The policy's method `markovian`, as a function of the wrapper's state and the round, or None."""
        return self._of_own_state(members.markovian(self.policy))

    @property
    def units(self) -> members.Units:
        """The units of reward in which the policy sees rewards."""
        return members.units(self.policy)

    @property
    def in_order(self) -> bool:
        """Whether the policy needs each arm's feedback in the order of its plays."""
        return members.in_order(self.policy)

    def _of_own_state(self, method: Any) -> Any:
        return method and (lambda state, t: method(state.policy, self.own_round(state, t)))

    def own_round(self, state: Any, t: Array) -> Array:
        """Round t in the policy's own count."""
        return t

    def validate(self, task: Task) -> None:
        members.validate(self.policy, task)

    def scores(self, key: Array, state: Any, t: Array) -> tuple[Array, Any]:
        """The policy's scores, and the new state."""
        scores, kept = self.policy.scores(key, state.policy, self.own_round(state, t))
        return scores, state._replace(policy=kept)
