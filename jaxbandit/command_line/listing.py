"""Lists with names on the left and a sentence beside each, no wider than the terminal."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from pathlib import Path
from textwrap import TextWrapper

from jaxbandit.texts import terminal_width


def about(files: Iterable[Path]) -> dict[str, str]:
    """Of each Python file that says what it is, its name and the first line of that; nothing is imported for it."""
    said = {path.stem: ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) for path in files}
    return {name: text.splitlines()[0] for name, text in said.items() if text}


def listing(lines: Mapping[str, str]) -> str:
    """A paragraph for each entry."""
    wide = max(map(len, lines)) + 2
    width = min(120, terminal_width())
    wrap = TextWrapper(max(width, wide + 20), break_on_hyphens=False, subsequent_indent=" " * wide)
    return "\n".join(wrap.fill(f"{name:{wide}}{line}") for name, line in lines.items())


def refilled(docstring: str) -> str:
    """A docstring no wider than the terminal: paragraphs and arguments are filled, examples are kept."""
    blocks = []
    for block in docstring.split("\n\n"):
        parts: list[tuple[int, str]] = []  # each with its indent
        for line in block.split("\n"):
            words, indent = line.lstrip(), len(line) - len(line.lstrip())
            goes_on = parts and (indent > parts[-1][0] > 0 or indent == parts[-1][0] == 0)
            if goes_on and not block.startswith(">>>"):
                parts[-1] = parts[-1][0], f"{parts[-1][1]} {words}"
            else:
                parts.append((indent, words))
        blocks.append("\n".join(_hanging(*part) for part in parts))
    return "\n\n".join(blocks)


def _hanging(indent: int, words: str) -> str:
    """Lines whose first one is indented, and the others more."""
    further = indent + 2 * (indent > 0)
    wrap = TextWrapper(min(120, terminal_width()), break_long_words=False, break_on_hyphens=False)
    wrap.initial_indent, wrap.subsequent_indent = " " * indent, " " * further
    return wrap.fill(words)
