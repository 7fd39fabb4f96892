"""Contract checks for policies and environments, the library's own and a user's."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.simulation.request import Backend
from jaxbandit.base import Array, Environment, Feedback, Policy
from jaxbandit.environments import markov, two_state
from jaxbandit.simulation.rounds import Carry, Luck, best, luck, play_round, start
from jaxbandit.simulation.loop import simulate


def check_policy(policy: Policy, *, arms: int = 4, states: int = 2, rounds: int = 64, plays: int = 1) -> None:
    """Check that `policy` keeps the contract `simulate` relies on.

    Its leaves are numbers; `init`, `scores` and `update` are pure, do the same with and without jit, in a batch and
    alone; shapes and types of its state never change; scores are [arms] floats and never NaN.

    Args:
      arms, states: of the random problem it is tried on.
      rounds: how many rounds are tried.
      plays: arms played a round.

    Raises:
      AssertionError: what is broken, with the method's name.
      ValueError: from the policy's own `validate`.

    >>> import jaxbandit
    >>> check_policy(jaxbandit.TVKLUCB())
    """
    name = type(policy).__name__
    for part in ("init", "scores", "update"):
        assert hasattr(policy, part), f"{name}: has no {part}"
    _check_leaves(name, policy)
    transition = np.random.default_rng(0).dirichlet(np.ones(states), (arms, states))
    environment = markov(transition, np.linspace(0, 1, states))
    reward = jnp.asarray(environment.reward, float)
    validate = getattr(policy, "validate", None)
    if validate is not None:
        validate(environment.reward)
    state = policy.init(reward)
    shapes = _shapes(state)
    arms_state = environment.init(key := jax.random.key(1))
    scores_jit, update_jit, play = jax.jit(_scores), jax.jit(_update), jax.jit(environment.step)
    for t in range(1, rounds + 1):
        round_key = jax.random.fold_in(key, t)
        scores = scores_jit(policy, round_key, state, jnp.int32(t))
        _check_scores(name, scores, arms, t)
        if t in (1, arms + 1, rounds):
            plain = policy.scores(round_key, state, jnp.int32(t))
            _close(f"{name}.scores: differs with and without jit in round {t}", scores, plain)
            _close(
                f"{name}.scores: differs when called again in round {t}; it must be pure",
                scores,
                scores_jit(policy, round_key, state, jnp.int32(t)),
            )
        arms_state, feedback = play(key, arms_state, best(scores, plays))
        following = update_jit(policy, state, feedback)
        found = _shapes(following)
        assert found == shapes, f"{name}.update: state changed from {shapes} to {found}; shapes and types must stay"
        state = following
    _check_batch(name, policy, key, state, rounds)


def check_environment(environment: Environment, *, runs: int = 64, plays: int = 64) -> None:
    """Check that `environment` keeps the contract `simulate` relies on.

    Feedback has the right shapes and types; `step` is pure and does the same with and without jit; the n-th play of an
    arm does not depend on what was played in between; no draw is repeated from one play to the next.

    Args:
      runs: number of keys tried.
      plays: plays of each arm.

    Raises:
      AssertionError: what is broken.

    >>> import jaxbandit
    >>> check_environment(jaxbandit.two_state([0.5, 0.4], [0.4, 0.55]))
    """
    name = type(environment).__name__
    for part in ("reward", "means", "init", "step"):
        assert hasattr(environment, part), f"{name}: has no {part}"
    _check_leaves(name, environment)
    reward = np.asarray(environment.reward)
    assert reward.ndim == 2, f"{name}.reward: shape {reward.shape} is not [K, S]"
    arms, states = reward.shape
    assert np.shape(environment.means()) == (arms,), f"{name}.means(): shape {np.shape(environment.means())} is not [K]"
    keys = jax.random.split(jax.random.key(0), runs)
    _check_step(name, environment, keys[0], arms, states)

    def seen(key: Array, order: Array) -> Array:
        def body(state: Any, arm: Array) -> Any:
            state, feedback = environment.step(key, state, arm[None])
            return state, (feedback.before[0], feedback.states[0])

        return jax.lax.scan(body, environment.init(key), order)[1]

    in_turn = jnp.tile(jnp.arange(arms, dtype=jnp.int32), plays)
    in_blocks = jnp.repeat(jnp.arange(arms, dtype=jnp.int32), plays)
    turned = [np.asarray(x).reshape(runs, plays, arms) for x in jax.vmap(seen, (0, None))(keys, in_turn)]
    blocked = [np.asarray(x).reshape(runs, arms, plays) for x in jax.vmap(seen, (0, None))(keys, in_blocks)]
    for left, right in zip(turned, blocked, strict=True):
        assert np.array_equal(np.swapaxes(left, 1, 2), right), (
            f"{name}.step: the n-th play of an arm depends on the plays of other arms; derive each draw from the key, "
            "the arm and the number of the play"
        )
    _check_repeats(name, blocked[0], blocked[1], states)


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
        assert last - first <= 16 * np.spacing(np.abs(last)), (
            f"{type(policy).__name__}: run {run} parts in round {t}, where the scores {last} and {first} are not close"
        )
    return len(parted)


def _check_repeats(name: str, before: np.ndarray, after: np.ndarray, states: int) -> None:
    """A draw is repeated where every run is deterministic in itself although the runs differ."""
    for arm in range(before.shape[1]):
        moves = [  # [run][s]: the states that s was left for
            [set(after[run, arm][before[run, arm] == s].tolist()) for s in range(states)] for run in range(len(before))
        ]
        within = all(len(nexts) <= 1 for run in moves for nexts in run)
        between = any(len(set.union(*[run[s] for run in moves])) > 1 for s in range(states))
        assert not (within and between), (
            f"{name}.step: repeats its draw: within a run arm {arm} always leaves a state the same way, in another run "
            "another; fold the number of the play into the key"
        )


def _check_step(name: str, environment: Environment, key: Array, arms: int, states: int) -> None:
    state = environment.init(key)
    for plays in sorted({1, arms}):
        played = jnp.arange(plays, dtype=jnp.int32)
        following, feedback = environment.step(key, state, played)
        assert isinstance(feedback, Feedback), f"{name}.step: returns no Feedback"
        assert _shapes(following) == _shapes(state), f"{name}.step: the state's shapes or types change"
        for part in ("arms", "before", "states"):
            array = getattr(feedback, part)
            assert array.shape == (plays,) and array.dtype == jnp.int32, f"{name}.step: {part} is not [M] int32"
        assert feedback.rewards.shape == (plays,), f"{name}.step: rewards is not [M]"
        assert jnp.array_equal(feedback.arms, played), f"{name}.step: arms are not those that were played"
        assert bool(((feedback.states >= 0) & (feedback.states < states)).all()), f"{name}.step: a state out of range"
        again = jax.jit(lambda state, played: environment.step(key, state, played))(state, played)
        _close(f"{name}.step: differs with and without jit", again, (following, feedback))


def _check_leaves(name: str, thing: Any) -> None:
    for leaf in jax.tree.leaves(thing):
        numeric = isinstance(leaf, int | float | np.ndarray | np.generic | jax.Array)
        assert numeric, f"{name}: {leaf!r} is not a number; make it a pytree dataclass of numbers (jaxbandit.pytree)"


def _check_scores(name: str, scores: Array, arms: int, t: int) -> None:
    assert scores.shape == (arms,), f"{name}.scores: shape {scores.shape} is not [K] = ({arms},)"
    assert jnp.issubdtype(scores.dtype, jnp.floating), f"{name}.scores: {scores.dtype} is not a float"
    assert not bool(jnp.isnan(scores).any()), f"{name}.scores: NaN in round {t}: {scores}"


def _check_batch(name: str, policy: Policy, key: Array, state: Any, t: int) -> None:
    alone = policy.scores(key, state, jnp.int32(t))
    double = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf], -1), state)
    batch = jax.vmap(lambda state: policy.scores(key, state, jnp.int32(t)), in_axes=-1)(double)
    _close(f"{name}.scores: differs in a batch", batch[1], alone)


def _scores(policy: Policy, key: Array, state: Any, t: Array) -> Array:
    return policy.scores(key, state, t)


def _update(policy: Policy, state: Any, feedback: Feedback) -> Any:
    return policy.update(state, feedback)


def _shapes(tree: Any) -> Any:
    return jax.tree.map(lambda leaf: (jnp.shape(leaf), str(jnp.result_type(leaf))), tree)


def _close(message: str, left: Any, right: Any) -> None:
    for x, y in zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True):
        assert np.allclose(np.asarray(x), np.asarray(y), rtol=1e-5, atol=1e-6, equal_nan=True), message
