"""Restless arms that all pay: every arm's state counts in every round, and M of them can be acted on."""

from __future__ import annotations

from math import comb
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit import decision_processes, indices
from jaxbandit.base import Declares, Feedback, Task, pytree
from jaxbandit.environments.restless_bandits.joint_arms import joint
from jaxbandit.environments.restless_bandits.restless_arms import RestlessArms, RestlessState
from jaxbandit.indices.relaxed import relaxation_of
from jaxbandit.known_arms import KnownArms

MOST_STATES, MOST_MOVES = 1024, 2**23  # joint states and numbers in the joint matrices, up to which the best is found
DIGITS = 12  # of the comparator: those in which one version of a solver agrees with the next


class AllPayingState(NamedTuple):
    """Where the arms of one run stand, and where they have been."""

    arms: RestlessState
    stays: Array  # [K, S] int32, how many rounds have left each arm in each state


@pytree
class AllPayingArms:
    """Restless arms that pay for their states whether they are played or not; a play changes how an arm moves.

    In every round arm k moves from s to s' ~ transition[k, s, .] if it is played, else by passive[k, s, .], and pays
    reward[k, s']; a play costs cost[k]. So M plays a round are a budget, to be spent on the arms whose states gain most
    by it. How many rounds have left each arm in each state is recorded as "stays" [K, S], which with the counts of
    plays tells exactly what was collected. A recorded round of a run so takes 8 K S bytes, not 4 K S.

    What the player sees are the arms' states: of those it plays, or of all with `observed`. `Feedback.rewards` is what
    the states of the arms played pay.

    Regret is measured against the gain of the best policy for all arms together if they have at most 1,024 joint states
    (and 2^23 joint transition probabilities), else against `indices.relaxation`, which no policy exceeds. Tables and
    pictures say which; both are for a player who sees all states.

    Build it with `restless(.., paid="all")`, which checks its arguments.

    Fields: `arms`, from which all draws come, and `cost` [K].
    """

    arms: RestlessArms
    cost: np.ndarray | Array

    @property
    def declares(self) -> Declares:
        """As the arms, but all of them pay."""
        return self.arms.declares._replace(paid="all")

    @property
    def observed(self) -> bool:
        """Whether the player sees all arms in every round."""
        return self.arms.observed

    @property
    def reward(self) -> np.ndarray | Array:
        """[K, S], what each state of each arm pays."""
        return self.arms.reward

    @property
    def transition(self) -> np.ndarray | Array:
        """[K, S, S], how an arm moves that is played."""
        return self.arms.transition

    @property
    def passive(self) -> np.ndarray | Array:
        """[K, S, S], how an arm moves that is not played."""
        return self.arms.transition if self.arms.passive is None else self.arms.passive

    @property
    def initial(self) -> np.ndarray | Array:
        """[K, S], law of each arm's state before the first round."""
        return self.arms.initial

    def means(self) -> np.ndarray:
        """Long-run reward per round of each arm if it is played for ever, without the cost, [K] float64 on the host."""
        return self.arms.means()

    def known(self) -> KnownArms:
        """What a planner computes with."""
        laws = self.transition, self.passive, self.reward, self.initial
        return KnownArms.of(*laws, cost=self.cost, paid="all")

    def validate(self, task: Task) -> None:
        """Raise ValueError for a budget for all arms, which leaves no choice."""
        self._check_plays(task.plays)

    def comparator(self, plays: int) -> float:
        """The most that M plays a round can collect in the long run: the best gain, or the relaxation's bound on it.

        >>> from jaxbandit.environments import restless
        >>> rows, wait = [[[0.1, 0.9], [0.1, 0.9]]] * 2, [[[0.9, 0.1], [0.3, 0.7]]] * 2
        >>> arms = restless(rows, (0, 1), wait, paid="all", observed=True)
        >>> arms.comparator_name(1), round(arms.comparator(1), 4)
        ('the best policy', 1.5809)
        """
        self._check_plays(plays)
        if self._few(plays):
            process = joint(self.known(), plays)
            value = process.initial @ decision_processes.optimal(process.transition, process.reward).gain
        else:
            value = self.relaxation(plays).value
        return float(f"{value:.{DIGITS}g}")

    def relaxation(self, plays: int) -> indices.Relaxation:
        """`indices.relaxation` of these arms and of what their plays cost.

        Raises:
          ValueError: `plays` is not an integer from 0 to K.

        >>> from jaxbandit.environments import restless
        >>> rows, wait = [[[0.1, 0.9], [0.1, 0.9]]] * 2, [[[0.9, 0.1], [0.3, 0.7]]] * 2
        >>> round(restless(rows, (0, 1), wait, paid="all").relaxation(1).value, 4)
        1.6
        """
        return relaxation_of(self.known(), plays)

    def comparator_name(self, plays: int) -> str:
        """What `comparator` is."""
        self._check_plays(plays)
        if not self._few(plays):
            return "the relaxation"
        return "the best policy" if self.observed else "the best policy that sees all states"

    def init(self, key: Array) -> AllPayingState:
        """Where the arms of the run with this environment key stand before the first round."""
        return AllPayingState(self.arms.init(key), jnp.zeros(self.reward.shape, jnp.int32))

    def step(self, key: Array, state: AllPayingState, arms: Array, t: Array) -> tuple[AllPayingState, Feedback]:
        """Play `arms` [M] int32, distinct, in round `t`: where all arms stand afterwards, and what the player sees."""
        following, feedback = self.arms.step(key, state.arms, arms, t)
        here = jnp.arange(self.reward.shape[1], dtype=jnp.int32)[None] == following.states[:, None]
        return AllPayingState(following, state.stays + here.astype(jnp.int32)), feedback

    def records(self, state: AllPayingState) -> dict[str, Array]:
        """How many rounds have left each arm in each state."""
        return {"stays": state.stays}

    def _check_plays(self, plays: int) -> None:
        """Raise ValueError for a budget for all arms, or for none, which leaves no choice."""
        arms = self.reward.shape[0]
        if not 1 <= plays < arms:
            raise ValueError(
                f"plays: {plays} of {arms} arms that all pay, so that there is nothing to choose; play 1 to {arms - 1}"
            )

    def _few(self, plays: int) -> bool:
        """Whether the joint states are few enough to find the best policy."""
        arms, states = self.reward.shape
        number = states**arms
        return number <= MOST_STATES and comb(arms, plays) * number**2 <= MOST_MOVES
