"""Playing: one round of one run, a chunk of rounds of many runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.arguments import as_floats, has, integer, shown
from jaxbandit.base import REWARDS, Array, Environment, Policy, State, check_key, described, reward_table
from jaxbandit.fast import add_one, over_runs, threefry
from jaxbandit.selection import best
from jaxbandit.sums import TwoFloats, add_rewards, no_sums

Recorders = Mapping[str, Callable[..., Any]]  # name to function(environment_state, policy_state, t, policy)


@described
class Luck(NamedTuple):
    """What chance gives one run; a constant of it. Many runs: every leaf with the runs last.

    Fields:
      environment: key of the arms' draws.
      policy: key of the policy's draws, folded with the round.
      order: [K] int32, the environment's arm behind each of the policy's arms; None: the same.
    """

    environment: Array
    policy: Array
    order: Array | None


@described
class Carry(NamedTuple):
    """What one run carries from round to round. Many runs: every leaf with the runs last.

    Fields:
      environment: the environment's state.
      policy: the policy's state.
      visits: [K, S] int32, plays of each arm that moved it to each state; S = 1 where rewards are no table.
      rewards: [K], what each arm has paid, where rewards are no finite table.
      first_nan: the first round in which a score was NaN, 0 for none; None: nobody looks.
    """

    environment: State
    policy: State
    visits: Array
    rewards: TwoFloats | None = None
    first_nan: Array | None = None


def luck(key: Array, runs: Array, arms: int | None = None) -> Luck:
    """The luck of the runs with the numbers `runs` [R]: a function of the key and each number alone.

    Args:
      key: a `jax.random.key`.
      runs: [R] int32, from 0.
      arms: K to draw an order of the arms for each run, None to keep their order.

    Where the key and the numbers are known, the keys are found in NumPy, so that nothing is compiled for them. They are
    `jax.random.split(jax.random.fold_in(key, run), 3)`, as JAX numbers its bits by default.

    >>> luck(jax.random.key(0), jnp.arange(3), arms=4).order.shape
    (4, 3)
    """
    if not isinstance(key, jax.core.Tracer):
        check_key(key)
    if not isinstance(runs, jax.core.Tracer):
        _check_numbers("runs", runs)
    if arms is not None:
        arms = integer("arms", arms, 1, 2**31 - 1)
    words, numbers = _on_host(jax.random.key_data(key)), _on_host(runs).astype(np.uint32)
    of_run = threefry((words[:1], words[1:]), np.uint32(0), numbers)
    three = [threefry(of_run, np.uint32(0), np.uint32(n)) for n in range(3)]
    stacked = [(np if isinstance(each[0], np.ndarray) else jnp).stack(each, -1) for each in three]
    environment, policy, order = (jax.random.wrap_key_data(each, impl="threefry2x32") for each in stacked)
    return Luck(environment, policy, None if arms is None else _orders(order, arms))


def _check_numbers(name: str, values: Array) -> None:
    """Refuse what are no integers [N] from 0 on."""
    found = as_floats(name, values)
    if found.ndim != 1 or not found.size or not ((found >= 0) & (found < 2**31)).all() or (found % 1).any():
        raise ValueError(f"{name}: {shown(values)} are not integers [N] from 0 to 2^31 - 1")


def _check_parts(environment: Environment, policy: Policy, luck: Luck, carry: Carry | None = None) -> None:
    """Refuse what is no environment, policy, luck or carry.

    Raises:
      ValueError: which of them, and what it is.
    """
    has("environment", environment, "an environment", "reward", "means", "init", "step")
    has("policy", policy, "a policy", "init", "scores", "update")
    if not isinstance(luck, Luck):
        raise ValueError(f"luck: {shown(luck)} is not of luck(key, runs)")
    if carry is not None and not isinstance(carry, Carry):
        raise ValueError(f"carry: {shown(carry)} is not of start(environment, policy, luck)")


def _on_host(values: Array) -> Array:
    """The values in NumPy, unless they are being traced."""
    return values if isinstance(values, jax.core.Tracer) else np.asarray(values)


@partial(jax.jit, static_argnames="arms")
def _orders(keys: Array, arms: int) -> Array:
    """An order of the arms for each key, [arms, R] int32."""
    return jax.vmap(lambda key: jax.random.permutation(key, arms).astype(jnp.int32), out_axes=-1)(keys)


def start(environment: Environment, policy: Policy, luck: Luck, look_for_nan: bool = False) -> Carry:
    """The carry of many runs before the first round; leaves with the runs last.

    Args:
      look_for_nan: whether `carry.first_nan` keeps the first round in which a score was NaN.
    """
    _check_parts(environment, policy, luck)
    carry: Carry = over_runs(lambda luck: start_of_one(environment, policy, luck, look_for_nan))(luck)
    return carry


def start_of_one(environment: Environment, policy: Policy, luck: Luck, look_for_nan: bool = False) -> Carry:
    """The carry of one run before the first round."""
    reward = jnp.asarray(reward_table(environment), float)
    seen = reward if luck.order is None else reward[luck.order]
    begun = environment.init(luck.environment), reordered(policy, luck).init(seen)
    arms, states = reward.shape
    visits = jnp.zeros((arms, max(states, 1)), jnp.int32)
    return Carry(*begun, visits, None if states else no_sums(arms), jnp.int32(0) if look_for_nan else None)


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
    _check_parts(environment, policy, luck, carry)
    policy = reordered(policy, luck)
    scores = policy.scores(jax.random.fold_in(luck.policy, t), carry.policy, t)
    arms = best(scores, plays)
    played = arms if luck.order is None else luck.order[arms]
    environment_state, feedback = environment.step(luck.environment, carry.environment, played)
    if luck.order is not None and feedback.shown is not None:
        feedback = feedback._replace(shown=feedback.shown[luck.order])
    policy_state = policy.update(carry.policy, feedback._replace(arms=arms))
    visits = add_one(carry.visits, played, feedback.states)
    rewards = None if carry.rewards is None else add_rewards(carry.rewards, played, feedback.rewards)
    first_nan = carry.first_nan
    if first_nan is not None:
        first_nan = jnp.where((first_nan == 0) & jnp.isnan(scores).any(), t, first_nan)
    return Carry(environment_state, policy_state, visits, rewards, first_nan)


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
    length: int | Array,
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
      The carry afterwards; the visits [N, K, S, R] at `times`, and by name what the recorders returned, [N, .., R];
      where rewards are no finite table, their sums "rewards" [N, 2, K, R] in two floats, too.
    """
    wanted = recorders or {}

    def step(t: Array, carry: Carry) -> Carry:
        round_of_all = over_runs(lambda luck, carry: play_round(environment, policy, luck, carry, t, plays))
        following: Carry = round_of_all(luck, carry)
        return following

    def seen(t: Array, carry: Carry) -> tuple[Array, dict[str, Any]]:
        paid = {} if carry.rewards is None else {REWARDS: jnp.stack(carry.rewards)}
        if not wanted:
            return carry.visits, paid
        return carry.visits, paid | over_runs(lambda luck, carry: look(wanted, policy, luck, carry, t))(luck, carry)

    def body(n: Array, loop: tuple[Carry, Any, Array]) -> tuple[Carry, Any, Array]:
        carry, record, slot = loop
        t = first + n
        carry = step(t, carry)
        due = t == times[slot]

        def written() -> Any:
            return jax.tree.map(
                lambda all_of, one: jax.lax.dynamic_update_index_in_dim(all_of, one, slot, 0), record, seen(t, carry)
            )

        return carry, jax.lax.cond(due, written, lambda: record), slot + due

    shapes = jax.eval_shape(seen, first, carry)
    record = jax.tree.map(lambda leaf: jnp.zeros(times.shape + leaf.shape, leaf.dtype), shapes)
    slot = jax.lax.while_loop(
        lambda n: (n < len(times)) & (times[n] > 0) & (times[n] < first), lambda n: n + 1, jnp.int32(0)
    )
    carry, record, _ = jax.lax.fori_loop(0, length, body, (carry, record, slot))
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
    """`play_chunk`, compiled once per policy type, shapes and plays; the carry given is used up.

    Args:
      environment, policy: one of each.
      luck: of `luck(key, runs)`.
      carry: of `start`, or returned before.
      first: number of the first round, from 1.
      length: rounds to play.
      times: [N], rounds to record, increasing, zeros behind them; rounds outside of these are left 0. None by default.
      plays: M, arms played in a round.

    Returns:
      The carry afterwards, and the visits [N, K, S, R] at `times`.

    Raises:
      ValueError: what is no part of a simulation, or no number of rounds, or times that do not increase.

    >>> from jaxbandit import KLUCB, bernoulli
    >>> environment, policy = bernoulli([0.9, 0.1]), KLUCB()
    >>> chance = luck(jax.random.key(0), jnp.arange(3))
    >>> carry, visits = advance(environment, policy, chance, start(environment, policy, chance), 1, 10, jnp.array([10]))
    >>> visits.sum(axis=(1, 2)).tolist()
    [[10, 10, 10]]
    """
    _check_parts(environment, policy, luck, carry)
    plays = integer("plays", plays, 1, 2**31 - 1)
    for name, number, least in (("first", first, 1), ("length", length, 0)):
        if not isinstance(number, jax.core.Tracer):
            integer(name, number, least, 2**31 - 1)
    if times is not None and not isinstance(times, jax.core.Tracer):
        _check_numbers("times", times)
        if (np.diff(np.trim_zeros(np.asarray(times), "b"), prepend=0) <= 0).any():
            raise ValueError(f"times: {shown(times)} do not increase; give them in order, zeros only behind them")
    recorded = jnp.zeros(1, jnp.int32) if times is None else jnp.asarray(times, jnp.int32)
    try:
        carry, visits, _ = _advance(
            environment, policy, luck, carry, jnp.int32(first), recorded, jnp.int32(length), plays=plays
        )
    except (AttributeError, TypeError, ValueError) as error:
        if not _alike(carry, jax.eval_shape(start, environment, policy, luck)):
            raise ValueError("carry: is not of start(environment, policy, luck) with these three") from error
        raise
    return carry, visits


def _alike(carry: Carry, other: Carry) -> bool:
    """Whether two carries have the same form, and arrays of the same shapes."""
    form: Any = jax.tree.structure(carry)
    if form != jax.tree.structure(other):
        return False
    return all(jnp.shape(one) == jnp.shape(two) for one, two in zip(jax.tree.leaves(carry), jax.tree.leaves(other)))


_advance = jax.jit(play_chunk, static_argnames="plays", donate_argnames=("carry",))
