"""Restless arms that all pay in every round, M of which can be acted on: the restless bandit of operations research."""

from __future__ import annotations

from math import comb
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit import decision_processes, indices
from jaxbandit.base import Declares, Feedback, Task, pytree, static
from jaxbandit.environments.restless_bandits.joint_arms import joint
from jaxbandit.environments.restless_bandits.restless_arms import RestlessArms, RestlessState
from jaxbandit.indices.relaxed import relaxation_of
from jaxbandit.known_arms import KnownArms

MOST_STATES, MOST_MOVES = 1024, 2**23  # for joint states and entries up to these the best policy is computed
DIGITS = 12  # of the comparator: those in which one version of a solver agrees with the next


class AllPayingState(NamedTuple):
    """The states of the arms of one run, and how often each of them paid."""

    arms: RestlessState
    stays: Array  # [K, S] int32, the number of rounds for which each state of each arm was the one that pays


@pytree
class AllPayingArms:
    """Restless arms that pay for their states whether they are played or not; a play changes how an arm moves.

    In every round arm k moves from s to s' ~ transition[k, s, .] if it is played, else by passive[k, s, .], and pays
    reward[k, s'], or reward[k, s] if `left_pays`; a play costs cost[k]. With a `passive_reward` an arm that is
    not played pays passive_reward[k, s'] or passive_reward[k, s] instead. So M plays a round are a budget, to be spent
    on the arms whose states gain most by it. The number of rounds for which each state of each arm was the one that
    pays is recorded as "stays" [K, S]; with the counts of plays it gives the reward collected exactly. A recorded round
    of a run therefore takes 8 K S bytes, not 4 K S.

    The player sees the states of the arms it plays, or of all arms with `observed`; if the state left pays, a play
    shows that state, too, in `Feedback.before`. `Feedback.rewards` are the rewards of the arms played.

    Regret is measured against the gain of the best policy for all arms together if they have at most 1,024 joint states
    (and 2^23 joint transition probabilities), else against `indices.relaxation`, which no policy exceeds. Tables and
    plots name it; both are for a player who sees all states.

    Build it with `restless(.., paid="all")` or `restless(.., paid="present")`, which check their arguments.

    Fields: `arms`, from which all draws come, `cost` [K], `passive_reward` [K, S], None for `reward`, and `left_pays`,
    whether the state left pays, not the one moved to.
    """

    arms: RestlessArms
    cost: np.ndarray | Array
    passive_reward: np.ndarray | Array | None = None
    left_pays: bool = static(False)

    @property
    def declares(self) -> Declares:
        """The declaration of the arms, except that all arms pay, and for which state."""
        return self.arms.declares._replace(paid="all", pays="before" if self.left_pays else "after")

    @property
    def observed(self) -> bool:
        """Whether the player sees all arms in every round."""
        return self.arms.observed

    @property
    def reward(self) -> np.ndarray | Array:
        """[K, S], what each state of each arm pays, if `passive_reward` is not None of an arm that is played."""
        return self.arms.reward

    @property
    def transition(self) -> np.ndarray | Array:
        """[K, S, S], the transition law of a played arm."""
        return self.arms.transition

    @property
    def passive(self) -> np.ndarray | Array:
        """[K, S, S], the transition law of an arm that is not played."""
        return self.arms.transition if self.arms.passive is None else self.arms.passive

    @property
    def initial(self) -> np.ndarray | Array:
        """[K, S], law of each arm's state before the first round."""
        return self.arms.initial

    def means(self) -> np.ndarray:
        """Long-run reward per round of each arm if it is played for ever, without the cost, [K] float64 on the host."""
        return self.arms.means()

    def known(self) -> KnownArms:
        """The laws and rewards that a planner needs."""
        laws = self.transition, self.passive, self.reward, self.initial
        which = self.declares
        return KnownArms.of(*laws, cost=self.cost, paid=which.paid, passive_reward=self.passive_reward, pays=which.pays)

    def numbers(self) -> dict[str, float]:
        """Numbers for the result: what the states in which arms start pay a round, all arms together, without plays."""
        pays = self.reward if self.passive_reward is None else self.passive_reward
        return {"pays_at_start": float((np.asarray(self.initial) * np.asarray(pays)).sum())}

    def validate(self, task: Task) -> None:
        """Raise ValueError if all arms are played, which leaves no choice."""
        self._check_plays(task.plays)

    def comparator(self, plays: int) -> float:
        """The largest long-run reward a round of any policy with M plays, or the relaxation's bound on it.

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
        """`indices.relaxation` of these arms and their costs.

        Raises:
          ValueError: `plays` is not an integer from 0 to K.

        >>> from jaxbandit.environments import restless
        >>> rows, wait = [[[0.1, 0.9], [0.1, 0.9]]] * 2, [[[0.9, 0.1], [0.3, 0.7]]] * 2
        >>> round(restless(rows, (0, 1), wait, paid="all").relaxation(1).value, 4)
        1.6
        """
        return relaxation_of(self.known(), plays)

    def comparator_name(self, plays: int) -> str:
        """The name of the comparator, such as "the best policy" or "the relaxation"."""
        self._check_plays(plays)
        if not self._few(plays):
            return "the relaxation"
        return "the best policy" if self.observed else "the best policy that sees all states"

    def init(self, key: Array) -> AllPayingState:
        """The state before the first round of the run with this environment key."""
        return AllPayingState(self.arms.init(key), jnp.zeros(self.reward.shape, jnp.int32))

    def step(self, key: Array, state: AllPayingState, arms: Array, t: Array) -> tuple[AllPayingState, Feedback]:
        """Play `arms` [M] int32, distinct, in round `t`; return the new state and what the player sees."""
        following, feedback = self.arms.step(key, state.arms, arms, t)
        paying = following.states
        if self.left_pays:
            paying = state.arms.states
            left = paying[arms]
            feedback = feedback._replace(before=left, rewards=jnp.asarray(self.reward, float)[arms, left])
        here = jnp.arange(self.reward.shape[1], dtype=jnp.int32)[None] == paying[:, None]
        return AllPayingState(following, state.stays + here.astype(jnp.int32)), feedback

    def records(self, state: AllPayingState) -> dict[str, Array]:
        """The number of rounds for which each state of each arm was the one that pays."""
        return {"stays": state.stays}

    def _check_plays(self, plays: int) -> None:
        """Raise ValueError if all arms are played or none is, which leaves no choice."""
        arms = self.reward.shape[0]
        if not 1 <= plays < arms:
            raise ValueError(
                f"plays: {plays} of {arms} arms that all pay, so that there is nothing to choose; play 1 to {arms - 1}"
            )

    def _few(self, plays: int) -> bool:
        """Whether there are few enough joint states to compute the best policy."""
        arms, states = self.reward.shape
        number = states**arms
        return number <= MOST_STATES and comb(arms, plays) * number**2 <= MOST_MOVES
