"""`load_sweep`: read the folder of a sweep without its cases."""

from __future__ import annotations

import os
import warnings

from jaxbandit.arguments import path as as_path
from jaxbandit.results.result import Result
from jaxbandit.sweeps import files, storage


def load_sweep(folder: str | os.PathLike[str]) -> dict[str, Result]:
    """The results in the folder of a sweep, without its cases; nothing is played and nothing is written.

    It may be called while a sweep writes to the folder.

    Args:
      folder: of `sweep`.

    Returns:
      name to `Result`, in the order in which the cases were first played. It has all runs, from run 0 on, that are
      played to the horizon, which may be more than the last call of `sweep` asked for. All but counts and records is
      that of the last file; `sweep` takes means, rewards and fingerprint from its cases instead.

    Raises:
      ValueError: the folder is not that of a sweep, or a file is damaged or foreign (its name).
      FileNotFoundError: the folder, or that of a case, does not exist.

    Warns:
      UserWarning: some runs are not finished, and are left out: of which case, and how many.

    >>> import jaxbandit, tempfile
    >>> case = {"scenarios": jaxbandit.bernoulli([0.5, 0.4]), "policies": {"KL-UCB": jaxbandit.KLUCB()}, "runs": 4}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results = jaxbandit.sweep({"two arms": case | {"horizon": 50}}, folder)
    ...     again = jaxbandit.load_sweep(folder)
    >>> list(again), bool((again["two arms"].visits["KL-UCB"] == results["two arms"].visits["KL-UCB"]).all())
    (['two arms'], True)
    """
    path = as_path("folder", folder)
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such folder")
    if not (path / storage.MANIFEST).is_file():
        raise ValueError(f"folder: {path} has no {storage.MANIFEST}, which every sweep writes")
    results = {}
    for name, case in storage.read_manifest(path)["cases"].items():
        place, asked = path / case["folder"], case["asked"]
        runs, others = files.finished(place, asked["horizon"]) if place.is_dir() else (0, 0)
        if others or not runs:
            left_out = f"{others:,} others have begun and are left out" if runs else "the case is left out"
            warnings.warn(
                f"{path}: of cases[{name!r}] {runs:,} runs are finished; {left_out}. The same call of sweep continues",
                stacklevel=2,
            )
        if runs:
            results[name] = files.assemble(place, asked, runs)
    return results
