"""A result as an xarray Dataset: named axes, and coordinates that say what was played."""

from __future__ import annotations

import json
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxbandit import metrics
from jaxbandit.metrics.counts import kind
from jaxbandit.results.display import stopped
from jaxbandit.results.file import file_name, whole_file

if TYPE_CHECKING:
    import os

    import xarray

Result = Any  # a `Result`, whose file imports this one
DIMENSIONS = ("scenario", "policy", "run", "time", "arm", "state")
NAMES = {*DIMENSIONS, "variant", "visits", "regret", "means", "reward"}  # no hyper-parameter can have these
PAYS = {"long_name": "what the state pays"}


def as_dataset(result: Result) -> xarray.Dataset:
    """What `Result.to_xarray` returns."""
    variants = [(label, variant) for label in result.labels for variant in range(result.visits[label].shape[1])]
    visits = np.concatenate([result.visits[label] for label in result.labels], axis=1)
    regret = {}
    if kind(result).known:
        values = np.zeros(visits.shape[:4])
        if len(result.times):
            values = np.concatenate([metrics.regret(result, label) for label in result.labels], axis=1)
        regret["regret"] = DIMENSIONS[:4], values, {"long_name": metrics.regret_name(result)}
    runs, _, arms, states = visits.shape[2:]
    counted = "taken in" if result.problem == "decision process" else "that moved the arm to"
    hyperparameters = _hyperparameters(result, variants)
    numbers = _numbers(result, NAMES | hyperparameters.keys())
    return installed("xarray").Dataset(
        {
            "visits": (DIMENSIONS, visits, {"long_name": f"plays {counted} the state"}),
            **regret,
            "means": (("scenario", "arm"), result.means.copy(), {"long_name": "long-run reward per play"}),
            **({"reward": (("scenario", "arm", "state"), result.reward.copy(), PAYS)} if result.reward.size else {}),
            **_recorded(result, (arms, states), NAMES | hyperparameters.keys() | numbers.keys()),
        },
        coords={
            "scenario": np.array(result.scenarios),
            **{name: ("scenario", values) for name, values in numbers.items()},
            "policy": np.array([label for label, _ in variants]),
            "variant": ("policy", np.array([variant for _, variant in variants])),
            **{name: ("policy", values) for name, values in hyperparameters.items()},
            "run": result.asked.get("first_run", 0) + np.arange(runs),
            "time": ("time", result.times.copy(), {"long_name": "round t"}),
            "arm": np.arange(arms),
            "state": np.arange(states),
        },
        attrs=_origin(result),
    )


def write_netcdf(result: Result, path: str | os.PathLike[str]) -> None:
    """What `Result.to_netcdf` does."""
    place = file_name(path)
    for package in ("xarray", "h5netcdf", "h5py"):
        installed(package)
    dataset = as_dataset(result)
    compressed = {name: {"zlib": True, "complevel": 1} for name in ("visits", "regret") if name in dataset}
    with whole_file(place) as file:
        dataset.to_netcdf(file.name, engine="h5netcdf", encoding=compressed)


def _hyperparameters(result: Result, variants: list[tuple[str, int]]) -> dict[str, np.ndarray]:
    """Fields that are one number or one text in every variant that has them, [variant]; elsewhere NaN or ""."""
    rows = [{name: values[v] for name, values in result.hyperparameters(label).items()} for label, v in variants]
    columns = {}
    for name in dict.fromkeys(name for row in rows for name in row if name not in NAMES):
        values = [row[name] for row in rows if name in row]
        if all(isinstance(value, str) for value in values):
            columns[name] = np.array([row.get(name, "") for row in rows])
        elif all(isinstance(value, int | float) for value in values):
            columns[name] = np.array([row.get(name, np.nan) for row in rows], float)
    return columns


def _numbers(result: Result, taken: set[str]) -> dict[str, np.ndarray]:
    """The single numbers that environments declare, each [scenario]; NaN where one does not."""
    declared = result.provenance.get("scenarios", {})
    rows = [declared.get(scenario, {}) for scenario in result.scenarios]
    names = dict.fromkeys(name for row in rows for name, value in row.items() if isinstance(value, int | float))
    return {
        name if name not in taken else f"scenario_{name}": np.array([row.get(name, np.nan) for row in rows], float)
        for name in names
    }


def _recorded(result: Result, sizes: tuple[int, int], taken: set[str]) -> dict[str, tuple[Any, np.ndarray]]:
    """Each recorder's arrays along the axis `policy`; floats with NaN where a policy has none."""
    variables = {}
    for name, arrays in result.recorded.items():
        shapes = {array.shape[4:] for array in arrays.values()}
        if len(shapes) > 1:
            raise ValueError(
                f"recorded[{name!r}]: policies differ in shape, {sorted(shapes)}; take them from the result"
            )
        (shape,) = shapes
        kind = np.result_type(*arrays.values(), *([] if len(arrays) == len(result.labels) else [np.float64]))
        parts = [
            arrays.get(label, np.full((*result.visits[label].shape[:4], *shape), np.nan, float))
            for label in result.labels
        ]
        # `shuffle` puts the arms of a policy in another order in every run, but not those of the environment's records
        by_user = any(name in names for names in result.asked.get("record", {}).values())
        ordered = not by_user or not result.asked.get("shuffle", False)
        named = ("arm", "state")[: len(shape)] if shape == sizes[: len(shape)] and ordered else ()
        if result.problem == "decision process" and not by_user and shape == sizes[1:]:
            named = ("state",)
        axes = named or tuple(f"{name}_{axis}" for axis in range(len(shape)))
        free = name if name not in taken else f"recorded_{name}"
        variables[free] = ((*DIMENSIONS[:4], *axes), np.concatenate(parts, axis=1).astype(kind))
    return variables


def _origin(result: Result) -> dict[str, Any]:
    """How the result was made, in types that a netCDF file preserves."""
    origin: dict[str, Any] = {name: np.int64(getattr(result, name)) for name in ("horizon", "rounds", "plays")}
    delay, origin["batch"] = result.asked.get("delay", 0), np.int64(result.asked.get("batch", 1))
    origin["delay"] = delay[0] if isinstance(delay, list) else np.int64(delay)
    origin["random_numbers"] = result.asked.get("random_numbers", "common")
    origin["problem"] = result.problem
    if mark := stopped(result):
        origin["stopped"] = mark
    if "key" in result.asked:
        origin["key"] = np.array(result.asked["key"], np.uint32)
    origin["fingerprint"] = json.dumps(result.fingerprint)
    origin["policies"] = json.dumps(result.provenance.get("policies", {}))
    versions = result.provenance.get("versions", {})
    return origin | {f"{package}_version": version for package, version in versions.items()}


def installed(package: str) -> Any:
    try:
        return import_module(package)
    except ImportError as error:
        raise ImportError(f'{package} is not installed; pip install -e ".[xarray]"') from error
