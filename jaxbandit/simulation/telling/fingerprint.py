"""What the counts of a simulation depend on, and what a reader wants to know of a result, both as JSON."""

from __future__ import annotations

import dataclasses
import hashlib
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.fast import PLAIN
from jaxbandit.simulation.asking.request import Request
from jaxbandit.version import __version__

VERSION = 1  # of a fingerprint
LARGE = 100  # fields with more numbers than this are told by a hash


def fingerprint(request: Request) -> dict[str, Any]:
    """Two simulations on the same kind of device, by the same versions, with equal fingerprints have equal counts.

    Returns:
      JSON: "asked", the values of all fields and arguments (but the horizon and the times, which decide how much is
      played and kept), and "programs", a hash of what is computed by each policy, by the environment and by each
      recorder. A program is the jaxpr that JAX traces, with the values of its constants and without any address or
      name of a Python function: where a class is defined does not count, what its methods compute does. Jaxprs may
      change with the versions of JAX and of this package, so that programs say something between equal versions only.
    """
    return {"asked": asked(request), "programs": programs(request)}


def asked(request: Request) -> dict[str, Any]:
    """The first part of a fingerprint."""
    paid = [{"reward": request.reward[i], "means()": request.means[i]} for i in range(len(request.scenarios))]
    if request.comparator is not None:
        paid = [{**each, "comparator()": request.comparator[i]} for i, each in enumerate(paid)]
    found = {
        "version": VERSION,
        "scenarios": [
            [name, values(request.environment, i) | {key: _exact(array) for key, array in paid[i].items()}]
            for i, name in enumerate(request.scenarios)
        ],
        "policies": {label: values(policy) for label, policy in request.policies.items()},
        "key": np.asarray(jax.random.key_data(request.key)).tolist(),
        "runs": request.runs,
        "first_run": request.first_run,
        "plays": request.plays,
        "shuffle": request.shuffle,
        "x64": jnp.result_type(float).itemsize == 8,
    }
    if any(request.recorders.values()):
        found["record"] = {label: sorted(recorders) for label, recorders in request.recorders.items()}
    if request.random_numbers != "common":
        found["random_numbers"] = request.random_numbers
    if request.delay:
        found["delay"] = request.delay
    if request.batch > 1:
        found["batch"] = request.batch
    if PLAIN:
        found["plain"] = True
    if not getattr(jax.config, "jax_threefry_partitionable", True):
        found["threefry_partitionable"] = False
    return found


def differences(found: Mapping[str, Any], wanted: Mapping[str, Any], same_versions: bool) -> list[str]:
    """By name, what differs between two fingerprints.

    Programs are compared where nothing else differs and the same versions traced them.

    >>> old = {"asked": {"plays": 1}, "programs": {"policy": {"m": "1f"}}}
    >>> differences(old, {"asked": {"plays": 1}, "programs": {"policy": {"m": "2e"}}}, same_versions=True)
    ["the code of policy 'm'"]
    """
    changed = sorted(set(_changed(found["asked"], wanted["asked"])))
    if same_versions and not changed:
        for kind, before in found["programs"].items():
            now = wanted["programs"][kind]
            names = [f" {name!r}" if name else "" for name in before if before[name] != now[name]]
            changed += [f"the code of {kind}{name}" for name in names]
    return changed


def check_versions(what: str, found: Mapping[str, str], now: Mapping[str, str]) -> bool:
    """Whether the same jaxbandit and JAX made both; if not, a warning that names both."""
    before, after = (
        ", ".join(f"{name} {each.get(name, '?')}" for name in ("jaxbandit", "jax")) for each in (found, now)
    )
    if before != after:
        warnings.warn(
            f"{what} was begun with {before} and goes on with {after}: the values of all fields (numbers and texts) "
            "are compared, but not what the policies compute",
            stacklevel=4,
        )
    return before == after


