"""What environments declare of themselves, read on the host and checked before anything is compiled."""

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
    """Refuse an environment without a table of rewards that lacks what it then needs."""
    missing = members.lacks(environment, "arms", "reward_range")
    if missing:
        raise ValueError(
            f"{where}: the reward of {type(environment).__name__} is None, and it has no {', '.join(missing)} (see "
            "jaxbandit.Environment)"
        )


def check_means_now(where: str, environment: Any) -> None:
    """Refuse an environment of arms that change or rot and that does not say what a play would pay in a round."""
    if declares(environment).problem in ("changing", "rotting") and means_now(environment) is None:
        raise ValueError(
            f'{where}: {type(environment).__name__} declares the problem "{declares(environment).problem}" and has no '
            f"means_now; write means_now(state, t), traced: [K], what a play of each arm would pay on average "
            "in round t, so that its regret can be computed (see jaxbandit.Environment)"
        )


def reward_of(where: str, environment: Any) -> np.ndarray:
    """What each state of each arm pays, [K, S] or [K, 0], in float64."""
    table = finite(f"{where}.reward", reward_table(environment))
    if table.ndim != 2 or not len(table):
        raise ValueError(f"{where}.reward: shape {table.shape} is not [K, S]")
    return table


def means_of(where: str, environment: Any, arms: int) -> np.ndarray:
    """The long-run reward of each arm, [K] in float64."""
    found = finite(f"{where}.means()", environment.means())
    if found.shape != (arms,):
        raise ValueError(f"{where}.means(): shape {found.shape} is not [K] = ({arms},)")
    return found


def numbers_of(where: str, environment: Any) -> dict[str, Any]:
    """What an environment says of itself, as numbers and lists of numbers of Python's own."""
    told = members.numbers(environment)
    if not isinstance(told, Mapping):
        raise ValueError(f"{where}.numbers(): {type(told).__name__} is not a dict from name to a number or a list")
    for name, value in told.items():
        finite(f"{where}.numbers()[{name!r}]", value)
    return {str(name): np.asarray(value).tolist() for name, value in told.items()}


def comparator_of(scenarios: dict[str, Environment], plays: int) -> np.ndarray | None:
    """What regret is measured against, as environments declare it: [C], of episodes [C, H, S]; None if one does not."""
    values = [each for each in map(episode_values, scenarios.values()) if each is not None]
    if len(values) == len(scenarios):
        return finite("scenarios: episode_values()", np.stack(values))
    comparators = {name: members.comparator(environment, plays) for name, environment in scenarios.items()}
    if None in comparators.values():
        return None
    for name, value in comparators.items():
        if value is not None and not np.isfinite(value):
            raise ValueError(f"scenarios[{name!r}]: comparator({plays}) is {value}, not a finite number")
    return np.array(list(comparators.values()))


def comparator_name_of(scenarios: dict[str, Environment], plays: int) -> str | None:
    """What the comparator of the scenarios is, None where an environment does not say so."""
    found = dict.fromkeys(members.comparator_name(environment, plays) for environment in scenarios.values())
    if len(found) == 1:
        return next(iter(found))
    return " or ".join(map(str, found)) if None not in found else None


def cost_of(scenarios: dict[str, Environment], arms: int) -> np.ndarray | None:
    """What a play costs, [C, K] in float64, where all arms pay, played or not; None where those that are played pay."""
    if declares(next(iter(scenarios.values()))).paid == "played":
        return None
    costs = []
    for name, environment in scenarios.items():
        costs.append(finite(f"scenarios[{name!r}].cost", environment.cost))  # type: ignore[attr-defined]
        if costs[-1].shape != (arms,):
            raise ValueError(f"scenarios[{name!r}].cost: shape {costs[-1].shape} is not [K] = ({arms},)")
    return np.stack(costs)


def environments_of(scenarios: Scenarios) -> dict[str, Environment]:
    """The environments by name, each of which has what every environment must have."""
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
                f"{where}: an environment is needed, and {type(environment).__name__} has no reward; give it what each "
                "state of each arm pays, [K, S], or None if rewards have no finite table"
            )
        if environment.reward is None:
            check_without_table(where, environment)
        check_known(where, environment)
        check_declares(where, environment)
        check_means_now(where, environment)
        check_leaves(where, environment)
    return named


def rewards_of(named: dict[str, Environment]) -> np.ndarray:
    """What each state of each arm pays, [C, K, S] or [C, K, 0] float64."""
    rewards = {name: reward_of(f"scenarios[{name!r}]", environment) for name, environment in named.items()}
    first = next(iter(rewards))
    for name, table in rewards.items():
        if table.shape != rewards[first].shape:
            raise ValueError(
                f"scenarios: {name!r} has [K, S] = {table.shape}, {first!r} has {rewards[first].shape}; "
                "scenarios of another shape need a call of their own"
            )
    return np.stack(list(rewards.values()))


def check_records(where: str, records: dict[str, Any], reward: np.ndarray, cost: np.ndarray | None) -> None:
    """Raise ValueError where the environment does not record what its results need."""
    if reward.shape[2] == 0 and "rewards" not in records:
        raise ValueError(
            f'{where}.records: rewards have no finite table, so the environment needs to record "rewards", [K], what '
            "each arm has paid (see jaxbandit.Environment)"
        )
    if cost is not None and "stays" not in records:
        raise ValueError(
            f'{where}.records: all arms pay, so the environment needs to record "stays", [K, S], how many rounds have '
            "left each arm in each state (see jaxbandit.Environment)"
        )
