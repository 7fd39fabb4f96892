"""What a sweep is asked to play: a TOML file, checked key by key before anything is compiled."""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import jax

import jaxbandit
from jaxbandit import MarkovArms, atlas
from jaxbandit.command_line.experiment import check_cases
from jaxbandit.command_line.grids.policy_grid import Grid, make_grid
from jaxbandit.command_line.options import Simulation
from jaxbandit.environments import InitialState
from jaxbandit.texts import near_miss

T = TypeVar("T")
NAME = re.compile(r"[\w.+-]([\w .+-]*[\w.+-])?")  # a file can be called so, and a label's commas are its own
QUICK = {"runs": 8, "horizon": 500}
SIZE = ("runs", "horizon", "plays", "shuffle", "delay", "batch", "random_numbers", "seed", "times")


class SweepFile(NamedTuple):
    """Scenarios, policies and the size of a sweep."""

    scenarios: dict[str, MarkovArms]
    grids: list[Grid]
    size: dict[str, Any]  # further arguments of `simulate`

    def cases(self) -> dict[tuple[str, str], dict[str, Any]]:
        """The arguments of `simulate` by scenario and policy; a later one of either leaves the others as they are."""
        return {
            (scenario, grid.name): {"scenarios": {scenario: arms}, "policies": grid.entries(), **self.size}
            for scenario, arms in self.scenarios.items()
            for grid in self.grids
        }


def read(path: Path, quick: bool = False) -> SweepFile:
    """What a TOML file asks for, or as little of it as shows that everything works."""
    try:
        with open(path, "rb") as file:
            contents = tomllib.load(file)
        contents = {key: each for key, each in contents.items() if key != "times"} | QUICK if quick else contents
        return _sweep_file(contents)
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path.name}: not TOML: {error}") from None
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from None


def _sweep_file(contents: dict[str, Any]) -> SweepFile:
    known = (*SIZE, "scenarios", "policies")
    for key in contents:
        if key not in known:
            raise ValueError(f"{key}: unknown key{near_miss(key, known)}; there are {', '.join(known)}")
    size = {key: contents[key] for key in SIZE if key in contents}
    size["key"] = _key("seed", size.pop("seed", 0))
    if not isinstance(size.get("shuffle", False), bool):
        raise ValueError(f"shuffle: {size['shuffle']!r} is neither true nor false")
    scenarios = {name: _scenario(f"scenarios.{name}", table) for name, table in _tables(contents, "scenarios").items()}
    grids = [_grid(name, table) for name, table in _tables(contents, "policies").items()]
    for grid in grids:
        grid.validate(scenarios.values(), f"policies.{grid.name}.")
    asked = SweepFile(scenarios, grids, size)
    check_cases(asked.cases())
    return asked


def _tables(contents: dict[str, Any], kind: str) -> dict[str, dict[str, Any]]:
    """The named tables under a key."""
    tables = contents.get(kind)
    if not isinstance(tables, dict) or not tables:
        raise ValueError(f"{kind}: none given; add at least one table [{kind}.NAME]")
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise ValueError(f"{kind}.{name}: {table!r} is not a table; write [{kind}.{name}] and its keys below")
        if not NAME.fullmatch(name):
            raise ValueError(f"{kind}.{name!r}: a name is made of letters, digits, spaces and any of _ . + -")
    return tables


def _key(where: str, seed: Any) -> jax.Array:
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise ValueError(f"{where}: {seed!r} is not an integer")
    return Simulation(seed=seed).key()


def _random(
    seed: int = 0, arms: int = 5, states: int = 2, concentration: float = 1.0, initial_state: InitialState = 0
) -> MarkovArms:
    key = _key("seed", seed)
    return jaxbandit.random_arms(key, arms, states, concentration=concentration, initial_state=initial_state)


def _paper(name: str, *, initial_state: InitialState = 0) -> MarkovArms:
    return atlas[name].make(initial_state=initial_state)


PAPER = ("scenario 1", "scenario 2", "scenario 3", "scenario 4")
ENVIRONMENTS: dict[str, Callable[..., MarkovArms]] = {
    "two_state": jaxbandit.two_state,
    "bernoulli": jaxbandit.bernoulli,
    "markov": jaxbandit.markov,
    "random": _random,
    **{name: partial(_paper, name) for name in PAPER},
}


def _scenario(where: str, table: dict[str, Any]) -> MarkovArms:
    make, arguments = _named(where, "environment", table, ENVIRONMENTS)
    parameters = inspect.signature(make).parameters
    for argument in arguments:
        if argument not in parameters:
            raise ValueError(f"{where}.{argument}: unknown field; {table['environment']} has {', '.join(parameters)}")
    for argument, parameter in parameters.items():
        if argument not in arguments and parameter.default is parameter.empty:
            raise ValueError(f"{where}.{argument}: missing; {table['environment']} has {', '.join(parameters)}")
    try:
        return make(**arguments)
    except ValueError as error:
        raise ValueError(f"{where}.{error}") from None
    except OverflowError as error:
        raise ValueError(f"{where}: a number is too large ({error})") from None


def _grid(name: str, table: dict[str, Any]) -> Grid:
    where = f"policies.{name}"
    policy, fields = _named(where, "policy", table, jaxbandit.ALL)
    return make_grid(name, policy, fields, f"{where}.")


def _named(where: str, kind: str, table: dict[str, Any], known: Mapping[str, T]) -> tuple[T, dict[str, Any]]:
    """What the table names under `kind`, and the rest of the table."""
    name = table.get(kind)
    if not isinstance(name, str) or name not in known:
        what = "missing" if name is None else f"{name!r} is unknown{near_miss(str(name), known)}"
        raise ValueError(f"{where}.{kind}: {what}; give one of {', '.join(known)}")
    return known[name], {key: value for key, value in table.items() if key != kind}
