"""Whittle's index of arms that are seen only when they are played, from what each showed last and how long ago."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from jaxbandit import indices
from jaxbandit.arguments import as_floats, has, integer
from jaxbandit.base import Feedback, Task, paid, pytree
from jaxbandit.policies import checks

MOST_AGES = 1000


class LastSeen(NamedTuple):
    """State of `WhittleLastSeen`.

    Fields:
      states: [K] int32, what each arm showed last; 0 before its first play.
      ages: [K] int32, how many rounds ago, from 1 for the round just played; T for longer ago, or never.
    """

    states: Array
    ages: Array


@pytree
class WhittleLastSeen:
    """The Whittle index rule for restless arms of any number of states that are seen only when they are played.

    Of an arm that showed s, n rounds ago, the player knows that its state has the law e_s P0^(n-1), P0 its law when it
    is not played. So the pair (s, n) is itself the state of a chain that the player sees: a play shows s' with
    probability (e_s P0^(n-1) P1)_s' and leads to (s', 1), and without a play it becomes (s, n + 1). The index of the
    pair is that of this chain, indices[k, s, n - 1]. From n = T on all pairs are taken for one, of an arm in its
    long-run law. Make it with `WhittleLastSeen.of(arms)`.

    Args:
      indices: [K, S, T], in the environment's order of the arms.

    Raises:
      ValueError: from `simulate` and `check_policy`, for a table of another shape or with NaN; from `simulate`, for
        arms whose states are all seen, which `Whittle` is for, and other ones.

    Source: Whittle 1988; Liu and Zhao 2010 and Mate, Killian, Xu, Perrault and Tambe 2020 for two states, with closed
    forms. Ours is the general index on the chain of pairs, cut at T.

    >>> from jaxbandit.environments import restless
    >>> arms = restless([[[0.04, 0.96], [0.01, 0.99]]] * 2, (0, 1), [[[0.97, 0.03], [0.03, 0.97]]] * 2, paid="all")
    >>> policy = WhittleLastSeen.of(arms, ages=30)
    >>> policy.indices[0, :, [0, 9, 29]].round(2).tolist()
    [[11.79, 0.02], [9.0, 1.1], [6.2, 6.2]]
    """

    indices: ArrayLike

    @classmethod
    def of(cls, arms: Any, ages: int = 50, discount: float | None = 0.99) -> WhittleLastSeen:
        """The policy for known arms, on the host, in float64.

        Args:
          arms: an environment of `environments.restless`.
          ages: T, from 2 to 1,000: about as many rounds as an arm that is not played takes to forget its state. The
            work grows as (S T)^4, once for all arms that are alike.
          discount: in [0, 1), or None for the long-run average, which exists only if no rule that plays an arm in some
            pairs can leave it alone for ever in one run and play it for ever in another.

        Raises:
          ValueError: the argument and what is wrong with it, also that an arm is not indexable.
        """
        has("arms", arms, "one of environments.restless", "transition", "reward", "passive")
        ages = integer("ages", ages, 2, MOST_AGES)
        rows, reward = np.asarray(arms.transition), np.asarray(arms.reward)
        wait = rows if arms.passive is None else np.asarray(arms.passive)
        every = paid(arms) == "all"
        known: dict[bytes, np.ndarray] = {}
        tables = []
        for arm, (active, passive, pays) in enumerate(zip(rows, wait, reward, strict=True)):
            name = np.stack([*active, *passive, pays]).tobytes()
            if name not in known:
                played, waiting, earned, kept = _pairs(active, passive, pays, ages)
                found = indices.whittle(
                    played[None],
                    waiting[None],
                    earned,
                    discount=discount,
                    passive_reward=kept if every else None,
                    paid="present",
                )
                if not found.indexable[0]:
                    raise ValueError(f"arms: {arm} is not indexable with discount {discount}; it has no Whittle index")
                table = found.index[0, :-1].reshape(len(pays), ages - 1)
                known[name] = np.concatenate([table, np.full((len(pays), 1), found.index[0, -1])], axis=1)
            tables.append(known[name])
        cost = np.asarray(arms.cost)[:, None, None] if every else 0.0
        return cls(np.stack(tables) - cost)

    def validate(self, task: Task) -> None:
        checks.suits(self, task, ("restless",))
        table, shape = as_floats("indices", self.indices), task.reward.shape
        if table.ndim != 3 or table.shape[:2] != shape or table.shape[2] < 2:
            raise ValueError(f"indices: shape {table.shape} is not [K, S, T] with [K, S] = {shape} and T >= 2")
        if np.isnan(table).any():
            raise ValueError(f"indices: arm {int(np.argwhere(np.isnan(table))[0, 0])} has NaN")

    def reordered(self, order: Array) -> WhittleLastSeen:
        """The policy for arms in another order: place i holds the arm `order[i]`, [K] int32."""
        return WhittleLastSeen(jnp.asarray(self.indices, float)[order])

    def init(self, reward: Array) -> LastSeen:
        arms = reward.shape[:1]
        return LastSeen(jnp.zeros(arms, jnp.int32), jnp.full(arms, jnp.asarray(self.indices).shape[2], jnp.int32))

    def scores(self, key: Array, state: LastSeen, t: Array) -> Array:
        table = jnp.asarray(self.indices, float)
        found: Array = table[jnp.arange(table.shape[0]), state.states, state.ages - 1]
        return found

    def update(self, state: LastSeen, feedback: Feedback) -> LastSeen:
        ages = jnp.minimum(state.ages + 1, jnp.asarray(self.indices).shape[2]).at[feedback.arms].set(1)
        return LastSeen(state.states.at[feedback.arms].set(feedback.states), ages)


def _pairs(
    active: np.ndarray, passive: np.ndarray, reward: np.ndarray, ages: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The chain of pairs (s, n), n < T, and last the pair that stands for all others: rows, and what they pay.

    Returns:
      rows if the arm is played and if it is not, [S (T - 1) + 1] squared, and what each pays on average.
    """
    states = len(reward)
    beliefs = [np.eye(states)]
    for _ in range(ages - 2):
        beliefs.append(beliefs[-1] @ passive)
    long_ago = np.linalg.matrix_power(passive, 2**20)[0]
    law = np.concatenate([np.stack(beliefs, axis=1).reshape(-1, states), long_ago[None]])
    number = states * (ages - 1) + 1
    played, waiting = np.zeros((2, number, number))
    played[:, np.arange(states) * (ages - 1)] = law @ active
    following = np.arange(1, number + 1)
    following[ages - 2 :: ages - 1] = number - 1
    following[-1] = number - 1
    waiting[np.arange(number), following] = 1
    return played, waiting, law @ active @ reward, law @ passive @ reward
