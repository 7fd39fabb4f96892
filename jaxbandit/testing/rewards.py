"""The contract of rewards without a finite table."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.sums import add_rewards, no_sums
from jaxbandit.testing.requirements import STANDARD_ERRORS, require


def check_rewards(name: str, environment: Any, keys: Array, rewards: np.ndarray, plays: int) -> None:
    """Check that rewards lie in `reward_range`, that no draw is repeated, and that `means()` is what plays pay.

    Args:
      environment: one whose `reward` is None.
      keys: one a run.
      rewards: [runs, arms, n], of the first plays of each arm.
      plays: of each arm in each run; their average is compared with `means()`.
    """
    low, high = environment.reward_range
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
            abs(paid - mean) <= STANDARD_ERRORS * error + 1e-6 * abs(mean),
            f"{name}.means(): {mean:.6g} for arm {arm}, which paid {paid:.6g} a play (standard error {error:.2g}) in "
            f"{len(averages)} runs of {plays} plays",
        )
    kept = sum(part.astype(float) for part in jax.tree.leaves(recorded)) / plays
    require(
        np.allclose(kept, averages, rtol=1e-4, atol=1e-6),
        f'{name}.records: "rewards" are not the sums of what `step` pays, [K]; add them up in the state, as '
        "jaxbandit.sums.add_rewards does",
    )
