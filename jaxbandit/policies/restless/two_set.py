"""The two-set policy: arms that are spread as the relaxation has them play its local control, the others its policy."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.base import Feedback, Task, per_arm, pytree, static, total
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.knowledge import check_made_for, made_for
from jaxbandit.policies.restless.single_arm_plans import HARDLY, single_arm_plans
from jaxbandit.policies.restless.state_tables import LastStates

MOST_STATES = 64  # of programs that are written out
SIZES = 128  # of sets that are tried
STABLE = 1 - 1e-6  # the largest modulus of an eigenvalue with which differences die out
PASSIVE, NEUTRAL, ACTIVE = 0, 1, 2


class TwoSets(NamedTuple):
    """State of `TwoSet`: the states of the arms, and [K] bool, which of them are under local control."""

    seen: LastStates
    local: Array


@pytree
class TwoSet:
    """Two-set policy: a set of arms under optimal local control, and all others by the relaxation's policy.

    The arms must be alike. In the relaxation an arm is in state s with probability shares[s] and played there always
    (active states), never (passive states), or sometimes, in one neutral state. Local control of n arms plays those in
    active states, and arms in the neutral state until n M / K are played, rounded at random. The set under local
    control is one of which this is possible now and later: with z its numbers of arms in each state and m = n / K,
    reach m >= ||z / K - m shares||, where ||x||^2 = x `norm` x' is the sum over rounds of the squared differences
    that local control leaves. It is all arms if they fulfil this; else the last set, made smaller if it must be and
    then as large as possible, along z = shares times a number. Each arm outside of the set is to be played with the
    relaxation's probability of its state. If these are too many, those with the lowest numbers are played; if too few,
    the arms with the highest numbers are played, too. With K arms and M / K fixed the reward of a round is within
    exp(-c K) of the relaxation's for each arm, if the relaxation's policy has one recurrent class without a period, one
    neutral state, and a local control that is stable. If this is not so, no arm is ever under local control, and the
    policy is that of the other arms alone (the ID policy). Make it with `TwoSet.of(arms, plays)`.

    Args:
      chances: [S], the relaxation's probability to play an arm in each state.
      shares: [S], of rounds that an arm is in each state.
      norm: [S, S], symmetric.
      reach: at least 0; 0 for a local control that is not stable.
      initial: [K, S], the law of each arm's state before it is seen.
      plays: M.

    Raises:
      ValueError: from `simulate` and `check_policy`, for a table of another shape or with other numbers, another number
        of plays a round, more than 64 states, and for arms other than those that it was made from.

    Source: Hong, Xie, Chen and Wang 2024, both papers (read in the abstracts and in the authors' programs). Sets along
    one line, and whole numbers in place of margins for rounding, are this project's.

    >>> from jaxbandit.environments import restless
    >>> rows, wait = [[[0.1, 0.9], [0.1, 0.9]]] * 3, [[[0.9, 0.1], [0.3, 0.7]]] * 3
    >>> policy = TwoSet.of(restless(rows, (0, 1), wait, paid="all", observed=True), plays=1)
    >>> policy.chances.round(4).tolist(), policy.shares.round(4).tolist(), round(policy.reach, 4)
    ([1.0, 0.1304], [0.2333, 0.7667], 0.1414)
    """

    chances: ArrayLike
    shares: ArrayLike
    norm: ArrayLike
    reach: ArrayLike
    initial: ArrayLike = per_arm()
    plays: int = static(1)

    @classmethod
    def of(cls, arms: Any, plays: int) -> TwoSet:
        """The policy for known arms that are alike, on the host, in float64.

        Args:
          arms: an environment of `environments.restless`.
          plays: M, arms played a round.

        Raises:
          ValueError: the argument and what is wrong with it; arms of several kinds.
        """
        plans = single_arm_plans(arms, plays)
        if len(plans.kinds) > 1:
            other = int(plans.kinds[1][0])
            raise ValueError(f"arms: must be alike, and arm {other} differs from arm 0; play LPUpdate or LPPriority")
        chances, shares = plans.chances[0], plans.shares[0] / plans.shares[0].sum()
        active, passive = plans.laws.transition[0], plans.laws.passive[0]
        norm, reach = _local_control(active, passive, chances, shares, plays / len(plans.shares))
        return made_for(cls(chances, shares, norm, reach, plans.laws.initial, int(plays)), plans.laws)

    def validate(self, task: Task) -> None:
        checks.suits(self, task, ("observed",), left_may_pay=True)
        checks.plays(self, task, needed=True)
        arms, states = task.reward.shape
        if states > MOST_STATES:
            raise ValueError(
                f"TwoSet: controls shares of up to {MOST_STATES} states, and the arms of {task.name} have {states}"
            )
        checks.table(self, "chances", (states,), 0, 1)
        checks.laws(self, "shares", (states,))
        checks.table(self, "norm", (states, states))
        checks.number(self, "reach", 0)
        checks.laws(self, "initial", (arms, states))
        check_made_for(self, task)

    def init(self, reward: Array) -> TwoSets:
        return TwoSets(LastStates.unseen(reward), jnp.zeros(reward.shape[:1], bool))

    def scores(self, key: Array, state: TwoSets, t: Array) -> tuple[Array, TwoSets]:
        chances = jnp.asarray(self.chances, float)
        local_key, key = jax.random.split(key)
        law = state.seen.law(jnp.asarray(self.initial, float))
        arms, number = law.shape
        here = (state.seen.states[:, None] == jnp.arange(number)[None]).astype(jnp.int32)  # [K, S], 0 if not seen
        sizes = self._set(jnp.sum(here, axis=0), jnp.sum(here * state.local[:, None], axis=0))
        local = _first(here, state.local, sizes)
        kind = jnp.where(chances >= 1, ACTIVE, jnp.where(chances <= 0, PASSIVE, NEUTRAL))
        mine = jnp.sum(here * kind[None], axis=1)
        wanted = (jnp.sum(local) * self.plays + jax.random.randint(local_key, (), 0, arms)) // arms
        neutral = local & (mine == NEUTRAL)
        rest = wanted - jnp.sum(local & (mine == ACTIVE))
        played = (mine == ACTIVE) | (neutral & (jnp.cumsum(neutral) <= rest))
        advice = jax.random.uniform(key, (arms,)) < total(law * chances[None])
        place = jnp.arange(arms) / arms
        others = jnp.where(advice, 3 - place, 1 + place)
        return jnp.where(local, jnp.where(played, 4.0, 0.0), others), TwoSets(state.seen, local)

    def update(self, state: TwoSets, feedback: Feedback) -> TwoSets:
        return state._replace(seen=state.seen.after(feedback, jnp.asarray(self.shares).shape[0]))

    def _set(self, here: Array, before: Array) -> Array:
        """How many arms [S] to control locally, of `here` [S] in each state, `before` [S] of them in the last set."""
        shares, arms = jnp.asarray(self.shares, float), jnp.asarray(self.initial).shape[0]
        lines = jnp.floor(shares[None] * (jnp.arange(1, SIZES + 1)[:, None] * (2 * arms / SIZES))).astype(jnp.int32)

        def largest(sets: Array, otherwise: Array) -> Array:
            sizes = jnp.where(self._controlled(sets), jnp.sum(sets, axis=1), 0)
            return jnp.where(jnp.max(sizes) > 0, sets[jnp.argmax(sizes)], otherwise)

        kept = jnp.where(
            self._controlled(before[None])[0], before, largest(jnp.minimum(before[None], lines), 0 * before)
        )
        larger = largest(jnp.minimum(here[None], jnp.maximum(kept[None], lines)), kept)
        return jnp.where(self._controlled(here[None])[0], here, larger)

    def _controlled(self, sets: Array) -> Array:
        """Whether local control of sets [J, S] of arms is possible and remains so, [J]."""
        chances, shares = jnp.asarray(self.chances, float), jnp.asarray(self.shares, float)
        arms = jnp.asarray(self.initial).shape[0]
        sizes = jnp.sum(sets, axis=1)
        off = (sets - sizes[:, None] * shares[None]) / arms
        squared = total(total(off[:, :, None] * off[:, None] * jnp.asarray(self.norm, float)[None]))
        part = sizes * self.plays  # over `arms` the budget of a set; in whole numbers, so that it is exact
        active = jnp.sum(jnp.where(chances[None] >= 1, sets, 0), axis=1)
        passive = jnp.sum(jnp.where(chances[None] <= 0, sets, 0), axis=1)
        possible = (active <= part // arms) & (passive <= sizes + -part // arms)
        reach = jnp.asarray(self.reach, float)
        return possible & (squared <= (reach * sizes / arms) ** 2) & (reach > 0) & (sizes > 0)


def _first(here: Array, before: Array, sizes: Array) -> Array:
    """Which arms make up a set of sizes [S] in each state: those of the last set first, then by number; [K] bool."""
    old, new = here * before[:, None], here * ~before[:, None]
    rank = jnp.where(before[:, None], jnp.cumsum(old, axis=0), jnp.sum(old, axis=0)[None] + jnp.cumsum(new, axis=0))
    return jnp.any((here > 0) & (rank <= sizes[None]), axis=1)


def _local_control(
    active: np.ndarray, passive: np.ndarray, chances: np.ndarray, shares: np.ndarray, budget: float
) -> tuple[np.ndarray, float]:
    """The norm in which differences die out under local control, and how far it reaches.

    A difference x of a set's shares from the relaxation's becomes x A after a round, where
    A = P - 1 shares' - (chances - budget) (active - passive in the neutral state)', P the relaxation's policy's rows.
    The norm is sum over n of A^n A^n'; the reach is its distance from the relaxation's shares to the nearest shares
    with which the active states alone, or the passive ones, would need more than their part of the budget.
    """
    from scipy.linalg import solve_discrete_lyapunov
    from scipy.optimize import minimize

    neutral = np.flatnonzero((chances > HARDLY) & (chances < 1 - HARDLY))
    identity = np.eye(len(shares))
    if len(neutral) != 1:
        return identity, 0.0
    rows = chances[:, None] * active + (1 - chances)[:, None] * passive
    after = rows - shares - np.outer(chances - budget, (active - passive)[neutral[0]])
    if np.abs(np.linalg.eigvals(after)).max() > STABLE:
        return identity, 0.0
    norm = solve_discrete_lyapunov(after, identity)
    distances = []
    for needs, part in ((chances >= 1, budget), (chances <= 0, 1 - budget)):
        if not needs.any():
            continue
        start = np.where(needs, shares, 0) / shares[needs].sum() if shares[needs].sum() > 0 else needs / needs.sum()
        solved = minimize(
            lambda x: (x - shares) @ norm @ (x - shares),
            start,
            jac=lambda x: 2 * norm @ (x - shares),
            bounds=[(0, 1)] * len(shares),
            constraints=[
                {"type": "eq", "fun": lambda x: x.sum() - 1},
                {"type": "ineq", "fun": lambda x, needs=needs, part=part: x[needs].sum() - part},
            ],
            method="SLSQP",
        )
        distances.append(float(np.sqrt(max(solved.fun, 0.0))))
    return norm, min(distances, default=0.0)
