"""Dynamic regret: the mean rewards of the best arms of each round, minus those of the arms played."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array

from jaxbandit.base import State, described, total
from jaxbandit.fast import look_up
from jaxbandit.members import best_arm_falls_short, declares, means_now
from jaxbandit.selection import top_arms
from jaxbandit.simulation.offered_arms import OfferedArms
from jaxbandit.sums import TwoFloats, add_to_each, below_largest, no_sums

DYNAMIC = "dynamic_regret"  # the names under which the two regrets are recorded
EXTERNAL = "external_regret"


@described
class DynamicRegret(NamedTuple):
    """The dynamic regret of one run so far.

    Fields:
      regret: two floats [1].
      oracle: the state of a copy of the environment in which an oracle plays the best arms; None if plays do not change
        rewards, so that the oracle shares the player's state.
    """

    regret: TwoFloats
    oracle: State


def no_regret(environment: Any, key: Array) -> DynamicRegret | None:
    """The dynamic regret before the first round; None for an environment without `means_now`."""
    if means_now(environment) is None:
        return None
    in_own_state = declares(environment).problem != "changing" and not isinstance(environment, OfferedArms)
    return DynamicRegret(no_sums(1), environment.init(key) if in_own_state else None)


def after_round(
    environment: Any,
    key: Array,
    dynamic: DynamicRegret,
    state: State,
    played: Array,
    t: Array,
    offered: Array | None = None,
) -> DynamicRegret:
    """The dynamic regret after a round: the means of the M best arms are added, those of the arms played subtracted.

    The best of the arms played is compared with the best arm, the second best with the second best, and so on, so that
    gaps keep their digits, and playing the best arms costs exactly 0.

    Args:
      state: of the environment before the round.
      played: [M] int32, distinct.
      t: the round.
      offered: [K] bool, the arms among which the best ones are; None for all.
    """
    means, oracle = _two_floats(environment.means_now(state, t)), dynamic.oracle
    of_oracle = means if oracle is None else _two_floats(environment.means_now(oracle, t))
    worth = -below_largest(of_oracle)
    best = top_arms(worth if offered is None else jnp.where(offered, worth, -jnp.inf), played.shape[0])
    if played.shape[0] > 1:
        is_played = (played[:, None] == jnp.arange(means.high.shape[0], dtype=played.dtype)[None]).any(axis=0)
        played = top_arms(jnp.where(is_played, -below_largest(means), -jnp.inf), played.shape[0])
    lost = (look_up(of_oracle.high, best) - look_up(means.high, played)) + (
        look_up(of_oracle.low, best) - look_up(means.low, played)
    )
    if oracle is not None:
        oracle, _ = environment.step(key, oracle, best, t)
    return DynamicRegret(add_to_each(dynamic.regret, total(lost)[None]), oracle)


def records_of(environment: Any, dynamic: DynamicRegret, t: Array) -> dict[str, TwoFloats]:
    """The records after round t: the dynamic regret, and, if defined, the regret against the best fixed arm."""
    high, low = (part[0] for part in dynamic.regret)
    short = best_arm_falls_short(environment, t)
    records = {DYNAMIC: TwoFloats(high, low)}
    return records if short is None else records | {EXTERNAL: TwoFloats(high - short.high, low - short.low)}


def _two_floats(means: Any) -> TwoFloats:
    if isinstance(means, TwoFloats):
        return means
    high = jnp.asarray(means, float)
    return TwoFloats(high, jnp.zeros_like(high))
