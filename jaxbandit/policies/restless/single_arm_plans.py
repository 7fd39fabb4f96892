"""What the relaxation says of one arm: how often it is in each state, and with which probability it is played there."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from jaxbandit.arguments import integer
from jaxbandit.indices.relaxed import relaxation_of, values_at
from jaxbandit.known_arms import KnownArms
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.knowledge import laws_of

HARDLY = 1e-7  # a share of rounds, or a chance, that counts as none


class SingleArmPlans(NamedTuple):
    """The relaxation's plan for each arm alone; arms of one kind have the same.

    Fields:
      laws: of the arms.
      kinds: the numbers of the arms of each kind.
      shares: [K, S], of the rounds that an arm is in each state.
      chances: [K, S], with which an arm is played in each state; where it never is, 1 if a play has an advantage, or 0.
      values: [K, S], what an arm is worth in each state at the price of a play, at most 0.
    """

    laws: KnownArms
    kinds: list[np.ndarray]
    shares: np.ndarray
    chances: np.ndarray
    values: np.ndarray


def single_arm_plans(arms: Any, plays: int) -> SingleArmPlans:
    """The plans for known restless arms of which M are played a round.

    The linear programme may treat arms of one kind differently; their mean is a solution, too.

    Raises:
      ValueError: the argument and what is wrong with it.
    """
    laws = laws_of("arms", arms, "one of environments.restless", checks.RESTLESS)
    relaxed = relaxation_of(laws, integer("plays", plays, 1, len(laws.earned) - 1))
    occupation, kinds = relaxed.occupation.copy(), laws.kinds
    for alike in kinds:
        occupation[alike] = relaxed.occupation[alike].mean(axis=0)
    shares = occupation.sum(axis=-1)
    visited = shares > HARDLY
    chances = np.where(visited, occupation[..., 1] / np.where(visited, shares, 1), relaxed.advantage > 0)
    chances = np.where(np.minimum(chances, 1 - chances) < HARDLY, np.rint(chances), chances)
    values = values_at(laws, relaxed.price)
    return SingleArmPlans(laws, kinds, shares, chances, values - values.max(axis=1, keepdims=True))
