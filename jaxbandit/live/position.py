"""Where a player stands after the events of its log: the policy's state, and what is open."""

from __future__ import annotations

import hashlib
import json
import math
import platform
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit import members
from jaxbandit.arguments import integer
from jaxbandit.base import Feedback, State, described
from jaxbandit.live import arm_order
from jaxbandit.live.decision import Decision
from jaxbandit.live.real_arms import RealArms, check_rewards
from jaxbandit.reward_units import OWN
from jaxbandit.selection import top_arms
from jaxbandit.version import __version__

# of JSON: ["choose", round, id, arms, chances, offered, time], ["answer", id, arm, state, reward],
# ["forget", [id, ..]], ["retire", arm] or ["add", name, names of states, rewards, like, [[state, reward], ..]]
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
) -> tuple[Array, State]:
    """The arms [M] of round t, followed by whether a score is NaN, and the policy's state."""
    key = jax.random.fold_in(jax.random.wrap_key_data(key_data, impl="threefry2x32"), t)
    scores, state = policy.scores(key, state, t)
    lacking = jnp.isnan(scores).any()
    if offered is None:
        arms = top_arms(scores, plays)
    else:  # the largest scores of those offered, the lowest arm first on ties; NaN counts as -inf
        scores = jnp.where(scores == scores, scores, -jnp.inf)
        arms = jnp.lexsort((-jnp.where(scores == 0, 0.0, scores), ~offered))[:plays].astype(jnp.int32)
    return jnp.append(arms, lacking.astype(arms.dtype)), _strong(state)


@jax.jit
def _probabilities(policy: Any, state: State, t: Array) -> Array | None:
    """[K], for policies with probabilities; a program of its own, so that its last bits do not depend on another."""
    probabilities = members.probabilities(policy)
    return None if probabilities is None else probabilities(state, t)


@jax.jit
def _learned(policy: Any, state: State, whole: Array, real: Array, t: Array) -> State:
    """The policy's state after a round: `whole` [3, M] has arms, states before and after, `real` rewards, chances."""
    chances = real[1] if real.shape[0] > 1 else None
    feedback = Feedback(whole[0], whole[1], whole[2], real[0], t, chances=chances)
    return _strong(policy.update(state, feedback))


@jax.jit
def _answer(policy: Any, state: State, t: Array) -> Array:
    """The arm that a policy which stops answers after round t; -1 if it goes on."""
    stops = members.stops(policy)
    return jnp.where(stops.stop(state, t), jnp.asarray(stops.answer(state, t), jnp.int32), -1)


def _strong(state: State) -> State:
    """The state without JAX's weak types, so that one read from a file is no other program."""
    return jax.tree.map(lambda leaf: jax.lax.convert_element_type(leaf, jnp.asarray(leaf).dtype), state)


