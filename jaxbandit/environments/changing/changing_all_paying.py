"""Restless arms that all pay, whose transition laws change at given rounds."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from jaxbandit.arguments import finite
from jaxbandit.base import Declares, Feedback, Task, pytree, stack
from jaxbandit.environments.changing.segments import Segments, check_horizon, facts, row, segments
from jaxbandit.environments.rested.markov_arms import InitialState
from jaxbandit.environments.restless_bandits.all_paying_arms import AllPayingArms, AllPayingState
from jaxbandit.environments.restless_bandits.constructor import restless


@pytree
class ChangingAllPayingArms:
    """Restless arms that all pay, played or not, and move by other laws in each segment of the rounds.

    In segment b they are `AllPayingArms` with the laws transition[b] and passive[b]; rewards and costs do not change.
    An arm keeps its state when the laws change. The random numbers of a move depend only on the run, the arm and the
    round. "stays" is recorded as for `AllPayingArms`.

    Regret is measured, round by round, against the comparator of the present segment: the gain of the best policy for
    all arms together where it is known, or else the relaxation. It is what this policy collects in the long run, so
    that a segment that begins in other states than this policy would leave may gain or lose a little.

    Build it with `changing_markov(.., restless=True, paid="all")`, which checks its arguments.

    Fields: `segments`, with the means of arms that are always played, and `each`, the arms of every segment, whose
    arrays have a first axis of length L.
    """

    segments: Segments
    each: AllPayingArms

    def segment(self, number: int) -> AllPayingArms:
        """The arms of one segment, the first of which is 0, on the host.

        Raises:
          ValueError: there is no such segment.

        >>> from jaxbandit.environments import changing_markov
        >>> fast, slow = [[0.5, 0.5], [0.5, 0.5]], [[0.9, 0.1], [0.1, 0.9]]
        >>> laws, options = [[fast, slow], [slow, fast]], {"restless": True, "paid": "all", "horizon": 100}
        >>> arms = changing_markov([51], laws, (0, 1), passive=[[slow] * 2] * 2, **options)
        >>> arms.segment(1).transition[0].tolist()
        [[0.9, 0.1], [0.1, 0.9]]
        """
        count = len(self.segments.means)
        if not 0 <= number < count:
            raise ValueError(f"number: {number}; the segments are 0 to {count - 1}")
        return jax.tree.map(lambda leaf: np.asarray(leaf)[number], self.each)

    @property
    def declares(self) -> Declares:
        """The declaration of the arms of each segment."""
        return self.each.declares

    @property
    def reward(self) -> np.ndarray | Array:
        """[K, S], what each state of each arm pays."""
        return self.each.reward[0]

    @property
    def cost(self) -> np.ndarray | Array:
        """[K], the cost of a play."""
        return self.each.cost[0]

    @property
    def transition(self) -> np.ndarray | Array:
        """[L, K, S, S], the transition laws of a played arm in each segment."""
        return self.each.transition

    @property
    def passive(self) -> np.ndarray | Array:
        """[L, K, S, S], those of an arm that is not played."""
        return self.each.passive

    @property
    def breaks(self) -> np.ndarray:
        """The rounds in which a law differs from that of the round before, [B]."""
        return self.segments.breaks(np.stack([self.transition, self.passive], axis=1))

    def means(self) -> np.ndarray:
        """Long-run reward per round of each arm if it is always played, without the cost, over all rounds, [K]."""
        return self.segments.average()

    def known(self) -> None:
        """None, since no laws hold for all rounds; those of a segment are `segment(number).known()`."""

    def validate(self, task: Task) -> None:
        """Raise ValueError for a horizon other than that of the arms, and where there is no choice."""
        check_horizon(task, self.segments.horizon)
        self.segment(0).validate(task)

    def comparator(self, plays: int) -> np.ndarray:
        """The largest long-run reward with M plays, or the relaxation's bound on it, of each round's segment, [n]."""
        each = [self.segment(number).comparator(plays) for number in range(len(self.segments.means))]
        return np.repeat(each, self.segments.lengths.astype(int))

    def comparator_name(self, plays: int) -> str:
        """The name of the comparator, such as "the best policy of each segment"."""
        return f"{self.segment(0).comparator_name(plays)} of each segment"

    def numbers(self) -> dict[str, float | list[int]]:
        """Numbers for the result: the variation of the means of arms that are always played, and the breaks."""
        return facts(self.breaks, self.segments.variation)

    def init(self, key: Array) -> AllPayingState:
        """The state before the first round of the run with this environment key."""
        return self._of(0).init(key)

    def step(self, key: Array, state: AllPayingState, arms: Array, t: Array) -> tuple[AllPayingState, Feedback]:
        """Play `arms` [M] int32, distinct, in round `t`; return the new state and what the player sees."""
        return self._of(self.segments.number(t)).step(key, state, arms, t)

    def records(self, state: AllPayingState) -> dict[str, Array]:
        """The number of rounds after which each arm was in each state."""
        return self._of(0).records(state)

    def _of(self, number: Any) -> AllPayingArms:
        """The arms of one segment, in a traced round."""
        return jax.tree.map(lambda leaf: row(leaf, number), self.each)


def changing_all_paying(
    starts: np.ndarray,
    horizon: int | None,
    transition: np.ndarray,
    reward: ArrayLike,
    passive: ArrayLike | None,
    initial_state: InitialState,
    observed: bool,
    cost: ArrayLike,
) -> ChangingAllPayingArms:
    """The arms, from checked first rounds [L] and laws [L, K, S, S] of the segments."""
    if horizon is None:
        raise ValueError('horizon: missing with paid="all"; give the number of rounds, over which regret is measured')
    if passive is None:
        raise ValueError('passive: missing with paid="all", so that a play would change nothing; give it, too')
    waiting = finite("passive", passive)
    if waiting.shape not in (transition.shape, transition.shape[1:]):
        raise ValueError(
            f"passive: shape {waiting.shape} is not that of `transition`, {transition.shape}, nor of one segment"
        )
    each = []
    for number, (played, kept) in enumerate(zip(transition, np.broadcast_to(waiting, transition.shape), strict=True)):
        try:
            arms = restless(played, reward, kept, initial_state, observed=observed, paid="all", cost=cost)
        except ValueError as error:
            raise ValueError(f"{error} (segment {number})") from error
        each.append(arms)
    return ChangingAllPayingArms(
        segments=segments(np.stack([arms.means() for arms in each]), starts, horizon), each=stack(each, "transition")
    )
