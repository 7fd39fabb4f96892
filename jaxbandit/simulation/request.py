"""What `simulate` is asked to do, checked on the host before anything is compiled."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import CellType, CodeType
from typing import Any, Literal, get_args

import jax
import jax.numpy as jnp
import numpy as np

import jaxbandit
from jaxbandit.base import Array, Environment, Policy, check_key, stack

Scenarios = Environment | Mapping[str, Environment]
Policies = Mapping[str, Policy | Sequence[Policy]]
Backend = Literal["auto", "scan", "kernel"]


@dataclass(frozen=True)
class Request:
    """Checked and stacked arguments: scenarios and variants are leading axes of the leaves."""

    scenarios: tuple[str, ...]
    environment: Environment  # leaves [C, ...]
    policies: dict[str, Policy]  # leaves [V, ...]
    variants: dict[str, int]
    means: np.ndarray  # [C, K] float64
    reward: np.ndarray  # [C, K, S] float64
    key: Array
    runs: int
    first_run: int
    horizon: int
    plays: int
    shuffle: bool
    times: np.ndarray  # [T] int64
    backend: Backend  # not "auto"

    def specification(self) -> dict[str, Any]:
        """Everything the counts depend on, as JSON: two equal specifications give equal counts."""
        return {
            "scenarios": [[name, _digest(self.environment, i)] for i, name in enumerate(self.scenarios)],
            "policies": {label: _digest(policy) for label, policy in self.policies.items()},
            "key": np.asarray(jax.random.key_data(self.key)).tolist(),
            "runs": self.runs,
            "first_run": self.first_run,
            "plays": self.plays,
            "shuffle": self.shuffle,
            "x64": jnp.result_type(float).itemsize == 8,
        } | ({"backend": self.backend} if self.backend != "scan" else {})

    def provenance(self) -> dict[str, Any]:
        """What a reader wants to know, as JSON, never compared: the versions, every policy's class and values."""
        return {
            "versions": {"jaxbandit": jaxbandit.__version__, "jax": jax.__version__, "numpy": np.__version__},
            "policies": {label: _described(policy, self.variants[label]) for label, policy in self.policies.items()},
        }


