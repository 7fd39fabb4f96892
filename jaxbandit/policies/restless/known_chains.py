"""Policies that know the chains: every state of every arm has an index, and the largest is played."""

from __future__ import annotations

from typing import Any

import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from jaxbandit import indices
from jaxbandit.arguments import has
from jaxbandit.base import Feedback, Task, per_arm, pytree
from jaxbandit.members import declares, lacks
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.knowledge import check_made_for, made_for
from jaxbandit.policies.restless.state_tables import Seen, check_table, moved, scores_of, unseen_yet


@pytree
class Gittins:
    """The Gittins index rule: the arm with the largest index of the state in which it was last seen.

    The score of arm k in state s is indices[k, s]; before an arm's first play it is unseen[k]. For rested arms with one
    play a round, no policy has a larger expected discounted reward. Make it with `Gittins.of(arms, discount)`; any
    other table of numbers is a policy, too.

    Args:
      indices: [K, S], of every state, as from `indices.gittins`, in the environment's order of the arms.
      unseen: [K], of an arm that has not shown a state since the start, or since all arms began again; None for the
        index of state 0, where arms start by default. `Gittins.of` finds it for any law of the starts.

    Raises:
      ValueError: from `simulate` and `check_policy`, for a table of another shape or with NaN, and for other arms than
        those that `of` was given.

    Source: Gittins 1979.

    >>> from jaxbandit import two_state
    >>> policy = Gittins.of(two_state([0.5, 0.4], [0.4, 0.55]), discount=0.9)
    >>> policy.indices.round(4).tolist(), policy.unseen.round(4).tolist()
    ([[0.5495, 0.6], [0.4188, 0.45]], [0.5495, 0.4188])
    """

    indices: ArrayLike = per_arm()
    unseen: ArrayLike | None = per_arm(None)

    @classmethod
    def of(cls, arms: Any, discount: float) -> Gittins:
        """The policy for known arms, on the host, in float64.

        An arm not yet seen counts as being in an extra state, from which it moves by `initial` and then `transition`:
        the policy is optimal for a player who knows the law of the first states but not the states.

        Args:
          arms: an environment with `transition` [K, S, S], `reward` [K, S] and `initial` [K, S].
          discount: in [0, 1).

        Raises:
          ValueError: the argument and what is wrong with it.
        """
        has("arms", arms, "an environment of Markov arms", "transition", "reward", "initial")
        table = indices.gittins(*indices.with_start(arms.transition, arms.reward, arms.initial), discount)
        return made_for(cls(table[:, :-1], table[:, -1]), arms, "transition", "reward", "initial")

    def validate(self, task: Task) -> None:
        checks.suits(self, task, ("rested", "restarting"))
        check_table(self, task.reward)
        check_made_for(self, task)

    def init(self, reward: Array) -> Seen:
        return unseen_yet(reward)

    def scores(self, key: Array, state: Seen, t: Array) -> tuple[Array, Seen]:
        return scores_of(self, state), state

    def update(self, state: Seen, feedback: Feedback) -> Seen:
        return moved(self, state, feedback)


@pytree
class Whittle:
    """The Whittle index rule: the M arms with the largest indices of the states they are in.

    The score of arm k in state s is indices[k, s]. If the environment shows the states of all arms, these are used; if
    not, the state in which each arm was last seen, in which a rested arm still is. For rested arms and one play a
    round this is `Gittins`, which is optimal; for restless arms it is often nearly optimal, and with all arms paying
    and M / K fixed it is optimal in the limit of many arms, under conditions (Weber and Weiss 1990). Make it with
    `Whittle.of(arms, discount)`.

    Args:
      indices: [K, S], of every state, as from `indices.whittle`, in the environment's order of the arms.
      unseen: [K], of an arm not yet seen; None for the index of state 0.

    Raises:
      ValueError: from `simulate` and `check_policy`, for a table of another shape, or with NaN, as `indices.whittle`
        gives for an arm that is not indexable, and for other arms than those that `of` was given.

    Source: Whittle 1988.

    >>> from jaxbandit import two_state
    >>> Whittle.of(two_state([0.5, 0.4], [0.4, 0.55]), discount=0.9).indices.round(4).tolist()
    [[0.5495, 0.6], [0.4188, 0.45]]
    """

    indices: ArrayLike = per_arm()
    unseen: ArrayLike | None = per_arm(None)

    @classmethod
    def of(cls, arms: Any, discount: float | None = None) -> Whittle:
        """The policy for known arms, on the host, in float64.

        An arm not yet seen has the mean of its indices under the law of its first state.

        Args:
          arms: an environment with `transition` [K, S, S], `reward` [K, S], `initial` [K, S], and `passive` [K, S, S],
            the law of an arm that is not played, or None if it is `transition`; without this field arms do not
            move then. Where it declares that all arms pay, the index is that of arms which pay when they are not
            played, too, less the `cost` of a play.
          discount: in [0, 1), or None for the long-run average, for which rested arms have no index.

        Raises:
          ValueError: the argument and what is wrong with it, also that an arm is not indexable.
        """
        has("arms", arms, "an environment of Markov arms", "transition", "reward", "initial")
        rows = np.asarray(arms.transition)
        passive = np.broadcast_to(np.eye(rows.shape[-1]), rows.shape) if lacks(arms, "passive") else arms.passive
        every = declares(arms).paid == "all"
        left = arms.reward if every else None
        found = indices.whittle(
            rows, rows if passive is None else passive, arms.reward, discount=discount, passive_reward=left
        )
        if not found.indexable.all():
            numbers = np.flatnonzero(~found.indexable).tolist()
            rule = "for the long-run average" if discount is None else f"with discount {discount:g}"
            raise ValueError(
                f"arms: {numbers} are not indexable {rule}, which means that they have no Whittle index; "
                "LPPriority.of(arms, plays) needs none"
            )
        table = found.index - np.asarray(arms.cost)[:, None] if every else found.index
        made = cls(table, np.sum(np.asarray(arms.initial) * table, axis=-1))
        return made_for(made, arms, "transition", "passive", "reward", "initial", "cost")

    def validate(self, task: Task) -> None:
        checks.suits(self, task, ("rested", "restarting", "observed"))
        check_table(self, task.reward)
        check_made_for(self, task)

    def init(self, reward: Array) -> Seen:
        return unseen_yet(reward)

    def scores(self, key: Array, state: Seen, t: Array) -> tuple[Array, Seen]:
        return scores_of(self, state), state

    def update(self, state: Seen, feedback: Feedback) -> Seen:
        return moved(self, state, feedback)
