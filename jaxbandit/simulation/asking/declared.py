"""Declared properties of environments, read on the host and checked before anything is compiled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxbandit import members
from jaxbandit.arguments import finite
from jaxbandit.base import Environment, check_known, reward_table
from jaxbandit.members import declares, episode_values, has_methods, lacks, means_now
from jaxbandit.simulation.asking.contracts import check_contract, check_declares, check_leaves, named_things

Scenarios = Environment | Mapping[str, Environment]


def check_without_table(where: str, environment: Any) -> None:
    """Raise ValueError for an environment without a table of rewards that lacks `arms` or `reward_range`."""
    missing = members.lacks(environment, "arms", "reward_range")
    if missing:
        raise ValueError(
            f"{where}: the reward of {type(environment).__name__} is None, and it has no {', '.join(missing)} (see "
            "jaxbandit.Environment)"
        )


def check_means_now(where: str, environment: Any) -> None:
    """Raise ValueError for an environment with changing or rotting arms that has no `means_now`."""
    if declares(environment).problem in ("changing", "rotting") and means_now(environment) is None:
        raise ValueError(
            f'{where}: {type(environment).__name__} declares the problem "{declares(environment).problem}" and has no '
            f"means_now; write means_now(state, t), traced: [K], the mean reward of a play of each arm in "
            "round t, from which its regret is computed (see jaxbandit.Environment)"
        )


def reward_of(where: str, environment: Any) -> np.ndarray:
    """The reward of each state of each arm, [K, S] or [K, 0], in float64."""
    table = finite(f"{where}.reward", reward_table(environment))
    if table.ndim != 2 or not len(table):
        raise ValueError(f"{where}.reward: shape {table.shape} is not [K, S]")
    return table


def means_of(where: str, environment: Any, arms: int) -> np.ndarray:
    """The long-run reward of each arm, [K] in float64."""
    means = finite(f"{where}.means()", environment.means())
    if means.shape != (arms,):
        raise ValueError(f"{where}.means(): shape {means.shape} is not [K] = ({arms},)")
    return means


def numbers_of(where: str, environment: Any) -> dict[str, Any]:
    """The declared numbers of an environment, as Python numbers and lists."""
    numbers = members.numbers(environment)
    if not isinstance(numbers, Mapping):
        raise ValueError(f"{where}.numbers(): {type(numbers).__name__} is not a dict from name to a number or a list")
    for name, value in numbers.items():
        finite(f"{where}.numbers()[{name!r}]", value)
    return {str(name): np.asarray(value).tolist() for name, value in numbers.items()}


def comparator_of(scenarios: dict[str, Environment], plays: int, horizon: int) -> np.ndarray | None:
    """The declared comparators of regret; None if one is missing.

    Returns:
      [C]; [C, horizon] if that of a scenario changes from round to round; [C, H, S] with episodes of H rounds.
    """
    tables = [table for table in map(episode_values, scenarios.values()) if table is not None]
    if len(tables) == len(scenarios):
        return finite("scenarios: episode_values()", np.stack(tables))
    comparators = {name: members.comparator(environment, plays) for name, environment in scenarios.items()}
    if any(value is None for value in comparators.values()):
        return None
    values = {name: np.asarray(value, float) for name, value in comparators.items()}
    for name, value in values.items():
        where = f"scenarios[{name!r}]: comparator({plays})"
        if not np.isfinite(value).all():
            raise ValueError(f"{where} is {value}, not a finite number")
        if value.shape not in ((), (horizon,)):
            raise ValueError(
                f"{where} has the shape {value.shape}; it is one number, or one for each of {horizon:,} rounds"
            )
    return np.stack(np.broadcast_arrays(*values.values()))


def comparator_name_of(scenarios: dict[str, Environment], plays: int) -> str | None:
    """The name of the comparator of the scenarios, None if an environment has none."""
    names = dict.fromkeys(members.comparator_name(environment, plays) for environment in scenarios.values())
    if len(names) == 1:
        return next(iter(names))
    return " or ".join(map(str, names)) if None not in names else None


def cost_of(scenarios: dict[str, Environment], arms: int) -> np.ndarray | None:
    """The costs of plays, [C, K] in float64, if all arms pay; None if only played arms pay."""
    if declares(next(iter(scenarios.values()))).paid == "played":
        return None
    costs = []
    for name, environment in scenarios.items():
        costs.append(finite(f"scenarios[{name!r}].cost", environment.cost))  # type: ignore[attr-defined]
        if costs[-1].shape != (arms,):
            raise ValueError(f"scenarios[{name!r}].cost: shape {costs[-1].shape} is not [K] = ({arms},)")
    return np.stack(costs)


def passive_reward_of(scenarios: dict[str, Environment], reward: np.ndarray) -> np.ndarray | None:
    """What arms that are not played pay, [C, K, S] in float64; None for `reward`, or if only played arms pay."""
    if declares(next(iter(scenarios.values()))).paid == "played":
        return None
    tables = {name: members.passive_reward(environment) for name, environment in scenarios.items()}
    if all(table is None for table in tables.values()):
        return None
    rows = []
    for (name, table), played in zip(tables.items(), reward):
        rows.append(played if table is None else finite(f"scenarios[{name!r}].passive_reward", table))
        if rows[-1].shape != played.shape:
            raise ValueError(
                f"scenarios[{name!r}].passive_reward: shape {rows[-1].shape} is not [K, S] = {played.shape}"
            )
    return np.stack(rows)


def environments_of(scenarios: Scenarios) -> dict[str, Environment]:
    """The environments by name, with all required members."""
    if isinstance(scenarios, list | tuple) and not has_methods(scenarios, "step"):
        raise ValueError("scenarios: a list has no names; give a dict from name to environment, or one environment")
    named = named_things("scenarios", scenarios) if isinstance(scenarios, Mapping) else {"scenario": scenarios}
    if not named:
        raise ValueError("scenarios: none given; give an environment or a dict of them")
    for name, environment in named.items():
        where = f"scenarios[{name!r}]"
        check_contract(where, environment, ("means", "init", "step"), "an environment")
        if lacks(environment, "reward"):
            raise ValueError(
                f"{where}: an environment is needed, and {type(environment).__name__} has no reward; give it "
                "the reward of each state of each arm, [K, S], or None if rewards have no finite table"
            )
        if environment.reward is None:
            check_without_table(where, environment)
        check_known(where, environment)
        check_declares(where, environment)
        check_means_now(where, environment)
        check_leaves(where, environment)
    return named


def rewards_of(named: dict[str, Environment]) -> np.ndarray:
    """The reward of each state of each arm, [C, K, S] or [C, K, 0] float64."""
    rewards = {name: reward_of(f"scenarios[{name!r}]", environment) for name, environment in named.items()}
    first = next(iter(rewards))
    for name, table in rewards.items():
        if table.shape != rewards[first].shape:
            raise ValueError(
                f"scenarios: {name!r} has [K, S] = {table.shape}, {first!r} has {rewards[first].shape}; "
                "scenarios of different shapes need separate calls"
            )
    return np.stack(list(rewards.values()))


def check_records(where: str, records: dict[str, Any], reward: np.ndarray, cost: np.ndarray | None) -> None:
    """Raise ValueError if the environment lacks records that its results need."""
    if reward.shape[2] == 0 and "rewards" not in records:
        raise ValueError(
            f'{where}.records: rewards have no finite table, so the environment needs to record "rewards", [K], the '
            "total reward of each arm (see jaxbandit.Environment)"
        )
    if cost is not None and "stays" not in records:
        raise ValueError(
            f'{where}.records: all arms pay, so the environment needs to record "stays", [K, S], the number of rounds '
            "for which each state of each arm paid (see jaxbandit.Environment)"
        )
