"""The contract of a policy."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.arguments import LARGEST_INTEGER, integer
from jaxbandit.base import Environment, Feedback, Policy, Task, reward_table
from jaxbandit.environments import markov
from jaxbandit.members import declares
from jaxbandit.selection import top_arms
from jaxbandit.simulation.asking.contracts import check_contract, check_task
from jaxbandit.simulation.asking.tracing import Size, environment_program, policy_program
from jaxbandit.testing.requirements import require, require_accepted, require_close, require_numbers, shapes


def check_policy(
    policy: Policy,
    environment: Environment | None = None,
    *,
    arms: int = 4,
    states: int = 2,
    rounds: int = 64,
    plays: int = 1,
) -> None:
    """Check that `policy` keeps the contract `simulate` relies on.

    Its leaves are numbers; `init`, `scores` and `update` are pure, do the same with and without jit, in a batch
    and alone; shapes and types of its state never change; `scores` returns a pair of [arms] floats, never NaN, and the
    state that goes on to `update`.

    Args:
      environment: what the policy plays; by default rested arms with random rows.
      arms, states: K and S of the default environment.
      rounds: how many are played.
      plays: arms played a round.

    Raises:
      AssertionError: what is broken, with the method's name.
      ValueError: from the policy's own `validate`.

    >>> import jaxbandit
    >>> check_policy(jaxbandit.UCB1())
    """
    for argument, value in {"arms": arms, "states": states}.items():
        integer(argument, value, 2, LARGEST_INTEGER)
    for argument, value in {"rounds": rounds, "plays": plays}.items():
        integer(argument, value, 1, LARGEST_INTEGER)
    name = type(policy).__name__
    require_accepted(check_contract, name, policy, ("init", "scores", "update"), "a policy")
    require_numbers(name, policy)
    transition = np.random.default_rng(0).dirichlet(np.ones(states), (arms, states))
    environment = markov(transition, np.linspace(0, 1, states)) if environment is None else environment
    check_contract("environment", environment, ("means", "init", "step"), "an environment")
    reward = jnp.asarray(reward_table(environment), float)
    check_task(name, policy, Task(environment, plays))
    _check_shapes(name, policy, environment, reward, plays)
    arms_state = environment.init(key := jax.random.key(1))
    shared = declares(environment).pairing == "shared"
    visible: list[Array] = [environment.shown(arms_state)] if shared else []  # type: ignore[union-attr]
    state = policy.init(reward, *visible)
    require_close(f"{name}.init: differs with and without jit", state, jax.jit(_init)(policy, reward, *visible))
    scores_jit, update_jit, play = jax.jit(_scores), jax.jit(_update), jax.jit(environment.step)
    for t in range(1, rounds + 1):
        round_key = jax.random.fold_in(key, t)
        scores, known = scores_jit(policy, round_key, state, jnp.int32(t))
        require(not bool(jnp.isnan(scores).any()), f"{name}.scores: NaN in round {t}: {scores}")
        arms_state, feedback = play(key, arms_state, top_arms(scores, plays), jnp.int32(t))
        following = update_jit(policy, known, feedback)
        if t in (1, len(reward) + 1, rounds):
            asked = (round_key, state, jnp.int32(t))
            for part, of_jit, method, values in (
                ("scores", (scores, known), policy.scores, asked),
                ("update", following, policy.update, (known, feedback)),
            ):
                once, again = method(*values), method(*values)
                require_close(f"{name}.{part}: differs when called again in round {t}; it must be pure", again, once)
                require_close(f"{name}.{part}: differs with and without jit in round {t}", of_jit, once)
        before, state = state, following
    _check_batch(name, policy, key, before, feedback, rounds)


def _check_shapes(name: str, policy: Policy, environment: Environment, reward: Array, plays: int) -> None:
    """Check what `simulate` checks before it compiles."""
    size = Size(len(reward), reward.shape[1], plays, reward.dtype)
    kind = type(environment).__name__
    feedback = require_accepted(environment_program, kind, shapes(environment), size).shapes
    require_accepted(policy_program, name, shapes(policy), size, feedback)


def _check_batch(name: str, policy: Policy, key: Array, state: Any, feedback: Feedback, t: int) -> None:
    """Check that two runs at once, on the last axis, do the same as one."""

    def both(state: Any, feedback: Feedback) -> Any:
        scores, known = policy.scores(key, state, jnp.int32(t))
        return scores, policy.update(known, feedback)

    double = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf], -1), (state, feedback))
    batch = jax.jit(jax.vmap(both, in_axes=-1, out_axes=-1))(*double)
    second = jax.tree.map(lambda leaf: leaf[..., 1], batch)
    for part, batched, alone in zip(("scores", "update"), second, both(state, feedback), strict=True):
        require_close(f"{name}.{part}: differs in a batch", batched, alone)


def _init(policy: Policy, *arguments: Array) -> Any:
    return policy.init(*arguments)


def _scores(policy: Policy, key: Array, state: Any, t: Array) -> tuple[Array, Any]:
    return policy.scores(key, state, t)


def _update(policy: Policy, state: Any, feedback: Feedback) -> Any:
    return policy.update(state, feedback)
