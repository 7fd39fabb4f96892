"""One round of one run, and a chunk of rounds of many runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from jaxbandit import members
from jaxbandit.arguments import LARGEST_INTEGER, excerpt, has, integer, is_traced
from jaxbandit.base import Environment, Policy, State, described, reward_table
from jaxbandit.fast import add_one, over_runs
from jaxbandit.members import declares
from jaxbandit.pytrees import in_order
from jaxbandit.reward_units import check_distinct
from jaxbandit.selection import top_arms
from jaxbandit.simulation import stopping
from jaxbandit.simulation.chance import RunKeys, check_numbers
from jaxbandit.simulation.delayed import unwrapped
from jaxbandit.simulation.dynamic_regret import DynamicRegret, after_round, no_regret, records_of
from jaxbandit.simulation.library_code import ask
from jaxbandit.simulation.offered_arms import OfferedArms, chances, masked

Recorders = Mapping[str, Callable[..., Any]]  # name to function(environment_state, policy_state, t, policy)


@described
class Carry(NamedTuple):
    """The state of one run between rounds. Many runs: every leaf with the runs last.

    Fields:
      environment: the environment's state.
      policy: the policy's state.
      visits: [K, S] int32, plays of each arm that led to each state, or began in it if the environment pays "before";
        S = 1 if rewards have no finite table.
      first_nan: the first round with a NaN score, 0 for none; None if NaN is not looked for.
      dynamic: the dynamic regret; None if the environment has no `means_now`.
      stopped: whether the run has ended; None if all runs last to the horizon.
    """

    environment: State
    policy: State
    visits: Array
    first_nan: Array | None = None
    dynamic: DynamicRegret | None = None
    stopped: stopping.Stopped | None = None


def _check_parts(environment: Environment, policy: Policy, keys: RunKeys, carry: Carry | None = None) -> None:
    """Raise ValueError unless these are an environment, a policy, keys of runs and their carry."""
    has("environment", environment, "an environment", "reward", "means", "init", "step")
    has("policy", policy, "a policy", "init", "scores", "update")
    if declares(environment).pairing == "shared" and not members.takes_states(policy):
        raise ValueError(f"policy: the arms share one state, and the init of {type(policy).__name__} takes no states")
    if not is_traced(table := reward_table(environment)):
        check_distinct("environment", table)
    if not isinstance(keys, RunKeys):
        raise ValueError(f"keys: {excerpt(keys)} is not of run_keys(key, runs)")
    if carry is not None and not isinstance(carry, Carry):
        raise ValueError(f"carry: {excerpt(carry)} is not of initial_carry(environment, policy, keys)")


def initial_carry(
    environment: Environment, policy: Policy, keys: RunKeys, look_for_nan: bool = False, until_stopped: bool = False
) -> Carry:
    """The carry of many runs before the first round; leaves with the runs last.

    Args:
      look_for_nan: whether `carry.first_nan` keeps the first round with a NaN score.
      until_stopped: whether a run ends when its policy stops.
    """
    _check_parts(environment, policy, keys)
    carry: Carry = over_runs(lambda keys: initial_carry_of_one(environment, policy, keys, look_for_nan, until_stopped))(
        keys
    )
    return carry


def initial_carry_of_one(
    environment: Environment, policy: Policy, keys: RunKeys, look_for_nan: bool = False, until_stopped: bool = False
) -> Carry:
    """The carry of one run before the first round."""
    reward = jnp.asarray(reward_table(environment), float)
    environment_state = environment.init(keys.environment)
    first_seen = [reward]
    if declares(environment).pairing == "shared":
        first_seen.append(environment.shown(environment_state))  # type: ignore[attr-defined]
    if keys.order is not None:
        first_seen = [array[keys.order] for array in first_seen]
    arms, states = reward.shape
    visits = jnp.zeros((arms, max(states, 1)), jnp.int32)
    first_nan = jnp.int32(0) if look_for_nan else None
    dynamic = no_regret(environment, keys.environment)
    stopped = stopping.not_stopped() if until_stopped else None
    return Carry(environment_state, _seeing(policy, keys).init(*first_seen), visits, first_nan, dynamic, stopped)


def _seeing(policy: Policy, keys: RunKeys) -> Policy:
    """The policy of one run, with its fields in the run's order of arms."""
    return policy if keys.order is None else in_order(policy, keys.order)


