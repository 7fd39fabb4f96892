"""Docstrings, whose form is Markdown's with Google's sections, as Sphinx's autodoc and the pages need them."""

from __future__ import annotations

import inspect
import re
from functools import cache
from importlib import import_module
from textwrap import indent
from typing import Any

import jaxbandit

ROOMS = """
bounds chains confidence decision_processes divergences environments families indices live metrics named_problems
plotting policies policies.parts.memory stress testing
""".split()
MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|$~^&])")
RST = re.compile(r"([\\*|]|_(?!\w))")
SECTION = re.compile(r"(Args|Fields|Raises|Returns|Warns|Yields):\n")


@cache
def places() -> dict[str, str]:
    """The full name of everything public by its short one: that of its room, or of the package's own door."""
    names = {}
    for module in (jaxbandit, *(import_module(f"jaxbandit.{room}") for room in ROOMS)):
        things = [name for name in module.__all__ if not inspect.ismodule(getattr(module, name))]
        names |= {name: f"{module.__name__}.{name}" for name in things}
    return names


def escape(text: str) -> str:
    """Plain text as Markdown that shows it.

    >>> escape("log_2 [K, S] < *x*")
    'log\\\\_2 \\\\[K, S\\\\] \\\\< \\\\*x\\\\*'
    """
    return re.sub(r"^([-+]|\d+(?=[.)]))", r"\\\1", MARKDOWN.sub(r"\\\1", text))


def words(text: str) -> str:
    """A paragraph as one line of Markdown; names between backquotes become code, and links where they are public."""
    parts = re.split(r"`([^`]+)`", " ".join(text.split()))
    shown = [escape(part) for part in parts]
    for n in range(1, len(parts), 2):
        name = places().get(parts[n].rpartition(".")[2])
        shown[n] = f"{{py:obj}}`{parts[n]} <{name}>`" if name else f"`{parts[n]}`"
    return "".join(shown)


def restructured(docstring: str) -> str:
    """A docstring as reStructuredText, but for its sections, which napoleon knows.

    >>> print(restructured("See `KLUCB`, |x| and `y`s:\\n\\n    x^2 + *y*\\n\\nArgs:\\n  x: a number."))
    See :py:obj:`KLUCB <jaxbandit.policies.KLUCB>`, \\|x\\| and ``y``\\ s:
    <BLANKLINE>
    .. code-block:: text
    <BLANKLINE>
       x^2 + *y*
    <BLANKLINE>
    Args:
      x: a number.
    """
    shown = []
    for block in re.split(r"\n[ \t]*\n", docstring.strip("\n")):
        if block.lstrip().startswith(">>>"):
            shown.append(inspect.cleandoc(block))
        elif match := SECTION.match(block):
            rest = block[match.end() :]
            sentences = match[1] in ("Returns", "Yields")  # the other sections are lists
            shown.append(match[0] + _marked("  " + " ".join(rest.split()) if sentences else rest))
        else:  # lines that stand further in are shown as they are
            for part in re.findall(r"(?:^ .*\n?)+|(?:^(?! ).*\n?)+", block, re.MULTILINE):
                if part.startswith(" "):
                    shown.append(".. code-block:: text\n\n" + indent(inspect.cleandoc(part), "   "))
                else:
                    shown.append(_marked(part.rstrip()))
    return "\n\n".join(shown)


def _marked(text: str) -> str:
    parts = re.split(r"`([^`]+)`", text)
    shown = [RST.sub(r"\\\1", part) for part in parts]
    for n in range(1, len(parts), 2):
        name = places().get(parts[n].rpartition(".")[2])
        code = " ".join(parts[n].split())
        before = "\\ " if parts[n - 1][-1:].isalnum() else ""
        after = "\\ " if parts[n + 1][:1].isalnum() else ""
        shown[n] = before + (f":py:obj:`{code} <{name}>`" if name else f"``{code}``") + after
    return "".join(shown)


def _rewrite(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    # napoleon takes for a type what stands before a colon in the first line, which therefore becomes a comment
    colon = what in ("attribute", "property", "data") and ":" in "".join(lines[:1])
    first = [".. a property", ""] if colon else []
    lines[:] = [*first, *restructured("\n".join(lines)).split("\n"), ""]


def _skip(app: Any, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """The fields of a named tuple stand in the docstring of its class."""
    return True if isinstance(thing, type(jaxbandit.Task.environment)) else None


def setup(app: Any) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", _rewrite, priority=400)  # before napoleon, whose priority is 500
    app.connect("autodoc-skip-member", _skip)
    return {"parallel_read_safe": True}
