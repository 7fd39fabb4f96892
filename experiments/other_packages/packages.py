"""Another package: an environment of its own, and blocks of runs that its Python plays, a file each."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxbandit.reports.tables import put

Job = dict[str, Any]  # as `job_files` describes it


class Package(NamedTuple):
    """Another package."""

    name: str
    script: str  # the job file that its Python runs
    requirements: tuple[str, ...] = ()  # with none, this Python runs the job file, and needs numba
    block: int = 50  # runs of a job, which Ctrl-C loses

    @property
    def path(self) -> Path:
        return Path(__file__).with_name(self.script)


class Played(NamedTuple):
    """What another package has played of one policy."""

    regret: np.ndarray  # [R]
    seconds: float  # of one processor


def python_of(package: Package, environments: str, python: str = "") -> str | None:
    """The Python `python`, or that of an environment in the folder; None, after saying why, where it cannot be had."""
    try:
        return python or make(Path(environments) / package.path.stem.removeprefix("play_"), package.requirements)
    except OSError as error:
        print(f"{package.name} cannot be had ({error}); jaxbandit plays without it")
        return None


def make(folder: Path, requirements: tuple[str, ...]) -> str:
    """The Python of a virtual environment with these requirements, which is made if it is not there."""
    if not requirements:
        if importlib.util.find_spec("numba") is None:
            raise OSError('numba is not installed; pip install -e ".[bench]"')
        return sys.executable
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    record, wanted = folder / "requirements.txt", "\n".join(requirements)  # the record is written last
    if record.exists() and record.read_text() == wanted:
        return str(python)
    print(f"making an environment in {folder}: python -m venv, then pip install {' '.join(requirements)}", flush=True)
    for command in (
        [sys.executable, "-m", "venv", str(folder)],
        [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=_clean())
        if done.returncode:
            lines = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
            raise OSError(f"{' '.join(command[1:3])} ended with {done.returncode}: {lines[-1]}")
    record.write_text(wanted)
    return str(python)


def _clean() -> dict[str, str]:
    """The environment variables without those that would show our packages to another Python."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}


def blocks(name: str, runs: int, job: Job, size: int) -> list[Job]:
    """The runs of a job in blocks, each with a name of letters, digits and dashes."""
    plain = "".join(letter if letter.isalnum() else "-" for letter in name.replace("+", "plus"))
    ends = [(first, min(first + size, runs)) for first in range(0, runs, size)]
    return [{"name": f"{plain}-{first}-{end}", **job, "runs": [first, end]} for first, end in ends]


def play(package: Package, python: str, jobs: list[Job], folder: Path) -> None:
    """Let the other Python play the jobs that have no file yet; Ctrl-C ends it, too, and keeps what is done."""
    folder.mkdir(parents=True, exist_ok=True)
    put(folder / "jobs.json", json.dumps(jobs))
    left = sum(not (folder / f"{job['name']}.json").exists() for job in jobs)
    print(f"{package.name} plays {left} of {len(jobs)} blocks", flush=True)
    command = [python, package.path, folder / "jobs.json", folder]
    if code := subprocess.run(command, env=_clean(), check=False).returncode:
        raise OSError(f"{package.name}: its process ended with {code}")


def read(folder: Path, jobs: list[Job]) -> Played:
    """What the blocks of one policy have lost."""
    regret, seconds = [], 0.0
    for job in jobs:
        path = folder / f"{job['name']}.json"
        contents = json.loads(path.read_text())  # job files write it as a whole or not at all
        if contents["job"] != job:
            raise ValueError(f"{path}: holds no block of this job; delete it, and the same command plays it again")
        regret += contents["regret"]
        seconds += contents["seconds"]
    return Played(np.array(regret), seconds)
