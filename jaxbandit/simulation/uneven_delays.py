"""Feedback that is delayed by other numbers of rounds in other rounds, and the delays that `simulate` takes."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from jaxbandit import members
from jaxbandit.arguments import LARGEST_INTEGER, as_floats, excerpt, integer
from jaxbandit.base import Feedback, Policy, State, per_arm, pytree, static
from jaxbandit.delays import LARGEST_WORD, Delays
from jaxbandit.fast import read_own, threefry
from jaxbandit.simulation.delayed import Delayed, Pending, Shapes, kept_with, room
from jaxbandit.wrapping import Wrapper

Delay = int | ArrayLike | Delays  # what `simulate` takes
IN_ORDER = ("restless", "observed", "restarting", "colliding", "decision process")  # problems of states that go on
WORD = 32


@pytree
class GivenDelays:
    """Delays that are given for each round, or for each round and arm.

    Fields:
      due: [N] or [N, K] int32, the round after which the feedback of each round is due; 0 if that is after round N.
      places: the largest number of rounds from a play to its feedback, both included.
    """

    due: Array | np.ndarray
    places: int = static(1)


@pytree
class DelayedUnevenly(Wrapper):
    """A policy whose feedback is delayed by other numbers of rounds in other rounds.

    The feedback of a round with the delay d, in the batch whose last round is e, reaches the policy after round e + d.
    What arrives after the same round is handed on in the order of the rounds in which it was played. For a policy that
    needs each arm's feedback `in_order`, that of a play is not due before that of the arm's earlier plays.

    Fields:
      policy: the policy.
      law: of the delays.
      arms: [K] int32, the row of the law of each arm; None if all arms have one law.
      batch, shapes: as in `Delayed`.
    """

    policy: Policy
    law: Delays | GivenDelays
    arms: Array | np.ndarray | None = per_arm(None)
    batch: int = static(1)
    shapes: Shapes = static(())

    @property
    def places(self) -> int:
        """The number of rounds whose feedback is kept, a multiple of 32."""
        least = self.law.longest + self.batch if isinstance(self.law, Delays) else self.law.places
        return -(-least // WORD) * WORD

    def init(self, *arguments: Array) -> Pending:
        """The policy's state before the first round, and empty arrays for pending feedback."""
        drawn = isinstance(self.law, Delays)
        kept = drawn or self.arms is not None or self.in_order
        due = jnp.zeros(self.places, jnp.int32) if kept else None
        bits = jnp.uint32(0) if drawn else None
        last = jnp.zeros(len(arguments[0]), jnp.int32) if self.in_order else None
        return Pending(self.policy.init(*arguments), room(self.shapes, self.places), due, bits, last)

    def scores(self, key: Array, state: Pending, t: Array) -> tuple[Array, Pending]:
        """The policy's scores, and the new state with the random bits of this round's delay."""
        scores, state = super().scores(key, state, t)
        if state.bits is not None:  # of a block of the round's key that no policy draws from
            bits, _ = threefry(jax.random.key_data(key), jnp.uint32(LARGEST_WORD), jnp.uint32(0))
            state = state._replace(bits=jnp.minimum(bits, jnp.uint32(LARGEST_WORD - 1)))
        return scores, state

    def update(self, state: Pending, feedback: Feedback) -> Pending:
        """Keep the feedback, and update the policy with the feedback that is due after this round."""
        t, places = feedback.t, self.places
        under_way = kept_with(self, state, feedback, places)
        last = state.last
        age = (t - jnp.arange(places, dtype=jnp.int32)) % places  # of the feedback at each place, in rounds
        if state.due is None:
            kept, due = None, jnp.where(age < t, self._due(None, feedback, t - age), 0)
        else:
            now = self._due(state.bits, feedback, t)
            if last is not None:
                now = jnp.maximum(jnp.where(now > 0, now, LARGEST_INTEGER), last[feedback.arms].max())  # 0: never
                last = last.at[feedback.arms].set(now)
            kept = due = jax.lax.dynamic_update_index_in_dim(state.due, now, t % places, 0)

        def receive(carry: tuple[Array, State]) -> tuple[Array, State]:
            flags, policy_state = carry
            place, left = _oldest(flags, t % places)
            round_played = t - (t - place) % places
            seen = read_own(under_way, place)
            return left, self.policy.update(policy_state, Feedback(**seen, t=round_played))

        flags = _packed(due == t)
        _, policy_state = jax.lax.while_loop(lambda carry: (carry[0] != 0).any(), receive, (flags, state.policy))
        return Pending(policy_state, under_way, kept, state.bits, last)

    def _due(self, bits: Any, feedback: Feedback, rounds: Array) -> Array:
        """The round after which the feedback of these rounds is due."""
        arm = None if self.arms is None else jnp.asarray(self.arms)[feedback.arms[0]]
        if isinstance(self.law, GivenDelays):
            due = jnp.asarray(self.law.due)
            return due[rounds - 1] if arm is None else due[rounds - 1, arm]
        longest, words = self.law.longest, jnp.asarray(self.law.thresholds).reshape(-1)
        start = 0 if arm is None else arm * longest
        delay, step = jnp.int32(0), 1 << longest.bit_length() >> 1
        while step:  # the number of thresholds that do not exceed the bits, by bisection
            further = jnp.minimum(delay + step, longest)
            delay = jnp.where(words[start + further - 1] <= bits, further, delay)
            step >>= 1
        return (rounds + self.batch - 1) // self.batch * self.batch + delay


