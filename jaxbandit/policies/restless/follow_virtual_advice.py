"""Follow the virtual advice: each arm is steered towards a simulated one that the relaxation plays."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.base import Feedback, Task, per_arm, pytree, static, total
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.knowledge import check_made_for, made_for
from jaxbandit.policies.restless.single_arm_plans import single_arm_plans
from jaxbandit.policies.restless.state_tables import LastStates


class Virtual(NamedTuple):
    """State of `FollowVirtualAdvice`.

    Fields:
      seen: the states of the arms.
      states: [K] int32, of the virtual arms when they were last advised; S before the first round.
      advice: [K] bool, whether each virtual arm was played.
      follows: [K] bool, whether the arm was in the virtual arm's state and did what it did, so that the virtual arm
        moves with it.
    """

    seen: LastStates
    states: Array
    advice: Array
    follows: Array


@pytree
class FollowVirtualAdvice:
    """Follow-the-virtual-advice (FTVA): play the arms whose virtual arms are played by the relaxation's policy.

    Each arm has a virtual arm of the same kind. A virtual arm in state s is played with probability chances[k, s], that
    of the relaxation, so that M of them are played on average. Arms are played in this order until M are: those in the
    state of their virtual arm if that is played; the others whose virtual arm is played; those that are not in its
    state and whose virtual arm is not played; the rest. On ties the order is random. An arm that was in the state of
    its virtual arm and did the same takes it along; else the virtual arm moves by itself. Virtual arms begin in the
    relaxation's law. With K arms of one kind and M / K fixed the reward of a round is within O(1 / sqrt(K)) of the
    relaxation's for each arm, if an arm that follows the advice is in the state of its virtual arm after a finite time
    on average (the synchronisation assumption); it need not be indexable, nor have an attractor.
    Make it with `FollowVirtualAdvice.of(arms, plays)`.

    Args:
      chances: [K, S], the probability to play each arm in each state.
      shares: [K, S], of rounds that the relaxation's policy is in each state; the law of the first virtual states.
      transition, passive: [K, S, S], the rows of an arm that is played, and of one that is not.
      plays: M, for which the chances were computed; None for no check.

    Raises:
      ValueError: from `simulate` and `check_policy`, for a table of another shape or that is not of probabilities, for
        another number of plays a round, and for arms other than those that it was made from.

    Source: Hong, Xie, Chen and Wang 2023 (read in the authors' programs and in the abstract). There a state that is
    never met is played with probability 1/2; here it is if a play has a positive advantage.

    >>> from jaxbandit.environments import restless
    >>> rows, wait = [[[0.1, 0.9], [0.1, 0.9]]] * 3, [[[0.9, 0.1], [0.3, 0.7]]] * 3
    >>> arms = restless(rows, (0, 1), wait, paid="all", observed=True)
    >>> FollowVirtualAdvice.of(arms, plays=1).chances.round(4)[0].tolist()
    [1.0, 0.1304]
    """

    chances: ArrayLike = per_arm()
    shares: ArrayLike = per_arm()
    transition: ArrayLike = per_arm()
    passive: ArrayLike = per_arm()
    plays: int | None = static(None)

    @classmethod
    def of(cls, arms: Any, plays: int) -> FollowVirtualAdvice:
        """The policy for known arms, on the host, in float64.

        Args:
          arms: an environment of `environments.restless`.
          plays: M, arms played a round.

        Raises:
          ValueError: the argument and what is wrong with it.
        """
        plans = single_arm_plans(arms, plays)
        law = plans.shares / plans.shares.sum(axis=1, keepdims=True)
        policy = cls(plans.chances, law, plans.laws.transition, plans.laws.passive, int(plays))
        return made_for(policy, plans.laws, "initial")

    def validate(self, task: Task) -> None:
        checks.suits(self, task, ("observed",), left_may_pay=True)
        checks.plays(self, task)
        arms, states = task.reward.shape
        checks.laws(self, "shares", (arms, states))
        checks.table(self, "chances", (arms, states), 0, 1)
        for name in ("transition", "passive"):
            checks.laws(self, name, (arms, states, states))
        check_made_for(self, task)

    def init(self, reward: Array) -> Virtual:
        unseen, no = LastStates.unseen(reward), jnp.zeros(reward.shape[:1], bool)
        return Virtual(unseen, unseen.states, no, no)

    def scores(self, key: Array, state: Virtual, t: Array) -> tuple[Array, Virtual]:
        chances, shares, active, passive = (
            jnp.asarray(table, float) for table in (self.chances, self.shares, self.transition, self.passive)
        )
        moves, plays, ties = jax.random.uniform(key, (3, len(chances)))
        rows = jnp.where(state.advice[:, None, None], active, passive)
        moved = total(jnp.swapaxes(LastStates(state.states).law(shares)[..., None] * rows, 1, 2))
        law = jnp.where((state.states < shares.shape[1])[:, None], moved, shares)
        states = jnp.where(state.follows, state.seen.states, drawn(moves, law))
        advice = plays < total(LastStates(states).law(shares) * chances)
        there = states == state.seen.states
        score = jnp.where(advice, jnp.where(there, 3.0, 2.0), jnp.where(there, 0.0, 1.0)) + ties
        return score, Virtual(state.seen, states, advice, there)

    def update(self, state: Virtual, feedback: Feedback) -> Virtual:
        arms, number = jnp.asarray(self.chances).shape
        played = (feedback.arms[:, None] == jnp.arange(arms, dtype=jnp.int32)[None]).any(axis=0)
        follows = state.follows & (played == state.advice)
        return state._replace(seen=state.seen.after(feedback, number), follows=follows)


def drawn(uniform: Array, law: Array) -> Array:
    """States [K] int32 with the laws [K, S], by uniform numbers [K]."""
    below, number = jnp.zeros_like(uniform), jnp.zeros(uniform.shape, jnp.int32)
    for s in range(law.shape[-1] - 1):
        below = below + law[:, s]
        number = number + (uniform >= below)
    return number
