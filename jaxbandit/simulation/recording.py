"""What is recorded beside counts: a user's functions of the states, checked on the host."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.arguments import shown
from jaxbandit.base import Array, Environment, Policy
from jaxbandit.simulation.rounds import luck, start

Recorder = Callable[..., Any]  # of (environment_state, policy_state, t), or of these and the policy
Record = Mapping[str, Recorder | Mapping[str, Recorder]]


@dataclass(frozen=True)
class OfFour:
    """A recorder called with four arguments, of which the function may take three; equal where the functions are."""

    function: Recorder
    takes_policy: bool

    def __call__(self, environment_state: Any, policy_state: Any, t: Array, policy: Any) -> Any:
        last = (policy,) if self.takes_policy else ()
        return self.function(environment_state, policy_state, t, *last)


def recorders_of(record: Record | None, labels: Sequence[str], backend: str) -> dict[str, dict[str, OfFour]]:
    """By label and name, each recorder as a function of four arguments.

    Raises:
      ValueError: a name, a label or a function is none.
    """
    recorders: dict[str, dict[str, OfFour]] = {label: {} for label in labels}
    if record is None:
        return recorders
    if not isinstance(record, Mapping):
        raise ValueError(f"record: {shown(record)}; give a dict from name to a function, or to one by label")
    if record and backend == "kernel":
        raise ValueError('record: the kernel records counts only; use backend="scan"')
    for name, given in record.items():
        if not isinstance(name, str) or not name or "/" in name or name == "visits":
            raise ValueError(f'record: the name {name!r} is no text without "/", or is "visits"; choose another')
        for label, function in (given if isinstance(given, Mapping) else dict.fromkeys(labels, given)).items():
            if str(label) not in labels:
                raise ValueError(f"record[{name!r}]: {label!r} is no policy; there are {', '.join(labels)}")
            recorders[str(label)][name] = OfFour(function, _takes_policy(f"record[{name!r}]", function))
    return recorders


def _takes_policy(where: str, function: Any) -> bool:
    """Whether a recorder takes four arguments, not three."""
    try:
        signature = inspect.signature(function)
        hash(function)
    except (TypeError, ValueError):
        raise ValueError(f"{where}: {shown(function)} is not a function(environment_state, policy_state, t)") from None
    for count in (4, 3):
        with suppress(TypeError):
            signature.bind(*range(count))
            return count == 4
    raise ValueError(
        f"{where}: the function takes {signature}; it is called with (environment_state, policy_state, t) or "
        "(environment_state, policy_state, t, policy)"
    )


def recorded_shapes(
    recorders: dict[str, dict[str, OfFour]], environment: Environment, policies: dict[str, Policy], key: Array
) -> dict[str, dict[str, Any]]:
    """By label and name, shape and type of what the recorders make of one run.

    Args:
      environment, policies: stacked, leaves with scenarios or variants as their first axis.

    Raises:
      ValueError: a recorder cannot be traced, or returns something else than one array of numbers.
    """
    environment = jax.tree.map(lambda leaf: leaf[0], environment)
    run = np.zeros(1, np.int32)
    found: dict[str, dict[str, Any]] = {}
    for label, each in recorders.items():
        policy = jax.tree.map(lambda leaf: leaf[0], policies[label])
        found[label] = {}
        for name, recorder in each.items():

            def of_one(policy: Any = policy, recorder: Any = recorder) -> Any:
                carry = jax.tree.map(lambda leaf: leaf[..., 0], start(environment, policy, luck(key, run)))
                return recorder(carry.environment, carry.policy, jnp.int32(1), policy)

            try:
                shape = jax.eval_shape(of_one)
            except Exception as error:
                raise ValueError(f"record[{name!r}]: it fails on the state of {label!r}: {error}") from error
            if not isinstance(shape, jax.ShapeDtypeStruct):
                raise ValueError(f"record[{name!r}]: returns {type(shape).__name__} for {label!r}, not one array")
            if getattr(shape.dtype, "kind", "") not in tuple("biufc"):
                raise ValueError(f"record[{name!r}]: returns {shape.dtype} for {label!r}; give numbers of a NumPy type")
            found[label][name] = shape
    return found
