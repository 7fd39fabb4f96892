"""Playing: one round of one run, a chunk of rounds of many runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandit.base import Array, Environment, Policy, State
from jaxbandit.fast import add_one, over_runs
from jaxbandit.selection import best

Recorders = Mapping[str, Callable[..., Any]]  # name to function(environment_state, policy_state, t, policy)


class Luck(NamedTuple):
    """What chance gives one run; a constant of it. Many runs: every leaf with the runs last."""

    environment: Array  # key of the arms' draws
    policy: Array  # key of the policy's draws, folded with the round
    order: Array | None  # [K] int32, the environment's arm behind each of the policy's arms; None: the same


class Carry(NamedTuple):
    """What one run carries from round to round. Many runs: every leaf with the runs last."""

    environment: State
    policy: State
    visits: Array  # [K, S] int32, plays of each arm that moved it to each state


def luck(key: Array, runs: Array, arms: int | None = None) -> Luck:
    """The luck of the runs with the numbers `runs` [R]: a function of the key and each number alone.

    Args:
      key: a `jax.random.key`.
      runs: [R] int32, from 0.
      arms: K to draw an order of the arms for each run, None to keep their order.

    >>> luck(jax.random.key(0), jnp.arange(3), arms=4).order.shape
    (4, 3)
    """

    def one(run: Array) -> Luck:
        environment, policy, order = jax.random.split(jax.random.fold_in(key, run), 3)
        shuffled = None if arms is None else jax.random.permutation(order, arms).astype(jnp.int32)
        return Luck(environment, policy, shuffled)

    return jax.vmap(one, out_axes=-1)(runs)


def start(environment: Environment, policy: Policy, luck: Luck) -> Carry:
    """The carry of many runs before the first round; leaves with the runs last."""

    def one(luck: Luck) -> Carry:
        reward = jnp.asarray(environment.reward, float)
        seen = reward if luck.order is None else reward[luck.order]
        begun = reordered(policy, luck).init(seen)
        return Carry(environment.init(luck.environment), begun, jnp.zeros(reward.shape, jnp.int32))

    return jax.vmap(one, in_axes=-1, out_axes=-1)(luck)


def reordered(policy: Policy, luck: Luck) -> Policy:
    """The policy of one run, for the order in which it sees the arms (see `base.Policy`)."""
    if luck.order is None or not hasattr(policy, "reordered"):
        return policy
    seeing: Policy = policy.reordered(luck.order)
    return seeing


def play_round(environment: Environment, policy: Policy, luck: Luck, carry: Carry, t: Array, plays: int = 1) -> Carry:
    """One round of one run: score the arms, play the best, show the player what happened, count.

    Args:
      t: the round, from 1.
      plays: M, arms played in the round.
    """
    policy = reordered(policy, luck)
    scores = policy.scores(jax.random.fold_in(luck.policy, t), carry.policy, t)
    arms = best(scores, plays)
    played = arms if luck.order is None else luck.order[arms]
    environment_state, feedback = environment.step(luck.environment, carry.environment, played)
    policy_state = policy.update(carry.policy, feedback._replace(arms=arms))
    return Carry(environment_state, policy_state, add_one(carry.visits, played, feedback.states))


def look(recorders: Recorders, policy: Policy, luck: Luck, carry: Carry, t: Array) -> dict[str, Any]:
    """What the recorders make of one run after round t."""
    policy = reordered(policy, luck)
    return {name: recorder(carry.environment, carry.policy, t, policy) for name, recorder in recorders.items()}


def play_chunk(
    environment: Environment,
    policy: Policy,
    luck: Luck,
    carry: Carry,
    first: Array,
    times: Array,
    length: int,
    plays: int = 1,
    recorders: Recorders | None = None,
) -> tuple[Carry, Array, dict[str, Any]]:
    """`length` rounds of many runs, from round `first` on.

    Args:
      luck, carry: of many runs, leaves with the runs last.
      first: number of the first round, from 1.
      times: [N] int32, rounds to record, increasing, zeros behind them; rounds outside the chunk are left 0.
      length: rounds to play.
      plays: M, arms played in a round.
      recorders: what else is recorded at `times`, name to function.

    Returns:
      The carry afterwards; the visits [N, K, S, R] at `times`, and by name what the recorders returned, [N, .., R].
    """
    wanted = recorders or {}

    def step(t: Array, carry: Carry) -> Carry:
        round_of_all = over_runs(lambda luck, carry: play_round(environment, policy, luck, carry, t, plays))
        following: Carry = round_of_all(luck, carry)
        return following

    def seen(t: Array, carry: Carry) -> tuple[Array, dict[str, Any]]:
        if not wanted:
            return carry.visits, {}
        return carry.visits, over_runs(lambda luck, carry: look(wanted, policy, luck, carry, t))(luck, carry)

    def body(loop: tuple[Carry, Any, Array], t: Array) -> tuple[tuple[Carry, Any, Array], None]:
        carry, record, slot = loop
        carry = step(t, carry)
        due = t == times[slot]

        def written() -> Any:
            return jax.tree.map(
                lambda all_of, one: jax.lax.dynamic_update_index_in_dim(all_of, one, slot, 0), record, seen(t, carry)
            )

        return (carry, jax.lax.cond(due, written, lambda: record), slot + due), None

    shapes = jax.eval_shape(seen, first, carry)
    record = jax.tree.map(lambda leaf: jnp.zeros(times.shape + leaf.shape, leaf.dtype), shapes)
    t = first + jnp.arange(length, dtype=jnp.int32)
    slot = jax.lax.while_loop(
        lambda n: (n < len(times)) & (times[n] > 0) & (times[n] < first), lambda n: n + 1, jnp.int32(0)
    )
    (carry, record, _), _ = jax.lax.scan(body, (carry, record, slot), t)
    return carry, *record


def advance(
    environment: Environment,
    policy: Policy,
    luck: Luck,
    carry: Carry,
    first: int,
    length: int,
    times: Array | None = None,
    plays: int = 1,
) -> tuple[Carry, Array]:
    """`play_chunk`, compiled once per policy type, shapes, length and plays; the carry given is used up.

    Args:
      environment, policy: one of each.
      luck: of `luck(key, runs)`; carry: of `start`, or returned before.
      first: number of the first round, from 1.
      length: rounds to play.
      times: [N], rounds to record; none by default.
      plays: M, arms played in a round.

    Returns:
      The carry afterwards, and the visits [N, K, S, R] at `times`.

    >>> from jaxbandit import KLUCB, bernoulli
    >>> environment, policy = bernoulli([0.9, 0.1]), KLUCB()
    >>> chance = luck(jax.random.key(0), jnp.arange(3))
    >>> carry, visits = advance(environment, policy, chance, start(environment, policy, chance), 1, 10, jnp.array([10]))
    >>> visits.sum(axis=(1, 2)).tolist()
    [[10, 10, 10]]
    """
    recorded = jnp.zeros(1, jnp.int32) if times is None else jnp.asarray(times, jnp.int32)
    carry, visits, _ = _advance(
        environment, policy, luck, carry, jnp.int32(first), recorded, length=length, plays=plays
    )
    return carry, visits


_advance = jax.jit(play_chunk, static_argnames=("length", "plays"), donate_argnames=("carry",))
