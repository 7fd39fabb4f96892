"""LP-update: the relaxation is planned anew in every round, from the states in which the arms are."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.arguments import as_floats, integer
from jaxbandit.base import Feedback, Task, per_arm, pytree, static, total
from jaxbandit.planning import fluid_plan
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.knowledge import check_made_for, made_for
from jaxbandit.policies.restless.single_arm_plans import single_arm_plans
from jaxbandit.policies.restless.state_tables import LastStates

MOST_STATES, MOST_STEPS = 16, 64  # of programs that are written out
PARTS = 4096


@pytree
class LPUpdate:
    """LP-update: in every round the first step of the best plan for the next rounds, of arms without fluctuations.

    `planning.fluid_plan` says how many arms of each kind and state to play now, if in each of the next `steps` rounds M
    arms are played and all arms are worth values[kind, s] after them. Its numbers are rounded at random, so that M
    arms are played, and of the arms in states with one chance of a play the whole number below its sum or the one above
    it. Which arms of one kind in one state are played makes no difference.

    With one step this plays by the advantages of `LPPriority`. With more of them it needs no attractor: for arms of one
    kind with M / K fixed, which are ergodic in a sense, the reward of a round is within O(1 / sqrt(K)) of the
    relaxation's for each arm, and within exp(-c K) if the plan is locally stable. Make it with
    `LPUpdate.of(arms, plays)`. The plan is computed in the rounds, for each run in its own states: its cost is that of
    about ten systems of K' S N linear equations with blocks of S, for K' kinds of arms.

    Args:
      transition, passive: [G, S, S], the rows of an arm of each kind that is played, and of one that is not.
      earned, kept: [G, S], what is paid on average for a round in a state in which an arm is played, or is not.
      values: [G, S], what an arm is worth in each state after the plan's rounds.
      kinds: [K], the number of each arm's kind.
      initial: [K, S], the law of each arm's state before it is seen.
      plays: M.
      steps: N, the rounds of a plan, 1 to 64.

    Raises:
      ValueError: from `simulate` and `check_policy`, for a table of another shape or with other numbers, more than 16
        states, another number of plays a round, and for arms other than those that it was made from.

    Source: Gast and Narasimha 2025, and Narasimha and Gast 2025 for arms of several kinds (the abstracts were read).
    That the plan ends with the values of the relaxation is how the second one gets the priority rule from one step;
    the rounding is this project's.

    >>> from jaxbandit.environments import restless
    >>> rows, wait = [[[0.1, 0.9], [0.1, 0.9]]] * 3, [[[0.9, 0.1], [0.3, 0.7]]] * 3
    >>> arms = restless(rows, (0, 1), wait, paid="all", observed=True)
    >>> policy = LPUpdate.of(arms, plays=1)
    >>> policy.kinds.tolist(), policy.values.round(4).tolist()
    ([0, 0, 0], [[0.0, 0.0]])
    """

    transition: ArrayLike
    passive: ArrayLike
    earned: ArrayLike
    kept: ArrayLike
    values: ArrayLike
    kinds: ArrayLike = per_arm()
    initial: ArrayLike = per_arm()
    plays: int = static(1)
    steps: int = static(10)

    @classmethod
    def of(cls, arms: Any, plays: int, steps: int = 10) -> LPUpdate:
        """The policy for known arms, with the relaxation's values, on the host, in float64.

        Args:
          arms: an environment of `environments.restless`.
          plays: M, arms played a round.
          steps: N, the rounds of a plan, 1 to 64.

        Raises:
          ValueError: the argument and what is wrong with it.
        """
        steps = integer("steps", steps, 1, MOST_STEPS)
        plans = single_arm_plans(arms, plays)
        kinds, first = np.empty(len(plans.shares), np.int32), [alike[0] for alike in plans.kinds]
        for number, alike in enumerate(plans.kinds):
            kinds[alike] = number
        active, passive, earned, kept = (law[first] for law in plans.laws.moves)
        policy = cls(active, passive, earned, kept, plans.values[first], kinds, plans.laws.initial, int(plays), steps)
        return made_for(policy, plans.laws)

    def validate(self, task: Task) -> None:
        checks.suits(self, task, ("observed",), left_may_pay=True)
        checks.plays(self, task, needed=True)
        check_made_for(self, task)
        integer("steps", self.steps, 1, MOST_STEPS)
        arms, states = task.reward.shape
        if states > MOST_STATES:
            raise ValueError(
                f"LPUpdate: plans for up to {MOST_STATES} states, and the arms of {task.name} have {states}"
            )
        kinds = as_floats("kinds", self.kinds)
        values = as_floats("values", self.values)
        if values.ndim != 2:
            raise ValueError(f"values: shape {values.shape} is not [G, S], a row for each kind of arms")
        number = len(values)
        if kinds.shape != (arms,) or not np.isin(kinds, np.arange(number)).all():
            raise ValueError(f"kinds: are not [K] = ({arms},) integers from 0 to {number - 1}, the kinds of `values`")
        for name in ("transition", "passive"):
            checks.laws(self, name, (number, states, states))
        checks.laws(self, "initial", (arms, states))
        for name in ("earned", "kept", "values"):
            checks.table(self, name, (number, states))

    def init(self, reward: Array) -> LastStates:
        return LastStates.unseen(reward)

    def scores(self, key: Array, state: LastStates, t: Array) -> tuple[Array, LastStates]:
        law = state.law(jnp.asarray(self.initial, float))
        tables = (self.transition, self.passive, self.earned, self.kept, self.values)
        active, passive, earned, kept, values = (jnp.asarray(table, float) for table in tables)
        kinds = jnp.asarray(self.kinds, jnp.int32)
        of_kind = (kinds[:, None] == jnp.arange(len(values), dtype=jnp.int32)[None]).astype(law.dtype)  # [K, G]
        here = jnp.sum(of_kind[..., None] * in_parts(law)[:, None], axis=0)
        plan = fluid_plan(active, passive, earned, kept, values, here, self.plays, self.steps)
        chances = jnp.clip(plan / jnp.where(here > 0, here, 1), 0, 1)
        mine = in_parts(total(chances[kinds] * law))
        return rounded(mine, jax.random.uniform(key)) + mine / 2, state

    def update(self, state: LastStates, feedback: Feedback) -> LastStates:
        return state.after(feedback, jnp.asarray(self.values).shape[-1])


def in_parts(chances: Array) -> Array:
    """Rounded to whole multiples of 1/4096, so that float32 sums of 4,096 of them are exact in any order."""
    return jnp.round(chances * PARTS) / PARTS


def rounded(chances: Array, uniform: Array) -> Array:
    """1 for arms that are played and 0 for others, [K], so that arm k is played with probability chances[k].

    Systematic sampling (Madow 1949) of the arms in the order of their chances: of arms with one chance, the whole
    number below its sum is played or the one above it, and so is it of all.
    """
    order = jnp.argsort(chances)
    ends = jnp.cumsum(chances[order]) + uniform
    played = jnp.diff(jnp.floor(ends), prepend=0.0)
    return jnp.zeros_like(chances).at[order].set(played)
