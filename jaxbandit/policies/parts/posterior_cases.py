"""What is known of arms with two states and Beta priors: its place in a layer of `indices.posterior_layers`, traced."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.arguments import excerpt, finite
from jaxbandit.base import Task, total

CLOSE = 1e-6  # relative rounding error of equal rewards


def check_rewards(policy: Any, task: Task) -> None:
    """Raise ValueError unless every arm pays the policy's two rewards."""
    paid = finite("reward", policy.reward)
    if paid.shape != (2,):
        raise ValueError(f"reward: shape {paid.shape} is not [2]")
    if task.reward.shape[1] != 2 or not np.allclose(task.reward, paid[None], CLOSE, 0):
        raise ValueError(
            f"reward: {type(policy).__name__} is made for arms whose two states pay {excerpt(paid.tolist())}; those of "
            f"{task.name} pay {excerpt(task.reward.tolist())}; make it with reward=.. of these"
        )


def case(counts: Array, independent: bool) -> Array:
    """The place [M] in its layer of what counts [M, 2, 2] of transitions tell of an arm.

    >>> case(jnp.array([[[2, 1], [0, 3]]]), independent=True).tolist()  # four plays of six led to state 1
    [4]
    >>> case(jnp.array([[[2, 1], [0, 3]]]), independent=False).tolist()  # after 0 to 6 stays without a move: 7 + 2
    [9]
    """
    if independent:
        return counts[:, 0, 1] + counts[:, 1, 1]
    plays, moves = total(total(counts)), counts[:, 0, 1] + counts[:, 1, 0]
    return moves * (plays + 1) - moves * (moves - 1) // 2 + counts[:, 0, 0]


def cases_before(plays: Array, independent: bool) -> Array:
    """How many cases the layers of fewer plays have together.

    >>> cases_before(jnp.arange(4), True).tolist(), cases_before(jnp.arange(4), False).tolist()
    ([0, 1, 3, 6], [0, 1, 4, 10])
    """
    pairs = plays * (plays + 1) // 2
    return pairs if independent else pairs * (plays + 2) // 3


def first_state(counts: Array, states: Array) -> Array:
    """The states [M] in which arms began that are now in `states` [M]: they went from one to the other and back.

    >>> first_state(jnp.array([[[2, 2], [1, 3]]]), jnp.array([1])).tolist()
    [0]
    """
    return states ^ ((counts[:, 0, 1] + counts[:, 1, 0]) % 2)


def posterior_rows(prior: Array, counts: Array, independent: bool) -> Array:
    """The expected rows [M, 2, 2] after counts [M, 2, 2], from the parameters [M, 2, 2] of their priors."""
    seen = counts.astype(float)
    if independent:  # both rows are one
        seen = jnp.broadcast_to((seen[:, 0] + seen[:, 1])[:, None], seen.shape)
    parameters = prior + seen
    return parameters / total(parameters)[..., None]
