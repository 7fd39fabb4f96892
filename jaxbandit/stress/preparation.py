"""Checks of the arguments of `over` and `worst`, and the points that they begin with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import jax
import numpy as np

from jaxbandit.arguments import excerpt, has, integer, path, truth
from jaxbandit.base import Environment, Policy
from jaxbandit.members import has_methods
from jaxbandit.simulation.asking.request import check as check_request
from jaxbandit.stress.spaces import Space

NAME = "the policy"  # the label of the policy that is tested
MOST_PROBLEMS, MOST_RUNS = 1_000_000, 1_000_000
PARTS = 8  # independent sequences that the points of a survey are taken from in turn


def check_space(space: Space) -> Environment:
    """The arms in the middle of a space, or a ValueError that begins with "space"."""
    has("space", space, "a space, such as jaxbandit.stress.TwoStateSpace(),", "dimension", "problem", "panel")
    try:
        if hasattr(space, "validate"):
            space.validate()
        dimension = integer("dimension", space.dimension, 2, 10_000)
        least, middle, most = (space.problem(np.full(dimension, at)) for at in (0.0, 0.5, 1.0))
    except ValueError as error:
        raise ValueError(f"space.{error}") from error
    if least.code == most.code:
        raise ValueError(f"space: {excerpt(space)} has one point only; widen the range of one of its numbers")
    return middle.arms


def check_policies(
    arms: Environment,
    argument: str,
    policies: Mapping[str, Policy],
    key: Any,
    horizon: int,
    plays: int,
    until: Literal["stopped"] | None = None,
) -> dict[str, Policy]:
    """Policies by label, or a ValueError that begins with the argument unless all of them can play the arms."""
    if not isinstance(policies, Mapping) or not policies:
        raise ValueError(f"{argument}: {excerpt(policies)}; give a dict from label to policy")
    for label, policy in policies.items():
        if isinstance(policy, list | tuple) and not has_methods(policy, "scores"):
            raise ValueError(f"{argument}[{label!r}]: a list of variants; give each a label of its own")
    try:
        check_request({"problem": arms}, policies, key=key, runs=1, horizon=horizon, plays=plays, until=until)
    except ValueError as error:
        message = str(error).replace("policies[", f"{argument}[", 1)
        raise ValueError(message.replace(f"policy[{NAME!r}]", "policy")) from error
    return {str(label): policy for label, policy in policies.items()}


def check_numbers(runs: Any, folder: Any, progress: Any, **problems: tuple[Any, int]) -> None:
    """Raise ValueError for a wrong argument; numbers of problems come with the least that is allowed."""
    for name, (value, least) in problems.items():
        integer(name, value, least, MOST_PROBLEMS)
    integer("runs", runs, 2, MOST_RUNS)
    truth("progress", progress)
    if folder is not None:
        path("folder", folder)


def merged(policies: Mapping[str, Policy], panel: Mapping[str, Policy]) -> dict[str, Policy]:
    """All policies by label; raise ValueError if a label has two."""
    for label in policies.keys() & panel.keys():
        if repr(policies[label]) != repr(panel[label]):
            raise ValueError(f"policies[{label!r}]: the panel has another policy of that label; choose another label")
    return dict(policies) | dict(panel)


def sobol(space: Space, random: np.random.Generator, number: int) -> np.ndarray:
    """The first points of a scrambled Sobol sequence: [number, dimension] in [0, 1)."""
    from scipy.stats import qmc  # slow to import, so it waits until it is needed

    return qmc.Sobol(space.dimension, seed=random).random_base2((number - 1).bit_length())[:number]


def points_in_parts(space: Space, key: Any, number: int) -> np.ndarray:
    """[number, dimension] in [0, 1): point n is of sequence n mod `PARTS`, of independent scrambled Sobol sequences."""
    parts = [sobol(space, random, -(-number // PARTS)) for random in generator(key).spawn(PARTS)]
    return np.stack(parts, axis=1).reshape(-1, space.dimension)[:number]


def generator(key: Any) -> np.random.Generator:
    """NumPy's generator of a JAX key."""
    return np.random.default_rng(np.asarray(jax.random.key_data(key)).tolist())


def progress_bar(problems: int, progress: bool) -> Any:
    """A bar over problems, if the output is a terminal or a notebook."""
    from tqdm.auto import tqdm

    return tqdm(total=problems, unit=" problems", disable=None if progress else True)
