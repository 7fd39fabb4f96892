"""Policies: all of them by the arms that they are for, or one with its formula and its fields.

NAME is that of a policy, as KLUCB. How each is called in Python is jaxbandit.NAME; jaxbandit judge NAME plays it.
"""

from __future__ import annotations

import dataclasses
import inspect
from importlib import import_module

from jaxbandit import policies
from jaxbandit.command_line.listing import listing, refilled
from jaxbandit.command_line.options import name_in_words, unknown
from jaxbandit.texts import filled, short

ROOMS = ("means", "chains", "restless", "changing", "processes", "spending", "identify", "learned", "parts")
CLASSES = {name: thing for name in policies.__all__ if inspect.isclass(thing := getattr(policies, name))}


@dataclasses.dataclass(frozen=True)
class Settings:
    """What is looked up."""

    name: str = name_in_words("of a policy; all are listed if there is none")


def all_of_them() -> str:
    """A list for each room of policies, under what the room says of itself."""
    rooms: dict[str, dict[str, str]] = {f"{policies.__name__}.{room}": {} for room in ROOMS}
    for name, policy in CLASSES.items():
        rooms[policy.__module__.rpartition(".")[0]][name] = _first_line(policy)
    return "\n\n".join(filled(f"{import_module(room).__doc__}\n{listing(lines)}") for room, lines in rooms.items())


def _first_line(policy: type) -> str:
    return " ".join((inspect.getdoc(policy) or "").split("\n\n")[0].split())


def one(name: str) -> str:
    """What a policy says of itself, and its fields with their defaults."""
    policy = CLASSES[name]
    fields = {
        field.name: "has to be given" if field.default is dataclasses.MISSING else short(field.default)
        for field in dataclasses.fields(policy)  # type: ignore[arg-type]
    }
    parts = [f"jaxbandit.policies.{name}", refilled(inspect.getdoc(policy) or "")]
    parts.append(f"Fields and defaults\n{listing(fields)}" if fields else "It has no fields.")
    if made := inspect.getattr_static(policy, "of", None):
        _, *given = inspect.signature(made.__func__).parameters.values()  # without the class
        shown = ", ".join(str(each.replace(annotation=each.empty)) for each in given)
        parts.append(filled(f"Made of an environment: {name}.of({shown})"))
    return "\n\n".join(parts)


def run(settings: Settings) -> None:
    """Print the list, or the policy."""
    if settings.name and settings.name not in CLASSES:
        raise ValueError(unknown("NAME", settings.name, CLASSES))
    print(one(settings.name) if settings.name else all_of_them())
