"""The optimal policy of a known decision process."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from jaxbandit import decision_processes, members
from jaxbandit.arguments import as_floats, excerpt
from jaxbandit.base import Feedback, Task, per_arm, pytree
from jaxbandit.feedback import check_feedback
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.knowledge import check_made_for, laws_of, made_for


class Position(NamedTuple):
    """State of `KnownProcess`: the state of the process, and the actions."""

    state: Array  # int32
    arms: Array  # [A] int32


@pytree
class KnownProcess:
    """Optimal policy of a known decision process, or any stationary policy: a fixed action for each state.

    The score of action a in state s is 1 if actions[s] = a, else 0; in round h of an episode, from 0, if
    actions[h, s] = a. `KnownProcess.of(process)` is optimal in the long run, or in an episode.

    Args:
      actions: [S] integers, an action for each state, or [H, S] for episodes of H rounds, in the environment's order.

    Raises:
      ValueError: from `simulate` and `check_policy`, for a table of another shape, an action that does not exist, or
        a process other than the one that it was made from.

    Source: Howard 1960.

    >>> from jaxbandit.environments import riverswim
    >>> KnownProcess.of(riverswim()).actions.tolist()
    [1, 1, 1, 1, 1, 1]
    >>> KnownProcess.of(riverswim(steps=3)).actions[:, :3].tolist()
    [[0, 0, 0], [0, 0, 0], [0, 0, 0]]
    """

    actions: ArrayLike = per_arm(numbers=True)

    @classmethod
    def of(cls, process: Any) -> KnownProcess:
        """The optimal policy of a known process, on the host, in float64.

        Args:
          process: a decision process with the method `known`.

        Raises:
          ValueError: the argument and what is wrong with it.
        """
        known = laws_of("process", process, "a decision process", checks.PROCESSES)
        if known.steps is None:
            actions = decision_processes.optimal(known.transition, known.reward, reward_axes="action, state").policy
        else:
            actions = decision_processes.episodes(
                known.transition, known.reward, known.steps, reward_axes="action, state"
            ).policy
        return made_for(cls(actions), known, "initial")

    def validate(self, task: Task) -> None:
        checks.suits(self, task, checks.PROCESSES)
        as_floats("actions", self.actions)
        actions, states = np.asarray(self.actions), task.reward.shape[1]
        steps = members.steps(task.environment)
        shapes = [(states,)] + ([] if steps is None else [(steps, states)])
        if actions.dtype.kind not in "iu" or actions.shape not in shapes:
            raise ValueError(f"actions: {excerpt(self.actions)} are not integers {' or '.join(map(str, shapes))}")
        if actions.min() < 0 or actions.max() >= len(task.reward):
            raise ValueError(f"actions: {excerpt(self.actions)} are not all among actions 0..{len(task.reward) - 1}")
        check_made_for(self, task)

    def init(self, reward: Array, shown: Array) -> Position:
        return Position(shown[0], jnp.arange(reward.shape[0], dtype=jnp.int32))

    def scores(self, key: Array, state: Position, t: Array) -> tuple[Array, Position]:
        actions = jnp.asarray(self.actions)
        if actions.ndim == 2:
            actions = actions[(t - 1) % actions.shape[0]]
        return (state.arms == actions[state.state]).astype(float), state

    def update(self, state: Position, feedback: Feedback) -> Position:
        check_feedback(feedback, len(state.arms), jnp.asarray(self.actions).shape[-1])
        return state._replace(state=feedback.now[0])
