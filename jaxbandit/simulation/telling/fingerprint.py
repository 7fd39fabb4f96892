"""The fingerprint of a simulation, on which its counts depend, and the provenance of a result, both as JSON."""

from __future__ import annotations

import dataclasses
import hashlib
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.delays import Delays
from jaxbandit.fast import PLAIN
from jaxbandit.pytrees import is_plain
from jaxbandit.reward_units import OWN
from jaxbandit.simulation.asking.request import Request
from jaxbandit.simulation.offered_arms import in_words as offered_in_words
from jaxbandit.simulation.uneven_delays import in_words
from jaxbandit.version import __version__

VERSION = 1  # of a fingerprint
LARGE = 100  # fields with more numbers than this are hashed


def fingerprint(request: Request) -> dict[str, Any]:
    """The fingerprint: simulations with equal ones, on the same kind of device and with the same versions, have equal
    counts.

    Returns:
      JSON: "asked", the values of all fields and arguments (but the horizon and the times, which only determine how
        much is played and recorded), and "programs", a hash of the computation of each policy, of the environment and
        of each recorder. A program is the jaxpr that JAX traces, with the values of its constants and without addresses
        and names of Python functions: it depends on what methods compute, not on where a class is defined. Jaxprs may
        change with the versions of JAX and of this package, so that programs are compared between equal versions only.
    """
    return {"asked": asked(request), "programs": programs(request)}


