"""The priority rule of the relaxation: what a play adds when M arms are played a round only on average."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxbandit.arguments import LARGEST_INTEGER, integer
from jaxbandit.base import Task, pytree, static
from jaxbandit.indices.relaxed import relaxation_of
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.knowledge import laws_of, made_for
from jaxbandit.policies.restless.state_tables import StateTable


@pytree
class LPPriority(StateTable):
    """The M restless arms whose play adds most in the relaxed problem, where M arms are played a round on average.

    The score of arm k in state s is indices[k, s], the `advantage` of `indices.relaxation`: what a play there adds in
    the long run, less the price of a play. It is positive where the relaxed problem's best policy always plays, 0 where
    it sometimes does. Unlike Whittle's index it exists for all arms, indexable or not, and it depends on M. For many
    arms with M / K fixed it collects what the relaxation does, where the averages of the arms under the rule come to
    rest (Gast, Gaujal and Yan 2024). Make it with `LPPriority.of(arms, plays)`.

    Args:
      indices: [K, S], of every state, in the environment's order of the arms.
      unseen: [K], of an arm not yet seen; None for the number of state 0.
      plays: M, for which the numbers were found; None if they are not to be checked.

    Raises:
      ValueError: from `simulate` and `check_policy`, for a table of another shape or with NaN, for another number of
        plays a round, and for other arms than those that it was made from.

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

        An arm not yet seen has the mean of its numbers under the law of its first state.

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
        if self.plays is not None and integer("plays", self.plays, 1, LARGEST_INTEGER) != task.plays:
            raise ValueError(f"plays: the numbers are for {self.plays} plays a round, and {task.plays} are asked for")
        super().validate(task)
