"""The lower bound on the regret of every policy that is good for all arms of a one-parameter family."""

from __future__ import annotations

import jax
import numpy as np

from jaxbandit import chains, members
from jaxbandit.arguments import has, integer
from jaxbandit.base import Family, reward_table
from jaxbandit.bounds.arms import Bound, MarkovEnvironment, check_environment, irreducible


def family_lower(environment: MarkovEnvironment, family: Family, plays: int = 1) -> Bound:
    """The constants (mean_(M) - mean_k) / D(mean_k || mean_(M)) of arms worse than the M-th best, D the family's.

    They are per log n, with M = `plays` arms a round. A policy that is good for more chains than the family's has to
    tell more chains apart: `lower` is at least as large.

    Args:
      environment: arms of the family; for chains, the divergence must be their `chains.kl_rate`.
      family: one of `jaxbandit.families`.
      plays: from 1 to K - 1.

    Raises:
      ValueError: the argument and what is wrong with it; arms that are not of the family; an M-th best mean that
        equals the (M+1)-th.

    Source: Anantharam, Varaiya and Walrand 1987, part II; Lai and Robbins 1985 for independent rewards.

    >>> from jaxbandit.environments import exponential_family
    >>> from jaxbandit.families import chain_family
    >>> generator = [[0.9, 0.1], [0.2, 0.8]]
    >>> arms = exponential_family([2, 1, 0.5, 0, -1], generator)
    >>> family_lower(arms, chain_family(generator)).per_arm.round(4).tolist()
    [0.0, 1.4883, 0.8427, 0.5926, 0.5367]
    """
    check_environment(environment)
    has("family", family, "one of jaxbandit.families", "validate", "divergence")
    family.validate(reward_table(environment))
    means = np.asarray(environment.means(), float)
    integer("plays", plays, 1, len(means) - 1)
    order = np.argsort(-means, kind="stable")
    least, worse = order[plays - 1], order[plays:]
    if not means[least] > means[worse[0]]:
        raise ValueError(
            f"environment: arms {least} and {worse[0]} have the mean {means[least]:g}; the bound needs a gap"
        )
    with jax.enable_x64(True):
        apart = np.asarray(_divergence(family, means[worse], np.full(len(worse), means[least])), float)
    check_family(environment, family, worse, least, apart)
    per_arm = np.zeros(len(means))
    per_arm[worse] = (means[least] - means[worse]) / apart
    return Bound("lower bound of the family", "policies good for all arms of the family", per_arm, per_arm.sum())


_divergence = jax.jit(lambda family, mean, other: family.divergence(mean, other))


def check_family(
    environment: MarkovEnvironment, family: Family, worse: np.ndarray, least: int, apart: np.ndarray
) -> None:
    """Raise ValueError unless chains are of the family: only then is the divergence `apart` of their means theirs."""
    if members.transition(environment) is None:
        of = members.family(environment, family)
        if type(of) is not type(family):
            raise ValueError(f"environment: its arms are not of the family {type(family).__name__}")
        return
    transition = irreducible(environment)
    for arm, value in zip(worse, apart, strict=True):
        if not np.isclose(value, chains.kl_rate(transition[arm], transition[least]), rtol=1e-5, atol=0):
            raise ValueError(f"environment: arm {arm} or {least} is not of the family; its divergence is another")
