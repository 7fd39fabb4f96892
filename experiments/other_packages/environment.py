"""A Python of its own for another package, whose requirements are not ours."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

READY = "requirements.txt"  # written last; holds what is installed


def make(folder: Path, requirements: list[str]) -> Path:
    """The Python of a virtual environment with these requirements, made by `python -m venv` and pip if it is not there.

    Raises:
      OSError: it cannot be made, as without a network; what pip says last.
    """
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    record, wanted = folder / READY, "\n".join(requirements)
    if record.exists() and record.read_text() == wanted:
        return python
    print(f"making an environment in {folder}: python -m venv, then pip install {' '.join(requirements)}", flush=True)
    for command in (
        [sys.executable, "-m", "venv", str(folder)],
        [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=clean())
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines() or ["no word"]
            raise OSError(f"{' '.join(command[1:3])} ended with {done.returncode}: {said[-1]}")
    record.write_text(wanted)
    return python


def clean() -> dict[str, str]:
    """This process's environment variables without those that would show our packages to another Python."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
