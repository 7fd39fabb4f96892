"""Gittins and Whittle index policies for known chains."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxbandit import indices
from jaxbandit.base import pytree
from jaxbandit.indices.subsidy import whittle_of
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.knowledge import laws_of, made_for
from jaxbandit.policies.restless.state_tables import StateTable


@pytree
class Gittins(StateTable):
    """Gittins index policy: the arm with the largest Gittins index of the state in which it was last seen.

    The score of arm k in state s is indices[k, s]; before an arm's first play it is unseen[k]. For rested arms with one
    play a round it maximises the expected discounted reward. Make it with `Gittins.of(arms, discount)`; any other table
    of numbers is a policy, too.

    Args:
      indices: [K, S], of every state, as from `indices.gittins`, in the environment's order of the arms.
      unseen: [K], index of an arm not seen since the start or the last restart; None for the index of state 0, where
        arms start by default. `Gittins.of` computes it for any initial law.

    Raises:
      ValueError: from `simulate` and `check_policy`, for a table of another shape or with NaN, and for arms other than
        those that it was made from.

    Source: Gittins 1979.

    >>> from jaxbandit import two_state
    >>> policy = Gittins.of(two_state([0.5, 0.4], [0.4, 0.55]), discount=0.9)
    >>> policy.indices.round(4).tolist(), policy.unseen.round(4).tolist()
    ([[0.5495, 0.6], [0.4188, 0.45]], [0.5495, 0.4188])
    """

    problems = ("rested", "restarting")

    @classmethod
    def of(cls, arms: Any, discount: float) -> Gittins:
        """The policy for known arms, on the host, in float64.

        An arm not yet seen is in an extra state, from which it moves by `initial` and then `transition`: the policy is
        optimal if the initial law is known and the initial states are not.

        Args:
          arms: an environment of Markov arms with the method `known`.
          discount: in [0, 1).

        Raises:
          ValueError: the argument and what is wrong with it.
        """
        known = laws_of("arms", arms, "an environment of Markov arms", checks.CHAINS)
        table = indices.gittins(*indices.with_start(known.transition, known.reward, known.initial), discount)
        return made_for(cls(table[:, :-1], table[:, -1]), known, "passive")


@pytree
class Whittle(StateTable):
    """Whittle index policy for restless bandits: the M arms with the largest Whittle indices of their states.

    The score of arm k in state s is indices[k, s]. If the environment shows the states of all arms, these are used;
    otherwise the state in which each arm was last seen, which for a rested arm is its present one. For rested arms and
    one play a round this is `Gittins`, which is optimal; for restless arms it is often nearly optimal, and if all arms
    pay and M / K is fixed, it is asymptotically optimal in the number of arms, under conditions (Weber and Weiss 1990).
    Make it with `Whittle.of(arms, discount)`.

    Args:
      indices: [K, S], of every state, as from `indices.whittle`, in the environment's order of the arms.
      unseen: [K], of an arm not yet seen; None for the index of state 0.

    Raises:
      ValueError: from `simulate` and `check_policy`, for a table of another shape, or with NaN, as `indices.whittle`
        gives for an arm that is not indexable, and for arms other than those that it was made from.

    Source: Whittle 1988.

    >>> from jaxbandit import two_state
    >>> Whittle.of(two_state([0.5, 0.4], [0.4, 0.55]), discount=0.9).indices.round(4).tolist()
    [[0.5495, 0.6], [0.4188, 0.45]]
    """

    problems = ("rested", "restarting", "observed")

    @classmethod
    def of(cls, arms: Any, discount: float | None = None) -> Whittle:
        """The policy for known arms, on the host, in float64.

        An arm not yet seen has the mean of its indices under the law of its first state.

        Args:
          arms: an environment of Markov arms with the method `known`. If all arms pay, so do arms that are not played,
            and the index is reduced by the cost of a play.
          discount: in [0, 1), or None for the long-run average, for which rested arms have no index.

        Raises:
          ValueError: the argument and what is wrong with it, or an arm that is not indexable.
        """
        known = laws_of("arms", arms, "an environment of Markov arms", checks.CHAINS)
        table, indexable = whittle_of(known, discount)
        if not indexable.all():
            numbers = np.flatnonzero(~indexable).tolist()
            rule = "for the long-run average" if discount is None else f"with discount {discount:g}"
            raise ValueError(
                f"arms: {numbers} are not indexable {rule}, which means that they have no Whittle index; "
                "LPPriority.of(arms, plays) needs none"
            )
        return made_for(cls(table, np.sum(known.initial * table, axis=-1)), known)