def checked_delay(delay: Delay, batch: int, horizon: int) -> tuple[int | Delays | np.ndarray, int]:
    """Return the delay and the batch size, checked: one integer, a law, or integers [N] or [N, K], N >= horizon."""
    batch = integer("batch", batch, 1, LARGEST_INTEGER)
    if isinstance(delay, Delays):
        return (delay if delay.longest else 0), batch
    if isinstance(delay, list | tuple) or (isinstance(delay, np.ndarray | jax.Array) and delay.ndim):
        return _checked_rounds(delay, horizon), batch
    return _checked_integer(delay, batch, horizon), batch


def check_arms(delay: int | Delays | np.ndarray, arms: int, plays: int, problem: str) -> None:
    """Raise ValueError for delays that these arms, or so many plays a round, cannot have."""
    if isinstance(delay, int):
        return
    if problem in IN_ORDER:
        raise ValueError(
            f"delay: differs between rounds, and a policy follows the states of {problem} arms from round to round; "
            "give one integer"
        )
    rows = _rows(delay)
    if rows not in ((), (arms,)):
        raise ValueError(f"delay: delays of {rows[0]} arms, and there are {arms}; give one of each arm")
    if rows and plays > 1:
        raise ValueError(
            f"delay: differs between arms, and plays is {plays}; a policy learns of all plays of a round at once, so "
            "give delays for rounds"
        )


def in_words(delay: Delays | np.ndarray) -> str:
    """The range of the delays, and whether they are drawn."""
    least = (np.asarray(delay.thresholds) == 0).sum(-1).min() if isinstance(delay, Delays) else delay.min()
    most, how = (delay.longest, "drawn") if isinstance(delay, Delays) else (delay.max(), "given")
    return f"{least:,} to {most:,} rounds late, {how} for each round{' and arm' if _rows(delay) else ''}"


def _rows(delay: Delays | np.ndarray) -> tuple[int, ...]:
    """(K,) if the delays depend on the arm, else ()."""
    return tuple(np.shape(delay.thresholds)[:-1] if isinstance(delay, Delays) else delay.shape[1:])


def _checked_integer(delay: Any, batch: int, horizon: int) -> int:
    delay = integer("delay", delay, 0, LARGEST_INTEGER)
    if (delay or batch > 1) and delay + batch > horizon:
        name = "delay" if delay else "batch"
        first = f"after round {delay + batch:,}" + (f", with batch={batch}" if delay and batch > 1 else "")
        raise ValueError(
            f"{name}: {delay or batch} rounds; the first feedback would reach the policies {first}, and there are "
            f"{horizon:,} rounds (the horizon); give a smaller {name} or a longer horizon"
        )
    return delay


