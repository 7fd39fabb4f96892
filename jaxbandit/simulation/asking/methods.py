"""What a user's method returns, with errors that begin with the user's own line."""

from __future__ import annotations

import sys
import sysconfig
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxbandit.simulation.asking.program_text import told


class MethodError(Exception):
    """What is wrong, without the argument at fault."""


def method(name: str, thing: Any, *given: Any) -> tuple[Any, list[bytes]]:
    """What a method returns, as shapes, and what it computes."""
    try:
        return call(lambda thing, *given: getattr(thing, name)(*given), thing, *given)
    except MethodError as fault:
        raise MethodError(f"{name}: {fault}") from fault.__cause__


def call(function: Callable[..., Any], *given: Any) -> tuple[Any, list[bytes]]:
    try:
        return told(function, given)
    except Exception as error:
        raise MethodError(in_words(error)) from error


def in_words(error: Exception, own: Callable[[str], bool] | None = None) -> str:
    """The last line of somebody's own code that an error passed through, and the error, in one line.

    Args:
      own: whether a file is somebody's own; by default, whether it is neither Python's nor a package's that calls it.
    """
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if (own or _is_own)(frame.filename)]
    place = "".join(f"{Path(at.filename).name}, line {at.lineno}: {at.line}: " for at in frames[-1:])
    reason = " ".join(str(error).split("\n\n")[0].split())
    kind = "" if type(error) is ValueError else f"{type(error).__name__}: "
    return f"{place}{kind}{reason}"


def _is_own(file: str) -> bool:
    """Whether a file is somebody's own, neither Python's nor one of the packages that call it."""
    installed = "site-packages" in file
    return not (
        file.startswith(_PACKAGES) or file.startswith("<frozen") or (not installed and file.startswith(_PYTHON))
    )


_PACKAGES = tuple(str(Path(str(module.__file__)).parent) for module in (jax, np, sys.modules["jaxbandit"]))
_PYTHON = sysconfig.get_paths()["stdlib"]
