"""Blocks of runs that another package plays in a process of its own: a file each, so that what is done is kept."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.other_packages.environment import clean, make
from jaxbandit.results.file import whole_file

Job = dict[str, Any]  # has a "name", of which letters, digits and dashes are kept as they are, and its "runs"


class Package(NamedTuple):
    """Another package."""

    name: str
    requirements: list[str]
    script: Path  # what its Python runs


def jobs(what: str, runs: int, block: int, job: Job) -> list[Job]:
    """The runs of a job in blocks, each with a name of letters, digits and dashes."""
    name = "".join(letter if letter.isalnum() else "-" for letter in what.replace("+", "plus"))
    ends = [(first, min(first + block, runs)) for first in range(0, runs, block)]
    return [{"name": f"{name}-{first}-{end}", **job, "runs": [first, end]} for first, end in ends]


def python_of(package: Package, environments: str, given: str = "") -> Path | None:
    """The Python that is given, or that of an environment in the folder; None, and why, where it cannot be had."""
    try:
        return Path(given or make(Path(environments) / package.script.stem.removeprefix("play_"), package.requirements))
    except OSError as error:
        print(f"{package.name} cannot be had ({error}); jaxbandit plays without it")
        return None


def play(package: Package, python: Path, request: dict[str, Any], folder: Path) -> None:
    """Let the other Python play the jobs that have no file yet. Ctrl-C ends it, too, and keeps what is done.

    Raises:
      OSError: its process failed; it has said why.
    """
    folder.mkdir(exist_ok=True)
    with whole_file(folder / "request.json") as file:
        file.write(json.dumps(request).encode())
    left = sum(not (folder / f"{job['name']}.json").exists() for job in request["jobs"])
    print(f"{package.name} plays {left} of {len(request['jobs'])} blocks", flush=True)
    process = subprocess.Popen([python, package.script, folder / "request.json", folder], env=clean())
    try:
        code = process.wait()
    except KeyboardInterrupt:
        process.terminate()
        process.wait()
        raise
    if code:
        raise OSError(f"{package.name}: its process ended with {code}")


def read(folder: Path, blocks: list[Job], what: str) -> tuple[np.ndarray, float]:
    """What the blocks of one policy found, a row for each run, and the seconds that one processor spent.

    Raises:
      ValueError: a file holds something else than its job.
    """
    found, seconds = [], 0.0
    for job in blocks:
        path = folder / f"{job['name']}.json"
        try:
            contents = json.loads(path.read_text())
            same = contents["job"] == job
            found.append(np.array(contents[what]))
            seconds += float(contents["seconds"])
        except (KeyError, TypeError, ValueError):
            same = False
        if not same:
            raise ValueError(f"{path}: holds no block of this job; delete it, and the same command plays it again")
    return np.concatenate(found), seconds
