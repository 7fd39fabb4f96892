"""Memory and episodes of policies that learn restless arms with observed states."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.arguments import excerpt
from jaxbandit.base import Feedback, Paid, Task, total
from jaxbandit.fast import computed_once, look_up_each
from jaxbandit.feedback import check_feedback
from jaxbandit.planning import whittle
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.knowledge import laws_of

MOST_STATES = 8  # more states would make the steps of the index a long program


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

    def counted(self, feedback: Feedback) -> ObservedMoves:
        """The moves after a round: one of every arm, played or not, except for the first state that is seen."""
        arms, states = self.reward.shape
        if feedback.shown is None:
            raise ValueError("shown: None; this policy needs the states of all arms: feedback._replace(shown=states)")
        check_feedback(feedback, arms, states)
        played = (feedback.arms[:, None] == jnp.arange(arms, dtype=jnp.int32)[None]).any(axis=0)
        place = (played * states + self.here) * states + feedback.shown
        place = computed_once(jnp.where(self.here < states, place, -1))
        moves = place[:, None] == jnp.arange(2 * states**2, dtype=jnp.int32)[None]
        return ObservedMoves(self.counts + moves.reshape(self.counts.shape), feedback.shown, self.reward)

    def left(self) -> Array:
        """The number of moves of each arm from each state, without and with a play, [K, 2, S] int32."""
        return total(self.counts)

    def scores(self, indices: Array) -> Array:
        """The entries [K] of `indices` [K, S] at the present states; the mean of a row for an arm not yet seen."""
        unseen = total(indices) / indices.shape[1]
        return look_up_each(jnp.concatenate([indices, unseen[:, None]], axis=1), self.here)

    def indices(self, rows: Array, cost: ArrayLike, which: Paid, discount: ArrayLike | None) -> Array:
        """Whittle indices [K, S] of arms that move by the rows [K, 2, S, S], minus the cost of a play.

        Args:
          which: the arms that pay, "played" or "all".
        """
        kept, earned = jnp.moveaxis(total(rows * paying(self.reward, which)[:, :, None]), 1, 0)
        price = jnp.broadcast_to(jnp.asarray(cost, float), self.here.shape)
        return whittle(rows[:, 1], rows[:, 0], earned, kept, discount) - price[:, None]


def nothing_seen(reward: Array) -> ObservedMoves:
    """The moves before the first round, from the rewards of states [K, S]."""
    arms, states = reward.shape
    counts = jnp.zeros((arms, 2, states, states), jnp.int32)
    return ObservedMoves(counts, jnp.full(arms, states, jnp.int32), reward)


def paying(reward: Array, which: Paid) -> Array:
    """The reward of each new state of each arm without and with a play, [K, 2, S].

    Args:
      reward: [K, S], reward of each state.
      which: the arms that pay, "played" or "all".
    """
    return jnp.stack([reward if which == "all" else jnp.zeros_like(reward), reward], axis=1)


def episode(t: ArrayLike) -> tuple[Array, Array]:
    """The number n of the episode of round t, uint32 from 1, and whether the round begins it.

    Episode n takes n rounds: it begins in round 1 + n (n - 1) / 2.

    >>> [(int(number), bool(begins)) for number, begins in map(episode, (1, 2, 3, 4, 7))]
    [(1, True), (2, True), (2, False), (3, True), (4, True)]
    """
    past = jnp.asarray(t).astype(jnp.uint32) - 1
    number = jnp.floor((1 + jnp.sqrt(1 + 8 * past.astype(float))) / 2).astype(jnp.uint32)  # may be off by one
    number = number - (_before(number) > past)
    number = number + (_before(number + 1) <= past)
    return number, _before(number) == past


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
    """All fields of a policy that knows `cost` and `paid` of the arms, but not their chains.

    Args:
      fields: the policy's other fields, by name.

    Raises:
      ValueError: `arms` are not restless, or `cost` or `paid` is among the fields.
    """
    if taken := sorted({"cost", "paid"} & set(fields)):
        raise ValueError(f"{taken[0]}: taken from the arms; leave it out, or call {policy.__name__}({taken[0]}=..)")
    laws = laws_of("arms", arms, "an environment of restless arms", checks.RESTLESS)
    return {"cost": laws.cost, "paid": laws.paid}


def check_task(policy: Any, task: Task) -> None:
    """Raise ValueError unless the arms are restless and observed, with the policy's `cost` and `paid`."""
    checks.suits(policy, task, ("observed",))
    checks.paid_to(policy, task, policy.paid)
    checks.paid_alike(policy, task)
    name, (arms, states) = type(policy).__name__, task.reward.shape
    if states > MOST_STATES:
        raise ValueError(f"{name} is for arms of up to {MOST_STATES} states, and those of {task.name} have {states}")
    checks.of_arms(policy, "cost", arms)
    if policy.paid == "all":
        cost = np.asarray(task.environment.cost)
        if not np.allclose(np.asarray(policy.cost), cost):
            raise ValueError(
                f"cost: {excerpt(policy.cost)}, and in {task.name} a play costs {excerpt(cost.tolist())}; give that"
            )
