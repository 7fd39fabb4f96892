"""One-parameter exponential families of rewards: the divergence of two means, and the largest mean within a divergence.

Others may take what is listed here; `environments` also takes `tilting`, which tilts a chain along its rewards.
"""

from jaxbandit.base import Family
from jaxbandit.families.independent import Bernoulli, Exponential, Gaussian, Poisson
from jaxbandit.families.of_chains import chain_family
from jaxbandit.families.table import TabledChains
from jaxbandit.families.two_state import TwoStateChains

__all__ = [
    "Bernoulli",
    "Exponential",
    "Family",
    "Gaussian",
    "Poisson",
    "TabledChains",
    "TwoStateChains",
    "chain_family",
]
