"""What arms pay on average, compared with what their environment declares."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.base import Environment
from jaxbandit.members import declares
from jaxbandit.sums import add_rewards, no_sums
from jaxbandit.testing.requirements import STANDARD_ERRORS, require

FEWEST_MOVES = 8  # of an arm in a run, on average, for its mean to be judged
WINDOWS = 16  # of rounds in which the rewards of changing arms and the moves of rested arms are counted
FEW_STATES = 8  # with more states S than that, only two windows are used, as S^2 counts are kept in each
FEWEST_EXPECTED = 50  # moves from one state to another in a window, over all runs, for their share to be judged


def check_long_run(name: str, environment: Environment, keys: Array, settle: int) -> None:
    """Check what states pay and what arms pay on average, in runs of two times `settle` plays of every arm.

    All arms are played in every round; arms that share one state are played alone, each in runs of its own. Rested arms
    must move by the same law in all windows of their plays.
    """
    table = jnp.asarray(environment.reward, float)
    arms, states = table.shape
    every = jnp.arange(arms, dtype=jnp.int32)
    rested = declares(environment).problem == "rested"
    counted_by = "before" if declares(environment).pays == "before" else "states"
    windows = WINDOWS if rested and states <= FEW_STATES else 2
    length = max(1, 2 * settle // windows)

    def play(key: Array, arms: Array) -> tuple[Array, Array, Array]:
        def body(n: Array, loop: tuple[Any, Array, Array, Array]) -> tuple[Any, Array, Array, Array]:
            state, counts, moves, wrong = loop
            state, feedback = environment.step(key, state, arms, n + 1)
            place = getattr(feedback, counted_by)
            left = feedback.before if rested else jnp.zeros_like(place)
            counts = counts.at[n // length, arms, left, place].add(1)
            moves = moves.at[arms].add((n >= settle) & (feedback.before != feedback.states))
            off = jnp.abs(feedback.rewards - table[arms, place])
            return state, counts, moves, wrong.at[arms].max(off)

        nothing = (
            jnp.zeros((windows, table.shape[0], states if rested else 1, states), jnp.int32),
            jnp.zeros(every.shape, jnp.int32),
            jnp.zeros(every.shape, table.dtype),
        )
        return jax.lax.fori_loop(0, windows * length, body, (environment.init(key), *nothing))[1:]

    groups = every[:, None] if declares(environment).pairing == "shared" else every[None]
    played = jax.jit(jax.vmap(jax.vmap(play, (None, 0)), (0, None)))(keys, groups)
    counts, moves, wrong = (np.asarray(array).sum(1) for array in played)
    reward, means = np.asarray(environment.reward, float), np.asarray(environment.means(), float)
    size = np.abs(reward).max()
    if rested:
        _check_one_law(name, counts, length)
    visits = counts[:, windows // 2 :].sum((1, 3))  # [run, arm, state]
    for arm in range(len(reward)):
        off = wrong[:, arm].max()
        require(off <= 1e-5 * size, f"{name}.step: arm {arm} pays up to {off:g} more or less than `reward` says")
        averages = visits[:, arm] @ reward[arm] / (windows // 2 * length)
        error = averages.std(ddof=1) / np.sqrt(len(averages))
        judged = moves[:, arm].mean() >= FEWEST_MOVES
        require(
            not judged or abs(averages.mean() - means[arm]) <= STANDARD_ERRORS * error + 1e-6 * size,
            f"{name}.means(): {means[arm]:.6g} for arm {arm}, which paid {averages.mean():.6g} a play (standard error "
            f"{error:.2g}) in {len(averages)} runs of {settle} plays after {settle}; if it takes longer to forget its "
            "start, give a larger `settle`; if what it pays depends on the round, declare "
            'Declares(problem="changing") and means_now(state, t)',
        )


def _check_one_law(name: str, counts: np.ndarray, length: int) -> None:
    """Check that rested arms move by the same law in each window of `length` plays.

    Args:
      counts: of moves, [run, window, arm, from, to].
    """
    left = counts.sum(-1, keepdims=True)
    total = counts.sum((0, 1))
    law = total / np.maximum(total.sum(-1, keepdims=True), 1)
    excess = counts - left * law
    error = excess.std(0, ddof=1) / np.sqrt(len(excess))
    judged = left.sum(0) * law >= FEWEST_EXPECTED
    off = judged & (np.abs(excess.mean(0)) > STANDARD_ERRORS * error)
    for window, arm, before, after in np.argwhere(off)[:1]:
        share = counts.sum(0)[window, arm, before, after] / left.sum(0)[window, arm, before, 0]
        raise AssertionError(
            f"{name}.step: arm {arm} moves from state {before} to {after} with probability {share:.4g} in its plays "
            f"{window * length + 1} to {(window + 1) * length}, and with {law[arm, before, after]:.4g} in all of them, "
            "so that no number in means() says what it pays; if that falls with the arm's own plays, declare "
            'Declares(problem="rotting"), if it depends on the round, "changing", and give means_now(state, t)'
        )


def check_changing(name: str, environment: Any, keys: Array, settle: int) -> None:
    """Compare what arms pay in each of 16 windows of 2 `settle` / 16 rounds with `means_now`; all arms are played."""
    arms = jnp.arange(len(environment.means()), dtype=jnp.int32)
    length = max(1, 2 * settle // WINDOWS)

    def play(key: Array) -> tuple[Array, Array]:
        def body(state: Any, t: Array) -> tuple[Any, tuple[Array, Array]]:
            means = jax.tree.leaves(environment.means_now(state, t))  # one array, or two floats
            state, feedback = environment.step(key, state, arms, t)
            return state, (feedback.rewards, sum(means[1:], jnp.asarray(means[0], float)))

        def window(state: Any, number: Array) -> tuple[Any, tuple[Array, Array]]:
            rounds = number * length + 1 + jnp.arange(length, dtype=jnp.int32)
            state, pair = jax.lax.scan(body, state, rounds)
            return state, jax.tree.map(lambda values: values.mean(0), pair)

        return jax.lax.scan(window, environment.init(key), jnp.arange(WINDOWS, dtype=jnp.int32))[1]

    paid, expected = (np.asarray(part, float) for part in jax.jit(jax.vmap(play))(keys))  # [runs, window, arm]
    require(expected.shape == paid.shape, f"{name}.means_now: returns no array [K] = ({len(arms)},)")
    require(np.isfinite(expected).all(), f"{name}.means_now: not a finite number")
    error = (paid - expected).std(axis=0, ddof=1) / np.sqrt(len(paid))
    off = np.abs((paid - expected).mean(0)) > STANDARD_ERRORS * error + 1e-5 * np.abs(paid).max()
    for window, arm in np.argwhere(off)[:1]:
        raise AssertionError(
            f"{name}.means_now(state, t): {expected.mean(0)[window, arm]:.6g} on average for arm {arm} in rounds "
            f"{window * length + 1} to {(window + 1) * length}, in which it paid {paid.mean(0)[window, arm]:.6g} "
            f"(standard error {error[window, arm]:.2g}) in {len(paid)} runs"
        )


def check_rewards(name: str, environment: Any, keys: Array, rewards: np.ndarray, plays: int) -> None:
    """Check that rewards lie in `reward_range`, that no draw is repeated, and that `means()` is what plays pay.

    Means of arms that change are not judged: see `check_changing`.

    Args:
      environment: one whose `reward` is None.
      keys: one a run.
      rewards: [runs, arms, n], of the first plays of each arm.
      plays: of each arm in each run; their average is compared with `means()`.
    """
    low, high = environment.reward_range
    changes = declares(environment).problem in ("changing", "rotting")
    arms, means = jnp.arange(environment.arms, dtype=jnp.int32), np.asarray(environment.means(), float)

    def play(key: Array) -> Any:
        def body(n: Array, loop: tuple[Any, ...]) -> tuple[Any, ...]:
            state, sums, least, most = loop
            state, feedback = environment.step(key, state, arms, n + 1)
            paid = feedback.rewards
            return state, add_rewards(sums, arms, paid), jnp.minimum(least, paid), jnp.maximum(most, paid)

        infinite = jnp.full(arms.shape, jnp.inf)
        start = environment.init(key), no_sums(len(arms)), infinite, -infinite
        state, *measured = jax.lax.fori_loop(0, plays, body, start)
        return *measured, environment.records(state)["rewards"]

    sums, least, most, recorded = jax.tree.map(np.asarray, jax.jit(jax.vmap(play))(keys))
    averages = (sums.high + sums.low.astype(float)) / plays
    for arm, mean in enumerate(means):
        first = rewards[:, arm]
        within, between = (first == first[:, :1]).all(), (first[:, 0] != first[0, 0]).any()
        require(
            not (within and between),
            f"{name}.step: repeats its draw: within a run arm {arm} always pays the same, in another run something "
            "else; fold the number of the play into the key",
        )
        near = 1e-6 * np.array([abs(low) if np.isfinite(low) else 0, abs(high) if np.isfinite(high) else 0])
        require(
            low - near[0] <= least[:, arm].min() and most[:, arm].max() <= high + near[1],
            f"{name}.reward_range: {low:g} to {high:g}, and arm {arm} pays from {least[:, arm].min():g} to "
            f"{most[:, arm].max():g}",
        )
        error = averages[:, arm].std(ddof=1) / np.sqrt(len(averages))
        paid = averages[:, arm].mean()
        require(
            changes or abs(paid - mean) <= STANDARD_ERRORS * error + 1e-6 * abs(mean),
            f"{name}.means(): {mean:.6g} for arm {arm}, which paid {paid:.6g} a play (standard error {error:.2g}) in "
            f"{len(averages)} runs of {plays} plays",
        )
    kept = sum(part.astype(float) for part in jax.tree.leaves(recorded)) / plays
    require(
        np.allclose(kept, averages, rtol=1e-4, atol=1e-6),
        f'{name}.records: "rewards" are not the sums of what `step` pays, [K]; add them up in the state, as '
        "jaxbandit.sums.add_rewards does",
    )
