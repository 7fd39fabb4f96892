"""What policies share that have a number for every state of every arm and play the arms with the largest."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.arguments import as_floats
from jaxbandit.base import Feedback
from jaxbandit.fast import look_up
from jaxbandit.feedback import check_feedback


class Seen(NamedTuple):
    """State of a policy with a table: where the arms are."""

    states: Array  # [K] int32, where each arm was last seen; S, the number of states, for one not seen since its start


def check_table(policy: Any, reward: np.ndarray) -> None:
    """Refuse the policy's fields `indices` and `unseen` unless they fit arms with rewards [K, S].

    Raises:
      ValueError: the field's name and what is wrong with it.
    """
    for name, shape in (("indices", reward.shape), ("unseen", reward.shape[:1])):
        table = getattr(policy, name)
        if table is None and name == "unseen":
            continue
        array = as_floats(name, table)
        if array.shape != shape:
            raise ValueError(f"{name}: shape {array.shape} is not {'[K, S]' if len(shape) > 1 else '[K]'} = {shape}")
        if np.isnan(array).any():
            arm = int(np.argwhere(np.isnan(array))[0, 0])
            raise ValueError(f"{name}: arm {arm} has NaN; an arm that is not indexable has no index to play by")


def unseen_yet(reward: Array) -> Seen:
    """Before the first round, of arms with rewards [K, S]."""
    return Seen(jnp.full(reward.shape[:1], reward.shape[1], jnp.int32))


def scores_of(policy: Any, state: Seen) -> Array:
    """The number of the state in which each arm was seen, [K]."""
    table = jnp.asarray(policy.indices, float)
    unseen = table[:, 0] if policy.unseen is None else jnp.asarray(policy.unseen, float)
    arms = jnp.arange(table.shape[0], dtype=jnp.int32)
    return look_up(jnp.concatenate([table, unseen[:, None]], axis=1), arms, state.states)


def moved(policy: Any, state: Seen, feedback: Feedback) -> Seen:
    """Where the arms were seen after a round; nowhere after one in which all began again."""
    check_feedback(feedback, *jnp.asarray(policy.indices).shape)
    states = state.states.at[feedback.arms].set(feedback.states) if feedback.shown is None else feedback.shown
    if feedback.restarted is not None:
        states = jnp.where(feedback.restarted > 0, jnp.int32(jnp.asarray(policy.indices).shape[-1]), states)
    return Seen(states)
