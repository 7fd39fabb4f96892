"""UCRL2B, optimism with empirical Bernstein bounds, and TUCRL, for processes with unreachable states."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
from jax import Array

from jaxbandit.base import pytree, total
from jaxbandit.planning import box_max
from jaxbandit.policies.processes.moves import Moves
from jaxbandit.policies.processes.optimism import Optimist, largest_rewards, level


@pytree
class UCRL2B(Optimist):
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

    def worth(self, seen: Moves, t: Array) -> Callable[[Array], Array]:
        low, high = self.box(seen, t)
        width = level(2 * seen.reward.size, t, self.delta)
        reward = largest_rewards(self, seen, 49 * width / (3 * jnp.maximum(seen.tried() - 1, 1)))
        free = jnp.all((low == 0) & (high == 1), axis=-1)  # so that such pairs have the same value to the last digit

        def of_pairs(values: Array) -> Array:
            return reward + jnp.where(free, jnp.max(values), box_max(low, high, values)[0])

        return of_pairs

    def box(self, seen: Moves, t: Array) -> tuple[Array, Array]:
        """Lower and upper confidence bounds on the entries of the rows, [A, S, S] each."""
        rows, tried = seen.rows(), seen.tried()[..., None]
        width = level(2 * seen.reward.size, t, self.delta)
        off = jnp.sqrt(14 * rows * (1 - rows) * width / tried) + 49 * width / (3 * jnp.maximum(tried - 1, 1))
        return jnp.maximum(rows - off, 0), jnp.minimum(rows + off, 1)


@pytree
class TUCRL(UCRL2B):
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

    def _interrupted(self, seen: Moves) -> Array:
        return ~_left_before(seen)[seen.here]

    def _among(self, seen: Moves, t: Array) -> Array:
        reached, enough = self._reached(seen, t)
        return reached | ~jnp.all(enough | ~reached[None])

    def box(self, seen: Moves, t: Array) -> tuple[Array, Array]:
        reached, enough = self._reached(seen, t)
        low, high = super().box(seen, t)
        closed = (enough & reached[None])[..., None] & ~reached[None, None]
        return jnp.where(closed, 0, low), jnp.where(closed, 0, high)

    def _reached(self, seen: Moves, t: Array) -> tuple[Array, Array]:
        """The reached states [S] bool, and the pairs with more tries than the threshold [A, S] bool."""
        reached = _left_before(seen) | (jnp.arange(seen.reward.shape[1]) == seen.here)
        return reached, seen.left.astype(float) > jnp.sqrt(jnp.asarray(t, float) / seen.reward.size)


def _left_before(seen: Moves) -> Array:
    """The states that were left before, [S] bool."""
    return total(seen.left.T) > 0
