"""Texts for people: of a value, in lines of the terminal's width, and of the fields of a named tuple."""

from __future__ import annotations

import codecs
import difflib
import inspect
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable
from typing import Any, TypeVar

import jax
import numpy as np

T = TypeVar("T")
PLAIN = "jaxbandit"  # the name by which Python knows `_plain`
LISTED = 20  # numbers of an array that are listed


def short(value: Any) -> str:
    """The text of a field's value; of a long array its type, shape and range."""
    if isinstance(value, np.generic):
        return repr(value.item())
    if isinstance(value, jax.core.Tracer) or not isinstance(value, np.ndarray | jax.Array):
        return repr(value)
    if value.dtype.kind not in "biuf":
        return f"{value.dtype}{list(value.shape)}"
    array = np.asarray(value)
    if array.size <= LISTED:
        return " ".join(np.array2string(array, separator=", ", formatter={"float_kind": "{:.4g}".format}).split())
    return f"{array.dtype}{list(array.shape)} from {array.min():.4g} to {array.max():.4g}"


def terminal_width() -> int:
    """The number of columns of the terminal; in a notebook or a file, more than any line has."""
    return shutil.get_terminal_size((10**6, 24)).columns


def _plain(error: UnicodeError) -> tuple[str, int]:
    """What stands for letters that an encoding lacks: +- for ±, escapes for all others."""
    if not isinstance(error, UnicodeEncodeError):  # of letters that cannot be read
        raise error
    letters = error.object[error.start : error.end].replace("±", "+-")
    return letters.encode("ascii", "backslashreplace").decode(), error.end


codecs.register_error(PLAIN, _plain)


def filled(words: str) -> str:
    """Lines that are no wider than the terminal, wrapped between words, of letters that standard output has."""
    width, encoding = terminal_width(), getattr(sys.stdout, "encoding", None) or "utf-8"
    words = words.encode(encoding, PLAIN).decode(encoding)
    lines = words.split("\n")
    return "\n".join(textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False) for line in lines)


def literal(text: Any) -> str:
    """A name as Matplotlib draws it letter by letter, without mathematics between dollars.

    Legends leave out a label that begins with "_", and so a blank stands before it.

    >>> print(literal("_low, $5 to $10"))
     _low, \\$5 to \\$10
    """
    return " " * str(text).startswith("_") + str(text).replace("$", r"\$")


def near_miss(name: str, known: Iterable[str]) -> str:
    """What stands behind an unknown name in a message: the known one that is spelt most like it, or nothing.

    >>> near_miss("klucb", ["UCB1", "KLUCB"]), near_miss("x", ["UCB1"])
    (' (did you mean KLUCB?)', '')
    """
    by_lower_case = {each.lower(): each for each in known}
    near = difflib.get_close_matches(name.lower(), by_lower_case, 1)
    return f" (did you mean {by_lower_case[near[0]]}?)" if near else ""


def described(cls: type[T]) -> type[T]:
    """Make the words that the docstring of a named tuple has for a field the docstring of that field, for `help`.

    >>> from typing import NamedTuple
    >>> @described
    ... class Place(NamedTuple):
    ...     '''Where something is.
    ...
    ...     Fields:
    ...       x: from the left.
    ...     '''
    ...
    ...     x: float
    >>> Place.x.__doc__
    'from the left.'
    """
    items = re.split(r"\n  (?=\S)", inspect.cleandoc(cls.__doc__ or "").partition("Fields:")[2].split("\n\n")[0])[1:]
    for name, _, words in (item.partition(": ") for item in items):
        vars(cls)[name].__doc__ = " ".join(words.split())
    return cls
