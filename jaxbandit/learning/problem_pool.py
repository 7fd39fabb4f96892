"""The problems on which a policy learns, stacked so that one program draws from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxbandit import members
from jaxbandit.arguments import LARGEST, excerpt, number
from jaxbandit.base import Environment, Policy, Task, described, stack
from jaxbandit.members import declares, has_methods
from jaxbandit.reward_units import check_distinct
from jaxbandit.stress import Space, preparation

DRAWN = 4096  # problems of a space: more than a policy sees in a step, and drawn in seconds


@described
class Pool(NamedTuple):
    """Problems that are played with equal probability.

    Fields:
      arms: all of them, stacked: leaves have a leading axis [N].
      best: [N], the long-run reward a round of the best play.
      weight: [N], by which rewards and regret are multiplied.
    """

    arms: Environment
    best: np.ndarray
    weight: np.ndarray


def pool_of(problems: Any, key: jax.Array, weights: Mapping[str, float] | None = None) -> Pool:
    """The problems of an environment, a dict of alike ones, or a space, of which 4,096 are drawn.

    Raises:
      ValueError: none of these, or arms of one process, or that are not alike; weights that are not those of a dict.
    """
    if weights is not None:
        names = list(problems) if isinstance(problems, Mapping) else []
        if not isinstance(weights, Mapping) or list(weights) != names:
            raise ValueError(f"weights: {excerpt(weights)} is not a dict from the name of each problem to its weight")
        for name, value in weights.items():
            number(f"weights[{name!r}]", value, 0, LARGEST, above=True)
    if isinstance(problems, Mapping):
        each = list(problems.values())
        if not each or not all(has_methods(arms, "step", "means") for arms in each):
            raise ValueError(f"problems: {excerpt(problems)} is not a dict from names to environments")
    elif has_methods(problems, "problem"):
        each = _drawn(problems, key)
    elif has_methods(problems, "step", "means"):
        each = [problems]
    else:
        raise ValueError(f"problems: {excerpt(problems)} is neither an environment, nor a dict of them, nor a space")
    for arms in each:
        if declares(arms).pairing == "shared" or declares(arms).paid == "all":
            raise ValueError(
                "problems: policies learn on arms of which one is played a round and pays; these are others"
            )
        check_distinct("problems", Task(arms).reward)
    best = [members.comparator(arms, 1) for arms in each]
    means = [np.max(arms.means()) if value is None else np.mean(value) for arms, value in zip(each, best, strict=True)]
    weight = np.ones(len(each)) if weights is None else np.array(list(weights.values()), float)
    return Pool(stack(each, "problems"), np.asarray(means, float), weight)


def check_plays(policy: Policy, pool: Pool, horizon: int, name: str = "policy") -> None:
    """Raise ValueError unless the policy can play the first of the problems for as many rounds."""
    first = jax.tree.map(lambda leaf: leaf[0], pool.arms)
    try:
        members.validate(policy, Task(first, 1, horizon, "problems"))
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def _drawn(space: Space, key: jax.Array) -> list[Environment]:
    """Problems of a space at uniform points."""
    try:
        preparation.check_space(space)
    except ValueError as error:
        raise ValueError(f"problems{str(error).removeprefix('space')}") from error
    points = preparation.generator(key).random((DRAWN, space.dimension))
    return [space.problem(point).arms for point in points]
