"""A warning where a program takes a slower way to the same numbers."""

from __future__ import annotations

import warnings

_SAID: set[str] = set()


class SlowPathWarning(UserWarning):
    """A program takes a slower way to the same numbers, because JAX, XLA or an operation is not as it was expected."""


def slow_path(kind: str, reason: str) -> None:
    """Warn of a slow path, once in a process for each kind.

    Args:
      kind: what is slower.
      reason: why, as a sentence.
    """
    if kind not in _SAID:
        warnings.warn(f"{kind}: the same numbers, but more slowly, as {reason}", SlowPathWarning, stacklevel=3)
        _SAID.add(kind)  # not where the warning is an error
