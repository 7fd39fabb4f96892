"""The contract of a backend."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.arguments import integer
from jaxbandit.base import Array, Environment, Policy
from jaxbandit.environments import two_state
from jaxbandit.simulation import simulate
from jaxbandit.simulation.request import Backend
from jaxbandit.simulation.rounds import Carry, Luck, luck, play_round, start
from jaxbandit.testing.requirements import require


def check_backend(
    policy: Policy,
    environment: Environment | None = None,
    *,
    backend: Backend = "kernel",
    runs: int = 20,
    rounds: int = 100,
    plays: int = 1,
) -> int:
    """Check that a backend on the default devices plays what `backend="scan"` plays on the CPU.

    Two compilers round differently, so a run may part from its twin, but only in a round in which the last arm played
    and the first one not played have scores within 16 ULP.

    Args:
      environment: scenario 1 of the paper by default.
      runs, rounds: how many are tried; every round is recorded.
      plays: arms played a round.

    Returns:
      How many runs parted.

    Raises:
      AssertionError: a run parted where no two scores were close; which one, and in which round.

    >>> import jaxbandit
    >>> check_backend(jaxbandit.UCB1(), rounds=20)
    0
    """
    integer("rounds", rounds, 1, 2**31 - 1)
    arms = two_state([0.5, 0.4, 0.3, 0.2, 0.1], [0.4, 0.55, 0.65, 0.65, 0.7]) if environment is None else environment
    key = jax.random.key(0)
    asked: dict[str, Any] = {"key": key, "runs": runs, "horizon": rounds, "plays": plays, "progress": False}
    asked["times"] = np.arange(1, rounds + 1)
    scan = simulate(arms, {"": policy}, backend="scan", devices=jax.devices("cpu"), **asked).visits[""]
    other = simulate(arms, {"": policy}, backend=backend, **asked).visits[""]
    different = (scan != other).any((0, 1, 4, 5))  # [run, time]

    @jax.jit
    def scores(environment: Environment, policy: Policy, luck: Luck, carry: Carry, t: Array) -> Array:
        def play(t: Array, carry: Carry) -> Carry:
            return play_round(environment, policy, luck, carry, t, plays)

        carry = jax.lax.fori_loop(1, t, play, carry)
        return policy.scores(jax.random.fold_in(luck.policy, t), carry.policy, t)

    parted = np.flatnonzero(different.any(1))
    for run in parted:
        t = int(np.argmax(different[run])) + 1
        with jax.default_device(jax.devices("cpu")[0]):
            chance = luck(key, jnp.array([run]))
            one = jax.tree.map(lambda leaf: leaf[..., 0], (chance, start(arms, policy, chance)))
            last, first = np.sort(np.asarray(scores(arms, policy, *one, jnp.int32(t))))[::-1][plays - 1 : plays + 1]
        require(
            last - first <= 16 * np.spacing(np.abs(last)),
            f"{type(policy).__name__}: run {run} parts in round {t}, where the scores {last} and {first} are not close",
        )
    return len(parted)
