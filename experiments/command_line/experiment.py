"""Cases of an experiment played into its folder, and reported again once they are there."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import jaxbandit
from jaxbandit import Result
from jaxbandit.arguments import check
from jaxbandit.sweeps import Options


def check_cases(cases: Mapping[str, Options]) -> None:
    """Refuse what cannot be simulated, before a folder is touched."""
    for options in cases.values():
        check(**options)


def play(cases: Mapping[str, Options], folder: Path) -> dict[str, Result]:
    """Sweep the cases into folder/counts; what is there continues. Ctrl-C keeps what is done, and says so."""
    counts = folder / "counts"
    if counts.exists():
        print("continuing with what is done already")
    try:
        return jaxbandit.sweep(cases, counts)
    except KeyboardInterrupt:
        print("stopped; what is done is kept, and the same command continues")
        sys.exit(130)
