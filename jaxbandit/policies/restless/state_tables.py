"""Index policies given by a table: a number for every state of every arm."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from jaxbandit.arguments import as_floats
from jaxbandit.base import Feedback, Problem, Task, per_arm, pytree
from jaxbandit.fast import look_up
from jaxbandit.feedback import check_feedback
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.knowledge import check_made_for


class LastStates(NamedTuple):
    """State of a policy with a table: the states of the arms."""

    states: Array  # [K] int32, the state in which each arm was last seen; S, the number of states, if it was not seen

    @classmethod
    def unseen(cls, reward: Array) -> LastStates:
        """No arm was seen, of the rewards [K, S]."""
        return cls(jnp.full(reward.shape[:1], reward.shape[1], jnp.int32))

    def after(self, feedback: Feedback, number: int) -> LastStates:
        """The states after a round of arms with this number of states."""
        check_feedback(feedback, len(self.states), number)
        states = self.states.at[feedback.arms].set(feedback.states) if feedback.shown is None else feedback.shown
        if feedback.restarted is not None:
            states = jnp.where(feedback.restarted > 0, jnp.int32(number), states)
        return LastStates(states)

    def law(self, initial: Array) -> Array:
        """[K, S], 1 for the state in which each arm was last seen, or its `initial` law [K, S] if it was not."""
        number = initial.shape[1]
        here = self.states[:, None] == jnp.arange(number, dtype=jnp.int32)[None]
        return jnp.where((self.states < number)[:, None], here.astype(initial.dtype), initial)


@pytree
class StateTable:
    """Play the arms with the largest indices of the states in which they were last seen.

    Args:
      indices: [K, S], of every state, in the environment's order of the arms.
      unseen: [K], index of an arm not seen since the start or the last restart; None for the index of state 0.
    """

    problems: ClassVar[tuple[Problem, ...]]  # those that it is for

    indices: ArrayLike = per_arm()
    unseen: ArrayLike | None = per_arm(None)

    def validate(self, task: Task) -> None:
        checks.suits(self, task, self.problems, left_may_pay=True)
        for name, shape in (("indices", task.reward.shape), ("unseen", task.reward.shape[:1])):
            if getattr(self, name) is None and name == "unseen":
                continue
            table = as_floats(name, getattr(self, name))
            if table.shape != shape:
                axes = "[K, S]" if len(shape) > 1 else "[K]"
                raise ValueError(f"{name}: shape {table.shape} is not {axes} = {shape}")
            if np.isnan(table).any():
                arm = int(np.argwhere(np.isnan(table))[0, 0])
                raise ValueError(f"{name}: arm {arm} has NaN; an arm that is not indexable has no index to play by")
        check_made_for(self, task)

    def init(self, reward: Array) -> LastStates:
        return LastStates.unseen(reward)

    def scores(self, key: Array, state: LastStates, t: Array) -> tuple[Array, LastStates]:
        table = jnp.asarray(self.indices, float)
        unseen = table[:, 0] if self.unseen is None else jnp.asarray(self.unseen, float)
        arms = jnp.arange(table.shape[0], dtype=jnp.int32)
        return look_up(jnp.concatenate([table, unseen[:, None]], axis=1), arms, state.states), state

    def update(self, state: LastStates, feedback: Feedback) -> LastStates:
        return state.after(feedback, jnp.asarray(self.indices).shape[1])
