"""The units of reward in which each policy plays each scenario, and the environments in these units."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxbandit import members
from jaxbandit.base import Environment, Policy, Task, stack
from jaxbandit.reward_units import OWN, RewardUnits, check_distinct, reward_units


def units_of(listed: Mapping[str, list[Policy]], named: Mapping[str, Environment]) -> dict[str, list[RewardUnits]]:
    """The units of each scenario by the label of a policy, the same for all of its variants.

    Raises:
      ValueError: rewards that differ, and that are the same number for a policy.
    """
    units: dict[str, list[RewardUnits]] = {label: [] for label in listed}
    for name, environment in named.items():
        table, offset = Task(environment).reward, members.offset(environment)
        checked: set[RewardUnits] = set()
        for label, variants in listed.items():
            wanted = {reward_units(policy, table, offset=offset) for policy in variants}
            unit = wanted.pop() if len(wanted) == 1 else OWN
            if unit != OWN and members.in_units(environment, *unit) is None:
                unit = OWN
            if unit not in checked:
                # rewards without a table lie about their means
                rewards = np.asarray(environment.means()) if unit == OWN and offset else table
                check_distinct(f"scenarios[{name!r}], policies[{label!r}]", rewards, unit)
                checked.add(unit)
            units[label].append(unit)
    return units


def seen_environments(
    environment: Environment, played: list[Environment], units: Mapping[str, list[RewardUnits]]
) -> dict[str, Environment]:
    """By label, the stacked scenarios in the units of each policy; policies with the same units share one.

    Args:
      environment: the scenarios `played`, stacked.
    """
    made: dict[Any, Environment] = {}
    for each in units.values():
        key = tuple(each)
        if key not in made:
            in_these = [members.in_units(one, *unit) for one, unit in zip(played, each)]
            made[key] = environment if set(key) == {OWN} else stack(in_these, "scenarios")
    return {label: made[tuple(each)] for label, each in units.items()}


def in_own_units(name: str, records: np.ndarray, visits: np.ndarray, units: list[RewardUnits]) -> np.ndarray:
    """The records [C, ..] of a policy by this name in the environment's units of reward.

    The sums "rewards" [C, .., K] of rewards without a finite table are those of shifted rewards in the simulation.

    Args:
      visits: [C, .., K, 1], the numbers of plays.
    """
    if name != "rewards" or all(unit == OWN for unit in units):
        return records
    lows = np.array([unit.low for unit in units]).reshape(-1, *[1] * (records.ndim - 1))
    return np.asarray(records + visits[..., 0] * lows)
