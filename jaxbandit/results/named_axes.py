"""A result as an xarray Dataset: named axes, and coordinates that say what was played."""

from __future__ import annotations

import json
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxbandit import metrics
from jaxbandit.results.contents import Contents, stopped
from jaxbandit.results.file import file_name, whole_file

if TYPE_CHECKING:
    import os

    import xarray

DIMENSIONS = ("scenario", "policy", "run", "time", "arm", "state")
NAMES = {*DIMENSIONS, "variant", "visits", "regret", "means", "reward"}  # not free for hyper-parameters


def as_dataset(result: Contents) -> xarray.Dataset:
    """What `Result.to_xarray` returns.

    Raises:
      ImportError: xarray is not installed.
    """
    variants = [(label, variant) for label in result.labels for variant in range(result.visits[label].shape[1])]
    visits = np.concatenate([result.visits[label] for label in result.labels], axis=1)
    regret = np.zeros(visits.shape[:4])
    if len(result.times):
        regret = np.concatenate([metrics.regret(result, label) for label in result.labels], axis=1)
    runs, _, arms, states = visits.shape[2:]
    process = result.problem == "decision process"
    hyperparameters = _hyperparameters(result, variants)
    numbers = _numbers(result, NAMES | hyperparameters.keys())
    dataset: xarray.Dataset = installed("xarray").Dataset(
        {
            "visits": (
                DIMENSIONS,
                visits,
                {"long_name": f"plays {'taken in' if process else 'that moved the arm to'} the state"},
            ),
            "regret": (DIMENSIONS[:4], regret, {"long_name": metrics.regret_name(result)}),
            "means": (("scenario", "arm"), result.means.copy(), {"long_name": "long-run reward per play"}),
            **({"reward": _table(result)} if result.reward.size else {}),
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
    return dataset


def _table(result: Contents) -> tuple[Any, ...]:
    return ("scenario", "arm", "state"), result.reward.copy(), {"long_name": "what the state pays"}


def write_netcdf(result: Contents, path: str | os.PathLike[str]) -> None:
    """What `Result.to_netcdf` does.

    Raises:
      ImportError: xarray, h5netcdf or h5py is not installed.
      FileNotFoundError: the file's folder does not exist.
    """
    place = file_name(path)
    for package in ("xarray", "h5netcdf", "h5py"):
        installed(package)
    compressed = {name: {"zlib": True, "complevel": 1} for name in ("visits", "regret")}
    with whole_file(place) as file:
        as_dataset(result).to_netcdf(file.name, engine="h5netcdf", encoding=compressed)


def _hyperparameters(result: Contents, variants: list[tuple[str, int]]) -> dict[str, np.ndarray]:
    """What is one number or one text in every variant that has it, each [variant]; NaN or "" in those that do not."""
    values = [{name: each[v] for name, each in result.hyperparameters(label).items()} for label, v in variants]
    columns = {}
    for name in dict.fromkeys(name for each in values for name in each if name not in NAMES):
        found = [each[name] for each in values if name in each]
        if all(isinstance(value, str) for value in found):
            columns[name] = np.array([each.get(name, "") for each in values])
        elif all(isinstance(value, int | float) for value in found):
            columns[name] = np.array([each.get(name, np.nan) for each in values], float)
    return columns


def _numbers(result: Contents, taken: set[str]) -> dict[str, np.ndarray]:
    """The single numbers that environments say of themselves, each [scenario]; NaN where one does not."""
    told = result.provenance.get("scenarios", {})
    values = [told.get(name, {}) for name in result.scenarios]
    names = dict.fromkeys(n for each in values for n, value in each.items() if isinstance(value, int | float))
    return {
        name if name not in taken else f"scenario_{name}": np.array([each.get(name, np.nan) for each in values], float)
        for name in names
    }


def _recorded(result: Contents, sizes: tuple[int, int], taken: set[str]) -> dict[str, tuple[Any, np.ndarray]]:
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
        # with `shuffle` a policy's arms are in the order of its run; those of the environment's own records are not
        by_user = any(name in names for names in result.asked.get("record", {}).values())
        ordered = not by_user or not result.asked.get("shuffle", False)
        named = ("arm", "state")[: len(shape)] if shape == sizes[: len(shape)] and ordered else ()
        if result.problem == "decision process" and not by_user and shape == sizes[1:]:
            named = ("state",)
        axes = named or tuple(f"{name}_{axis}" for axis in range(len(shape)))
        free = name if name not in taken else f"recorded_{name}"
        variables[free] = ((*DIMENSIONS[:4], *axes), np.concatenate(parts, axis=1).astype(kind))
    return variables


def _origin(result: Contents) -> dict[str, Any]:
    """How the result was made, in types that a netCDF file gives back as they are."""
    origin: dict[str, Any] = {name: np.int64(getattr(result, name)) for name in ("horizon", "rounds", "plays")}
    origin |= {name: np.int64(result.asked.get(name, usual)) for name, usual in (("delay", 0), ("batch", 1))}
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
