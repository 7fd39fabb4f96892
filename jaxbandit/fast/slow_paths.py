"""Slower ways to the same numbers: the plain forms, which a user may ask for, and what JAX or XLA may force, with a
warning."""

from __future__ import annotations

import os
import warnings

PLAIN = os.environ.get("JAXBANDIT_PLAIN", "") not in ("", "0")  # whether the plain forms are used; read at import
_WARNED: set[str] = set()


class SlowPathWarning(UserWarning):
    """A program takes a slower way to the same numbers, because JAX, XLA or an operation is not as it was expected."""


def slow_path(kind: str, reason: str, error: Exception | None = None) -> None:
    """Warn of a slow path, once in a process for each kind.

    Args:
      kind: what is slower.
      reason: why, as a sentence.
      error: what was raised.
    """
    if kind not in _WARNED:
        raised = "" if error is None else f" ({type(error).__name__}: {error})"
        warnings.warn(f"{kind}: the same numbers, but more slowly, as {reason}{raised}", SlowPathWarning, stacklevel=3)
        _WARNED.add(kind)  # only here: a warning that is an error has been raised above, and is raised again next time
