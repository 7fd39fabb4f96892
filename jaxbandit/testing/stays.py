"""The contract of environments in which all arms pay."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit import members
from jaxbandit.testing.requirements import require

ROUNDS = 64


def check_stays(name: str, environment: Any, key: Array, arms: int, states: int) -> None:
    """Check that every round adds one stay of every arm, of an arm that is played in the state that it shows."""
    require(
        not members.lacks(environment, "cost") and np.shape(environment.cost) == (arms,),
        f"{name}.cost: all arms pay, so the environment needs what a play costs, [K]",
    )
    require(
        members.records(environment) is not None,
        f'{name}: has no records, and all arms pay; it needs to record "stays"',
    )

    def play(key: Array) -> tuple[Array, Any]:
        def body(state: Any, t: Array) -> tuple[Any, Any]:
            played = jnp.array([t % arms], jnp.int32)
            following, feedback = environment.step(key, state, played, t)
            added = environment.records(following)["stays"] - environment.records(state)["stays"]
            return following, (added, feedback)

        begun = environment.init(key)
        _, found = jax.lax.scan(body, begun, 1 + jnp.arange(ROUNDS, dtype=jnp.int32))
        return environment.records(begun)["stays"], found

    first, (added, feedback) = jax.tree.map(np.asarray, jax.jit(play)(key))
    require(
        first.shape == (arms, states) and first.dtype == np.int32 and not first.any(),
        f'{name}.records: "stays" are not [K, S] int32, 0 before the first round',
    )
    require(
        bool((added >= 0).all() and (added.sum(-1) == 1).all()),
        f'{name}.records: "stays" do not grow by one for each arm in each round',
    )
    played, states_shown = feedback.arms[:, 0], feedback.states[:, 0]
    require(
        bool((added[np.arange(ROUNDS), played, states_shown] == 1).all()),
        f'{name}.records: "stays" do not count an arm that is played in the state that it shows',
    )
