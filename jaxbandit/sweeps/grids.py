"""A grid's results as one xarray Dataset."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from jaxbandit.arguments import list_of, shown
from jaxbandit.results.named_axes import installed
from jaxbandit.results.result import Result
from jaxbandit.sweeps.sweep_loop import grid, names_of

if TYPE_CHECKING:
    import xarray

# what every case has; scenarios, policies, runs and times are those of all
ALONG = {
    **{"data_vars": "all", "coords": "different", "compat": "equals", "join": "exact"},
    "combine_attrs": "drop_conflicts",
}


def to_xarray(results: Mapping[str, Result], **axes: Iterable[Any]) -> xarray.Dataset:
    """The results of a sweep over a grid as one Dataset, in which the grid's axes are axes; needs xarray.

    It has what `Result.to_xarray` has of each case, along the axes besides. A column of pandas is one step away:
    `dataset.regret.isel(time=-1).mean("run").to_series()`.

    Args:
      results: of `sweep`, of all cases that `grid` made of these axes, which may stand among others.
      axes: as they were given to `grid`. Values that are neither numbers nor texts are named by their text.

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
    if not isinstance(results, Mapping) or not all(isinstance(each, Result) for each in results.values()):
        raise ValueError(f"results: {shown(results)} is not a dict of results; give what sweep returns")
    values = {axis: list_of(axis, each) for axis, each in axes.items()}
    for axis, each in values.items():
        if not each:
            raise ValueError(f"{axis}: an empty list; give the values that grid was given")
        if len(set(names_of(each))) < len(each):
            raise ValueError(f"{axis}: two values are the same as text; give each once, as grid needs them")
    names = list(grid(lambda **chosen: {}, **values))
    if missing := [name for name in names if name not in results]:
        raise ValueError(f"results: there is no case {missing[0]!r}; it has {shown(', '.join(results))}")
    data = [results[name].to_xarray() for name in names]
    package = installed("xarray")
    data = [each.rename({axis: f"recorded_{axis}" for axis in values if axis in each.data_vars}) for each in data]
    data = [each.drop_vars(values.keys(), errors="ignore") for each in data]  # an axis now, not a number of the policy
    for axis, along in reversed(values.items()):
        plain = all(isinstance(value, str) for value in along) or all(isinstance(value, int | float) for value in along)
        named = package.IndexVariable(axis, along if plain else names_of(along))
        groups = [data[first : first + len(along)] for first in range(0, len(data), len(along))]
        try:
            data = [package.concat(group, named, **ALONG) for group in groups]
        except ValueError as error:
            raise ValueError(f"results: the cases along {axis} differ in more than it: {error}") from error
    whole: xarray.Dataset = data[0]
    return whole
