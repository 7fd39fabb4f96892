"""Whether the traced program is for a CPU, where one entry after the other may be faster than all at once."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import Any

_CPU = ContextVar("cpu", default=True)


def for_cpu() -> bool:
    """Whether the program that is being traced is for a CPU; true outside of `traced_for`."""
    return _CPU.get()


def traced_for(on_cpu: bool, function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, traced for a CPU or for another device."""

    @wraps(function)
    def traced(*arguments: Any) -> Any:
        token = _CPU.set(on_cpu)
        try:
            return function(*arguments)
        finally:
            _CPU.reset(token)

    return traced
