"""What a simulation returns: counts at the recorded rounds, and what is needed to continue it."""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from jaxbandit.interruption import ctrl_c

if TYPE_CHECKING:
    import xarray

VERSION = 1
# what a damaged file may raise; a RuntimeError where a wrong bit says that the archive is encrypted
_DAMAGE = (ValueError, TypeError, LookupError, OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """Counts of a simulation; every metric is a float64 function of them.

    A simulation that was stopped early has recorded the first of its times only; `simulate(..., resume=result)`
    continues it.
    """

    scenarios: tuple[str, ...]
    times: np.ndarray  # [T] int64, recorded rounds
    visits: dict[str, np.ndarray]  # label to int32 [scenario, variant, run, time, arm, state], the state moved to
    means: np.ndarray  # [scenario, arm] float64
    reward: np.ndarray  # [scenario, arm, state] float64
    horizon: int  # rounds asked for
    rounds: int  # rounds played
    plays: int  # arms played a round
    specification: dict[str, Any]  # what the counts depend on
    carry: dict[str, list[np.ndarray]]  # leaves of each label's carry after `rounds`, or none
    provenance: dict[str, Any] = field(default_factory=dict)  # to be read: versions, each policy's class and values

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(self.visits)

    @property
    def complete(self) -> bool:
        """Whether all rounds asked for were played."""
        return self.rounds == self.horizon

    def hyperparameters(self, label: str) -> dict[str, list[Any]]:
        """By name, the values of the policy's variants, static fields included; empty if the result does not say.

        >>> import jaxbandit
        >>> policies = {"KL": [jaxbandit.UCBSM(L=L) for L in (1.0, 343.0)]}
        >>> jaxbandit.simulate(jaxbandit.bernoulli([0.5, 0.4]), policies, runs=2, horizon=9).hyperparameters("KL")
        {'L': [1.0, 343.0]}
        """
        policies: dict[str, dict[str, Any]] = self.provenance.get("policies", {})
        return dict(policies[label]["hyperparameters"]) if label in policies else {}

    def __repr__(self) -> str:
        from jaxbandit.display import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        """What a notebook shows: what was played, its size, and a table of final regret."""
        from jaxbandit.display import as_html

        return as_html(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result to one compressed .npz file (no pickle), in one step: whole or not there, Ctrl-C or not."""
        path = Path(path)
        header = {
            "version": VERSION,
            "scenarios": self.scenarios,
            "labels": self.labels,
            "carry": {label: len(leaves) for label, leaves in self.carry.items()},
            **{name: getattr(self, name) for name in ("horizon", "rounds", "plays", "specification", "provenance")},
        }
        arrays = {"times": self.times, "means": self.means, "reward": self.reward}
        for i, label in enumerate(self.labels):
            arrays[f"visits_{i}"] = self.visits[label]
            arrays |= {f"carry_{i}_{n}": leaf for n, leaf in enumerate(self.carry.get(label, []))}
        with ctrl_c() as interrupted, whole_file(path) as file:
            _write_arrays(file, {"header": np.array(json.dumps(header)), **arrays})
        if interrupted.is_set():
            raise KeyboardInterrupt

    def to_xarray(self) -> xarray.Dataset:
        """The counts and the pseudo-regret with named axes; needs `pip install "jaxbandit[xarray]"`.

        Variants of a policy follow each other on the axis `policy`, all under its label, so that policies with
        different numbers of variants fit and counts stay whole numbers. Along that axis lie `variant` and every
        hyper-parameter that is one number or one text, NaN or "" where a policy has none of that name; the attribute
        `policies` has all of them. `sel(policy=label)` keeps the axis where there are several variants; labels that
        may repeat are not selected by a list, but by `isel(policy=dataset.policy.isin(labels))`.

        Returns:
          visits int32 [scenario, policy, run, time, arm, state], regret [scenario, policy, run, time],
          means [scenario, arm], reward [scenario, arm, state]; attributes that say how they were made. All copies.

        Raises:
          ImportError: xarray is not installed.

        >>> import jaxbandit
        >>> arms = jaxbandit.two_state([0.5, 0.4], [0.4, 0.55])
        >>> policies = {"KL": jaxbandit.KLUCB(), "TV": [jaxbandit.TVKLUCB(scale=scale) for scale in (0.5, 1.0)]}
        >>> dataset = jaxbandit.simulate(arms, policies, runs=5, horizon=100, times=[50, 100]).to_xarray()
        >>> dict(dataset.regret.sel(policy="KL").mean("run").sizes)
        {'scenario': 1, 'time': 2}
        >>> dataset.regret.sel(policy="TV").swap_dims(policy="scale").sel(scale=0.5, time=100).dims
        ('scenario', 'run')
        """
        from jaxbandit.named_axes import as_dataset

        return as_dataset(self)

    def to_netcdf(self, path: str | os.PathLike[str]) -> None:
        """Write `to_xarray()` to a compressed netCDF 4 file, in one step: whole or not there.

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
        from jaxbandit.named_axes import write_netcdf

        write_netcdf(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Result:
        """Read a file written by `save`.

        Raises:
          ValueError: the file is no such file, is truncated or damaged, or is of another version.
          FileNotFoundError: there is none.
        """
        with open(path, "rb") as handle:
            try:
                return cls._read(np.load(handle, allow_pickle=False))
            except _VersionError as error:
                raise ValueError(f"{path}: {error}") from None
            except _DAMAGE as error:
                raise ValueError(f"{path}: no result file, or truncated or damaged ({error})") from error

    @classmethod
    def _read(cls, file: Any) -> Result:
        header = json.loads(str(file["header"]))
        if header["version"] != VERSION:
            raise _VersionError(f"written as version {header['version']}, this reads version {VERSION}")
        labels = header["labels"]
        return cls(
            scenarios=tuple(header["scenarios"]),
            visits={label: file[f"visits_{i}"] for i, label in enumerate(labels)},
            carry={
                label: [file[f"carry_{i}_{n}"] for n in range(header["carry"][label])]
                for i, label in enumerate(labels)
                if label in header["carry"]
            },
            **{name: file[name] for name in ("times", "means", "reward")},
            **{name: header[name] for name in ("horizon", "rounds", "plays", "specification")},
            provenance=header.get("provenance", {}),  # the first files had none
        )


def join_times(pieces: list[Result]) -> Result:
    """One result from those of the same runs that follow each other in time; the last one's carry."""
    if len(pieces) == 1:
        return pieces[0]
    return replace(
        pieces[-1],
        times=np.concatenate([piece.times for piece in pieces]),
        visits={label: np.concatenate([p.visits[label] for p in pieces], axis=3) for label in pieces[-1].labels},
    )


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write that is there in one step, on the disk, when the block ends; not at all if it raises.

    Raises:
      FileNotFoundError: its folder does not exist.
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path.parent}: no such folder")
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        if os.name == "posix":  # the new name outlives a power cut only once its folder is on the disk
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
    finally:
        temporary.unlink(missing_ok=True)


def _write_arrays(file: BinaryIO, arrays: dict[str, np.ndarray]) -> None:
    """What `np.savez_compressed` writes, compressed less: a fifth larger, in a sixth of the time."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)


class _VersionError(Exception):
    """The file is whole but of another version."""
