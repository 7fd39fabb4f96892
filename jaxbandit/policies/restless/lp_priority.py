"""LP-priority: index policy from the linear programming relaxation of a restless bandit."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxbandit.arguments import integer
from jaxbandit.base import Task, pytree, static
from jaxbandit.indices.relaxed import relaxation_of
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.knowledge import laws_of, made_for
from jaxbandit.policies.restless.state_tables import StateTable


@pytree
class LPPriority(StateTable):
    """LP-priority policy: the M restless arms with the largest advantages in the linear programming relaxation.

    The relaxation plays M arms a round only on average. The score of arm k in state s is indices[k, s], the `advantage`
    of `indices.relaxation`: the long-run gain of a play there minus the price of a play. It is positive if the relaxed
    problem's optimal policy always plays there, and 0 if it sometimes does. Unlike Whittle's index it exists for all
    arms, indexable or not, and it depends on M. For many arms with M / K fixed it attains the value of the relaxation,
    if the mean-field dynamics have a globally attracting fixed point (Gast, Gaujal and Yan 2024). Make it with
    `LPPriority.of(arms, plays)`.

    Args:
      indices: [K, S], of every state, in the environment's order of the arms.
      unseen: [K], index of an arm not yet seen; None for the index of state 0.
      plays: M, for which the indices were computed; None for no check.

    Raises:
      ValueError: from `simulate` and `check_policy`, for a table of another shape or with NaN, for another number of
        plays a round, and for arms other than those that it was made from.

    Source: Bertsimas and Nino-Mora 2000 (the primal-dual heuristic); Verloop 2016.

    >>> from jaxbandit.environments import restless
    >>> rows, wait = [[[0.1, 0.9], [0.1, 0.9]]] * 3, [[[0.9, 0.1], [0.3, 0.7]]] * 3
    >>> arms = restless(rows, (0, 1), wait, paid="all", observed=True)
    >>> LPPriority.of(arms, plays=1).indices.round(4)[0].tolist()
    [0.6, 0.0]
    """

    problems = ("observed",)

    plays: int | None = static(None)

    @classmethod
    def of(cls, arms: Any, plays: int) -> LPPriority:
        """The policy for known arms, on the host, in float64.

        An arm not yet seen has the mean of its indices under its initial law.

        Args:
          arms: an environment of `environments.restless`.
          plays: M, arms played a round.

        Raises:
          ValueError: the argument and what is wrong with it.
        """
        known = laws_of("arms", arms, "one of environments.restless", checks.RESTLESS)
        table = relaxation_of(known, integer("plays", plays, 1, len(known.earned) - 1)).advantage
        return made_for(cls(table, np.sum(known.initial * table, axis=-1), int(plays)), known)

    def validate(self, task: Task) -> None:
        checks.plays(self, task)
        super().validate(task)
