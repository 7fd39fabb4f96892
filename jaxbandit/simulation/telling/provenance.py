"""What a reader wants to know of a result, as JSON: the versions, and every policy's class and values,
and what environments say of themselves."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from jaxbandit.simulation.asking.request import Request
from jaxbandit.simulation.telling.fingerprint import LARGE, is_plain, statics
from jaxbandit.version import __version__


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
