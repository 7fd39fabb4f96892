"""IMED-RL: indexed minimum empirical divergence for ergodic decision processes."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxbandit.base import Feedback, Task, pytree, static, total
from jaxbandit.fast import computed_once, larger, log, smaller
from jaxbandit.planning import value_iteration
from jaxbandit.policies.parts import checks
from jaxbandit.policies.processes.moves import Moves, Rewards, check_learner, nothing_seen

TOLERANCE = 1e-3
MOST_SWEEPS = 100  # in a round; the next round continues from its result
WAITING = 0.1  # in a periodic process value iteration would never satisfy its stopping rule
STEPS = 16  # of Newton's method within brackets
TINY = 1e-9


class Potential(NamedTuple):
    """State of `IMEDRL`: the moves, and the relative values [S] of the last estimate, whose minimum is 0."""

    seen: Moves
    values: Array


@pytree
class IMEDRL:
    """IMED-RL: in the present state the action with the least N K + log N; untried actions first.

    phi are the relative values of the estimated process restricted to each state's skeleton: the actions tried at least
    log(n)^2 times, n the tries of the state's most tried action. With m the largest r + p phi of an action in the
    present state, and U = 1 + max phi, an action that was tried N times has
    K = max over 0 <= x <= 1 / (U - m) of E log(1 - x (r + phi(s') - m)), r and s' from the empirical distribution of
    rewards and next states; K = 0 for the best. Estimates include one observation of a uniform row and, if rewards are
    learned, of the reward 1/2. phi is computed by `planning.value_iteration` with the tolerance 0.001 and waiting 0.1,
    in every round from the phi of the round before, in at most 100 sweeps a round.

    The policy is for ergodic processes, in which every policy visits all states again and again: there its regret
    attains the lower bound. If a good state is hard to reach, a run may never learn its value.

    Args:
      rewards: "learned", as in the source, or "known": the player knows the reward of each pair.
      normalised: False for E log(U - x (..)) in place of E log(1 - x (..)), as in published code: it adds N log U to
        the index of each action but the best, and explores less than the lower bound requires.

    Raises:
      ValueError: from `simulate` and `check_policy`, for a field out of range, and for a task that is not a decision
        process.

    Source: Pesquerel and Maillard 2022.

    >>> policy = IMEDRL()
    >>> state = policy.init(jnp.array([[0.0, 1.0], [0.0, 1.0]]), jnp.array([0, 0]))
    >>> jax.jit(policy.scores)(None, state, 1)[0].tolist()
    [inf, inf]
    """

    units = "mapped"

    rewards: Rewards = static("learned")
    normalised: bool = static(True)

    def validate(self, task: Task) -> None:
        check_learner(self, task)
        checks.truth(self, "normalised")

    def init(self, reward: Array, shown: Array) -> Potential:
        return Potential(nothing_seen(reward, shown), jnp.zeros(reward.shape[1]))

    def scores(self, key: Array, state: Potential, t: Array) -> tuple[Array, Potential]:
        """The scores, and the relative values from which the next round continues."""
        seen, values = state.seen, self.values(state)
        index, tried = self.indices(seen, values), seen.left[:, seen.here]
        return jnp.where(tried == 0, jnp.inf, -index), Potential(seen, values)

    def update(self, state: Potential, feedback: Feedback) -> Potential:
        return state._replace(seen=state.seen.counted(feedback))

    def values(self, state: Potential) -> Array:
        """phi [S], computed from the phi of the round before."""
        seen = state.seen
        left = seen.left.astype(float)
        most = left[0]
        for action in range(1, left.shape[0]):
            most = larger(most, left[action])
        skeleton = left >= (log(larger(most, 1.0)) ** 2)[None]
        rows, reward = computed_once(_rows(seen.counts, left)), self._mean(seen.reward, left)

        def worth(values: Array) -> Array:
            return jnp.where(skeleton, reward + total(rows * values[None, None]), -jnp.inf)

        return value_iteration(worth, state.values, TOLERANCE, most=MOST_SWEEPS, waiting=WAITING).values

    def indices(self, seen: Moves, values: Array) -> Array:
        """N K + log N of each action in the present state, [A]; arbitrary for untried actions."""
        left = seen.left[:, seen.here].astype(float)
        counts = seen.counts[:, seen.here]
        reward = seen.reward[:, seen.here]
        rows = computed_once(_rows(counts, left))
        worth = self._mean(reward, left) + total(rows * values[None])
        best, upper = worth[0], values[0]
        for action in range(1, worth.shape[0]):
            best = larger(best, worth[action])
        for s in range(1, values.shape[0]):
            upper = larger(upper, values[s])
        upper, best = computed_once(1 + upper), computed_once(best)
        law, points = rows, reward[:, None] + values[None]
        if self.rewards == "learned":  # the observation of the reward 1/2 before the first round
            share = 1 / (left + 1)
            law = jnp.concatenate([law * (1 - share)[:, None], law * share[:, None]], axis=-1)
            points = jnp.concatenate([points, jnp.broadcast_to((0.5 + values)[None], rows.shape)], axis=-1)
        divergence = dual(law, points - best, 1 / larger(upper - best, 1e-6))
        if not self.normalised:
            divergence = divergence + log(upper)
        return jnp.where(worth >= best, 0, left * divergence) + log(larger(left, 1.0))

    def _mean(self, reward: Array, left: Array) -> Array:
        return reward if self.rewards == "known" else (0.5 + left * reward) / (left + 1)


def dual(law: Array, above: Array, end: Array) -> Array:
    """The maximum over 0 <= x <= end of the sum of law_j log(1 - x above_j), [..]; law and above [.., J].

    No entry of `above` exceeds 1 / end. The slope falls with x; if it is positive at the end, the maximum is there,
    else safeguarded Newton steps find its root.

    >>> above = jnp.array([0.78, 1.78, 1.92, 2.56]) - 2.329296
    >>> round(float(jax.jit(dual)(jnp.array([0.018, 0.51, 0.45, 0.022]), above, 1 / (3.06 - 2.329296))), 5)
    0.49819
    """

    top = above[..., 0]
    for j in range(1, above.shape[-1]):
        top = larger(top, above[..., j])
    top = computed_once(top)
    short = top[..., None] - above

    def step(n: Array, loop: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        # The slope times 1 - x top, which has the same sign: it stays finite at the end, where the slope may not.
        low, high, x = loop
        inverse = 1 / larger(1 - x[..., None] * above, TINY)
        left = (1 - x * top)[..., None] * inverse
        slope = computed_once(-total(law * above * jnp.where(short > 0, left, 1)))
        steep = total(law * above * short * inverse * inverse)
        low, high = jnp.where(slope > 0, x, low), jnp.where(slope > 0, high, x)
        newton = x - slope / smaller(steep, -TINY)
        inside = (newton > low) & (newton < high)
        return low, high, computed_once(jnp.where(inside, newton, (low + high) / 2))

    high = jnp.broadcast_to(jnp.asarray(end, above.dtype), above.shape[:-1])
    low = jnp.zeros_like(high)
    x = jax.lax.fori_loop(0, STEPS, step, (low, high, high))[2]
    return larger(total(law * log(larger(1 - x[..., None] * above, TINY))), 0.0)


def _rows(counts: Array, left: Array) -> Array:
    """Rows [.., S] of counts and of one observation of a uniform row."""
    return (counts.astype(float) + 1 / counts.shape[-1]) / (left + 1)[..., None]
