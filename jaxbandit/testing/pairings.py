"""What the draw of an arm may depend on, by the pairing that an environment declares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit import members
from jaxbandit.base import Environment, reward_table
from jaxbandit.members import declares
from jaxbandit.testing.requirements import require


def _player(environment: Environment, keys: Array) -> Callable[[np.ndarray], list[np.ndarray]]:
    """A function of `order`, by which `order[n]` is played in round n; orders of the same length share one program.

    It returns four arrays [runs, rounds]: the states before and after every play, what it paid, and the state after the
    round, which is another one where an episode ends.
    """

    def of_one(key: Array, order: Array) -> Any:
        def body(state: Any, played: tuple[Array, Array]) -> Any:
            arm, t = played
            state, feedback = environment.step(key, state, arm[None], t)
            now = feedback.states[0] if feedback.shown is None else feedback.shown[arm]
            return state, (feedback.before[0], feedback.states[0], feedback.rewards[0], now)

        rounds = 1 + jnp.arange(len(order), dtype=jnp.int32)
        return jax.lax.scan(body, environment.init(key), (order, rounds))[1]

    of_all = jax.jit(jax.vmap(of_one, (0, None)))
    return lambda order: [np.asarray(x) for x in of_all(keys, np.asarray(order, np.int32))]


def check_plays(name: str, environment: Environment, keys: Array, plays: int) -> list[np.ndarray]:
    """Check that the n-th play of an arm is the same in two orders; return the four arrays as [runs, arms, plays]."""
    arms = len(reward_table(environment))
    play = _player(environment, keys)
    rotating = [x.reshape(-1, plays, arms) for x in play(np.tile(np.arange(arms), plays))]
    blocked = [x.reshape(-1, arms, plays) for x in play(np.repeat(np.arange(arms), plays))]
    for left, right in zip(rotating, blocked, strict=True):
        require(
            np.array_equal(np.swapaxes(left, 1, 2), right),
            f"{name}.step: the n-th play of an arm depends on the plays of other arms; derive each draw from the key, "
            'the arm and the number of the play, or declare Declares(pairing="round")',
        )
    return blocked


def check_rounds(name: str, environment: Environment, keys: Array, plays: int) -> list[np.ndarray]:
    """Check that an arm shows the same in the same rounds whatever the others do.

    The arm is played in a random half of the rounds. In the others it is the next arm, or a random one, which is the
    same if there are two arms. Return what each arm shows if it alone is played, [runs, arms, plays].
    """
    arms = len(reward_table(environment))
    random = np.random.default_rng(0)
    play = _player(environment, keys)
    moves_anyway = declares(environment).problem in ("restless", "observed") and members.passive(environment) is None
    alone = []
    for arm in range(arms):
        own = random.random(plays) < 0.5
        others = (arm + 1) % arms, (arm + 1 + random.integers(arms - 1, size=plays)) % arms
        next_one, any_one = ([x[:, own] for x in play(np.where(own, arm, other))] for other in others)
        require(
            np.array_equal(next_one, any_one),
            f"{name}.step: what arm {arm} shows in a round depends on which of the others were played; derive each "
            "draw from the key, the arm and the round",
        )
        alone.append(play(np.full(plays, arm)))
        require(
            not moves_anyway or np.array_equal(next_one[1], alone[-1][1][:, own]),
            f"{name}.step: the path of arm {arm} depends on when it is played, and there is no `passive` law; derive "
            "each draw from the key, the arm and the round",
        )
    return [np.stack(arrays, axis=1) for arrays in zip(*alone, strict=True)]


def check_shared(name: str, environment: Any, keys: Array, plays: int) -> list[np.ndarray]:
    """Check that all arms share one state, and that a round depends on this state, the arm and the round alone.

    Two players choose arms at random. Return what each arm shows if it alone is played, [runs, arms, plays].
    """
    arms = len(reward_table(environment))
    random = np.random.default_rng(0)
    play = _player(environment, keys)
    first = np.asarray(jax.vmap(lambda key: environment.shown(environment.init(key)))(keys))
    orders = [random.integers(arms, size=plays * arms).astype(np.int32) for _ in range(2)]
    players = [play(order) for order in orders]
    for before, _, _, now in players:
        require(
            (first == before[:, :1]).all() and np.array_equal(before[:, 1:], now[:, :-1]),
            f"{name}.step: the state before a round is not the one that the round before it showed; arms that share "
            "one state all have it",
        )
    alike = (orders[0] == orders[1]) & (players[0][0] == players[1][0])
    require(
        all((left == right)[alike].all() for left, right in zip(*players, strict=True)),
        f"{name}.step: two players in the same state who take the same arm in the same round see different things; "
        "derive each draw from the key and the round",
    )
    alone = [play(np.full(plays, arm)) for arm in range(arms)]
    return [np.stack(arrays, axis=1) for arrays in zip(*alone, strict=True)]


def check_repeats(name: str, before: np.ndarray, after: np.ndarray, states: int) -> None:
    """Check that no draw is repeated: every run would be deterministic, although the runs differ."""
    runs = range(len(before))
    for arm in range(before.shape[1]):
        # [run][s]: the states that followed s
        moves = [[set(after[run, arm][before[run, arm] == s].tolist()) for s in range(states)] for run in runs]
        within = all(len(nexts) <= 1 for run in moves for nexts in run)
        between = any(len(set.union(*[run[s] for run in moves])) > 1 for s in range(states))
        require(
            not (within and between),
            f"{name}.step: repeats its draw: within a run arm {arm} always leaves a state the same way, in another run "
            "another; fold the number of the play into the key",
        )
