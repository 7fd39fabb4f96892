"""The units of reward of policies with a family."""

from __future__ import annotations

from jaxbandit.base import Family
from jaxbandit.families import Gaussian
from jaxbandit.members import Units


def family_units(family: Family | None) -> Units:
    """The units of reward of a policy with this family: a constant may be subtracted from rewards of a Gaussian one.

    >>> from jaxbandit import families
    >>> family_units(None), family_units(families.Gaussian()), family_units(families.Poisson())
    ('mapped', 'shifted', 'own')
    """
    if family is None:
        return "mapped"
    return "shifted" if isinstance(family, Gaussian) else "own"