def play_round(
    environment: Environment, policy: Policy, keys: RunKeys, carry: Carry, t: Array, plays: int = 1, keep: bool = True
) -> Carry:
    """One round of one run: score the arms, play the best, update the policy, count.

    Nothing changes in a run that has stopped.

    Args:
      t: the round, from 1.
      plays: M, arms played in the round.
      keep: False to let the states of a stopped run change: large ones take longer to keep than the round.
    """
    policy = _seeing(policy, keys)
    scores, kept = ask("scores", policy, jax.random.fold_in(keys.policy, t), carry.policy, t)
    offered = offered_to = None
    if isinstance(environment, OfferedArms):
        offered = environment.offered(keys.environment, t, plays)
        offered_to = offered if keys.order is None else offered[keys.order]
    arms = top_arms(scores if offered_to is None else masked(scores, offered_to), plays)
    played = arms if keys.order is None else keys.order[arms]
    environment_state, feedback = ask("step", environment, keys.environment, carry.environment, played, t)
    if keys.order is not None:
        every = {name: getattr(feedback, name) for name in ("shown", "all_rewards")}
        feedback = feedback._replace(**{name: a[keys.order] for name, a in every.items() if a is not None})
    if offered_to is not None and (probabilities := members.probabilities(policy)) is not None:
        feedback = feedback._replace(chances=chances(probabilities(kept, t), offered_to, arms))
    policy_state = ask("update", policy, kept, feedback._replace(arms=arms))
    counted = feedback.before if declares(environment).pays == "before" else feedback.states
    visits = add_one(carry.visits, played, counted)
    first_nan = carry.first_nan
    if first_nan is not None:
        first_nan = jnp.where((first_nan == 0) & jnp.isnan(scores).any(), t, first_nan)
    dynamic = carry.dynamic
    if dynamic is not None:
        dynamic = after_round(environment, keys.environment, dynamic, carry.environment, played, t, offered)
    if carry.stopped is None:
        return Carry(environment_state, policy_state, visits, first_nan, dynamic)
    stopped = stopping.after_round(policy, policy_state, keys.order, t)
    following = Carry(environment_state, policy_state, visits, first_nan, dynamic, stopped)
    unchanged: Carry = stopping.frozen(carry, following, keep)
    return unchanged


def recorded(
    environment: Environment, policy: Policy, keys: RunKeys, carry: Carry, t: Array, recorders: Recorders
) -> dict[str, Any]:
    """The records of one run after round t besides the visits: of the environment and of the recorders."""
    policy, state = unwrapped(_seeing(policy, keys), carry.policy)
    ended = {}
    if carry.stopped is not None:
        t, ended = jnp.where(carry.stopped.round > 0, carry.stopped.round, t), stopping.records_of(carry.stopped)
    asked = {name: recorder(carry.environment, state, t, policy) for name, recorder in recorders.items()}
    dynamic = {} if carry.dynamic is None else records_of(environment, carry.dynamic, t)
    records = members.records(environment)
    return ({} if records is None else dict(records(carry.environment))) | dynamic | ended | asked


def play_chunk(
    environment: Environment,
    policy: Policy,
    keys: RunKeys,
    carry: Carry,
    first: Array,
    times: Array,
    length: int | Array,
    plays: int = 1,
    recorders: Recorders | None = None,
) -> tuple[Carry, Array, dict[str, Any]]:
    """`length` rounds of many runs, from round `first` on: a scan over the recorded times.

    The states of a run that has stopped stand still only where they are recorded.

    Args:
      keys, carry: of many runs, leaves with the runs last.
      first: number of the first round, from 1.
      times: [N] int32, rounds to record, increasing, followed by at least one zero. The result for zeros and for
        rounds outside the chunk is 0.
      length: rounds to play.
      plays: M, arms played in a round.
      recorders: further records at `times`, name to function.

    Returns:
      The carry afterwards; the visits [N, K, S, R] at `times`; by name the records of the environment
      and of the recorders, [N, .., R].
    """
    last = first + length - 1
    looked_at = bool(recorders) or members.records(environment) is not None

    def round_of_all(t: Array, carry: Carry) -> Carry:
        one = partial(play_round, environment, policy, t=t, plays=plays, keep=looked_at)
        following: Carry = over_runs(lambda keys, carry: one(keys, carry))(keys, carry)
        return following

    def rounds_of_all(done: Array, stop: Array, carry: Carry) -> Carry:
        """Rounds done + 1 to stop, as far as a run plays on."""
        if carry.stopped is None:
            played: Carry = jax.lax.fori_loop(0, stop - done, lambda n, carry: round_of_all(done + 1 + n, carry), carry)
            return played
        _, played = jax.lax.while_loop(
            lambda loop: (loop[0] < stop) & stopping.any_goes_on(loop[1].stopped),
            lambda loop: (loop[0] + 1, round_of_all(loop[0] + 1, loop[1])),
            (done, carry),
        )
        return played

    def until(loop: tuple[Carry, Array], time: Array) -> Any:
        """Play until this time, or to the end of the chunk for a zero, and return the records."""
        carry, done = loop
        due = (done < time) & (time <= last)
        stop = jnp.where(due, time, jnp.where(time == 0, last, done))
        carry = rounds_of_all(done, stop, carry)
        records = carry.visits, of_all(stop, carry)
        return (carry, stop), jax.tree.map(lambda leaf: jnp.where(due, leaf, jnp.zeros_like(leaf)), records)

    def of_all(t: Array, carry: Carry) -> dict[str, Any]:
        if not looked_at and carry.dynamic is None and carry.stopped is None:
            return {}
        record: dict[str, Any] = over_runs(
            lambda keys, carry: recorded(environment, policy, keys, carry, t, recorders or {})
        )(keys, carry)
        return record

    (carry, _), (visits, record) = jax.lax.scan(until, (carry, first - 1), times)
    return carry, visits, record