def _changed(found: Any, wanted: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    """What differs, as "plays", "policies['m']" or "policies['m'].scale"."""
    for name in found.keys() | wanted.keys():
        before, after, here = found.get(name), wanted.get(name), (*path, name)
        if isinstance(before, dict) and isinstance(after, dict):
            yield from _changed(before, after, here)
        elif before != after:
            yield here[0] + "".join(f"[{label!r}]" for label in here[1:2]) + "".join(f".{field}" for field in here[2:])


def values(thing: Any, index: int | None = None) -> dict[str, str]:
    """The numbers and static fields of a policy or an environment by name, exactly, as text; of a large array its hash.

    Args:
      index: along the first axis of every leaf, of stacked environments; None for all.
    """
    found = {}
    for path, leaf in jax.tree_util.tree_flatten_with_path(thing)[0]:
        found[jax.tree_util.keystr(path, simple=True, separator=".")] = _exact(leaf if index is None else leaf[index])
    return found | {name: str(value) for name, value in statics(thing).items() if is_plain(value)}


def _exact(numbers: Any) -> str:
    array = np.asarray(numbers)
    data = str(array.tolist()) if array.size <= LARGE else hashlib.sha256(array.tobytes()).hexdigest()[:16]
    return f"{array.dtype}{list(array.shape)} {data}"


def statics(thing: Any, prefix: str = "") -> dict[str, Any]:
    """The static fields by name, also those of a family or a memory that the thing holds: "memory.length"."""
    found = {}
    for field in dataclasses.fields(thing) if dataclasses.is_dataclass(thing) else ():
        value, name = getattr(thing, field.name), prefix + field.name
        if field.metadata.get("static", False):
            found[name] = value
        else:
            found |= statics(value, f"{name}.")
    return found


def is_plain(value: Any) -> bool:
    """Whether a value's text says what it is."""
    return value is None or isinstance(value, str | int | float) or (type(value) is tuple and all(map(is_plain, value)))


def programs(request: Request) -> dict[str, dict[str, str]]:
    """A hash of what each policy, the environment and each recorder compute for one run."""
    traced = request.traced
    found = {
        "policy": {label: program.hash for label, program in traced.policies.items()},
        "the environment": {"": traced.environment.hash},
    }
    for label, recorders in traced.recorders.items():
        for name, program in recorders.items():
            found.setdefault(f"record {name!r}, policy", {})[label] = program.hash
    return found


def provenance(request: Request) -> dict[str, Any]:
    """What a reader wants to know, as JSON: versions, each policy's class and values, environments' numbers."""
    return {
        "versions": {"jaxbandit": __version__, "jax": jax.__version__, "numpy": np.__version__},
        "policies": {
            label: {"class": type(policy).__name__, "hyperparameters": hyperparameters(policy, request.variants[label])}
            for label, policy in request.policies.items()
        },
        "scenarios": request.numbers,
    }


def hyperparameters(policy: Any, variants: int) -> dict[str, list[Any]]:
    """By name, a value for each of the stacked variants; of large arrays, their type and shape."""
    found = {}
    for path, leaf in jax.tree_util.tree_flatten_with_path(policy, is_leaf=_is_row)[0]:
        array = np.stack(leaf, axis=1) if _is_row(leaf) else leaf
        short = array.dtype.kind in "biuf" and array[0].size <= LARGE
        name = jax.tree_util.keystr(path, simple=True, separator=".")
        found[name] = array.tolist() if short else [f"{array.dtype}{list(array.shape[1:])}"] * variants
    fixed = {name: value if is_plain(value) else repr(value) for name, value in statics(policy).items()}
    return found | {name: [value] * variants for name, value in fixed.items()}


def _is_row(thing: Any) -> bool:
    """A list of numbers, which JAX takes for as many leaves and a reader for one value."""
    numbers = type(thing) in (list, tuple) and all(isinstance(each, np.ndarray) for each in thing)
    return numbers and len({each.shape for each in thing}) == 1
