"""Where a player stands after the events of its log: the policy's state, and what is open."""

from __future__ import annotations

import hashlib
import json
import platform
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit import members
from jaxbandit.base import Feedback, State, described
from jaxbandit.live.real_arms import RealArms
from jaxbandit.selection import top_arms
from jaxbandit.version import __version__

# of JSON: ["choose", round, id, arms, chances, offered, time], ["answer", id, arm, state, reward],
# ["forget", [id, ..]], ["retire", arm] or ["add", name, names of states, rewards]
Event = list[Any]
START = hashlib.blake2b(b"", digest_size=16).digest()  # of a log without events


@described
class Choice(NamedTuple):
    """One play that a player chose.

    Fields:
      arm: the name of the arm to play.
      id: the number of the play, from 0; `Player.learn` takes it.
      round: the round, from 1; several plays of one call share it.
      probability: the probability with which a policy with `probabilities` chose the arm; None for all others.
      time: when it was chosen, in seconds since 1970.
    """

    arm: str
    id: int
    round: int
    probability: float | None
    time: float


@jax.jit
def _initial(policy: Any, table: Array) -> State:
    return _strong(policy.init(table))


@partial(jax.jit, static_argnames=("plays",))
def _chosen(
    policy: Any, key_data: Array, state: State, t: Array, offered: Array | None, plays: int
) -> tuple[Array, Array | None, State]:
    """The arms [M] of round t and whether a score is NaN, the arms' probabilities if known, and the policy's state."""
    key = jax.random.fold_in(jax.random.wrap_key_data(key_data, impl="threefry2x32"), t)
    scores, state = policy.scores(key, state, t)
    lacking = jnp.isnan(scores).any()
    if offered is None:
        arms = top_arms(scores, plays)
    else:  # the largest scores of those offered, the lowest arm first on ties; NaN counts as -inf
        scores = jnp.where(scores == scores, scores, -jnp.inf)
        arms = jnp.lexsort((-jnp.where(scores == 0, 0.0, scores), ~offered))[:plays].astype(jnp.int32)
    probabilities = members.probabilities(policy)
    chances = None if probabilities is None else probabilities(state, t)[arms]
    return jnp.append(arms, lacking.astype(arms.dtype)), chances, _strong(state)


@jax.jit
def _learned(policy: Any, state: State, whole: Array, real: Array) -> State:
    """The policy's state after an answer: `whole` is arm, state before, state after, round; `real` reward, chance."""
    chances = real[1:] if real.shape[0] > 1 else None
    feedback = Feedback(whole[:1], whole[1:2], whole[2:3], real[:1], whole[3], chances=chances)
    return _strong(policy.update(state, feedback))


def _strong(state: State) -> State:
    """The state without JAX's weak types, so that one read from a file is no other program."""
    return jax.tree.map(lambda leaf: jax.lax.convert_element_type(leaf, jnp.asarray(leaf).dtype), state)


