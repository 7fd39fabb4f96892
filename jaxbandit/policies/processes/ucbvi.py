"""UCBVI: optimistic value iteration for episodic decision processes."""

from __future__ import annotations

import dataclasses
from typing import Literal, NamedTuple, get_args

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.arguments import LARGEST_INTEGER, integer
from jaxbandit.base import Feedback, Task, pytree, static, total
from jaxbandit.fast import add_one
from jaxbandit.feedback import check_feedback
from jaxbandit.planning import backward_induction
from jaxbandit.policies.parts import checks
from jaxbandit.policies.processes.moves import Moves, nothing_seen
from jaxbandit.policies.processes.optimism import level
from jaxbandit.policies.processes.process_checks import episodes

Bonus = Literal["CH", "BF"]


class Steps(NamedTuple):
    """State of `UCBVI`.

    Fields:
      seen: the moves.
      visits: [H, S] int32, the visits of each state in each step; None with the bonus "CH".
      worth: [H, A, S], upper bounds on the rewards of the rest of the episode from each pair on.
    """

    seen: Moves
    visits: Array | None
    worth: Array


@pytree
class UCBVI:
    """UCBVI (upper confidence bound value iteration): in episodes of H steps the action with the largest upper bound on
    the rewards until their end.

    Before each episode, from its last step back to its first, Q_h(s, a) = min(Q_h of the episode before, H,
    r + p V_{h+1} + scale * bonus), H for an untried pair, V_h = max over a of Q_h and V_{H+1} = 0. With
    L = log(5 S A n / delta), for a pair with N tries and the empirical row p, the bonus is 7 H L / sqrt(N) ("CH"), or
    sqrt(8 L Var_p(V_{h+1}) / N) + 14 H L / (3 N)
    + sqrt((8 / N) sum over y of p(y) min(10^4 H^3 S^2 A L^2 / N_{h+1}(y), H^2)) ("BF"), where N_h(y) counts the
    visits of y in step h; the minimum is H^2 for a state not visited in step h + 1, and for all states in the last
    step. Counts of pairs are of all steps together.

    Rewards are known, and mapped to [0, 1] if they lie outside. The proved regret bounds are vacuous before millions of
    rounds, and the bonus is accordingly large; in practice the scale is far below 1.

    Args:
      steps: H, rounds of an episode, as in the environment.
      horizon: n, the number of rounds, positive.
      bonus: "BF" (Bernstein and Freedman, default) or "CH" (Chernoff and Hoeffding).
      delta: the failure probability of the confidence bounds, in (0, 1).
      scale: of the bonus, at least 0; 1 in the source.

    Raises:
      ValueError: from `simulate` and `check_policy`, for a field out of range, and unless the task is a decision
        process with episodes of H rounds.

    Source: Azar, Osband and Munos 2017, algorithms 1 to 4.

    >>> policy = UCBVI(steps=5, horizon=1000)
    >>> state = policy.init(jnp.array([[0.0, 1.0], [0.0, 1.0]]), jnp.array([0, 0]))
    >>> policy.scores(None, state, jnp.int32(1))[0].tolist()
    [5.0, 5.0]
    """

    units = "mapped"

    steps: int = dataclasses.field(metadata={"static": True})
    horizon: ArrayLike
    bonus: Bonus = static("BF")
    delta: ArrayLike = 0.05
    scale: ArrayLike = 1.0

    def validate(self, task: Task) -> None:
        checks.one_play(self, task)
        steps, rounds = integer("steps", self.steps, 1, LARGEST_INTEGER), episodes(self, task)
        if rounds != steps:
            raise ValueError(f"steps: {self.steps}, and episodes of {task.name} have {rounds} rounds; give these")
        checks.number(self, "horizon", 0, above=True)
        checks.horizon(self, task)
        checks.choice(self, "bonus", get_args(Bonus))
        checks.number(self, "delta", 0, 1, above=True, below=True)
        checks.number(self, "scale", 0)

    def init(self, reward: Array, shown: Array) -> Steps:
        visits = jnp.zeros((self.steps, reward.shape[1]), jnp.int32) if self.bonus == "BF" else None
        return Steps(nothing_seen(reward, shown), visits, jnp.full((self.steps, *reward.shape), float(self.steps)))

    def scores(self, key: Array, state: Steps, t: Array) -> tuple[Array, Steps]:
        """The scores, and the bounds for the episode if the round begins one."""
        h = (t - 1) % self.steps
        turns = jnp.where(h == 0, self.steps, 0)  # all runs plan in the same rounds
        worth = self.plan(state.seen, state.visits, state.worth, turns)
        return worth[h][:, state.seen.here], state._replace(worth=worth)

    def update(self, state: Steps, feedback: Feedback) -> Steps:
        check_feedback(feedback, *state.seen.reward.shape, last=state.seen.here)
        visits = state.visits
        if visits is not None:
            visits = add_one(visits, ((feedback.t - 1) % self.steps)[None], feedback.before)
        return state._replace(seen=state.seen.counted(feedback), visits=visits)

    def plan(self, seen: Moves, visits: Array | None, worth: Array, turns: ArrayLike | None = None) -> Array:
        """Q [H, A, S] of the new episode, from that of the last one, in `turns` steps; with 0 it is unchanged."""
        rows, tried, untried = seen.rows(), seen.tried(), seen.left == 0
        amount = level(5 * seen.reward.size, jnp.asarray(self.horizon, float), self.delta)

        def of_step(h: Array, after: Array, before: Array) -> Array:
            mean = total(rows * after[None, None])
            if visits is None:
                bonus = 7 * self.steps * amount / jnp.sqrt(tried)
            else:
                bonus = self._bernstein(h, after, mean, rows, tried, visits, amount)
            upper = jnp.minimum(seen.reward + mean + self.scale * bonus, jnp.minimum(before, self.steps))
            return jnp.where(untried, float(self.steps), upper)

        return backward_induction(of_step, worth, turns)

    def _bernstein(
        self, h: Array, after: Array, mean: Array, rows: Array, tried: Array, visits: Array, amount: Array
    ) -> Array:
        steps, (actions, states) = self.steps, mean.shape
        variance = total(rows * (after[None, None] - mean[..., None]) ** 2)
        there = visits[jnp.minimum(h + 1, steps - 1)].astype(float)
        most = 1e4 * steps**3 * states**2 * actions * amount**2 / jnp.maximum(there, 1)
        off = jnp.where((there > 0) & (h + 1 < steps), jnp.minimum(most, steps**2), steps**2)
        return (
            jnp.sqrt(8 * amount * variance / tried)
            + 14 * steps * amount / (3 * tried)
            + jnp.sqrt(8 / tried * total(rows * off[None, None]))
        )
