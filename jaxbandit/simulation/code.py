"""What classes and functions are made of, by which changed code is known within a process."""

from __future__ import annotations

import inspect
from contextlib import suppress
from types import CodeType, FunctionType
from typing import Any

from jaxbandit.simulation.recording import OfFour


def code_of(*things: Any) -> tuple[Any, ...]:
    """What the methods of the things' classes, or given functions, are made of: functions, and the numbers they read.

    A program is compiled and traced again where any of it has changed: JAX itself compares the class only, so that an
    author who assigns `Mine.scores = ...`, or runs the cell of a helper again, would be played the old one.
    """
    found: dict[Any, None] = {}
    for thing in things:
        _add_code(thing, found, ())
        for kind in type(thing).__mro__:
            for name, member in vars(kind).items():
                _add_code(member, found, (kind, name))
    return tuple(found)


def _add_code(value: Any, found: dict[Any, None], where: tuple[Any, ...]) -> None:
    """Add a function and what it reads; a number or a text with the place `where` it is read."""
    value = getattr(value, "fget", value)  # of a property
    if isinstance(value, OfFour):
        value = value.function
    if isinstance(value, str | int | float):
        found[(*where, type(value), value)] = None
    function = inspect.unwrap(value) if callable(value) else value
    if not isinstance(function, FunctionType) or function in found:
        return
    found[function] = None
    codes = [function.__code__]
    for code in codes:
        codes += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
        for name in code.co_names:
            _add_code(function.__globals__.get(name), found, (function, name))
    for number, cell in enumerate(function.__closure__ or ()):
        with suppress(ValueError):  # an empty cell
            _add_code(cell.cell_contents, found, (function, number))
