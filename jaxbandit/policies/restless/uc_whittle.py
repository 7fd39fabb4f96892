"""UCWhittle: optimistic Whittle indices, for restless arms with observed states."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.base import Feedback, Paid, Pays, Task, per_arm, pytree, static
from jaxbandit.fast import larger
from jaxbandit.planning import l1_ball_max
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.forgetting import Discounted, Window
from jaxbandit.policies.parts.memory import ratio
from jaxbandit.policies.restless.observed_arms import (
    ObservedMoves,
    Seen,
    check_task,
    costs_of,
    episode,
    moves_of,
    nothing_seen,
    paying,
    planned,
)

LEFT_OUT = 1e-4  # discount^m after the m sweeps of value iteration
MOST_PATIENT = 0.999


class Optimistic(NamedTuple):
    """State of `UCWhittle`.

    Fields:
      seen: the moves of all arms that are remembered.
      indices: [K, S], of the optimistic arms of the episode.
      plays: int32, how many arms are played a round; 0 before the first one.
    """

    seen: Seen
    indices: Array
    plays: Array


@pytree
class UCWhittle:
    """UCWhittle: the Whittle index policy for the most optimistic arms in a confidence set, chosen in every episode.

    In episode n each row may be any q with ||q - p||_1 <= scale sqrt(2 S log(4 S K n^4 / eta) / max(1, N)). N is the
    number of moves of the arm from the row's state, with or without a play as the row, and p their frequencies, uniform
    if N = 0. The rows chosen maximise the arm's value at a given price of a play, by m sweeps of value iteration with
    `planning.l1_ball_max`, where discount^m <= 1e-4.
    The M arms with the largest discounted Whittle indices of these rows in their present states are played. The price
    is the M-th largest of the last episode's indices, at the states in which the episode begins, and 0 for the first
    one. Episode n lasts n rounds. In the first round, before any state was seen, the score of an arm is the mean of its
    indices.

    With a memory, only the moves that it keeps are counted, and no episode is longer than a tenth of its rounds: so the
    policy follows arms whose laws change.

    The radius is the source's, which is wide: every row is in the set until N is S log(4 S K n^4 / eta) / 2. Smaller
    scales have no guarantee and often learn faster.

    Args:
      cost: of a play, a number or [K], in the environment's order of arms, and as there if all arms pay; it is
        subtracted from the arm's index.
      paid: "all" if every arm pays for its state in every round, or "played" if only an arm that is played does.
      eta: the failure probability of the source's bound, in (0, 1).
      scale: factor of the radius, at least 0.
      discount: from 0 to 0.999.
      memory: None, or `Discounted` or `Window`.
      pays: the state that pays, "after" for the one moved to or "before" for the one left.
      passive_reward: [K, S], what states pay if all arms pay and theirs is not played; None for the same as if it is.

    Raises:
      ValueError: from `simulate` and `check_policy`, for a field out of range or not as in the environment, arms that
        are not observed, and more than 8 states.

    Source: Wang, Xu, Taneja and Tambe 2023, and the code that its authors have published, for two states, whose rows
    lie in boxes with this radius. Theirs has episodes of one length, counted by n in the radius as here, and prices
    that change within them. With a window Shisher, Tripathi, Chiang and Brinton 2025 (SW-Whittle; read in the
    abstract), who also tune its length, by a bandit over lengths, which is not here.

    >>> policy = UCWhittle(cost=0.2)
    >>> state = policy.init(jnp.array([[0.0, 1.0], [0.0, 1.0]]))
    >>> jax.jit(policy.scores)(None, state, 1)[0].round(4).tolist()  # nothing is known: a play is worth nothing
    [-0.2, -0.2]
    """

    cost: ArrayLike = per_arm(0.0)
    paid: Paid = static("all")
    eta: ArrayLike = 1e-3
    scale: ArrayLike = 1.0
    discount: ArrayLike = 0.9
    memory: Discounted | Window | None = None
    pays: Pays = static("after")
    passive_reward: ArrayLike | None = per_arm(None)

    @classmethod
    def of(cls, arms: Any, **fields: Any) -> UCWhittle:
        """The policy for arms with known costs and payment, and unknown chains.

        Args:
          arms: an environment of restless arms.
          fields: the policy's other fields, by name; what is known of costs and payment is taken from the arms.

        Raises:
          ValueError: the argument and what is wrong with it.
        """
        policy = cls(**costs_of(cls, arms, fields), **fields)
        policy.check_numbers()
        return policy

    def validate(self, task: Task) -> None:
        self.check_numbers()
        check_task(self, task)

    def check_numbers(self) -> None:
        """Raise ValueError for a field that is out of range."""
        checks.number(self, "eta", 0, 1, above=True, below=True)
        checks.number(self, "scale", 0)
        checks.number(self, "discount", 0, MOST_PATIENT)

    def init(self, reward: Array) -> Optimistic:
        reward = jnp.asarray(reward, float)
        return Optimistic(nothing_seen(reward, self.memory), jnp.zeros_like(reward), jnp.int32(0))

    def scores(self, key: Array, state: Optimistic, t: Array) -> tuple[Array, Optimistic]:
        """The scores, and the indices of the optimistic arms if the round begins an episode."""
        number, begins = episode(t, self.memory)
        moves = moves_of(state.seen)

        def plan(before: Array, seen: ObservedMoves, number: Array, plays: Array) -> Array:
            return self.plan(seen, number, nth_largest(seen.scores(before), plays))

        indices = planned(begins, plan, (moves, number, state.plays), state.indices)
        return moves.scores(indices), state._replace(indices=indices)

    def update(self, state: Optimistic, feedback: Feedback) -> Optimistic:
        return state._replace(seen=state.seen.counted(feedback), plays=jnp.int32(feedback.arms.shape[0]))

    def plan(self, seen: ObservedMoves, number: Array, price: Array) -> Array:
        """The indices [K, S] of the optimistic arms of episode `number`, at this price of a play."""
        paid = paying(seen.reward, self.paid, self.passive_reward)
        return seen.indices(self.optimistic(seen, number, price), self.cost, paid, self.pays, self.discount)

    def optimistic(self, seen: ObservedMoves, number: Array, price: Array) -> Array:
        """The rows [K, 2, S, S] that maximise the value of each arm."""
        (arms, states), left = seen.reward.shape, seen.left()
        rows = jnp.where((left > 0)[..., None], ratio(seen.counts, left[..., None]), 1 / states)
        level = jnp.log(4.0 * states * arms) + 4 * jnp.log(number.astype(float)) - jnp.log(jnp.asarray(self.eta, float))
        radius = jnp.asarray(self.scale, float) * jnp.sqrt(2 * states * level / jnp.maximum(left, 1).astype(float))
        paid, discount = paying(seen.reward, self.paid, self.passive_reward), jnp.asarray(self.discount, float)
        price = jnp.broadcast_to(price + jnp.asarray(self.cost, float), (arms,))
        best = jax.vmap(jax.vmap(l1_ball_max))

        def after(values: Array) -> Array:
            """What each new state is worth, without and with a play, [K, 2, S], with its reward if it pays."""
            worth = discount * values[:, None]
            return paid + worth if self.pays == "after" else jnp.broadcast_to(worth, paid.shape)

        def sweep(_: Array, values: Array) -> Array:
            worth = best(rows, radius, after(values))[0]
            worth = worth if self.pays == "after" else paid + worth
            return larger(worth[:, 0], worth[:, 1] - price[:, None])

        sweeps = jnp.ceil(np.log(LEFT_OUT) / jnp.log(discount)).astype(jnp.int32)
        values = jax.lax.fori_loop(0, sweeps + 1, sweep, jnp.zeros_like(seen.reward))
        return best(rows, radius, after(values))[1]


def nth_largest(values: Array, number: Array) -> Array:
    """The `number`-th largest of the values [K], ties in their order; 0 for number 0.

    >>> [float(nth_largest(jnp.array([0.5, 0.9, 0.5]), n)) for n in (0, 1, 2, 3)]
    [0.0, 0.8999999761581421, 0.5, 0.5]
    """
    lower = np.tri(len(values), k=-1, dtype=bool)
    ahead = (values[None] > values[:, None]) | ((values[None] == values[:, None]) & lower)
    return jnp.sum(jnp.where(jnp.sum(ahead, axis=1) == number - 1, values, 0))
