"""The contract of an environment."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit import members
from jaxbandit.arguments import LARGEST_INTEGER, integer
from jaxbandit.base import Environment, Feedback, reward_table
from jaxbandit.members import declares, means_now
from jaxbandit.simulation.asking.contracts import check_contract, check_declares
from jaxbandit.simulation.asking.tracing import Size, environment_program
from jaxbandit.testing.averages import check_changing, check_long_run, check_rewards
from jaxbandit.testing.pairings import check_plays, check_repeats, check_rounds, check_shared
from jaxbandit.testing.requirements import require, require_accepted, require_close, require_numbers, shapes

ROUNDS = 64  # in which stays are counted


def check_environment(environment: Environment, *, runs: int = 64, plays: int = 64, settle: int = 2**13) -> None:
    """Check that `environment` keeps the contract `simulate` relies on.

    Feedback has the right shapes and types; `step` is pure and does the same with and without jit; a play depends on
    nothing but what the environment's `pairing` declares; no draw is repeated from one play to the next; each state
    pays what `reward` says; `means()` is what plays pay in the long run.

    With the pairing "play" the n-th play of an arm is the same whatever was played in between. With "round" an arm that
    is played in the same rounds shows the same whatever the other arms did; a restless arm without a `passive` law also
    shows in these rounds what it shows if it alone is played. With "shared" all arms have one state, and two players
    who take the same arm in the same state and round see the same; the long run of an arm is that of playing it alone.

    The means are compared with the average of `settle` plays in each of the runs, after `settle` plays that are
    discarded. An arm fails if they are more than 7 standard errors apart, as estimated from the runs: a correct arm
    that has settled by then fails with a probability below 1e-8. By default, an error of 0.02 is detected in an arm
    with rewards 0 and 1 that forgets its state within ten plays. An arm that changes its state less than 8 times a run
    is not judged. Where rewards have no finite table, every play counts, and an error of 0.01 standard deviations of a
    reward is detected; rewards must lie in `reward_range`. For changing or rotting arms, rewards are compared with
    `means_now` in each of 16 windows of rounds, and `means` is not judged. Rested arms must move by the same law in
    each of 16 windows of their plays (two for more than eight states): by default a probability that is larger by .02
    in one of them is detected, if the state that it leaves is visited in half the plays. Where all arms pay, "stays"
    must count every arm once a round; if their comparator changes from round to round, `means` is not judged.

    Args:
      runs: number of keys.
      plays: plays of each arm that are compared one by one.
      settle: plays of each arm until its state no longer depends on its initial state.

    Raises:
      AssertionError: what is broken.
      ValueError: there are fewer than 2 runs.

    >>> import jaxbandit
    >>> check_environment(jaxbandit.two_state([0.5, 0.4], [0.4, 0.55]))
    """
    for argument, number in {"runs": runs, "plays": plays, "settle": settle}.items():
        integer(argument, number, 1, LARGEST_INTEGER)
    if runs < 2:
        raise ValueError(f"runs: {runs}; at least 2 are needed for a standard error")
    name = type(environment).__name__
    require_accepted(check_contract, name, environment, ("means", "init", "step"), "an environment")
    require(not members.lacks(environment, "reward"), f"{name}: has no reward")
    require_numbers(name, environment)
    if environment.reward is None:
        for part in members.lacks(environment, "arms", "reward_range", "records"):
            require(False, f"{name}: has no {part}, and its reward is None")
    reward = np.asarray(reward_table(environment))
    require(reward.ndim == 2, f"{name}.reward: shape {reward.shape} is not [K, S]")
    arms, states = len(reward), max(reward.shape[1], 1)
    shape = np.shape(environment.means())
    require(shape == (arms,), f"{name}.means(): shape {shape} is not [K]")
    keys = jax.random.split(jax.random.key(0), runs)
    require_accepted(check_declares, name, environment)
    size = Size(arms, reward.shape[1], 1, jnp.result_type(float))
    require_accepted(environment_program, name, shapes(environment), size)
    _check_step(name, environment, keys[0], arms, states)

    declared = declares(environment)
    shared, changing = declared.pairing == "shared", declared.problem in ("changing", "rotting")
    visible = not members.lacks(environment, "shown")
    require(not shared or visible, f"{name}: has no shown, and its arms share one state")
    require(not changing or means_now(environment) is not None, f"{name}: has no means_now, and its arms change")
    if declared.paid == "all":
        _check_stays(name, environment, keys[0], arms, states)
    by = {"play": check_plays, "round": check_rounds, "shared": check_shared}[declared.pairing]
    before, after, rewards, _ = by(name, environment, keys, plays)
    if environment.reward is None:
        check_rewards(name, environment, keys, rewards, settle)
    else:
        check_repeats(name, before, after, states)
    if changing:
        check_changing(name, environment, keys, settle)
    elif environment.reward is not None and not (declared.paid == "all" and _by_rounds(environment)):
        check_long_run(name, environment, keys, settle)


def _by_rounds(environment: Environment) -> bool:
    """Whether what regret is measured against changes from round to round."""
    return isinstance(members.comparator(environment, 1), np.ndarray)


def _check_step(name: str, environment: Environment, key: Array, arms: int, states: int) -> None:
    state, t = environment.init(key), jnp.int32(1)
    for plays in [1] if declares(environment).pairing == "shared" else sorted({1, arms}):
        played = jnp.arange(plays, dtype=jnp.int32)
        following, feedback = environment.step(key, state, played, t)
        require(isinstance(feedback, Feedback), f"{name}.step: returns no Feedback")
        require(shapes(following) == shapes(state), f"{name}.step: the state's shapes or types change")
        for part in ("arms", "before", "states"):
            array = getattr(feedback, part)
            whole = array.shape == (plays,) and array.dtype == jnp.int32
            require(whole, f"{name}.step: {part} is not [M] int32")
        require(feedback.rewards.shape == (plays,), f"{name}.step: rewards is not [M]")
        require(jnp.array_equal(feedback.arms, played), f"{name}.step: arms are not those that were played")
        if feedback.all_rewards is not None:
            agree = jnp.array_equal(feedback.all_rewards[played], feedback.rewards)
            require(agree, f"{name}.step: all_rewards are not the rewards of the arms that were played")
        require(jnp.array_equal(feedback.t, t), f"{name}.step: t is not the round that was played")
        inside = bool(((feedback.states >= 0) & (feedback.states < states)).all())
        require(inside, f"{name}.step: a state out of range")
        again = jax.jit(lambda state, played, t: environment.step(key, state, played, t))(state, played, t)
        require_close(f"{name}.step: differs with and without jit", again, (following, feedback))


def _check_stays(name: str, environment: Any, key: Array, arms: int, states: int) -> None:
    """Check that every round adds one stay of every arm, and that of a played arm in the state that pays."""
    require(
        not members.lacks(environment, "cost") and np.shape(environment.cost) == (arms,),
        f"{name}.cost: all arms pay, so the environment needs what a play costs, [K]",
    )
    paying = "before" if declares(environment).pays == "before" else "states"
    records = members.records(environment)
    require(records is not None, f'{name}: has no records, and all arms pay; it needs to record "stays"')

    def play(key: Array) -> tuple[Array, Any]:
        def body(state: Any, t: Array) -> tuple[Any, Any]:
            played = jnp.array([t % arms], jnp.int32)
            following, feedback = environment.step(key, state, played, t)
            added = environment.records(following)["stays"] - environment.records(state)["stays"]
            return following, (added, feedback)

        start = environment.init(key)
        _, rounds = jax.lax.scan(body, start, 1 + jnp.arange(ROUNDS, dtype=jnp.int32))
        return environment.records(start)["stays"], rounds

    first, (added, feedback) = jax.tree.map(np.asarray, jax.jit(play)(key))
    require(
        first.shape == (arms, states) and first.dtype == np.int32 and not first.any(),
        f'{name}.records: "stays" are not [K, S] int32, 0 before the first round',
    )
    require(
        bool((added >= 0).all() and (added.sum(-1) == 1).all()),
        f'{name}.records: "stays" do not grow by one for each arm in each round',
    )
    require(
        bool((added[np.arange(ROUNDS), feedback.arms[:, 0], getattr(feedback, paying)[:, 0]] == 1).all()),
        f'{name}.records: "stays" do not count an arm that is played in the state that pays',
    )