def asked(request: Request) -> dict[str, Any]:
    """The first part of a fingerprint."""
    paid = [{"reward": request.reward[i], "means()": request.means[i]} for i in range(len(request.scenarios))]
    if request.comparator is not None:
        paid = [{**pays, "comparator()": request.comparator[i]} for i, pays in enumerate(paid)]
    arguments = {
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
    mapped = {label: [list(unit) for unit in units] for label, units in request.units.items() if set(units) != {OWN}}
    if mapped:
        arguments["units"] = mapped
    if any(request.recorders.values()):
        arguments["record"] = {label: sorted(recorders) for label, recorders in request.recorders.items()}
    if request.random_numbers != "common":
        arguments["random_numbers"] = request.random_numbers
    if not isinstance(request.delay, int) or request.delay:
        arguments["delay"] = request.delay if isinstance(request.delay, int) else _delays(request.delay)
    if request.offered is not None:
        arguments["offered"] = offered_in_words(request.offered)  # exactly it stands in the scenarios
    if request.batch > 1:
        arguments["batch"] = request.batch
    if request.until_stopped:
        arguments["until"] = "stopped"
    if PLAIN:
        arguments["plain"] = True
    if not getattr(jax.config, "jax_threefry_partitionable", True):
        arguments["threefry_partitionable"] = False
    return arguments


def _delays(delay: Delays | np.ndarray) -> list[str]:
    """Delays that differ between rounds, in words and exactly."""
    return [in_words(delay), _exact(delay.thresholds if isinstance(delay, Delays) else delay)]


def differences(old: Mapping[str, Any], new: Mapping[str, Any], same_versions: bool) -> list[str]:
    """The names of the differences between two fingerprints.

    Programs are compared only if nothing else differs and the same versions traced them.

    >>> old = {"asked": {"plays": 1}, "programs": {"policy": {"m": "1f"}}}
    >>> differences(old, {"asked": {"plays": 1}, "programs": {"policy": {"m": "2e"}}}, same_versions=True)
    ["the code of policy 'm'"]
    """
    changed = sorted(set(_changed(old["asked"], new["asked"])))
    if same_versions and not changed:
        for kind, before in old["programs"].items():
            now = new["programs"][kind]
            names = [f" {name!r}" if name else "" for name in before if before[name] != now[name]]
            changed += [f"the code of {kind}{name}" for name in names]
    return changed


def check_versions(what: str, old: Mapping[str, str], now: Mapping[str, str]) -> bool:
    """Whether the same jaxbandit and JAX made both; if not, a warning that names both."""
    before, after = (
        ", ".join(f"{name} {versions.get(name, '?')}" for name in ("jaxbandit", "jax")) for versions in (old, now)
    )
    if before != after:
        warnings.warn(
            f"{what} was started with {before} and continues with {after}: the values of all fields "
            "are compared, but not what the policies compute",
            stacklevel=4,
        )
    return before == after


def _changed(old: Any, new: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    """The names of what differs, as "plays", "policies['m']" or "policies['m'].scale"."""
    for name in old.keys() | new.keys():
        before, after, here = old.get(name), new.get(name), (*path, name)
        if isinstance(before, dict) and isinstance(after, dict):
            yield from _changed(before, after, here)
        elif before != after:
            yield here[0] + "".join(f"[{label!r}]" for label in here[1:2]) + "".join(f".{field}" for field in here[2:])


def values(thing: Any, index: int | None = None) -> dict[str, str]:
    """The numbers and static fields of a policy or an environment by name, as exact text; large arrays as hashes.

    Args:
      index: along the first axis of every leaf of stacked environments; None for all.
    """
    texts = {}
    for path, leaf in jax.tree_util.tree_flatten_with_path(thing)[0]:
        texts[jax.tree_util.keystr(path, simple=True, separator=".")] = _exact(leaf if index is None else leaf[index])
    return texts | {name: str(value) for name, value in statics(thing).items() if is_plain(value)}


def _exact(numbers: Any) -> str:
    array = np.asarray(numbers)
    data = str(array.tolist()) if array.size <= LARGE else hashlib.sha256(array.tobytes()).hexdigest()[:16]
    return f"{array.dtype}{list(array.shape)} {data}"


def statics(thing: Any, prefix: str = "") -> dict[str, Any]:
    """The static fields by name, also those of a family or a memory in a field: "memory.length"."""
    fields = {}
    for field in dataclasses.fields(thing) if dataclasses.is_dataclass(thing) else ():
        value, name = getattr(thing, field.name), prefix + field.name
        if field.metadata.get("static", False):
            fields[name] = value
        else:
            fields |= statics(value, f"{name}.")
    return fields


def programs(request: Request) -> dict[str, dict[str, str]]:
    """The hash of the computation of each policy, the environment and each recorder for one run."""
    traced = request.traced
    hashes = {
        "policy": {label: program.hash for label, program in traced.policies.items()},
        "the environment": {"": traced.environment.hash},
    }
    for label, recorders in traced.recorders.items():
        for name, program in recorders.items():
            hashes.setdefault(f"record {name!r}, policy", {})[label] = program.hash
    return hashes


def provenance(request: Request) -> dict[str, Any]:
    """The provenance, as JSON: versions, class and fields of each policy, numbers of the environments."""
    return {
        "versions": {"jaxbandit": __version__, "jax": jax.__version__, "numpy": np.__version__},
        "policies": {
            label: {"class": type(policy).__name__, "hyperparameters": hyperparameters(policy, request.variants[label])}
            for label, policy in request.policies.items()
        },
        "scenarios": request.numbers,
    }


def hyperparameters(policy: Any, variants: int) -> dict[str, list[Any]]:
    """The values of all fields of the stacked variants, by name; of large arrays the type and shape."""
    fields = {}
    for path, leaf in jax.tree_util.tree_flatten_with_path(policy, is_leaf=_is_row)[0]:
        array = np.stack(leaf, axis=1) if _is_row(leaf) else leaf
        short = array.dtype.kind in "biuf" and array[0].size <= LARGE
        name = jax.tree_util.keystr(path, simple=True, separator=".")
        fields[name] = array.tolist() if short else [f"{array.dtype}{list(array.shape[1:])}"] * variants
    fixed = {name: value if is_plain(value) else repr(value) for name, value in statics(policy).items()}
    return fields | {name: [value] * variants for name, value in fixed.items()}


def _is_row(thing: Any) -> bool:
    """Whether this is a list of numbers, which are separate leaves for JAX but one value for a reader."""
    numbers = type(thing) in (list, tuple) and all(isinstance(entry, np.ndarray) for entry in thing)
    return numbers and len({entry.shape for entry in thing}) == 1