def check(
    scenarios: Scenarios,
    policies: Policies,
    key: Array | None = None,
    runs: int | range = 1000,
    horizon: int = 100_000,
    plays: int = 1,
    times: Array | None = None,
    shuffle: bool = False,
    backend: Backend = "auto",
) -> Request:
    """The arguments of `simulate` as a `Request`.

    Raises:
      ValueError: the argument, what is wrong with it and what would be right.
    """
    named = _named("scenarios", scenarios) if isinstance(scenarios, Mapping) else {"scenario": scenarios}
    if not named:
        raise ValueError("scenarios: none given; give an environment or a dict of them")
    for name, environment in named.items():
        _check_contract(f"scenarios[{name!r}]", environment, ("means", "init", "step"), "an environment")
        _check_leaves(f"scenarios[{name!r}]", environment)
    reward = [np.asarray(environment.reward, float) for environment in named.values()]
    for name, values in zip(named, reward, strict=True):
        if values.shape != reward[0].shape:
            raise ValueError(
                f"scenarios: {name!r} has [K, S] = {values.shape}, {next(iter(named))!r} has {reward[0].shape}; "
                "scenarios of another shape need a call of their own"
            )
    arms = reward[0].shape[0]
    first_run = 0
    if isinstance(runs, range):
        if runs.step != 1 or runs.start < 0 or runs.stop > 2**31 - 1:
            raise ValueError(f"runs: {runs}; a range of consecutive numbers from 0 to 2^31 - 1 is needed")
        first_run, runs = runs.start, len(runs)
    for argument, value in (("runs", runs), ("horizon", horizon), ("plays", plays)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise ValueError(f"{argument}: {value!r} is not an integer")
    if not 1 <= runs < 2**31:
        raise ValueError(f"runs: {runs}; at least 1 is needed, at most 2^31 - 1")
    if plays < 1 or plays > arms:
        raise ValueError(f"plays: {plays} arms a round; there are {arms}, so use 1 to {arms}")
    if horizon < arms:
        raise ValueError(f"horizon: {horizon} rounds are fewer than the {arms} arms; every arm is played once first")
    if horizon > 2**31 - 1:
        raise ValueError(f"horizon: {horizon} is beyond 2^31 - 1, where counts of rounds overflow")
    if backend not in get_args(Backend):
        raise ValueError(f"backend: {backend!r} is unknown; choose from {', '.join(get_args(Backend))}")
    listed = _listed(policies, reward)
    key = jax.random.key(0) if key is None else key
    check_key(key)
    return Request(
        scenarios=tuple(named),
        environment=stack(list(named.values()), "scenarios"),
        policies={label: stack(variants, f"policies[{label!r}]") for label, variants in listed.items()},
        variants={label: len(variants) for label, variants in listed.items()},
        means=np.stack([np.asarray(environment.means(), float) for environment in named.values()]),
        reward=np.stack(reward),
        key=key,
        runs=int(runs),
        first_run=first_run,
        horizon=int(horizon),
        plays=int(plays),
        shuffle=bool(shuffle),
        times=_times(times, int(horizon)),
        backend="scan" if backend == "auto" else backend,
    )


def _listed(policies: Policies, reward: list[np.ndarray]) -> dict[str, list[Policy]]:
    if not isinstance(policies, Mapping) or not policies:
        raise ValueError("policies: give a dict from label to a policy, or to a list of variants of it")
    listed = {}
    for label, entry in _named("policies", policies).items():
        variants = list(entry) if isinstance(entry, list | tuple) else [entry]
        if not variants:
            raise ValueError(f"policies[{label!r}]: an empty list of variants")
        for policy in variants:
            _check_contract(f"policies[{label!r}]", policy, ("init", "scores", "update"), "a policy")
            validate = getattr(policy, "validate", None)
            if validate is not None:
                for values in reward:
                    validate(values)
            _check_leaves(f"policies[{label!r}]", policy)
        listed[label] = variants
    return listed


def _named(argument: str, things: Mapping[Any, Any]) -> dict[str, Any]:
    named = {str(name): thing for name, thing in things.items()}
    if len(named) < len(things):
        raise ValueError(f"{argument}: two names are the same as text among {list(things)}")
    return named


def _check_contract(where: str, thing: Any, methods: tuple[str, ...], kind: str) -> None:
    if isinstance(thing, type):
        raise ValueError(f"{where}: {thing.__name__} is a class; give {thing.__name__}()")
    missing = [name for name in methods if not callable(getattr(thing, name, None))]
    if missing:
        raise ValueError(f"{where}: {kind} is needed, and {type(thing).__name__} has no {', '.join(missing)}")


def _check_leaves(where: str, thing: Any) -> None:
    for leaf in jax.tree.leaves(thing):
        if leaf is thing:
            raise ValueError(f"{where}: {type(thing).__name__} is not a pytree; decorate it with @jaxbandit.pytree")
        if not isinstance(leaf, int | float | np.ndarray | np.generic | jax.Array):
            raise ValueError(f"{where}: {leaf!r} is not a number; make a field that is part of the program static()")


def default_times(horizon: int) -> np.ndarray:
    """About 200 rounds, evenly spaced in log, from 1 to the horizon; [T] int64."""
    return np.unique(np.rint(np.geomspace(1, horizon, 220)).astype(np.int64))


def _times(times: Array | None, horizon: int) -> np.ndarray:
    if times is None:
        return default_times(horizon)
    try:
        given = np.asarray(times)
    except ValueError:
        raise ValueError("times: give a list of rounds, integers") from None
    if given.ndim != 1 or not given.size or not np.issubdtype(given.dtype, np.integer):
        raise ValueError("times: give a list of rounds, integers")
    given = given.astype(np.int64)
    if (np.diff(given) <= 0).any():
        raise ValueError("times: not sorted, or a round twice; give them strictly increasing")
    if given[0] < 1 or given[-1] > horizon:
        raise ValueError(f"times: rounds {given[0]}..{given[-1]} reach beyond 1..{horizon} (the horizon)")
    return given


def _described(policy: Any, variants: int) -> dict[str, Any]:
    """The class of stacked variants, and by name a value for each of them; of large arrays, their type and shape."""
    values = {}
    for path, leaf in jax.tree_util.tree_flatten_with_path(policy, is_leaf=_is_row)[0]:
        array = np.stack(leaf, axis=1) if _is_row(leaf) else leaf
        short = array.dtype.kind in "biuf" and array[0].size <= 100
        name = jax.tree_util.keystr(path, simple=True, separator=".")
        values[name] = array.tolist() if short else [f"{array.dtype}{list(array.shape[1:])}"] * variants
    for field in dataclasses.fields(policy) if dataclasses.is_dataclass(policy) else ():
        if field.metadata.get("static", False):
            value = getattr(policy, field.name)
            values[field.name] = [value if isinstance(value, str | int | float) else repr(value)] * variants
    return {"class": type(policy).__name__, "hyperparameters": values}


def _is_row(thing: Any) -> bool:
    """A list of numbers, which JAX takes for as many leaves and a reader for one value."""
    numbers = type(thing) in (list, tuple) and all(isinstance(each, np.ndarray) for each in thing)
    return numbers and len({each.shape for each in thing}) == 1


def _digest(thing: Any, index: int | None = None) -> str:
    leaves, structure = jax.tree.flatten(thing)
    text = str(structure)
    if _ADDRESS.search(text):  # a static field is a function, whose address says nothing to another process
        text = described([text, _fixed(structure)])
    digest = hashlib.sha256(text.encode())
    for leaf in leaves:
        array = np.asarray(leaf if index is None else leaf[index])
        digest.update(f"{array.dtype}{array.shape}".encode() + array.tobytes())
    return digest.hexdigest()[:16]


_ADDRESS = re.compile(" at 0x[0-9a-f]+")


def _fixed(structure: Any) -> list[Any]:
    """The static fields of a pytree and of the pytrees inside it."""
    data = structure.node_data()
    return [data[1] if data else None, *map(_fixed, structure.children())]


def described(value: Any, inside: tuple[Any, ...] = ()) -> str:
    """A static field as text that is the same in every process.

    A function is told by its name, the names and numbers in its code and what it closes over, as the functions that
    `optax.sgd(0.1)` and `optax.sgd(0.2)` make have one name. Values that it reads from its module are not told.

    Args:
      inside: functions that `value` belongs to, which are not entered again.

    >>> import optax
    >>> described(optax.sgd(0.1)) == described(optax.sgd(0.1)), described(optax.sgd(0.1)) == described(optax.sgd(0.2))
    (True, False)
    """
    if isinstance(value, partial):
        value = [value.func, value.args, value.keywords]
    if isinstance(value, np.ndarray | jax.Array):
        value = [value.dtype, value.tolist()]
    if isinstance(value, Mapping):
        value = list(value.items())
    if isinstance(value, set | frozenset):
        value = sorted(value, key=repr)
    if isinstance(value, list | tuple):
        return f"({', '.join(described(item, inside) for item in value)})"
    if any(value is each for each in inside):
        return _ADDRESS.sub("", repr(value))
    if not hasattr(value, "__code__"):
        fields = vars(value) if _ADDRESS.search(repr(value)) and hasattr(value, "__dict__") else {}
        return _ADDRESS.sub("", repr(value)) + (described(fields, (*inside, value)) if fields else "")
    cells = [cell.cell_contents for cell in value.__closure__ or () if cell != CellType()]  # which is empty
    owner = getattr(value, "__self__", None)  # of a bound method
    held = [_told(value.__code__), value.__defaults__, value.__kwdefaults__, cells, owner]
    return f"{value.__module__}.{value.__qualname__}{described(held, (*inside, value))}"


def _told(code: CodeType) -> list[Any]:
    """The names and numbers in a function's code, and in that of the functions inside it."""
    held: list[Any] = [code.co_names]
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            held.append(_told(constant))
        elif isinstance(constant, int | float | tuple):
            held.append(constant)
    return held
