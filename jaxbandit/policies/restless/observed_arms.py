"""Memory and episodes of policies that learn restless arms with observed states."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxbandit import members
from jaxbandit.arguments import as_floats, excerpt, has
from jaxbandit.base import Feedback, Paid, Pays, Task, total
from jaxbandit.fast import computed_once, look_up_each
from jaxbandit.feedback import check_feedback
from jaxbandit.members import declares
from jaxbandit.planning import whittle
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.forgetting import Discounted, Fading, Recent, Window
from jaxbandit.policies.parts.knowledge import check_problem
from jaxbandit.policies.parts.memory import Forgets

MOST_STATES = 8  # more states would make the steps of the index a long program
SHARE = 10  # episodes of a policy that forgets are at most a tenth of its memory


class ObservedMoves(NamedTuple):
    """Observed moves of K arms with S states.

    Fields:
      counts: [K, 2, S, S] int32, each arm's moves in rounds without and with a play, by old and new state.
      here: [K] int32, the present state of each arm; S before it was first seen.
      reward: [K, S], reward of each state.
    """

    counts: Array
    here: Array
    reward: Array

    def check(self, feedback: Feedback) -> None:
        """Raise ValueError for feedback that these arms cannot give."""
        shown_by_all(feedback)
        check_feedback(feedback, *self.reward.shape)

    def added(self, feedback: Feedback) -> Array:
        """Which of its counts each arm adds to in this round, [K], from 1; 0 for the first state that is seen."""
        states = self.reward.shape[1]
        place = (played(feedback, self.reward) * states + self.here) * states + shown_by_all(feedback)
        return jnp.where(self.here < states, place + 1, 0)

    def counted(self, feedback: Feedback) -> ObservedMoves:
        """The moves after a round: one of every arm, played or not, except for the first state that is seen."""
        self.check(feedback)
        entries = jnp.arange(1, 2 * self.reward.shape[1] ** 2 + 1, dtype=jnp.int32)
        moves = computed_once(self.added(feedback))[:, None] == entries[None]
        return ObservedMoves(self.counts + moves.reshape(self.counts.shape), shown_by_all(feedback), self.reward)

    def scaled(self, factor: ArrayLike) -> ObservedMoves:
        """The moves with their weights multiplied by `factor`; counts are floats then."""
        return self._replace(counts=self.counts * factor)

    def left(self) -> Array:
        """The number of moves of each arm from each state, without and with a play, [K, 2, S] int32."""
        return total(self.counts)

    def scores(self, indices: Array) -> Array:
        """The entries [K] of `indices` [K, S] at the present states; the mean of a row for an arm not yet seen."""
        unseen = total(indices) / indices.shape[1]
        return look_up_each(jnp.concatenate([indices, unseen[:, None]], axis=1), self.here)

    def indices(self, rows: Array, cost: ArrayLike, paid: Array, pays: Pays, discount: ArrayLike | None) -> Array:
        """Whittle indices [K, S] of arms that move by the rows [K, 2, S, S], minus the cost of a play.

        Args:
          paid: [K, 2, S], of `paying`.
        """
        kept, earned = jnp.moveaxis(total(rows * paid[:, :, None]) if pays == "after" else paid, 1, 0)
        price = jnp.broadcast_to(jnp.asarray(cost, float), self.here.shape)
        return whittle(rows[:, 1], rows[:, 0], earned, kept, discount) - price[:, None]


Seen = ObservedMoves | Recent | Fading  # all moves, or what a memory keeps of them


def nothing_seen(reward: Array, memory: Discounted | Window | None = None) -> Any:
    """What is seen before the first round, from the rewards of states [K, S]; `memory` makes it forget."""
    arms, states = reward.shape
    counts = jnp.zeros((arms, 2, states, states), jnp.int32)
    moves = ObservedMoves(counts, jnp.full(arms, states, jnp.int32), reward)
    return moves if memory is None else memory.initial_state(moves)


def moves_of(seen: Seen) -> ObservedMoves:
    """The moves that are remembered."""
    return seen if isinstance(seen, ObservedMoves) else seen.kept


def shown_by_all(feedback: Feedback) -> Array:
    """The states of all arms after a round, [K].

    Raises:
      ValueError: the feedback has them of the arms played alone.
    """
    if feedback.shown is None:
        raise ValueError("shown: None; this policy needs the states of all arms: feedback._replace(shown=states)")
    return feedback.shown


def played(feedback: Feedback, reward: Array) -> Array:
    """Whether each arm was played, [K], of the rewards [K, S]."""
    return (feedback.arms[:, None] == jnp.arange(len(reward), dtype=jnp.int32)[None]).any(axis=0)


def paying(reward: Array, which: Paid, passive_reward: ArrayLike | None = None) -> Array:
    """The reward of each state of each arm without and with a play, [K, 2, S].

    Args:
      reward: [K, S], reward of each state.
      which: the arms that pay, "played" or "all".
      passive_reward: [K, S], of an arm that is not played, if all pay; None for `reward`.
    """
    kept = reward if passive_reward is None else jnp.asarray(passive_reward, reward.dtype)
    return jnp.stack([kept if which == "all" else jnp.zeros_like(reward), reward], axis=1)


def episode(t: ArrayLike, memory: Forgets | None = None) -> tuple[Array, Array]:
    """The number n of the episode of round t, uint32 from 1, and whether the round begins it.

    Episode n takes n rounds: it begins in round 1 + n (n - 1) / 2. With a memory of R rounds none is longer than R / 10
    rounds, rounded up.

    >>> [(int(number), bool(begins)) for number, begins in map(episode, (1, 2, 3, 4, 7))]
    [(1, True), (2, True), (2, False), (3, True), (4, True)]
    """
    past = jnp.asarray(t).astype(jnp.uint32) - 1
    number = jnp.floor((1 + jnp.sqrt(1 + 8 * past.astype(float))) / 2).astype(jnp.uint32)  # may be off by one
    number = number - (_before(number) > past)
    number = number + (_before(number + 1) <= past)
    begins = _before(number) == past
    if memory is None:
        return number, begins
    longest = jnp.maximum(jnp.ceil(jnp.asarray(memory.rounds, float) / SHARE), 1).astype(jnp.uint32)
    later = past - _before(longest)  # rounds after the first episode of that length began
    long = number >= longest
    return jnp.where(long, longest + later // longest, number), jnp.where(long, later % longest == 0, begins)


def _before(number: Array) -> Array:
    """n (n - 1) / 2, the rounds before episode n, for n up to 2^16 + 1."""
    return (number // 2) * ((number - 1) | 1)


def planned(begins: Array, plan: Callable[..., Array], known: tuple[Any, ...], before: Array) -> Array:
    """The indices `plan(before, *known)` if an episode begins, else the old ones.

    All runs begin their episodes in the same rounds. A loop with one pass or none, not `lax.cond`, keeps the runs as
    the last axis of everything that the plan computes (`fast.over_runs`). The pass number, which is 0, is added to
    `known`, because XLA moves whatever does not depend on it out of the loop and computes it in every round.
    """

    def turn(n: Array, old: Array) -> Array:
        return plan(old, *jax.tree.map(lambda leaf: leaf + n.astype(leaf.dtype), known))

    return jax.lax.fori_loop(0, begins.astype(jnp.int32), turn, before)


def costs_of(policy: type, arms: Any, fields: dict[str, Any]) -> dict[str, Any]:
    """All fields of a policy that knows what the arms cost and which of them and of their states pay, not their chains.

    Args:
      fields: the policy's other fields, by name.

    Raises:
      ValueError: `arms` are not restless, or one of the fields is known of them.
    """
    if taken := sorted({"cost", "paid", "passive_reward", "pays"} & set(fields)):
        raise ValueError(f"{taken[0]}: taken from the arms; leave it out, or call {policy.__name__}({taken[0]}=..)")
    what = "an environment of restless arms"
    has("arms", arms, what, "step")
    check_problem("arms", arms, what, checks.RESTLESS)
    paid, kept = declares(arms).paid, members.passive_reward(arms)
    known = {"cost": np.asarray(arms.cost) if paid == "all" else 0.0, "paid": paid, "pays": declares(arms).pays}
    return known | ({} if kept is None else {"passive_reward": np.asarray(kept)})


def check_task(policy: Any, task: Task) -> None:
    """Raise ValueError unless the arms are restless and observed, and pay and cost what the policy knows."""
    checks.suits(policy, task, ("observed",), left_may_pay=True)
    checks.paid_to(policy, task, policy.paid, policy.pays)
    kept = members.passive_reward(task.environment)
    if policy.passive_reward is None:
        checks.paid_alike(policy, task)
    elif kept is None or not np.array_equal(as_floats("passive_reward", policy.passive_reward), kept):
        raise ValueError(f"passive_reward: is not that of {task.name}; make it with {type(policy).__name__}.of(arms)")
    name, (arms, states) = type(policy).__name__, task.reward.shape
    if states > MOST_STATES:
        raise ValueError(f"{name} is for arms of up to {MOST_STATES} states, and those of {task.name} have {states}")
    checks.of_arms(policy, "cost", arms)
    checks.memory(policy, task)
    if not isinstance(policy.memory, Discounted | Window | None):
        raise ValueError(f"memory: {name} counts moves of all arms; give None, Discounted(0.99) or Window(500)")
    if policy.paid == "all":
        cost = np.asarray(task.environment.cost)
        if not np.allclose(np.asarray(policy.cost), cost):
            raise ValueError(
                f"cost: {excerpt(policy.cost)}, and in {task.name} a play costs {excerpt(cost.tolist())}; give that"
            )
