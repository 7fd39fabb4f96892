"""UCRL2B, optimism with empirical Bernstein bounds, and TUCRL, for processes with unreachable states."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.base import pytree, static, total
from jaxbandit.planning import Plan, box_max
from jaxbandit.policies.processes.moves import Episode, Moves, Rewards
from jaxbandit.policies.processes.optimism import (
    before_first_episode,
    best_plan,
    check_optimist,
    counted,
    episode_scores,
    largest_rewards,
    level,
)


@pytree
class UCRL2B:
    """UCRL2B: `UCRL2` with empirical Bernstein bounds on each entry of a row, which are narrow near 0 and 1.

    Rows have |q_j - p_j| <= sqrt(14 p_j (1 - p_j) b / N) + 49 b / (3 max(1, N - 1)) with b = log(2 S A t / delta), for
    a pair with N tries and the empirical row p, t the first round of the episode.
    Rewards are bounded in the same way; their variance is 0, because the reward of a pair is constant here.

    Args:
      delta: the failure probability of the confidence set, in (0, 1).
      rewards: "learned", as in the source, or "known": the player knows the reward of each pair.

    Raises:
      ValueError: from `simulate` and `check_policy`, for a field out of range, and for a task that is not a decision
        process.

    Source: Fruit, Pirotta and Lazaric 2020 for the algorithm; the constants are those of their program UCRLlib.

    >>> policy = UCRL2B()
    >>> state = policy.init(jnp.array([[0.0, 1.0], [0.0, 1.0]]), jnp.array([0, 0]))
    >>> policy.scores(None, state, 1)[0].tolist()
    [inf, 0.0]
    """

    units = "mapped"

    delta: ArrayLike = 0.05
    rewards: Rewards = static("learned")

    validate, init, update = check_optimist, before_first_episode, counted

    def scores(self, key: Array, state: Episode, t: Array) -> tuple[Array, Episode]:
        return episode_scores(self, state, t)

    def plan(self, seen: Moves, t: Array) -> Plan:
        """The optimistic process in the confidence set of round t, and its optimal actions."""
        return best_plan(self.worth(seen, t), seen, t)

    def worth(self, seen: Moves, t: Array) -> Callable[[Array], Array]:
        return _best_in_box(self, seen, t, *self.box(seen, t))

    def box(self, seen: Moves, t: Array) -> tuple[Array, Array]:
        """Lower and upper confidence bounds on the entries of the rows, [A, S, S] each."""
        return _box(seen, t, self.delta)


@pytree
class TUCRL:
    """TUCRL (truncated UCRL): `UCRL2B` for weakly communicating processes, some of whose states may be unreachable.

    A state is reached if it was visited before or is the present one. A pair of a reached state with more than
    sqrt(t / (S A)) tries is assumed never to move to other states, t the first round of the episode. If all pairs of
    reached states are such pairs, the plan is for these states only. An episode also ends when the process enters a
    new state.

    Args:
      delta: the failure probability of the confidence set, in (0, 1).
      rewards: "learned", as in the source, or "known": the player knows the reward of each pair.

    Raises:
      ValueError: from `simulate` and `check_policy`, for a field out of range, and for a task that is not a decision
        process.

    Source: Fruit, Pirotta and Lazaric 2018.

    >>> import jax
    >>> policy = TUCRL()
    >>> state = policy.init(jnp.array([[0.0, 1.0], [0.0, 1.0]]), jnp.array([0, 0]))
    >>> jax.jit(policy.scores)(None, state, 1)[0].tolist()
    [inf, 0.0]
    """

    units = "mapped"

    delta: ArrayLike = 0.05
    rewards: Rewards = static("learned")

    validate, init, update = check_optimist, before_first_episode, counted

    def scores(self, key: Array, state: Episode, t: Array) -> tuple[Array, Episode]:
        seen = state.seen
        return episode_scores(self, state, t, interrupted=~_left_before(seen)[seen.here])

    def plan(self, seen: Moves, t: Array) -> Plan:
        """The optimistic process in the confidence set of round t, and its optimal actions."""
        reached, enough = self._reached(seen, t)
        among = reached | ~jnp.all(enough | ~reached[None])
        return best_plan(self.worth(seen, t), seen, t, among)

    def worth(self, seen: Moves, t: Array) -> Callable[[Array], Array]:
        return _best_in_box(self, seen, t, *self.box(seen, t))

    def box(self, seen: Moves, t: Array) -> tuple[Array, Array]:
        """Lower and upper confidence bounds on the entries of the rows, [A, S, S] each."""
        reached, enough = self._reached(seen, t)
        low, high = _box(seen, t, self.delta)
        closed = (enough & reached[None])[..., None] & ~reached[None, None]
        return jnp.where(closed, 0, low), jnp.where(closed, 0, high)

    def _reached(self, seen: Moves, t: Array) -> tuple[Array, Array]:
        """The reached states [S] bool, and the pairs with more tries than the threshold [A, S] bool."""
        reached = _left_before(seen) | (jnp.arange(seen.reward.shape[1]) == seen.here)
        return reached, seen.left.astype(float) > jnp.sqrt(jnp.asarray(t, float) / seen.reward.size)


def _left_before(seen: Moves) -> Array:
    """The states that were left before, [S] bool."""
    return total(seen.left.T) > 0


def _box(seen: Moves, t: Array, delta: ArrayLike) -> tuple[Array, Array]:
    rows, tried = seen.rows(), seen.tried()[..., None]
    width = level(2 * seen.reward.size, t, delta)
    off = jnp.sqrt(14 * rows * (1 - rows) * width / tried) + 49 * width / (3 * jnp.maximum(tried - 1, 1))
    return jnp.maximum(rows - off, 0), jnp.minimum(rows + off, 1)


def _best_in_box(policy: UCRL2B | TUCRL, seen: Moves, t: Array, low: Array, high: Array) -> Callable[[Array], Array]:
    width = level(2 * seen.reward.size, t, policy.delta)
    reward = largest_rewards(policy, seen, 49 * width / (3 * jnp.maximum(seen.tried() - 1, 1)))
    free = jnp.all((low == 0) & (high == 1), axis=-1)  # so that such pairs have the same value to the last digit

    def of_pairs(values: Array) -> Array:
        return reward + jnp.where(free, jnp.max(values), box_max(low, high, values)[0])

    return of_pairs
