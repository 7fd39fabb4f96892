"""The rounds of a log that answer a policy which plays against it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit import members
from jaxbandit.base import Feedback, State
from jaxbandit.live.logged_rounds import Log
from jaxbandit.reward_units import reward_units
from jaxbandit.selection import top_arms

MOST = 2**24  # rounds of all seeds that are replayed at a time


def in_rounds(log: Log, policy: Any, keys: np.ndarray, index: np.ndarray, most: int) -> np.ndarray:
    """The places [seeds, n] of the rounds that each seed used, of those in `index`; -1 for those passed over."""
    units = reward_units(policy, log.table, log.reward_range)
    rows = log.arm.astype(np.int32), log.state.astype(np.int32), units.seen(log.reward)
    shared = jnp.asarray(units.seen(log.table), float), np.int32(most)
    agreed = _in_parts(
        lambda key, at: _agreed(policy, *shared, key, *(column[at] for column in rows)), len(log.arm), keys, index
    )
    return np.where(agreed, index, -1)


def in_own_order(log: Log, policy: Any, keys: np.ndarray, most: int) -> np.ndarray:
    """The places [seeds, rounds] of the rounds that each seed used, -1 where an arm had no answer left."""
    order = np.argsort(log.arm, kind="stable").astype(np.int32)
    plays = np.bincount(log.arm, minlength=len(log.arms)).astype(np.int32)
    units = reward_units(policy, log.table, log.reward_range)
    table, paid = jnp.asarray(units.seen(log.table), float), units.seen(log.reward)
    rows = order, np.cumsum(plays, dtype=np.int32) - plays, plays, log.state.astype(np.int32), paid
    return _in_parts(lambda key: _answered_in_turn(policy, table, *rows, key, steps=most), most, keys)


def _in_parts(program: Callable[..., Array], rounds: int, *columns: np.ndarray) -> np.ndarray:
    """The program's result for all seeds, computed for as many at a time as memory allows."""
    seeds = len(columns[0])
    lanes = min(max(MOST // rounds, 1), seeds)
    parts = []
    for first in range(0, seeds, lanes):
        # the last part is filled up, because one of another size would be another program
        chosen = np.minimum(np.arange(first, first + lanes), seeds - 1)
        parts.append(np.asarray(program(*(column[chosen] for column in columns))))
    return np.concatenate(parts)[:seeds]


def _played(policy: Any, key_data: Array, state: State, t: Array) -> tuple[Array, State]:
    """The arm of round t, and the state for `update`."""
    key = jax.random.fold_in(jax.random.wrap_key_data(key_data, impl="threefry2x32"), t)
    scores, state = policy.scores(key, state, t)
    return top_arms(scores, 1)[0], state


def _learned(
    policy: Any, old: State, state: State, last: Array, row: tuple[Array, Array, Array], t: Array, counts: Array
) -> tuple[State, Array]:
    """The policy's state and the states last shown after a round whose `row` is arm, state and reward, if it counts."""
    arm, shown, paid = row
    probabilities = members.probabilities(policy)
    chances = None if probabilities is None else probabilities(state, t)[arm][None]
    reward = paid[None].astype(jnp.result_type(float))
    new = policy.update(state, Feedback(arm[None], last[arm][None], shown[None], reward, t, chances=chances))
    kept = jax.tree.map(lambda before, after: jnp.where(counts, after, before).astype(before.dtype), old, new)
    return kept, jnp.where(counts, last.at[arm].set(shown), last)


@jax.jit
def _agreed(policy: Any, table: Array, most: Array, keys: Array, arms: Array, states: Array, rewards: Array) -> Array:
    """[seeds, n], whether the policy chose the arm of each round of the log."""

    def of_seed(key: Array, *rows: Array) -> Array:
        def step(carry: Any, row: Any) -> Any:
            old, last, t = carry
            arm, state = _played(policy, key, old, t)
            agrees = (arm == row[0]) & (t <= most)
            state, last = _learned(policy, old, state, last, row, t, agrees)
            return (state, last, t + agrees), agrees

        begin = jax.tree.map(jnp.asarray, policy.init(table)), jnp.zeros(len(table), jnp.int32), jnp.int32(1)
        return jax.lax.scan(step, begin, rows)[1]

    return jax.vmap(of_seed)(keys, arms, states, rewards)


@partial(jax.jit, static_argnames="steps")
def _answered_in_turn(
    policy: Any,
    table: Array,
    order: Array,
    first: Array,
    plays: Array,
    states: Array,
    rewards: Array,
    keys: Array,
    steps: int,
) -> Array:
    """[seeds, steps], the place in the log of the round that answers each round of the policy; -1 after the last."""

    def of_seed(key: Array) -> Array:
        def step(carry: Any, t: Array) -> Any:
            old, last, used, goes_on = carry
            arm, state = _played(policy, key, old, t)
            goes_on &= used[arm] < plays[arm]
            place = order[jnp.minimum(first[arm] + used[arm], len(order) - 1)]
            row = arm, states[place], rewards[place]
            state, last = _learned(policy, old, state, last, row, t, goes_on)
            return (state, last, used.at[arm].add(goes_on), goes_on), jnp.where(goes_on, place, -1)

        none = jnp.zeros(len(table), jnp.int32)
        begin = jax.tree.map(jnp.asarray, policy.init(table)), none, none, jnp.bool_(True)
        return jax.lax.scan(step, begin, jnp.arange(1, steps + 1, dtype=jnp.int32))[1]

    return jax.vmap(of_seed)(keys)