def _checked_rounds(delay: ArrayLike, horizon: int) -> np.ndarray:
    """Delays given for each round, [N] or [N, K], as int64."""
    array = as_floats("delay", delay)
    if array.ndim > 2 or array.size == 0 or not ((array >= 0) & (array <= LARGEST_INTEGER) & (array % 1 == 0)).all():
        raise ValueError(
            f"delay: {excerpt(delay)} are not integers from 0 on, one for each round [N] or for each round and arm "
            "[N, K]; give those, one integer, or a law of jaxbandit.delays"
        )
    if len(array) < horizon:
        raise ValueError(
            f"delay: {len(array):,} rounds, and the horizon is {horizon:,}; give a delay for each round, one integer, "
            "or a law of jaxbandit.delays"
        )
    if (array[:horizon].T + np.arange(1, horizon + 1) > horizon).all():
        raise ValueError(f"delay: no feedback would reach the policies within the horizon, {horizon:,} rounds")
    return array.astype(np.int64)


def delayed(policy: Policy, delay: int | Delays | np.ndarray, batch: int, feedback: Feedback, variants: int) -> Policy:
    """The policy, wrapped if its feedback is delayed or batched.

    Args:
      policy: so many variants, stacked.
      feedback: shapes of the feedback of a round.
    """
    fields = feedback._asdict()
    if members.probabilities(policy) is not None:
        fields["chances"] = jax.ShapeDtypeStruct(feedback.arms.shape, jnp.result_type(float))
    shapes = tuple((name, shape) for name, shape in fields.items() if shape is not None and name != "t")
    if isinstance(delay, int):
        return policy if delay == 0 and batch == 1 else Delayed(policy, delay, batch, shapes)
    law = delay if isinstance(delay, Delays) else given(delay, batch)
    arms = np.arange(*rows, dtype=np.int32) if (rows := _rows(delay)) else None
    law, arms = jax.tree.map(lambda leaf: np.broadcast_to(leaf, (variants, *np.shape(leaf))), (law, arms))
    return DelayedUnevenly(policy, law, arms, batch, shapes)


def _packed(flags: Array) -> Array:
    """32 flags a word: [N] bool to [N / 32] uint32, so that all are read once a round, and not for each that is set."""
    words, width = flags.reshape(-1, WORD).astype(jnp.uint32), WORD
    while width > 1:
        width //= 2
        words = words[:, :width] | (words[:, width:] << width)
    return words[:, 0]


def _oldest(flags: Array, now: Array) -> tuple[Array, Array]:
    """The place of the first flag behind the place `now`, round the ring, and the flags without it."""
    words = flags.shape[0]
    number = jnp.arange(words, dtype=jnp.int32)
    upto = (jnp.uint32(2) << (now % WORD).astype(jnp.uint32)) - jnp.uint32(1)  # the bits up to that of `now`
    behind = jnp.where(number > now // WORD, flags, jnp.where(number == now // WORD, flags & ~upto, jnp.uint32(0)))
    turn = jnp.min(jnp.where(behind != 0, number, jnp.where(flags != 0, number + words, 2 * words)))
    here = number == turn % words
    word = jnp.sum(jnp.where(here, jnp.where(turn < words, behind, flags), jnp.uint32(0)), dtype=jnp.uint32)
    lowest = word & (~word + jnp.uint32(1))
    bit = (jax.lax.bitcast_convert_type(lowest.astype(jnp.float32), jnp.int32) >> 23) - 127  # a power of 2 is exact
    return turn % words * WORD + bit, jnp.where(here, flags & ~lowest, flags)


def given(delay: np.ndarray, batch: int) -> GivenDelays:
    """Delays [N] or [N, K] of rounds, whose feedback is given to the policies in batches."""
    rounds = np.arange(1, len(delay) + 1).reshape(-1, *[1] * (delay.ndim - 1))
    due = -(-rounds // batch) * batch + delay
    due = np.where(due <= len(delay), due, 0)
    return GivenDelays(due.astype(np.int32), int(np.maximum(due - rounds, 0).max()) + 1)