class Position:
    """The state of a player, which events change; `n` and `digest` are those of the last event."""

    def __init__(self, policy: Any, arms: RealArms, key_data: np.ndarray, code: str, prior: list[list[Any]]) -> None:
        self.policy, self.arms, self.key_data, self.code = policy, arms, key_data, code
        self.random = members.probabilities(policy) is not None
        self.in_order = members.in_order(policy)
        self.n, self.digest = 0, START
        self.round = self.plays = 0
        self.units = check_rewards("states", policy, arms)
        self.state = self._before(arms)
        self.last = [0] * arms.arms  # the state that each arm last showed
        self.open: dict[int, Choice] = {}
        self.together: dict[int, list[Any]] = {}  # by round of several plays: how many are open, the others' outcomes
        self.queues: list[arm_order.Queue] = [[] for _ in range(arms.arms)]  # empty unless `in_order`
        self.retired: list[int] = []
        self.totals: list[list[Any]] = [[0, 0, 0.0] for _ in range(arms.arms)]  # plays, answers, mean reward
        self.decided: list[int] = []  # of a policy that has stopped: its answer, the round and how many answers it had
        self.changed = False  # whether an event has changed it in the present transaction
        for arm, outcomes in prior:
            self._imagine(arm, outcomes)

    def choose(self, plays: int, offered: list[int] | None, time: float) -> Event:
        """Choose the arms of the next round; returns the event."""
        self.changed = True
        arms, chances = self._score(plays, offered)
        event = ["choose", self.round + 1, self.plays, arms, chances, offered, time]
        self._opened(event)
        return event

    def _score(self, plays: int, offered: list[int] | None) -> tuple[list[int], list[float] | None]:
        mask = None if offered is None else np.isin(np.arange(self.arms.arms), offered)
        t = np.int32(self.round + 1)
        arms, self.state = _chosen(self.policy, self.key_data, self.state, t, mask, plays=plays)
        *numbers, lacking = np.asarray(arms).tolist()
        if lacking:
            raise ValueError(f"policy: {type(self.policy).__name__} gave a score NaN in round {self.round + 1}")
        if not self.random:
            return numbers, None
        return numbers, np.asarray(_probabilities(self.policy, self.state, t))[numbers].tolist()

    def _opened(self, event: Event) -> None:
        _, self.round, first, arms, chances, _, time = event
        self.plays = first + len(arms)
        for m, arm in enumerate(arms):
            chance = None if chances is None else chances[m]
            self.open[first + m] = Choice(self.arms.names[arm], first + m, self.round, chance, time)
            self.totals[arm][0] += 1
            if self.in_order:
                self.queues[arm].append([first + m, self.round, None])
        if len(arms) > 1:
            self.together[self.round] = [len(arms), []]

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
                self._closed(self.open.pop(number), [])
            self._decide()
        elif kind == "retire":
            self.retired.append(event[1])
        elif kind == "add":
            *arm, like, outcomes = event[1:]
            self._added(self.arms.with_arm(*arm), like)
            self._imagine(self.arms.arms - 1, outcomes)
        else:
            raise ValueError(f"{kind}: not an event")

    def answer(self, id: Any, state: Any, reward: Any, closed: Callable[[int], Event]) -> Event | None:
        """The event of an answer; None if it was given before; `closed` gives the event that closed a play."""
        place = integer("id", id)
        if not 0 <= place < self.plays:
            raise ValueError(f"id: {place} is unknown; give the id of a choice of this player")
        if place in self.open:
            arm = self.arms.names.index(self.open[place].arm)
            return ["answer", place, arm, *self.arms.outcome(arm, state, reward)]
        kind, _, *old = closed(place)
        if kind == "forget":
            raise ValueError(f"id: {place} was forgotten; its answer is not learned")
        arm, number, paid = old
        if not self._same(self.arms.outcome(arm, state, reward), (number, paid)):
            said = repr(self.arms.states[arm][number]) if self.arms.states else f"reward {paid}"
            raise ValueError(f"id: {place} was answered with {said}; the first answer stays")
        return None

    def _same(self, said: tuple[int, float], old: tuple[int, float]) -> bool:
        """Whether two outcomes are the same; logs of earlier versions have rewards in the policy's float type."""
        if self.arms.reward is not None:
            return said[0] == old[0]
        return said == old or (self.units == OWN and float(self.arms.kind.type(said[1])) == old[1])

    def _answered(self, number: int, arm: int, state: int, reward: float) -> None:
        choice = self.open.pop(number)
        chance = [] if choice.probability is None else [choice.probability]
        self._closed(choice, [[number, arm, state, reward, *chance]])
        totals = self.totals[arm]
        totals[1] += 1
        totals[2] += (reward - totals[2]) / totals[1]
        self._decide()

    def _decide(self) -> None:
        if members.stops(self.policy) is not None and not self.decided:
            best = int(_answer(self.policy, self.state, np.int32(self.round)))
            self.decided = [] if best < 0 else [best, self.round, sum(row[1] for row in self.totals)]

    def decision(self) -> Decision | None:
        """What the policy decided when it stopped; None if it has not."""
        return Decision(self.arms.names[self.decided[0]], *self.decided[1:]) if self.decided else None

    def _closed(self, choice: Choice, outcomes: list[list[Any]]) -> None:
        """Let the policy learn what it may learn now that a play is not open any more."""
        if not self.in_order:
            self._closed_in(choice.round, outcomes)
            return
        arm = self.arms.names.index(choice.arm)
        for t, known, follows in arm_order.closed(self.queues[arm], choice.id, outcomes):
            if follows:
                self._closed_in(t, known)
            else:
                self.last[arm] = known[0][2]

    def _closed_in(self, t: int, outcomes: list[list[Any]]) -> None:
        """Let the policy learn the outcomes of a round if none of its plays is open any more, all of them at once.

        The update of a policy may depend on how many plays a round has, as that of `IMED` does, or count rounds.
        """
        if t in self.together:
            left, known = self.together.pop(t)
            outcomes = sorted([*known, *outcomes])
            if left > 1:
                self.together[t] = [left - 1, outcomes]
                return
        if outcomes:
            _, arms, states, *real = zip(*outcomes)
            self._learn(list(arms), list(states), real, t)

    def _learn(self, arms: list[int], states: list[int], real: list[Any], t: int) -> None:
        whole = np.array([arms, [self.last[arm] for arm in arms], states], np.int32)
        numbers = np.array([self.units.seen(real[0]), *real[1:]], self.arms.kind)
        self.state = _learned(self.policy, self.state, whole, numbers, np.int32(t))
        for arm, state in zip(arms, states):
            self.last[arm] = state

    def _before(self, arms: RealArms) -> State:
        """The policy's state before the first play of these arms."""
        return _initial(self.policy, jnp.asarray(self.units.seen(arms.table), float))

    def _imagine(self, arm: int, outcomes: list[list[Any]]) -> None:
        """Let the policy learn answers that are imagined, as if the arm had been played in the present round."""
        for state, reward in outcomes:
            self._learn([arm], [state], [[reward]], max(self.round, 1))

    def _added(self, arms: RealArms, like: int | None) -> None:
        """One more arm: a new row of every array of the policy's state, or a copy of the row of another arm."""
        rows, start = self.state, like
        if start is None:
            rows, start = self._before(arms), self.arms.arms
        more = jax.tree.map(lambda leaf, row: jnp.concatenate([leaf, row[start : start + 1]]), self.state, rows)
        self.state, self.arms = more, arms
        self.last.append(0 if like is None else self.last[like])
        self.queues.append([])
        self.totals.append([0, 0, 0.0])

    def program(self) -> str:
        """What the bits of a state depend on beside the log: a snapshot of another program is not used."""
        where = f"{jax.default_backend()} {platform.machine()}"
        units = "" if self.units == OWN else f", rewards {self.units.low} + {self.units.span} x"
        return f"jaxbandit {__version__}, jax {jax.__version__}, {self.arms.kind}{units}, {where}, code {self.code}"

    def snapshot(self) -> tuple[str, bytes]:
        """The position as a text of JSON and the bytes of the state's arrays."""
        leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(self.state)]
        header = {
            "program": self.program(),
            "digest": self.digest.hex(),
            "added": self.arms.added,
            "leaves": [[str(leaf.dtype), leaf.shape] for leaf in leaves],
            "open": [list(choice) for choice in self.open.values()],
            "together": [[t, *entry] for t, entry in self.together.items()],
            **{name: getattr(self, name) for name in NUMBERS},
        }
        return json.dumps(header), b"".join(leaf.tobytes() for leaf in leaves)

    def restore(self, header: dict[str, Any], data: bytes) -> bool:
        """Go from the start to the position of a snapshot; returns False, and changes nothing, for another program."""
        if header["program"] != self.program() or any(name not in header for name in NUMBERS):
            return False
        for arm in header["added"]:
            self._added(self.arms.with_arm(*arm), None)
        arrays, start = [], 0
        for name, shape in header["leaves"]:
            kind = jnp.dtype(name)
            size = kind.itemsize * math.prod(shape)
            arrays.append(jnp.asarray(np.frombuffer(data[start : start + size], kind).reshape(shape)))
            start += size
        self.state = jax.tree.unflatten(jax.tree.structure(self.state), arrays)
        self.open = {fields[1]: Choice(*fields) for fields in header["open"]}
        self.together = {t: entry for t, *entry in header["together"]}
        self.digest = bytes.fromhex(header["digest"])
        for name in NUMBERS:
            setattr(self, name, header[name])
        return True


NUMBERS = ("n", "round", "plays", "last", "queues", "retired", "totals", "decided")  # of a snapshot, beside the state
