"""The exponential family of a Markov chain."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.families.table import TabledChains, tabulated
from jaxbandit.families.tilting import generator_and_reward, largest_cycle
from jaxbandit.families.two_state import MOST, TwoStateChains


def chain_family(generator: ArrayLike, reward: ArrayLike = (0.0, 1.0)) -> TwoStateChains | TabledChains:
    """The family that tilts P = `generator` along f = `reward`, from which `exponential_family` makes arms.

    Each mean m between the least and the largest mean reward of a cycle of states belongs to one chain P_m, and
    D(m || n) is the divergence rate I(P_m || P_n) = sum over s of pi_m(s) KL(P_m(s, .), P_n(s, .)). With two states it
    has a closed form, unless the chain nearly always changes its state. Otherwise a table is made here, in float64.

    Args:
      generator: [S, S], row-stochastic and irreducible; any chain of the family gives the same family.
      reward: [S], what the state moved to pays, not all equal; the same for every arm.

    Raises:
      ValueError: the argument and what is wrong with it; all cycles of states pay the same, so that the family has one
        mean only.

    Source: Moulos and Anantharam 2019, section 2; Moulos 2020.

    >>> from jaxbandit.confidence import family_upper
    >>> family = chain_family([[0.5, 0.3, 0.2], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]], (0, 0.5, 1))
    >>> round(float(family_upper(0.5, 0.1, family)), 4)
    0.7428
    """
    rows, paid = generator_and_reward(generator, reward)
    if len(rows) == 2 and rows.all():
        low = int(np.argmin(paid))
        p, q = rows[low, 1 - low], rows[1 - low, low]
        kappa = p * q / (rows[low, low] * rows[1 - low, 1 - low])
        if kappa <= MOST:
            return TwoStateChains(float(kappa), float(paid.min()), float(paid.max()), 1 if kappa <= 1 else 2)
    if not largest_cycle(rows, paid) + largest_cycle(rows, -paid) > 1e-12 * np.ptp(paid):
        raise ValueError("reward: all cycles of states pay the same on average, so that theta changes no mean")
    return tabulated(rows, paid)
