"""The contract of an environment."""

from __future__ import annotations

from typing import Any, get_args

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.arguments import integer
from jaxbandit.base import Array, Environment, Feedback, Pairing, Problem, pairing, problem, reward_table
from jaxbandit.testing.requirements import STANDARD_ERRORS, require, require_close, require_numbers, shapes
from jaxbandit.testing.rewards import check_rewards

FEWEST_MOVES = 8  # of an arm in a run, on average, for its mean to be judged


def check_environment(environment: Environment, *, runs: int = 64, plays: int = 64, settle: int = 2**13) -> None:
    """Check that `environment` keeps the contract `simulate` relies on.

    Feedback has the right shapes and types; `step` is pure and does the same with and without jit; what a play does
    depends on nothing but what the environment's `pairing` declares; no draw is repeated from one play to the next;
    each state pays what `reward` says; `means()` is what plays pay in the long run.

    With the pairing "play" the n-th play of an arm is the same whatever was played in between. With "round" an arm that
    is played in the same rounds shows the same whatever the other arms did; where the environment has no `passive` law,
    or None, it also shows in these rounds what it shows if it alone is played.

    The means are compared with the average of `settle` plays in each of the runs, after `settle` plays that do not
    count. An arm fails where they are more than 7 standard errors apart, as the runs tell them: a right arm that has
    settled by then fails with a probability below 1e-8. With the default numbers, an error of 0.02 is found in an arm
    with rewards 0 and 1 that forgets its state within ten plays. An arm that changes its state less than 8 times a run
    is not judged. Where rewards are no finite table, every play counts, and an error of 0.01 standard deviations of a
    reward is found; rewards must lie in `reward_range`.

    Args:
      runs: number of keys tried.
      plays: plays of each arm where each is looked at.
      settle: plays of each arm until its state no longer depends on how it started.

    Raises:
      AssertionError: what is broken.
      ValueError: there are less than 2 runs.

    >>> import jaxbandit
    >>> check_environment(jaxbandit.two_state([0.5, 0.4], [0.4, 0.55]))
    """
    runs, plays, settle = (
        integer(argument, value, 1, 2**31 - 1)
        for argument, value in (("runs", runs), ("plays", plays), ("settle", settle))
    )
    if runs < 2:
        raise ValueError(f"runs: {runs}; at least 2 are needed to tell a standard error")
    name = type(environment).__name__
    for part in ("reward", "means", "init", "step"):
        require(hasattr(environment, part), f"{name}: has no {part}")
    require_numbers(name, environment)
    if environment.reward is None:
        for part in ("arms", "reward_range"):
            require(hasattr(environment, part), f"{name}: has no {part}, and its reward is None")
    reward = np.asarray(reward_table(environment))
    require(reward.ndim == 2, f"{name}.reward: shape {reward.shape} is not [K, S]")
    arms, states = len(reward), max(reward.shape[1], 1)
    found = np.shape(environment.means())
    require(found == (arms,), f"{name}.means(): shape {found} is not [K]")
    keys = jax.random.split(jax.random.key(0), runs)
    _check_step(name, environment, keys[0], arms, states)

    for part, declared, choices in (
        ("pairing", pairing(environment), get_args(Pairing)),
        ("problem", problem(environment), get_args(Problem)),
    ):
        require(declared in choices, f"{name}.{part}: {declared!r} is none of {', '.join(choices)}")
    by = _check_plays if pairing(environment) == "play" else _check_rounds
    before, after, rewards = by(name, environment, keys, plays)
    if environment.reward is None:
        check_rewards(name, environment, keys, rewards, settle)
    else:
        _check_repeats(name, before, after, states)
        _check_long_run(name, environment, keys, settle)


def _shown(environment: Environment, keys: Array, order: Array) -> list[np.ndarray]:
    """The states before and after every play and what it paid, three arrays [runs, rounds], where `order[n]` is played
    in round n.
    """

    def of_one(key: Array) -> Any:
        def body(state: Any, arm: Array) -> Any:
            state, feedback = environment.step(key, state, arm[None])
            return state, (feedback.before[0], feedback.states[0], feedback.rewards[0])

        return jax.lax.scan(body, environment.init(key), order)[1]

    return [np.asarray(x) for x in jax.jit(jax.vmap(of_one))(keys)]


def _check_plays(name: str, environment: Environment, keys: Array, plays: int) -> list[np.ndarray]:
    """The n-th play of an arm is the same in two orders; what each shows, as `_shown`, [runs, arms, plays]."""
    arms = len(reward_table(environment))
    in_turn = jnp.tile(jnp.arange(arms, dtype=jnp.int32), plays)
    in_blocks = jnp.repeat(jnp.arange(arms, dtype=jnp.int32), plays)
    turned = [x.reshape(-1, plays, arms) for x in _shown(environment, keys, in_turn)]
    blocked = [x.reshape(-1, arms, plays) for x in _shown(environment, keys, in_blocks)]
    for left, right in zip(turned, blocked, strict=True):
        require(
            np.array_equal(np.swapaxes(left, 1, 2), right),
            f"{name}.step: the n-th play of an arm depends on the plays of other arms; derive each draw from the key, "
            'the arm and the number of the play, or declare pairing = "round"',
        )
    return blocked


