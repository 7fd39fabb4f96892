"""Ids for the cases of parametrized tests, which can be typed in a shell without quotes."""

import re
from dataclasses import fields, is_dataclass
from typing import Any

TYPED = re.compile(r"[A-Za-z0-9._-]+")
LONGEST = 40


def words(value: Any, argument: str) -> str:
    """An id for a value, of at most 40 characters; the argument's name where the value gives none, as a lambda."""
    text = "empty" if isinstance(value, str | list | tuple | dict) and not value else _words(value)
    if len(text) > LONGEST:
        text = text[: LONGEST + 1].rpartition("-")[0] or text[:LONGEST]
    return text or argument


def _words(value: Any) -> str:
    if isinstance(value, str):
        text = re.sub(r"[^A-Za-z0-9._]+", "-", value.replace(".*", " "))
        return re.sub(r"\.?-[.-]*", "-", text).strip("-.")
    if isinstance(value, float):
        return (str(value) if len(str(value)) <= 8 else f"{value:.6g}").replace("+", "")
    if value is None or isinstance(value, int):
        return str(value)
    if hasattr(value, "__name__"):
        return "" if value.__name__ == "<lambda>" else value.__name__
    if hasattr(value, "tolist"):  # arrays
        return _words(value.tolist())
    if isinstance(value, dict):
        return _joined(part for pair in value.items() for part in pair)
    if isinstance(value, list | tuple):
        return _joined(value)
    message = [type(value).__name__]
    for field in fields(value) if is_dataclass(value) else ():
        inputs = getattr(value, field.name)
        if isinstance(inputs, bool | int | float | str) and inputs != field.default:
            message += [field.name, inputs]
    return _joined(message)


def _joined(parts: Any) -> str:
    return "-".join(word for word in map(_words, parts) if word)
