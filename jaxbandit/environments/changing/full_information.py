"""Full information, or prediction with expert advice: arms that all show their rewards in every round."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit import members
from jaxbandit.arguments import has, truth
from jaxbandit.base import Declares, Feedback, Range, State, Task, pytree, reward_table, static
from jaxbandit.members import declares
from jaxbandit.sums import TwoFloats, add_rewards, add_to_each, no_sums

PROBLEMS = ("rested", "restless", "observed", "changing")


class FullState(NamedTuple):
    """The state of the arms of one run, and what they have paid."""

    environment: State
    outcomes: Array | TwoFloats | None  # [K, K, S] int32, or sums of rewards [K, K]: see `FullInformation`
    rewards: TwoFloats | None  # [K], sums of the rewards of plays where rewards have no finite table, else None


@pytree
class FullInformation:
    """Arms that all move in every round and all show their rewards, of which one is played and paid.

    `Feedback.all_rewards` has the rewards of all arms. Policies for bandit feedback play these arms unchanged, with the
    same rewards in every round, so that the difference is the price of bandit feedback.

    With `pairs` the simulator records "outcomes" [K, K, S] int32: entry [i, j, s] is the number of rounds in which arm
    i was played and arm j moved to state s. With the rewards of the states they give the regret for every replacement
    of arm i by arm j exactly (`metrics.pair_regrets`). Where rewards have no finite table, the entry [i, j] is the sum
    of the rewards of arm j in these rounds, in two floats.

    Build it with `full_information`, which checks its arguments.

    Fields: the `environment` of the arms; `pairs`, static.
    """

    environment: Any
    pairs: bool = static(True)

    @property
    def declares(self) -> Declares:
        """Changing arms remain so; rested ones move in every round, so that they are observed restless arms.

        Rewards without a finite table are independent, and their arms remain rested.
        """
        inner = declares(self.environment).problem
        moves = inner != "changing" and self.reward is not None
        return Declares(pairing="round", problem="observed" if moves else inner, shows="all")

    @property
    def reward(self) -> np.ndarray | Array | None:
        """[K, S], what each state of each arm pays; None if rewards have no finite table."""
        reward: np.ndarray | Array | None = self.environment.reward
        return reward

    @property
    def arms(self) -> int:
        """K."""
        return int(reward_table(self.environment).shape[0])

    @property
    def reward_range(self) -> Range:
        """The least and the largest possible reward."""
        return Task(self.environment).reward_range

    @property
    def breaks(self) -> Any:
        """The rounds in which arms change; None if they do not."""
        return members.breaks(self.environment)

    @property
    def means_now(self) -> Any:
        """The method of the arms, as a function of this state and the round, or None."""
        method = members.means_now(self.environment)
        return method and (lambda state, t: method(state.environment, t))

    def means(self) -> np.ndarray:
        """Long-run reward of a play of each arm, [K] float64 on the host."""
        return np.asarray(self.environment.means(), float)

    def best_arm_falls_short(self, t: Array) -> Any:
        """The best arms of t rounds, each in its round, minus the best fixed arm; None unless there is a table."""
        return members.best_arm_falls_short(self.environment, t)

    def validate(self, task: Task) -> None:
        """Raise ValueError for a task that the arms themselves reject."""
        members.validate(self.environment, task)

    def numbers(self) -> Any:
        """Numbers of the arms for the result."""
        return members.numbers(self.environment)

    def init(self, key: Array) -> FullState:
        """The state before the first round of the run with this environment key."""
        count, states = reward_table(self.environment).shape
        outcomes: Any = None
        if self.pairs:
            sums = TwoFloats(*(jnp.zeros((count, count)) for _ in range(2)))
            outcomes = jnp.zeros((count, count, states), jnp.int32) if states else sums
        return FullState(self.environment.init(key), outcomes, None if states else no_sums(count))

    def step(self, key: Array, state: FullState, arms: Array, t: Array) -> tuple[FullState, Feedback]:
        """Play `arms` [M] int32, distinct, in round `t`; return the new state and what the player sees."""
        every = jnp.arange(self.arms, dtype=jnp.int32)
        inner, seen = self.environment.step(key, state.environment, every, t)
        own = Feedback(arms, seen.before[arms], seen.states[arms], seen.rewards[arms], t, all_rewards=seen.rewards)
        if self.declares.problem == "observed":
            own = own._replace(shown=seen.states)
        outcomes, rewards = state.outcomes, state.rewards
        played = (arms[:, None] == every[None]).any(axis=0)
        if isinstance(outcomes, TwoFloats):
            outcomes = add_to_each(outcomes, jnp.where(played[:, None], seen.rewards[None], 0))
        elif outcomes is not None:
            here = seen.states[:, None] == jnp.arange(outcomes.shape[-1], dtype=jnp.int32)[None]
            outcomes = outcomes + (played[:, None, None] & here[None]).astype(jnp.int32)
        if rewards is not None:
            rewards = add_rewards(rewards, arms, own.rewards)
        return FullState(inner, outcomes, rewards), own

    def records(self, state: FullState) -> dict[str, Any]:
        """The outcomes of all arms by the arm played, and sums of rewards where these have no finite table."""
        recorded = {"outcomes": state.outcomes, "rewards": state.rewards}
        return {name: value for name, value in recorded.items() if value is not None}


def full_information(environment: Any, pairs: bool = True) -> FullInformation:
    """Arms that all show their rewards in every round, played or not; one of them is played and paid.

    All arms move in every round as if all were played, so that the n-th outcome of an arm is that of round n.

    Args:
      environment: rested, restless or changing arms, or independent rewards; such as `rewards_table`, `piecewise`,
        `bernoulli`, `markov`, `beta`. Restless arms must have one law for arms that are played and for those that are
        not.
      pairs: whether the outcomes of all arms are recorded by the arm played, K^2 S numbers a run and recorded round,
        from which `metrics.internal_regret` and others are computed.

    Raises:
      ValueError: the argument and what is wrong with it.

    Source: Cesa-Bianchi and Lugosi 2006, chapters 2 and 4 (not opened); Foster and Vohra 1999, of which only the
    beginning was opened.

    >>> import jax
    >>> from jaxbandit.environments import rewards_table
    >>> arms = full_information(rewards_table([[1, 0], [0, 1]]))
    >>> state, feedback = jax.jit(arms.step)(jax.random.key(0), arms.init(jax.random.key(0)), jnp.array([1]), 1)
    >>> feedback.rewards.tolist(), feedback.all_rewards.tolist(), state.outcomes[1].tolist()
    ([0.0], [1.0, 0.0], [[0, 1], [1, 0]])
    """
    has("environment", environment, "an environment", "reward", "means", "init", "step")
    kind, name = declares(environment), type(environment).__name__
    if kind.problem not in PROBLEMS or (kind.pays, kind.paid, kind.shows) != ("after", "played", "played"):
        raise ValueError(
            f"environment: {name} cannot show the rewards of all arms; rested, restless or changing arms can, of which "
            "those that are played pay for their new states"
        )
    if members.passive(environment) is not None:
        raise ValueError(
            f"environment: arms of {name} move by another law if they are not played, and to show its reward an arm "
            "moves as if it was; leave `passive` out"
        )
    return FullInformation(environment, truth("pairs", pairs))
