"""`Result`: the counts of a simulation, and what is needed to continue it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxbandit.results import display, named_axes
from jaxbandit.results.file import read, write

if TYPE_CHECKING:
    import xarray


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """Counts of a simulation; every metric is a float64 function of them.

    A simulation that was stopped early has recorded the first of its times only; `simulate(..., resume=result)`
    continues it.
    """

    scenarios: tuple[str, ...]
    times: np.ndarray  # [T] int64, recorded rounds
    visits: dict[str, np.ndarray]  # label to int32 [scenario, variant, run, time, arm, state], the state that pays
    means: np.ndarray  # [scenario, arm] float64
    reward: np.ndarray  # [scenario, arm, state] float64; no state where rewards have no finite table
    horizon: int  # rounds asked for
    rounds: int  # rounds played
    plays: int  # arms played a round
    fingerprint: dict[str, Any]  # what the counts depend on
    carry: dict[str, list[np.ndarray]]  # leaves of each label's carry after `rounds`; empty if it cannot be continued
    provenance: dict[str, Any] = field(default_factory=dict)  # to be read: versions, each policy's class and values
    recorded: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)  # name to label to [c, v, r, time, ..]
    problem: str = "rested"  # what the environment declares (see `base.Environment`)
    # what regret is measured against, if declared: [scenario], or for each round [scenario, horizon], of episodes
    # [scenario, H, S]; else the M largest means
    comparator: np.ndarray | None = None
    comparator_name: str | None = None
    cost: np.ndarray | None = None  # [scenario, arm], of a play, where all arms pay, played or not
    passive_reward: np.ndarray | None = None  # [scenario, arm, state], of arms that are not played; None for `reward`

    def __post_init__(self) -> None:
        """Make the arrays read-only, of views, so that those of others stay as they are."""
        for name, value in list(vars(self).items()):
            if name not in ("fingerprint", "carry", "provenance"):
                object.__setattr__(self, name, _read_only(value))

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(self.visits)

    @property
    def runs(self) -> int:
        """Independent runs of every policy."""
        return int(next(iter(self.visits.values())).shape[2])

    @property
    def complete(self) -> bool:
        """Whether all rounds asked for were played."""
        return self.rounds == self.horizon

    @property
    def asked(self) -> dict[str, Any]:
        """The arguments of `simulate` that the counts depend on."""
        return dict(self.fingerprint.get("asked", {}))

    @property
    def stopped(self) -> dict[str, np.ndarray]:
        """Label to int32 [scenario, variant, run], the round after which each run ended, 0 where it did not.

        Empty without `until="stopped"`. A run that has not ended at the horizon is censored: its answer is -1.
        """
        return {label: rounds[..., -1] for label, rounds in self.recorded.get("stopped", {}).items()}

    @property
    def answers(self) -> dict[str, np.ndarray]:
        """Label to int32 [scenario, variant, run], the arm that each run answered, -1 where it did not end."""
        return {label: arms[..., -1] for label, arms in self.recorded.get("answers", {}).items()}

    def hyperparameters(self, label: str) -> dict[str, list[Any]]:
        """By name, the values of the policy's variants, static fields included; empty if the result does not know them.

        >>> import jaxbandit
        >>> policies = {"UCB1": [jaxbandit.UCB1(bonus=bonus) for bonus in (0.5, 1.0)]}
        >>> jaxbandit.simulate(jaxbandit.bernoulli([0.5, 0.4]), policies, runs=5, horizon=9).hyperparameters("UCB1")
        {'bonus': [0.5, 1.0]}
        """
        policies: dict[str, dict[str, Any]] = self.provenance.get("policies", {})
        return dict(policies[label]["hyperparameters"]) if isinstance(label, str) and label in policies else {}

    def __repr__(self) -> str:
        return display.as_text(self)

    def __str__(self) -> str:
        """What `print` shows: what was played, and a table of final regret or stopping times."""
        return display.in_full(self)

    def _repr_html_(self) -> str:
        """What a notebook shows: what was played, its size, and a table of final regret or stopping times."""
        return display.as_html(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result to one compressed .npz file (no pickle), atomically: Ctrl-C never leaves half a file.

        Raises:
          ValueError: the path is not that of a file.
          OSError: the file cannot be written; its folder does not exist (FileNotFoundError).
        """
        write(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Result:
        """Read a file written by `save`.

        Raises:
          ValueError: the file does not hold a result, is truncated or damaged, or is of another version.
          FileNotFoundError: the file does not exist.
        """
        return cls(**read(path))

    def to_xarray(self) -> xarray.Dataset:
        """The counts and the regret (`metrics.regret`) with named axes; needs `pip install -e ".[xarray]"`.

        The variants of a policy follow each other on the axis `policy`, all under its label, so that policies with
        different numbers of variants fit and counts stay whole numbers. Along that axis lie `variant` and every
        hyper-parameter that is one number or one text, NaN or "" where a policy has none of that name; the attribute
        `policies` has all of them. `sel(policy=label)` keeps the axis where there are several variants. Labels may
        repeat, so select several of them by `isel(policy=dataset.policy.isin(labels))`.

        Returns:
          visits int32 [scenario, policy, run, time, arm, state], regret [scenario, policy, run, time],
          means [scenario, arm], reward [scenario, arm, state]; attributes that say how they were made. All are copies.
          Each recorder has a variable of its own name, [scenario, policy, run, time, ..]; further axes with the sizes
          of arms, or of arms and states, are called `arm` and `state` (not with `shuffle`). It is NaN for a policy that
          did not record it. Where rewards have no finite table, `rewards` [.., arm], their sums, replace `reward`.

        Raises:
          ImportError: xarray is not installed.
          ValueError: policies recorded arrays of different shapes under one name.

        >>> import jaxbandit
        >>> arms = jaxbandit.two_state([0.5, 0.4], [0.4, 0.55])
        >>> policies = {"KL": jaxbandit.KLUCB(), "UCB1": [jaxbandit.UCB1(bonus=bonus) for bonus in (0.5, 1.0)]}
        >>> dataset = jaxbandit.simulate(arms, policies, runs=5, horizon=100, times=[50, 100]).to_xarray()
        >>> dict(dataset.regret.sel(policy="KL").mean("run").sizes)
        {'scenario': 1, 'time': 2}
        >>> dataset.regret.sel(policy="UCB1").swap_dims(policy="bonus").sel(bonus=0.5, time=100).dims
        ('scenario', 'run')
        """
        return named_axes.as_dataset(self)

    def to_netcdf(self, path: str | os.PathLike[str]) -> None:
        """Write `to_xarray()` to a compressed netCDF 4 file, atomically.

        `xarray.open_dataset(path)` gives the same values, types, coordinates and attributes. The file is for reading;
        only one that `save` has written can be continued.

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
        named_axes.write_netcdf(self, path)


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


def _read_only(value: Any) -> Any:
    """A read-only view of an array, or of all arrays in a dict; anything else as it is."""
    if isinstance(value, dict):
        return {name: _read_only(entry) for name, entry in value.items()}
    if isinstance(value, np.ndarray):
        value = value.view()
        value.flags.writeable = False
    return value
