"""Grids of cases for `sweep`, and their results as one xarray Dataset."""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from jaxbandit.arguments import excerpt, list_of
from jaxbandit.results.named_axes import NAMES, installed
from jaxbandit.results.result import Result
from jaxbandit.sweeps.tasks import Options

if TYPE_CHECKING:
    import xarray

EXACTLY = {"data_vars": "all", "coords": "different", "compat": "equals", "join": "exact"}  # all else has to agree


def grid(make: Callable[..., Options], **axes: Iterable[Any]) -> dict[str, Options]:
    """A case for every combination of the axes' values, the last axis fastest.

    Args:
      make: the arguments of `simulate` from one value of each axis, by name.
      axes: name to values.

    Returns:
      name, such as "exponent=0.2, runs=100", to case, in the order of `itertools.product`, so that an array with a
      number of each case can be reshaped to the lengths of the axes. Floats are rounded to 12 digits where only
      rounding is lost: 0.7999999999999999, of `numpy.arange`, is called 0.8.

    Raises:
      ValueError: two combinations have the same name, or an axis has the name of one that every result has, such as
        "scenario" or "run".

    >>> list(grid(lambda a, b: {}, a=[1, 2], b=["x"]))
    ['a=1, b=x', 'a=2, b=x']
    """
    _check_call(make, axes)
    for axis in axes:
        if axis in NAMES:
            raise ValueError(f"{axis}: every result has an axis or a variable of that name; give the grid's another")
    cases: dict[str, Options] = {}
    for values in itertools.product(*(list_of(axis, values) for axis, values in axes.items())):
        name = ", ".join(f"{axis}={_name_of(value)}" for axis, value in zip(axes, values, strict=True))
        if name in cases:
            raise ValueError(f"axes: two combinations are called {name!r}; give values that differ as text")
        cases[name] = make(**dict(zip(axes, values, strict=True)))
    return cases


def _name_of(value: Any) -> str:
    """The text of an axis' value; a float without the rounding of NumPy's ranges.

    It depends on this value alone, so that a folder recognises its cases when others are added.
    """
    if isinstance(value, float):
        short = float(f"{value:.12g}")
        if math.isclose(short, value, rel_tol=1e-14):
            return str(short)
    return str(value)


def _check_call(make: Callable[..., Options], axes: Iterable[str]) -> None:
    """Raise ValueError unless `make` can be called with these arguments by name."""
    if not callable(make):
        raise ValueError(f"make: {excerpt(make)} is not a function that makes the arguments of simulate")
    try:
        inspect.signature(make).bind(**dict.fromkeys(axes))
    except TypeError:
        raise ValueError(f"make: {excerpt(make)} does not take the arguments {', '.join(axes)}") from None
    except ValueError:  # a function that is not written in Python has no signature, but may take them
        pass


def to_xarray(results: Mapping[str, Result], **axes: Iterable[Any]) -> xarray.Dataset:
    """The results of a sweep over a grid as one Dataset with the axes of the grid; needs xarray.

    It stacks the `Result.to_xarray` of all cases along the axes of the grid. A pandas series is one step away:
    `dataset.regret.isel(time=-1).mean("run").to_series()`.

    Args:
      results: of `sweep`, with all cases that `grid` made of these axes, and perhaps others.
      axes: those of `grid`. Values that are neither numbers nor texts are labelled by their text.

    Returns:
      visits int32 [the axes, scenario, policy, run, time, arm, state], regret [the axes, scenario, policy, run, time],
      means and reward with the axes before their own.

    Raises:
      ImportError: xarray is not installed.
      ValueError: a case of the grid is missing, an axis has the name of one that every result has, or cases differ in
        scenarios, policies, runs or recorded times.

    >>> import jaxbandit, tempfile
    >>> arms, axes = jaxbandit.two_state([0.5, 0.4], [0.4, 0.55]), {"scale": [0.5, 1.0], "exponent": [0.2, 0.25, 0.3]}
    >>> def case(scale, exponent):
    ...     policies = {"TV": jaxbandit.TVKLUCB(scale=scale, exponent=exponent)}
    ...     return {"scenarios": arms, "policies": policies, "runs": 4, "horizon": 50, "times": [50]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results = jaxbandit.sweep(jaxbandit.grid(case, **axes), folder)
    >>> final = to_xarray(results, **axes).regret.squeeze().mean("run")
    >>> dict(final.sizes), float(final.sel(scale=1.0, exponent=0.25)) >= 0
    ({'scale': 2, 'exponent': 3}, True)
    """
    if not isinstance(results, Mapping) or not all(isinstance(result, Result) for result in results.values()):
        raise ValueError(f"results: {excerpt(results)} is not a dict of results; give what sweep returns")
    lists = {axis: list_of(axis, values) for axis, values in axes.items()}
    for axis, values in lists.items():
        if not values:
            raise ValueError(f"{axis}: an empty list; give the values that grid was given")
        if len(set(map(_name_of, values))) < len(values):
            raise ValueError(f"{axis}: two values are the same as text; give values that differ, as grid needs them")
    names = list(grid(lambda **values: {}, **lists))
    if missing := [name for name in names if name not in results]:
        raise ValueError(f"results: there is no case {missing[0]!r}; it has {excerpt(', '.join(results))}")
    package = installed("xarray")
    data = [results[name].to_xarray() for name in names]
    data = [case.rename({axis: f"recorded_{axis}" for axis in lists if axis in case.data_vars}) for case in data]
    data = [case.drop_vars(lists.keys(), errors="ignore") for case in data]  # hyper-parameters that are axes now
    for axis, values in reversed(lists.items()):
        plain = all(isinstance(value, str) for value in values) or all(isinstance(v, int | float) for v in values)
        index = package.IndexVariable(axis, values if plain else list(map(_name_of, values)))
        groups = [data[first : first + len(values)] for first in range(0, len(data), len(values))]
        try:
            data = [package.concat(group, index, **EXACTLY, combine_attrs="drop_conflicts") for group in groups]
        except ValueError as error:
            raise ValueError(f"results: the cases along {axis} differ in more than it: {error}") from error
    return data[0]
