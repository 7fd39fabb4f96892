"""What a simulation returns: its contents, what it shows of them, and its file."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from jaxbandit.arguments import path as as_path
from jaxbandit.results.contents import Contents
from jaxbandit.results.file import file_name, read, write

if TYPE_CHECKING:
    import xarray


@dataclass(frozen=True, eq=False, repr=False)
class Result(Contents):
    """Counts of a simulation; every metric is a float64 function of them.

    A simulation that was stopped early has recorded the first of its times only; `simulate(..., resume=result)`
    continues it.
    """

    def __repr__(self) -> str:
        from jaxbandit.results.display import as_text

        return as_text(self)

    def __str__(self) -> str:
        """What `print` shows: what was played, and a table of final regret."""
        from jaxbandit.results.display import in_full

        return in_full(self)

    def _repr_html_(self) -> str:
        """What a notebook shows: what was played, its size, and a table of final regret."""
        from jaxbandit.results.display import as_html

        return as_html(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result to one compressed .npz file (no pickle), in one step: whole or not there, Ctrl-C or not.

        Raises:
          ValueError: the path is none.
          OSError: the file cannot be written; its folder does not exist (FileNotFoundError).
        """
        write(self, file_name(path))

    def to_xarray(self) -> xarray.Dataset:
        """The counts and the regret (`metrics.regret`) with named axes; needs `pip install -e ".[xarray]"`.

        Variants of a policy follow each other on the axis `policy`, all under its label, so that policies with
        different numbers of variants fit and counts stay whole numbers. Along that axis lie `variant` and every
        hyper-parameter that is one number or one text, NaN or "" where a policy has none of that name; the attribute
        `policies` has all of them. `sel(policy=label)` keeps the axis where there are several variants; labels that
        may repeat are not selected by a list, but by `isel(policy=dataset.policy.isin(labels))`.

        Returns:
          visits int32 [scenario, policy, run, time, arm, state], regret [scenario, policy, run, time],
          means [scenario, arm], reward [scenario, arm, state]; attributes that say how they were made. All copies. What
          was recorded has its own name and [scenario, policy, run, time, ..]; where its further axes have the sizes of
          arms, or of arms and states, they are `arm` and `state` (not with `shuffle`). It is NaN for a policy that did
          not record it. Where rewards have no finite table there is no `reward`, but `rewards` [.., arm], their sums.

        Raises:
          ImportError: xarray is not installed.
          ValueError: policies recorded arrays of different shapes under one name.

        >>> import jaxbandit
        >>> arms = jaxbandit.two_state([0.5, 0.4], [0.4, 0.55])
        >>> policies = {"KL": jaxbandit.KLUCB(), "TV": [jaxbandit.TVKLUCB(scale=scale) for scale in (0.5, 1.0)]}
        >>> dataset = jaxbandit.simulate(arms, policies, runs=5, horizon=100, times=[50, 100]).to_xarray()
        >>> dict(dataset.regret.sel(policy="KL").mean("run").sizes)
        {'scenario': 1, 'time': 2}
        >>> dataset.regret.sel(policy="TV").swap_dims(policy="scale").sel(scale=0.5, time=100).dims
        ('scenario', 'run')
        """
        from jaxbandit.results.named_axes import as_dataset

        return as_dataset(self)

    def to_netcdf(self, path: str | os.PathLike[str]) -> None:
        """Write `to_xarray()` to a compressed netCDF 4 file, in one step: the whole file is written, or none.

        `xarray.open_dataset(path)` gives the same values, types, coordinates and attributes. The file is for reading;
        only that of `save` can be continued.

        Raises:
          ImportError: xarray, h5netcdf or h5py is not installed.
          FileNotFoundError: the file's folder does not exist.

        >>> import jaxbandit, tempfile, xarray
        >>> arms = jaxbandit.two_state([0.5, 0.4], [0.4, 0.55])
        >>> result = jaxbandit.simulate(arms, {"KL": jaxbandit.KLUCB()}, runs=5, horizon=100)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result.to_netcdf(f"{folder}/result.nc")
        ...     xarray.load_dataset(f"{folder}/result.nc").identical(result.to_xarray())
        True
        """
        from jaxbandit.results.named_axes import write_netcdf

        write_netcdf(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Result:
        """Read a file written by `save`.

        Raises:
          ValueError: the file does not hold a result, is truncated or damaged, or is of another version.
          FileNotFoundError: the file does not exist.
        """
        return cls(**read(as_path("path", path)))


def join_times(pieces: list[Result]) -> Result:
    """Join results of the same runs that follow each other in time; the carry is that of the last."""
    if len(pieces) == 1:
        return pieces[0]
    return replace(
        pieces[-1],
        times=np.concatenate([piece.times for piece in pieces]),
        visits={label: np.concatenate([p.visits[label] for p in pieces], axis=3) for label in pieces[-1].labels},
        recorded={
            name: {label: np.concatenate([p.recorded[name][label] for p in pieces], axis=3) for label in arrays}
            for name, arrays in pieces[-1].recorded.items()
        },
    )
