"""A policy with fields fixed and fields given as lists, every combination of which is a variant."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any, NamedTuple

import jaxbandit
from jaxbandit import Environment, Policy, Task, members
from jaxbandit.texts import near_miss

NONE = "none"  # TOML has no word for it


class Variant(NamedTuple):
    """One combination."""

    label: str  # "tv, samples=arm, scale=0.5"
    entry: str  # under which `simulate` knows it and its like: "tv, samples=arm"
    position: int  # among the variants of the entry
    fields: dict[str, Any]  # of the axes
    policy: Policy


@dataclasses.dataclass(frozen=True)
class Grid:
    """A policy's variants: choices outside, numbers inside, the last axis fastest."""

    name: str
    policy: type[Policy]
    fixed: dict[str, Any]
    choices: dict[str, list[Any]]  # axes that change the program, or hold something else than numbers
    numbers: dict[str, list[float]]  # axes of numbers: one program for all their values

    @property
    def axes(self) -> dict[str, list[Any]]:
        return self.choices | self.numbers

    def variants(self) -> list[Variant]:
        variants = []
        for choice, chosen in jaxbandit.grid(dict, **self.choices).items():
            entry = _joined(self.name, choice)
            for position, (number, numbers) in enumerate(jaxbandit.grid(dict, **self.numbers).items()):
                fields = {**chosen, **numbers}
                policy = self.policy(**self.fixed, **fields)
                variants.append(Variant(_joined(entry, number), entry, position, fields, policy))
        return variants

    def entries(self) -> dict[str, list[Policy]]:
        """The argument `policies` of `simulate`."""
        entries: dict[str, list[Policy]] = {}
        for variant in self.variants():
            entries.setdefault(variant.entry, []).append(variant.policy)
        return entries

    def validate(self, scenarios: Iterable[Environment], where: str) -> None:
        """Raise ValueError unless the policy takes all values for each of these environments."""
        policies = [variant.policy for variant in self.variants()]
        for environment in scenarios:
            for policy in policies:
                try:
                    members.validate(policy, Task(environment))
                except ValueError as error:
                    raise ValueError(f"{where}{error}") from None


def make_grid(name: str, policy: type[Policy], table: dict[str, Any], where: str) -> Grid:
    """A grid from fields and their values, a list for an axis.

    >>> grid = make_grid("tv", jaxbandit.TVKLUCB, {"samples": ["arm", "state"], "scale": [1, 2], "exponent": 0.2}, "")
    >>> [variant.label for variant in grid.variants()][:3]
    ['tv, samples=arm, scale=1.0', 'tv, samples=arm, scale=2.0', 'tv, samples=state, scale=1.0']
    >>> {entry: len(variants) for entry, variants in grid.entries().items()}
    {'tv, samples=arm': 2, 'tv, samples=state': 2}
    """
    fields = {field.name: field for field in dataclasses.fields(policy)}  # type: ignore[arg-type]
    grid = Grid(name, policy, {}, {}, {})
    for field, given in table.items():
        if field not in fields:
            unknown = f"unknown field{near_miss(field, fields)}"
            raise ValueError(f"{where}{field}: {unknown}; {policy.__name__} has {', '.join(fields) or 'none'}")
        values = [
            _value(where + field, fields[field], each) for each in (given if isinstance(given, list) else [given])
        ]
        if not values:
            raise ValueError(f"{where}{field}: an empty list; give a value, or several to be crossed")
        if len(set(map(str, values))) < len(values):  # as text, for labels
            raise ValueError(f"{where}{field}: a value twice in {given}")
        if len(values) == 1:
            grid.fixed[field] = values[0]
        elif None in values or fields[field].metadata.get("static", False):
            grid.choices[field] = values
        else:
            grid.numbers[field] = values
    return grid


def _value(key: str, field: dataclasses.Field[Any], value: Any) -> Any:
    if value == NONE and field.default is None:
        return None
    if field.metadata.get("static", False):
        if isinstance(value, str | int | float):
            return value
        raise ValueError(f"{key}: {value!r} is not one value; give a value, or a list of values to be crossed")
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    other = f' or "{NONE}"' if field.default is None else ""
    raise ValueError(f"{key}: {value!r} is not a number{other}; give one, or a list to be crossed")


def _joined(*parts: str) -> str:
    return ", ".join(filter(None, parts))