def advance(
    environment: Environment,
    policy: Policy,
    keys: RunKeys,
    carry: Carry,
    first: int,
    length: int,
    times: ArrayLike | None = None,
    plays: int = 1,
) -> tuple[Carry, Array]:
    """`play_chunk`, compiled once per policy type, shapes and plays; its carry is donated and must not be used again.

    Args:
      environment, policy: one of each.
      keys: of `run_keys(key, runs)`, or with its `scenario` for a scenario's own random numbers.
      carry: of `initial_carry`, or returned by the last call.
      first: number of the first round, from 1.
      length: rounds to play.
      times: [N], rounds to record, increasing, zeros only at the end; the result for zeros and for rounds outside the
        chunk is 0. None by default.
      plays: M, arms played in a round.

    Returns:
      The carry afterwards, and the visits [N, K, S, R] at `times`.

    Raises:
      ValueError: an argument of the wrong kind, a number of rounds out of range, or times that do not increase.

    >>> from jaxbandit import UCB1, bernoulli, run_keys
    >>> environment, policy = bernoulli([0.9, 0.1]), UCB1()
    >>> keys = run_keys(jax.random.key(0), jnp.arange(3))
    >>> carry = initial_carry(environment, policy, keys)
    >>> carry, visits = advance(environment, policy, keys, carry, 1, 10, jnp.array([10]))
    >>> visits.sum(axis=(1, 2)).tolist()
    [[10, 10, 10]]
    """
    _check_parts(environment, policy, keys, carry)
    plays = integer("plays", plays, 1, LARGEST_INTEGER)
    for name, number, least in (("first", first, 1), ("length", length, 0)):
        if not isinstance(number, jax.core.Tracer):
            integer(name, number, least, LARGEST_INTEGER)
    if times is not None and not isinstance(times, jax.core.Tracer):
        check_numbers("times", times)
        if (np.diff(np.trim_zeros(np.asarray(times), "b"), prepend=0) <= 0).any():
            raise ValueError(f"times: {excerpt(times)} do not increase; give them in order, zeros only at the end")
    due = jnp.zeros(0, jnp.int32) if times is None else jnp.asarray(times, jnp.int32)
    try:
        carry, visits, _ = _advance(
            environment, policy, keys, carry, jnp.int32(first), jnp.pad(due, (0, 1)), jnp.int32(length), plays=plays
        )
    except (AttributeError, TypeError, ValueError) as error:
        if not _alike(carry, jax.eval_shape(initial_carry, environment, policy, keys)):
            raise ValueError("carry: is not of initial_carry(environment, policy, keys) with these three") from error
        raise
    return carry, visits[:-1]


def _alike(carry: Carry, other: Carry) -> bool:
    """Whether two carries have the same form, and arrays of the same shapes."""
    form: Any = jax.tree.structure(carry)
    if form != jax.tree.structure(other):
        return False
    return all(jnp.shape(one) == jnp.shape(two) for one, two in zip(jax.tree.leaves(carry), jax.tree.leaves(other)))


_advance = jax.jit(play_chunk, static_argnames="plays", donate_argnames=("carry",))
