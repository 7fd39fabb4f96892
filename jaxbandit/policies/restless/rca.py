"""RCA, the regenerative cycle algorithm for restless arms."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit import chains, members
from jaxbandit.base import Feedback, Task, pytree
from jaxbandit.feedback import check_feedback
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.memory import positive, sample_mean, unit_reward

NO_BLOCK_YET = 1e30  # score of an arm without a block: above every index, below the score of an arm in a block


class Cycles(NamedTuple):
    """State of `RCA`: the block of each arm, and the plays within regenerative cycles."""

    phase: Array  # [K] int32: 0 outside of a block, 1 in a block before its cycle, 2 in the cycle
    regenerative: Array  # [K] int32, the state that begins and ends a cycle; -1 before the first play
    counts: Array  # [K, S] int32, plays within cycles that led to the state
    reward: Array  # [K, S], in [0, 1]


@pytree
class RCA:
    """RCA (regenerative cycle algorithm), for restless arms: an arm is played in blocks, and only full cycles count.

    An arm's regenerative state g is the first state that it shows. A block of plays of the arm ends when it has shown g
    twice. Plays before the first visit to g are discarded. The plays from that visit up to, but not including, the
    second one are a regenerative cycle, and are counted. First every arm has one block. After that the next block
    is that of the arm with the largest

        mean + sqrt(L log t2 / T),

    where t2 is the number of counted plays of all arms, T that of this arm, and mean the average reward of these T.
    With M plays a round M blocks run side by side. Within a cycle a restless arm behaves like a rested one, whatever
    its moves between blocks.

    Args:
      L: at least 0. The guarantee is for L >= 112 S^2 r_max^2 p^2 / e with p the largest pi or 1 - pi of a stationary
        probability pi, e the least gap of the multiplicative symmetrisation (`bounds.ucb_sm_constant`), where every
        arm is irreducible and aperiodic; in practice 2, as in `UCB1`.

    Arms have to be irreducible: a block does not end if its arm never returns to the regenerative state. For slowly
    moving arms a block may be longer than the horizon.

    Raises:
      ValueError: from `simulate` and `check_policy`, for a negative L; from `simulate`, for hidden or reducible arms.

    Source: Tekin and Liu 2012, sections IV and V (RCA, RCA-M). There t2 grows when a block ends, here with every
    counted play; with one play a round both are the same.

    >>> import jax
    >>> policy, table = RCA(), jnp.array([[0.0, 1.0], [0.0, 1.0]])
    >>> state = jax.jit(policy.update)(policy.init(table), Feedback.of(0, 1.0, t=1, table=table))
    >>> state.phase.tolist(), jax.jit(policy.scores)(None, state, 2)[0].tolist() == [jnp.inf, jnp.float32(1e30)]
    ([2, 0], True)
    """

    units = "mapped"

    L: ArrayLike = 2.0

    def validate(self, task: Task) -> None:
        checks.suits(self, task, ("rested", *checks.RESTLESS))
        checks.number(self, "L", 0)
        laws = members.known(task.environment)
        for arm, rows in enumerate(() if laws is None else laws.transition):
            if not all(len(states) == len(rows) for states in chains.recurrent_classes(rows)):
                raise ValueError(
                    f"RCA needs irreducible arms; arm {arm} of {task.name} has a state to which it does not return, so "
                    "that a block that begins there never ends"
                )

    def init(self, reward: Array) -> Cycles:
        arms = reward.shape[0]
        outside, unknown = jnp.zeros(arms, jnp.int32), jnp.full(arms, -1, jnp.int32)
        return Cycles(outside, unknown, jnp.zeros(reward.shape, jnp.int32), unit_reward(reward))

    def scores(self, key: Array, state: Cycles, t: Array) -> tuple[Array, Cycles]:
        mean, plays = sample_mean(state.counts, state.reward)
        counted = positive(plays.sum())
        index = mean + jnp.sqrt(self.L * jnp.log(counted) / positive(plays))
        index = jnp.where(state.regenerative < 0, NO_BLOCK_YET, index)
        return jnp.where(state.phase > 0, jnp.inf, index), state

    def update(self, state: Cycles, feedback: Feedback) -> Cycles:
        check_feedback(feedback, *state.counts.shape)
        arms, states = feedback.arms, feedback.states
        phase, first = state.phase[arms], state.regenerative[arms]
        first = jnp.where(first < 0, states, first)
        returned = states == first
        ends = (phase == 2) & returned
        counted = ((phase == 2) | returned) & ~ends
        following = jnp.where(ends, 0, jnp.where(counted, 2, 1))
        return state._replace(
            phase=state.phase.at[arms].set(following),
            regenerative=state.regenerative.at[arms].set(first),
            counts=state.counts.at[arms, states].add(counted.astype(jnp.int32)),
        )
