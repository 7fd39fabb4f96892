"""Joint KL-UCB: KL-UCB on the likelihood of an arm's Markov chain."""

from __future__ import annotations

from typing import get_args

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.base import Feedback, Task, pytree, static, total
from jaxbandit.confidence import chain_mean_upper
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.exploration import Clock, level
from jaxbandit.policies.parts.memory import ChainMemory, Forgets, counts_whole, no_transitions, remembered


@pytree
class JointKLUCB:
    """Joint KL-UCB, KL-UCB for Markov chains: the arm with the largest stationary mean over its likely chains.

    With n_sj transitions of an arm from state s to state j, N_s departures from s and p_sj = n_sj / N_s, the index is

        max{mean(Q) : sum over s of N_s KL(p_s || Q_s) <= log f(t)}, mean(Q) the stationary mean of a chain with rows Q,

    f as in `KLUCB`: all rows share one level, while `KLUCBMC` uses it for the row of the present state alone.

    Args:
      exploration: None for f(t) = 1 + t log^2 t, or a number c for log t + c log log t.
      clock: "round", or "arm" for f(t / T) in place of f(t), T the arm's plays; with exploration=0 the level is then
        log(t / T), that of KL-UCB+.
      memory: None, or `Window`: n and T are then of the remembered plays, and the number of remembered rounds replaces
        t.

    Raises:
      ValueError: from `simulate` and `check_policy`, for a field out of range, or a discount, because the bound needs
        integer counts.

    Source: Burnetas and Katehakis 1996 and 1997 for the ball of likely chains; Garivier and Cappe 2011 for the level,
    and for KL-UCB+. For chains these levels are tested by simulation, not proved; for `IMEDMC` there is a proof.

    >>> policy = JointKLUCB(exploration=0.0)
    >>> state = policy.init(jnp.array([[0.0, 1.0], [0.0, 1.0]]))
    >>> state = state._replace(counts=jnp.array([[[60, 40], [40, 20]], [[0, 0], [0, 0]]]))
    >>> [round(score, 4) for score in policy.scores(None, state, 100)[0].tolist()]
    [0.4896, inf]
    """

    units = "mapped"

    exploration: ArrayLike | None = None
    clock: Clock = static("round")
    memory: Forgets | None = None

    def validate(self, task: Task) -> None:
        checks.suits(self, task)
        if self.exploration is not None:
            checks.number(self, "exploration")
        checks.choice(self, "clock", get_args(Clock))
        checks.memory(self, task)
        if not counts_whole(self.memory):
            raise ValueError(
                "memory: JointKLUCB needs integer counts of transitions, which Discounted does not keep; give a "
                "Window, or your own memory with integer counts"
            )

    def init(self, reward: Array) -> ChainMemory:
        return no_transitions(reward, self.memory)

    def scores(self, key: Array, state: ChainMemory, t: Array) -> tuple[Array, ChainMemory]:
        plays = total(total(state.counts))
        most = jnp.broadcast_to(level(remembered(self.memory, t), self.exploration, self.clock, plays), plays.shape)
        return jnp.where(plays == 0, jnp.inf, chain_mean_upper(state.counts, state.reward, most)), state

    def update(self, state: ChainMemory, feedback: Feedback) -> ChainMemory:
        return state.counted(feedback)
