"""What arms pay on average, compared with what an environment says of it."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.base import Environment, pairing, pays
from jaxbandit.testing.requirements import STANDARD_ERRORS, require

FEWEST_MOVES = 8  # of an arm in a run, on average, for its mean to be judged
WINDOWS = 16  # in which what changing arms pay is averaged


def check_long_run(name: str, environment: Environment, keys: Array, settle: int) -> None:
    """Check what states pay and what arms pay on average, in runs of two times `settle` plays of every arm.

    All arms are played in every round; arms that share one state are played alone, each in runs of its own.
    """
    table = jnp.asarray(environment.reward, float)
    every = jnp.arange(table.shape[0], dtype=jnp.int32)
    counted_by = "before" if pays(environment) == "before" else "states"

    def play(key: Array, arms: Array) -> tuple[Array, Array, Array]:
        def body(n: Array, loop: tuple[Any, Array, Array, Array]) -> tuple[Any, Array, Array, Array]:
            state, visits, moves, wrong = loop
            state, feedback = environment.step(key, state, arms, n + 1)
            counts = (n >= settle).astype(jnp.int32)
            place = getattr(feedback, counted_by)
            visits = visits.at[arms, place].add(counts)
            moves = moves.at[arms].add(counts * (feedback.before != feedback.states))
            off = jnp.abs(feedback.rewards - table[arms, place])
            return state, visits, moves, wrong.at[arms].max(off)

        nothing = (
            jnp.zeros(table.shape, jnp.int32),
            jnp.zeros(every.shape, jnp.int32),
            jnp.zeros(every.shape, table.dtype),
        )
        _, *found = jax.lax.fori_loop(0, 2 * settle, body, (environment.init(key), *nothing))
        return tuple(found)

    groups = every[:, None] if pairing(environment) == "shared" else every[None]
    played = jax.jit(jax.vmap(jax.vmap(play, (None, 0)), (0, None)))(keys, groups)
    visits, moves, wrong = (np.asarray(each).sum(1) for each in played)
    reward, means = np.asarray(environment.reward, float), np.asarray(environment.means(), float)
    size = np.abs(reward).max()
    for arm in range(len(reward)):
        off = wrong[:, arm].max()
        require(off <= 1e-5 * size, f"{name}.step: arm {arm} pays up to {off:g} more or less than `reward` says")
        averages = visits[:, arm] @ reward[arm] / settle
        error = averages.std(ddof=1) / np.sqrt(len(averages))
        judged = moves[:, arm].mean() >= FEWEST_MOVES
        require(
            not judged or abs(averages.mean() - means[arm]) <= STANDARD_ERRORS * error + 1e-6 * size,
            f"{name}.means(): {means[arm]:.6g} for arm {arm}, which paid {averages.mean():.6g} a play (standard error "
            f"{error:.2g}) in {len(averages)} runs of {settle} plays after {settle}; if it takes longer to forget its "
            'start, give a larger `settle`; if what it pays depends on the round, declare problem = "changing" and '
            "means_at(t)",
        )


def check_changing(name: str, environment: Any, keys: Array, settle: int) -> None:
    """Compare what changing arms pay in each of 16 stretches of 2 `settle` rounds with `means_at`."""
    arms = jnp.arange(len(environment.means()), dtype=jnp.int32)
    length = max(1, 2 * settle // WINDOWS)

    def play(key: Array) -> Array:
        def body(state: Any, t: Array) -> tuple[Any, Array]:
            state, feedback = environment.step(key, state, arms, t)
            return state, feedback.rewards

        def window(state: Any, number: Array) -> tuple[Any, Array]:
            rounds = number * length + 1 + jnp.arange(length, dtype=jnp.int32)
            state, rewards = jax.lax.scan(body, state, rounds)
            return state, rewards.mean(0)

        return jax.lax.scan(window, environment.init(key), jnp.arange(WINDOWS, dtype=jnp.int32))[1]

    paid = np.asarray(jax.jit(jax.vmap(play))(keys), float)  # [runs, window, arm]
    expected = np.array([environment.means_at(t) for t in range(1, WINDOWS * length + 1)], float)
    expected = expected.reshape(WINDOWS, length, -1).mean(1)
    error = paid.std(axis=0, ddof=1) / np.sqrt(len(paid))
    off = np.abs(paid.mean(0) - expected) > STANDARD_ERRORS * error + 1e-5 * np.abs(paid).max()
    for window, arm in np.argwhere(off)[:1]:
        raise AssertionError(
            f"{name}.means_at(t): {expected[window, arm]:.6g} on average for arm {arm} in rounds {window * length + 1} "
            f"to {(window + 1) * length}, in which it paid {paid.mean(0)[window, arm]:.6g} (standard error "
            f"{error[window, arm]:.2g}) in {len(paid)} runs"
        )
