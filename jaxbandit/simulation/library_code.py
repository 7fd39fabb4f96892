"""The library's own code, which does not change within a process, so that it need not be traced again."""

from __future__ import annotations

import dataclasses
import sys
from functools import partial
from types import FunctionType
from typing import Any

import jax
import numpy as np

from jaxbandit.fast.target import for_cpu

_TRUSTED = ("jaxbandit", "optax")  # packages whose code does not change within a process


def ask(name: str, thing: Any, *arguments: Any) -> Any:
    """What a method of a policy or an environment returns; that of the library's own code as `traced_once`."""
    return traced_once(name, thing, *arguments) if trusted(thing) else getattr(thing, name)(*arguments)


def traced_once(name: str, thing: Any, *arguments: Any) -> Any:
    """What a method returns, by JAX's cache of traces, so that the trace that is checked serves the program, too.

    A program for another device than a CPU is traced for itself.
    """
    return _traced_once(name, for_cpu(), thing, *arguments)


@partial(jax.jit, static_argnums=(0, 1))
def _traced_once(name: str, on_cpu: bool, thing: Any, *arguments: Any) -> Any:
    return getattr(thing, name)(*arguments)


def trusted(thing: Any) -> bool:
    """Whether all code behind a policy or an environment is the library's, so that it need not be traced again."""
    if thing is None or isinstance(thing, str | int | float | np.ndarray | np.generic | jax.Array):
        return True
    if isinstance(thing, jax.ShapeDtypeStruct):
        return True
    if type(thing) in (list, tuple):
        return all(map(trusted, thing))
    if isinstance(thing, FunctionType):
        return _is_of_a_package(thing)
    fields = dataclasses.fields(thing) if dataclasses.is_dataclass(thing) else None
    if fields is None or not _is_of_a_package(type(thing)):
        return False
    named = [pair for kind in type(thing).__mro__[:-1] for pair in vars(kind).items() if not pair[0].startswith("__")]
    functions = [getattr(member, "fget", member) for _, member in named]  # what dataclasses add differs by version
    replaced = any(callable(each) and not _is_named_so(getattr(each, "__module__", None)) for each in functions)
    return not replaced and all(trusted(getattr(thing, field.name)) for field in fields)


def _is_of_a_package(thing: Any) -> bool:
    """Whether a class or a function is the one that a trusted package has under its name."""
    module = thing.__module__ or ""
    return _is_named_so(module) and getattr(sys.modules.get(module), thing.__qualname__, None) is thing


def _is_named_so(module: str | None) -> bool:
    return (module or "").partition(".")[0] in _TRUSTED
