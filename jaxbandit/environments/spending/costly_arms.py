"""Rested arms whose plays cost money: the game goes on until a purse is empty or the horizon is reached."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from jaxbandit import chains, indices
from jaxbandit.arguments import LARGEST_INTEGER, excerpt, finite, integer
from jaxbandit.base import Declares, Feedback, Task, pytree
from jaxbandit.environments.rested.markov_arms import MarkovArms, MarkovState, initial_thresholds, long_run_means

DIGITS = 12  # of the comparator: those in which one version of a solver agrees with the next


class CostlyState(NamedTuple):
    """The arms of one run, and its money."""

    arms: MarkovState
    shown: Array  # [K] int32, the state that each arm showed last
    left: Array  # int32, the money left in the purse


@pytree
class CostlyArms:
    """Rested arms whose plays cost money out of a purse of B units: a play that the purse cannot pay for is not made.

    A play of arm k that moves it to state s pays reward[k, s] and costs cost[k, s]. Whether it is made is decided
    before it is drawn: it is made if the purse holds the arm's largest cost. A play that is not made moves nothing and
    pays nothing; it shows the last state, S, which stands for this alone. So a fixed horizon has games that end
    earlier, counts of states tell all rewards and costs, and no play is for free because it would have been too
    expensive. With several plays a round the purse must hold the largest costs of the plays together, in the order of
    `arms`; a play for which it does not is not made.

    Costs and purse are whole numbers, so that the purse is exact. The money spent is recorded as "spent". Regret is
    measured against `indices.best_mixture`, which no policy exceeds on average if plays are independent, and by at most
    a constant if they are not. The result of the n-th play that is made of an arm depends only on the run, the arm and
    n: policies are compared on common random numbers.

    Build it with `costly`, which checks its arguments.

    Fields: `arms`, from which all draws come, `reward` [K, S + 1], `cost` [K, S + 1] int32, and the numbers `purse` and
    `horizon`.
    """

    declares: ClassVar = Declares(problem="costly")

    arms: MarkovArms
    reward: np.ndarray | Array
    cost: np.ndarray | Array
    purse: np.int32 | Array
    horizon: np.int32 | Array

    def means(self) -> np.ndarray:
        """Long-run reward per play of each arm, [K] float64 on the host."""
        return self.arms.means()

    def mean_costs(self) -> np.ndarray:
        """Long-run cost per play of each arm, [K] float64 on the host."""
        return long_run_means(self.arms.transition, np.asarray(self.cost, float)[:, :-1])

    def best_mixture(self, plays: int = 1) -> indices.Mixture:
        """`indices.best_mixture` of these arms, for the purse and the horizon.

        Raises:
          ValueError: `plays` is not a positive integer.
        """
        return indices.best_mixture(self.means(), self.mean_costs(), int(self.purse), int(self.horizon), plays=plays)

    def comparator(self, plays: int) -> float:
        """The reward a round of the best mixture of arms."""
        return float(f"{self.best_mixture(plays).value / int(self.horizon):.{DIGITS}g}")

    def comparator_name(self, plays: int) -> str:
        """The name of the comparator."""
        return "the best mixture"

    def numbers(self) -> dict[str, float]:
        """Numbers for the result: the purse, and what another unit of money is worth at one play a round."""
        return {"purse": int(self.purse), "price": self.best_mixture().price}

    def validate(self, task: Task) -> None:
        """Raise ValueError for another horizon, which is part of the problem."""
        if int(self.horizon) != task.horizon:
            raise ValueError(
                f"horizon: the purse is for {int(self.horizon):,} rounds, and {task.horizon:,} will be played; make "
                f"the arms with horizon={task.horizon}"
            )

    def init(self, key: Array) -> CostlyState:
        """The state before the first round of the run with this environment key."""
        arms = self.arms.init(key)
        return CostlyState(arms, arms.states, jnp.asarray(self.purse, jnp.int32))

    def step(self, key: Array, state: CostlyState, arms: Array, t: Array) -> tuple[CostlyState, Feedback]:
        """Play `arms` [M] int32, distinct, in round `t`; return the new state and what the player sees."""
        cost, nothing = jnp.asarray(self.cost), self.reward.shape[1] - 1
        moved, feedback = self.arms.step(key, state.arms, arms, t)
        most, left, answers = jnp.max(cost, axis=-1)[arms], state.left, []
        for number in range(arms.shape[0]):
            answers.append(most[number] <= left)
            left = left - jnp.where(answers[-1], most[number], 0)
        made = jnp.stack(answers)
        states = jnp.where(made, feedback.states, nothing)
        rewards = jnp.asarray(self.reward, float)[arms, states]
        changed = jnp.zeros_like(state.shown, bool).at[arms].set(made)
        kept = jax.tree.map(lambda new, old: jnp.where(changed, new, old), moved, state.arms)
        following = CostlyState(
            kept, state.shown.at[arms].set(states), state.left - jnp.sum(cost[arms, states], dtype=jnp.int32)
        )
        return following, Feedback(arms, state.shown[arms], states, rewards, t)

    def records(self, state: CostlyState) -> dict[str, Array]:
        """The money spent so far, int32."""
        return {"spent": jnp.asarray(self.purse, jnp.int32) - state.left}


def costly(
    arms: MarkovArms, cost: ArrayLike, purse: int, horizon: int, *, chance: ArrayLike | None = None
) -> CostlyArms:
    """Rested arms whose plays cost money, which ends the game when a purse of B units can pay for no more plays.

    Args:
      arms: from `two_state`, `bernoulli`, `markov` or `random_arms`.
      cost: of a play: one whole number, [K], or [K, S] for costs that depend on the state moved to; at least 0.
      purse: B, a whole number from the largest cost on; in the unit of the costs.
      horizon: n, the number of rounds, which must be that of the simulation.
      chance: None, or the probability [K], or one number, with which a play costs anything at all, independent of
        states and rewards. An arm then has 2 S states: 2 s + 1 after a play that costs and moves the arm to s, and 2 s
        after one that costs nothing.

    Raises:
      ValueError: the argument and what is wrong with it; from `simulate`, for another horizon.

    Source: the model of Badanidiyuru, Kleinberg and Slivkins 2018 (bandits with knapsacks; its text was opened) with
    one purse. There the round that would overdraw the purse is the last; see `CostlyArms` for the rule here.

    >>> from jaxbandit import bernoulli
    >>> arms = costly(bernoulli([0.9, 0.4]), cost=[3, 1], purse=200, horizon=100)
    >>> round(arms.best_mixture().value, 6), arms.best_mixture().shares.round(6).tolist()
    (65.0, [0.5, 0.5])
    """
    if not isinstance(arms, MarkovArms):
        raise ValueError(f"arms: {type(arms).__name__} are not rested arms, such as `markov` makes")
    number, states = arms.reward.shape
    costs = _costs(cost, number, states)
    money = integer("purse", purse, 1, LARGEST_INTEGER)
    if (beyond := np.flatnonzero(costs.max(-1) > money)).size:
        arm = int(beyond[0])
        raise ValueError(f"purse: {money} cannot pay {costs[arm].max():.0f}, the cost of arm {arm}; leave that arm out")
    if chance is not None:
        arms, costs = _with_chance(arms, costs, chance)
    padding = ((0, 0), (0, 1))  # the state of a play that is not made
    return CostlyArms(
        arms=arms,
        reward=np.pad(np.asarray(arms.reward, float), padding),
        cost=np.pad(costs, padding).astype(np.int32),
        purse=np.int32(money),
        horizon=np.int32(integer("horizon", horizon, 1, LARGEST_INTEGER)),
    )


def _costs(cost: ArrayLike, arms: int, states: int) -> np.ndarray:
    """The costs [K, S] of plays, whole numbers in float64."""
    costs = finite("cost", cost)
    if costs.shape not in ((), (arms,), (arms, states)):
        raise ValueError(f"cost: shape {costs.shape} is neither one number nor [K] = ({arms},) nor [K, S]")
    if (costs % 1).any() or (costs < 0).any():
        raise ValueError(
            f"cost: {excerpt(np.asarray(cost).tolist())} is not in whole numbers from 0 on; count in the smallest unit "
            "of money, such as cents"
        )
    if not costs.any():
        raise ValueError("cost: no play costs anything; play the arms without a purse")
    return np.broadcast_to(costs[:, None] if costs.ndim == 1 else costs, (arms, states)).copy()


def _with_chance(arms: MarkovArms, costs: np.ndarray, chance: ArrayLike) -> tuple[MarkovArms, np.ndarray]:
    """The arms with states 2 s + 1 for a play that costs and 2 s for one that does not, and their costs."""
    number, states = costs.shape
    probability = finite("chance", chance)
    if probability.shape not in ((), (number,)) or (probability < 0).any() or (probability > 1).any():
        raise ValueError(
            f"chance: {excerpt(np.asarray(chance).tolist())} is not a probability, one number or [K] = ({number},)"
        )
    each = np.broadcast_to(probability, number)
    laws = np.stack([1 - each, each], axis=-1)
    rows = np.einsum("kst,kc->kstc", np.asarray(arms.transition), laws).reshape(number, states, 2 * states)
    rows = np.repeat(rows, 2, axis=1)
    initial = np.stack([arms.initial, np.zeros_like(arms.initial)], axis=-1).reshape(number, 2 * states)
    doubled = MarkovArms(
        transition=rows,
        reward=np.repeat(arms.reward, 2, axis=1),
        initial=initial,
        transition_thresholds=chains.thresholds(rows, "chance"),
        initial_thresholds=initial_thresholds(initial),
    )
    return doubled, np.stack([np.zeros_like(costs), costs], axis=-1).reshape(number, 2 * states)
