"""Other ways to a policy's numbers than a grid: CMA-ES, and descent along the gradient, with as many rounds."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import numpy as np

import jaxbandit
from jaxbandit import Environment, Policy, Soft, Task, learning, members, metrics
from jaxbandit.command_line.grids.criterion import measure, shares
from jaxbandit.command_line.grids.policy_grid import Grid, Variant
from jaxbandit.interruption import stop_if_interrupted
from jaxbandit.stress.point_search import cmaes

POPULATION = 16  # of a generation of CMA-ES
WIDTH = 0.25  # of the first generation, in units of the box
LUCKS, DRAWS = 50, 4  # of a step of the descent: problems that are drawn, and runs of each
TEMPERATURE = (0.001, 0.5)  # of the softmax by which an index policy has a gradient
FIRST_TEMPERATURE = 0.05


class Searched(NamedTuple):
    """What a search chose.

    Fields:
      policy: with its numbers.
      numbers: by name.
      plays: runs of every scenario that it played.
    """

    policy: Policy
    numbers: dict[str, float]
    plays: int

    def __str__(self) -> str:
        return ", ".join(f"{name} = {value:.4g}" for name, value in self.numbers.items())


def box(grid: Grid) -> dict[str, tuple[float, float]]:
    """The range of each number of a grid, from its least to its largest value; ValueError if there is none."""
    axes = {name: [v for v in values if isinstance(v, int | float)] for name, values in grid.axes.items()}
    ranges = {name: (float(min(v)), float(max(v))) for name, v in axes.items() if len(set(v)) > 1}
    if not ranges:
        raise ValueError("--gradient: the grid has no number with two values or more, between which to search")
    return ranges


def check_searches(grid: Grid, arms: Mapping[str, Environment]) -> None:
    """Raise ValueError for a grid that cannot be searched, ImportError without `cmaes`."""
    cmaes()
    policy, _ = _begun(grid, None, box(grid))
    if members.probabilities(policy) is None:
        for name, each in arms.items():
            try:
                members.validate(Soft(policy), Task(each, name=name))
            except ValueError as error:
                raise ValueError(f"--gradient: {error}") from None


def _begun(grid: Grid, variant: Variant | None, ranges: Mapping[str, tuple[float, float]]) -> tuple[Any, np.ndarray]:
    """The policy with the grid's chosen words, and the first numbers of a search: the default's, or a middle."""
    fields = {} if variant is None else {name: v for name, v in variant.fields.items() if name not in ranges}
    default = grid.policy(**grid.fixed)
    values = []
    for name, (low, high) in ranges.items():
        value = getattr(default, name)
        values.append(float(np.clip(value, low, high)) if isinstance(value, int | float) else (low + high) / 2)
    return grid.policy(**grid.fixed | fields | dict(zip(ranges, values))), np.array(values)


def by_cmaes(
    grid: Grid,
    variant: Variant | None,
    arms: Mapping[str, Environment],
    plays: int,
    runs: int,
    first_run: int,
    size: dict[str, Any],
    criterion: str,
) -> Searched:
    """The best mean of CMA-ES within the grid's ranges, which plays as many runs as the grid did.

    Args:
      plays: of every scenario, in all.
      runs: of each candidate.
      first_run: the number of the first run; those before have a part elsewhere.
    """
    ranges = box(grid)
    policy, first = _begun(grid, variant, ranges)
    low, high = np.array(list(ranges.values())).T
    generations = max(1, plays // (POPULATION * runs))
    start = np.clip((first - low) / (high - low), 0.02, 0.98)
    seed = int(np.asarray(jax.random.key_data(size["key"])).sum() % 2**31)
    bounds = np.tile([0.0, 1.0], (len(low), 1))
    search = cmaes().CMA(mean=start, sigma=WIDTH, bounds=bounds, seed=seed, population_size=POPULATION)
    for generation in range(generations):
        stop_if_interrupted()
        points = [search.ask() for _ in range(POPULATION)]
        players = [_with(policy, ranges, low + (high - low) * point) for point in points]
        begin = first_run + generation * runs  # new luck for each generation, the same for all of it
        numbers = range(begin, begin + runs)
        played = size | {"runs": numbers, "times": [size["horizon"]], "progress": False}
        final = []
        for name, each in arms.items():
            result = jaxbandit.simulate({name: each}, {"p": players}, **played)
            final.append(metrics.pseudo_regret(result, "p")[0, :, :, -1])
        search.tell(list(zip(points, shares(measure(np.stack(final), criterion)))))
    chosen = low + (high - low) * np.clip(search.mean, 0, 1)
    return Searched(_with(policy, ranges, chosen), dict(zip(ranges, chosen.tolist())), generations * POPULATION * runs)


def by_gradient(
    grid: Grid,
    variant: Variant | None,
    arms: Mapping[str, Environment],
    plays: int,
    regrets: Mapping[str, float],
    size: dict[str, Any],
) -> Searched:
    """What descent along the gradient chooses within the grid's ranges, for mean regret as a share of `regrets`.

    A policy without probabilities is played within `Soft`, whose temperature is tuned, too.
    """
    ranges = box(grid)
    policy, _ = _begun(grid, variant, ranges)
    fields: dict[str, tuple[float, float]] = dict(ranges)
    if members.probabilities(policy) is None:
        policy, fields = Soft(policy, FIRST_TEMPERATURE), {f"policy.{name}": ends for name, ends in ranges.items()}
        fields["temperature"] = TEMPERATURE
    steps = max(1, plays * len(arms) // (LUCKS * DRAWS))
    weights = {name: 1 / max(regret, 1e-9) for name, regret in regrets.items()}
    asked = {"horizon": size["horizon"], "steps": steps, "runs": LUCKS, "draws": DRAWS, "key": size["key"]}
    tuned = learning.tune(policy, arms, fields, weights=weights, **asked)
    if len(tuned.regret) < steps:
        raise KeyboardInterrupt
    values = tuned.values[len(tuned.values) // 2 :].mean(0)
    numbers = {name.removeprefix("policy."): float(value) for name, value in zip(tuned.names, values)}
    return Searched(tuned.policy, numbers, steps * LUCKS * DRAWS // len(arms))


def _with(policy: Any, ranges: Mapping[str, Any], values: np.ndarray) -> Any:
    return dataclasses.replace(policy, **dict(zip(ranges, map(float, values))))
