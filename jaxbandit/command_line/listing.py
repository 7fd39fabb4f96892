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