def _check_rounds(name: str, environment: Environment, keys: Array, plays: int) -> list[np.ndarray]:
    """What an arm shows in some rounds is the same whatever the others do; what it shows alone, as `_check_plays`.

    In half of the rounds, chosen by chance, the arm is played; in the others the next arm, or any, which is the same
    where there are two arms.
    """
    arms = len(reward_table(environment))
    random = np.random.default_rng(0)
    alone = []
    for arm in range(arms):
        own = random.random(plays) < 0.5
        others = (arm + 1) % arms, (arm + 1 + random.integers(arms - 1, size=plays)) % arms
        orders = [np.where(own, arm, other).astype(np.int32) for other in others]
        next_one, any_one = ([x[:, own] for x in _shown(environment, keys, order)] for order in orders)
        require(
            np.array_equal(next_one, any_one),
            f"{name}.step: what arm {arm} shows in a round depends on which of the others were played; derive each "
            "draw from the key, the arm and the round",
        )
        alone.append(_shown(environment, keys, np.full(plays, arm, np.int32)))
        require(
            getattr(environment, "passive", None) is not None or np.array_equal(next_one[1], alone[-1][1][:, own]),
            f"{name}.step: the path of arm {arm} depends on when it is played, and there is no `passive` law; derive "
            "each draw from the key, the arm and the round",
        )
    return [np.stack(each, axis=1) for each in zip(*alone, strict=True)]


def _check_long_run(name: str, environment: Environment, keys: Array, settle: int) -> None:
    """What states pay and what arms pay on average, in runs of two times `settle` plays of every arm."""
    table = jnp.asarray(environment.reward, float)
    arms = jnp.arange(table.shape[0], dtype=jnp.int32)

    def play(key: Array) -> tuple[Array, Array, Array]:
        def body(t: Array, loop: tuple[Any, Array, Array, Array]) -> tuple[Any, Array, Array, Array]:
            state, visits, moves, wrong = loop
            state, feedback = environment.step(key, state, arms)
            counts = (t >= settle).astype(jnp.int32)
            visits = visits.at[arms, feedback.states].add(counts)
            moves = moves + counts * (feedback.before != feedback.states)
            off = jnp.abs(feedback.rewards - table[arms, feedback.states])
            return state, visits, moves, jnp.maximum(wrong, off)

        nothing = (
            jnp.zeros(table.shape, jnp.int32),
            jnp.zeros(arms.shape, jnp.int32),
            jnp.zeros(arms.shape, table.dtype),
        )
        _, *found = jax.lax.fori_loop(0, 2 * settle, body, (environment.init(key), *nothing))
        return tuple(found)

    visits, moves, wrong = map(np.asarray, jax.jit(jax.vmap(play))(keys))
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
            "start, give a larger `settle`",
        )


def _check_repeats(name: str, before: np.ndarray, after: np.ndarray, states: int) -> None:
    """A draw is repeated where every run is deterministic in itself although the runs differ."""
    for arm in range(before.shape[1]):
        moves = [  # [run][s]: the states that s was left for
            [set(after[run, arm][before[run, arm] == s].tolist()) for s in range(states)] for run in range(len(before))
        ]
        within = all(len(nexts) <= 1 for run in moves for nexts in run)
        between = any(len(set.union(*[run[s] for run in moves])) > 1 for s in range(states))
        require(
            not (within and between),
            f"{name}.step: repeats its draw: within a run arm {arm} always leaves a state the same way, in another run "
            "another; fold the number of the play into the key",
        )


def _check_step(name: str, environment: Environment, key: Array, arms: int, states: int) -> None:
    state = environment.init(key)
    for plays in sorted({1, arms}):
        played = jnp.arange(plays, dtype=jnp.int32)
        following, feedback = environment.step(key, state, played)
        require(isinstance(feedback, Feedback), f"{name}.step: returns no Feedback")
        require(shapes(following) == shapes(state), f"{name}.step: the state's shapes or types change")
        for part in ("arms", "before", "states"):
            array = getattr(feedback, part)
            whole = array.shape == (plays,) and array.dtype == jnp.int32
            require(whole, f"{name}.step: {part} is not [M] int32")
        require(feedback.rewards.shape == (plays,), f"{name}.step: rewards is not [M]")
        require(jnp.array_equal(feedback.arms, played), f"{name}.step: arms are not those that were played")
        inside = bool(((feedback.states >= 0) & (feedback.states < states)).all())
        require(inside, f"{name}.step: a state out of range")
        again = jax.jit(lambda state, played: environment.step(key, state, played))(state, played)
        require_close(f"{name}.step: differs with and without jit", again, (following, feedback))
