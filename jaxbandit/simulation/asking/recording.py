"""Recorders: a user's functions of the states whose values are recorded, checked on the host."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import jax
from jax import Array

from jaxbandit.arguments import excerpt
from jaxbandit.base import Policy
from jaxbandit.simulation.asking.tracing import VISITS, Program, one_of, recorder_program

Function = Callable[..., Any]  # of (environment_state, policy_state, t), or of these and the policy
Record = Mapping[str, Function | Mapping[str, Function]]


@dataclass(frozen=True)
class Recorder:
    """A recorder, called with four arguments; its function takes three or four. Equal if the functions are."""

    function: Function
    takes_policy: bool

    def __call__(self, environment_state: Any, policy_state: Any, t: Array, policy: Any) -> Any:
        last = (policy,) if self.takes_policy else ()
        return self.function(environment_state, policy_state, t, *last)


Recorders = dict[str, dict[str, Recorder]]  # by label and name


def recorders_of(record: Record | None, labels: Sequence[str], declared: Sequence[str]) -> Recorders:
    """By label and name, each recorder as a function of four arguments.

    Args:
      declared: the names of the environment's own records.
    """
    recorders: Recorders = {label: {} for label in labels}
    if record is None:
        return recorders
    if not isinstance(record, Mapping):
        raise ValueError(f"record: {excerpt(record)}; give a dict from name to a function, or to one by label")
    for name, functions in record.items():
        if not isinstance(name, str) or not name or "/" in name or name in (VISITS, *declared):
            taken = " or ".join(f'"{reserved}"' for reserved in (VISITS, *declared))
            raise ValueError(f'record: the name {name!r} is not a text without "/", or is {taken}; choose another')
        by_label = functions if isinstance(functions, Mapping) else dict.fromkeys(labels, functions)
        for label, function in by_label.items():
            if str(label) not in labels:
                raise ValueError(f"record[{name!r}]: {label!r} is not a policy; there are {', '.join(labels)}")
            recorders[str(label)][name] = Recorder(function, _takes_policy(f"record[{name!r}]", function))
    return recorders


def _takes_policy(where: str, function: Any) -> bool:
    """Whether a recorder takes four arguments, not three."""
    try:
        signature = inspect.signature(function)
        hash(function)
    except (TypeError, ValueError):
        raise ValueError(f"{where}: {excerpt(function)} is not function(environment_state, policy_state, t)") from None
    for count in (4, 3):
        with suppress(TypeError):
            signature.bind(*range(count))
            return count == 4
    raise ValueError(
        f"{where}: the function takes {signature}; it is called with (environment_state, policy_state, t) or "
        "(environment_state, policy_state, t, policy)"
    )


def recorder_programs(
    recorders: Recorders,
    environment_state: Any,
    states: dict[str, Any],
    policies: dict[str, Policy],
) -> dict[str, dict[str, Program]]:
    """The traces of the recorders for one run, by label and name.

    Args:
      environment_state, states: the shapes of the environment's and each policy's state.
      policies: stacked, leaves with variants as their first axis.
    """
    programs: dict[str, dict[str, Program]] = {label: {} for label in recorders}
    for label, of_label in recorders.items():
        for name, recorder in of_label.items():
            where = f"record[{name!r}]: it fails on the state of {label!r}"
            program = recorder_program(where, recorder, environment_state, states[label], one_of(policies[label]))
            shape = program.shapes
            if not isinstance(shape, jax.ShapeDtypeStruct):
                raise ValueError(f"record[{name!r}]: returns {type(shape).__name__} for {label!r}, not one array")
            if getattr(shape.dtype, "kind", "") not in tuple("biufc"):
                raise ValueError(f"record[{name!r}]: returns {shape.dtype} for {label!r}; give numbers of a NumPy type")
            programs[label][name] = program
    return programs