class Position:
    """The state of a player, which events change; `n` and `digest` are those of the last event."""

    def __init__(self, policy: Any, arms: RealArms, key_data: np.ndarray) -> None:
        self.policy, self.arms, self.key_data = policy, arms, key_data
        self.n, self.digest = 0, START
        self.round = self.plays = 0
        self.state = _initial(policy, jnp.asarray(arms.table, float))
        self.last = [0] * arms.arms  # the state that each arm last showed
        self.open: dict[int, Choice] = {}
        self.retired: list[int] = []
        self.totals: list[list[Any]] = [[0, 0, 0.0] for _ in range(arms.arms)]  # plays, answers, mean reward
        self.changed = False  # whether an event has changed it in the present transaction

    def choose(self, plays: int, offered: list[int] | None, time: float) -> Event:
        """Choose the arms of the next round; returns the event."""
        self.changed = True
        arms, chances = self._score(plays, offered)
        event = ["choose", self.round + 1, self.plays, arms, chances, offered, time]
        self._opened(event)
        return event

    def _score(self, plays: int, offered: list[int] | None) -> tuple[list[int], list[float] | None]:
        mask = None if offered is None else np.isin(np.arange(self.arms.arms), offered)
        arms, chances, self.state = _chosen(
            self.policy, self.key_data, self.state, np.int32(self.round + 1), mask, plays=plays
        )
        *numbers, lacking = np.asarray(arms).tolist()
        if lacking:
            raise ValueError(f"policy: {type(self.policy).__name__} gave a score NaN in round {self.round + 1}")
        return numbers, None if chances is None else np.asarray(chances).tolist()

    def _opened(self, event: Event) -> None:
        _, self.round, first, arms, chances, _, time = event
        self.plays = first + len(arms)
        for m, arm in enumerate(arms):
            chance = None if chances is None else chances[m]
            self.open[first + m] = Choice(self.arms.names[arm], first + m, self.round, chance, time)
            self.totals[arm][0] += 1

    def apply(self, event: Event) -> None:
        """Change the position by an event, which `choose` returned or the log has."""
        self.changed = True
        kind = event[0]
        if kind == "choose":  # the arms that were played, whatever this version of the policy would choose
            self._score(len(event[3]), event[5])
            self._opened(event)
        elif kind == "answer":
            self._answered(*event[1:])
        elif kind == "forget":
            for number in event[1]:
                del self.open[number]
        elif kind == "retire":
            self.retired.append(event[1])
        elif kind == "add":
            self._added(self.arms.with_arm(*event[1:]))
        else:
            raise ValueError(f"{kind}: not an event")

    def _answered(self, number: int, arm: int, state: int, reward: float) -> None:
        choice = self.open.pop(number)
        whole = np.array([arm, self.last[arm], state, choice.round], np.int32)
        real = np.array([reward] if choice.probability is None else [reward, choice.probability], self.kind)
        self.state = _learned(self.policy, self.state, whole, real)
        self.last[arm] = state
        totals = self.totals[arm]
        totals[1] += 1
        totals[2] += (reward - totals[2]) / totals[1]

    def _added(self, arms: RealArms) -> None:
        """One more arm: a new row of every array of the policy's state."""
        fresh, old = _initial(self.policy, jnp.asarray(arms.table, float)), self.arms.arms
        self.state = jax.tree.map(lambda new, leaf: jnp.concatenate([leaf, new[old:]]), fresh, self.state)
        self.arms = arms
        self.last.append(0)
        self.totals.append([0, 0, 0.0])

    @property
    def kind(self) -> Any:
        """The default float type."""
        return jnp.result_type(float)

    def program(self) -> str:
        """What the bits of a state depend on beside the log: a snapshot of another program is not used."""
        return f"jaxbandit {__version__}, jax {jax.__version__}, {np.dtype(self.kind)}, {jax.default_backend()} \
{platform.machine()}"

    def snapshot(self) -> tuple[str, bytes]:
        """The position as a text of JSON and the bytes of the state's arrays."""
        leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(self.state)]
        header = {
            "program": self.program(),
            "digest": self.digest.hex(),
            "added": self.arms.added,
            "leaves": [[str(leaf.dtype), leaf.shape] for leaf in leaves],
            "open": [list(choice) for choice in self.open.values()],
            **{name: getattr(self, name) for name in NUMBERS},
        }
        return json.dumps(header), b"".join(leaf.tobytes() for leaf in leaves)

    def restore(self, header: dict[str, Any], data: bytes) -> bool:
        """Go from the start to the position of a snapshot; returns False, and changes nothing, for another program."""
        if header["program"] != self.program():
            return False
        for arm in header["added"]:
            self._added(self.arms.with_arm(*arm))
        leaves, structure = jax.tree.flatten(self.state)
        arrays, start = [], 0
        for leaf in leaves:
            kind = np.dtype(leaf.dtype)
            part = data[start : start + leaf.size * kind.itemsize]
            arrays.append(jnp.asarray(np.frombuffer(part, kind).reshape(leaf.shape)))
            start += len(part)
        self.state = jax.tree.unflatten(structure, arrays)
        self.open = {fields[1]: Choice(*fields) for fields in header["open"]}
        self.digest = bytes.fromhex(header["digest"])
        for name in NUMBERS:
            setattr(self, name, header[name])
        return True


NUMBERS = ("n", "round", "plays", "last", "retired", "totals")  # what a snapshot has beside the state


def check_some_arms(argument: str, policy: Any, table: np.ndarray) -> None:
    """Raise ValueError for a policy that cannot choose among some of its arms, or whose arms are fixed."""
    name = type(policy).__name__
    if members.probabilities(policy) is not None or members.takes_turns(policy):
        raise ValueError(
            f"{argument}: {name} chooses by chance or in turns among all arms; use an index policy, as UCB1"
        )

    def rows(arms: int) -> list[Any]:
        return jax.tree.leaves(jax.eval_shape(policy.init, jax.ShapeDtypeStruct((arms, table.shape[1]), float)))

    arms = len(table)
    try:
        each_has_one = all(
            a.shape[:1] == (arms,) and b.shape[:1] == (arms + 1,) for a, b in zip(rows(arms), rows(arms + 1))
        )
    except (TypeError, ValueError):  # the policy has a field for this number of arms
        each_has_one = False
    if not each_has_one:
        raise ValueError(f"{argument}: the state of {name} has no row for each arm; use an index policy, as UCB1")
