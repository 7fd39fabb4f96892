"""A warning where a program takes a slower way to the same numbers."""

from __future__ import annotations

import warnings

_SAID: set[str] = set()


class SlowPathWarning(UserWarning):
    """A program takes a slower way to the same numbers, because JAX, XLA or an operation is not as it was expected."""


def slow_path(kind: str, reason: str, error: Exception | None = None) -> None:
    """Warn of a slow path, once in a process for each kind.

    Args:
      kind: what is slower.
      reason: why, as a sentence.
      error: what was raised.
    """
    if kind not in _SAID:
        raised = "" if error is None else f" ({type(error).__name__}: {error})"
        warnings.warn(f"{kind}: the same numbers, but more slowly, as {reason}{raised}", SlowPathWarning, stacklevel=3)
        _SAID.add(kind)  # not where the warning is an error
