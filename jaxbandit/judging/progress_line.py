"""What is being played: one line that is rewritten on a terminal, lines of their own in a file."""

from __future__ import annotations

import sys

from jaxbandit.texts import filled, terminal_width

CLEAR = "\r\x1b[K"


def tell(words: str, in_a_file: bool = True) -> None:
    """What is under way; on a terminal the next line takes its place."""
    if sys.stdout.isatty():
        print(f"{CLEAR}{words[: terminal_width() - 1]}", end="", flush=True)
    elif in_a_file:
        print(words, flush=True)


def say(words: str) -> None:
    """A line that stays, or several on a terminal that is not so wide."""
    clear()
    print(filled(words), flush=True)


def clear() -> None:
    """Remove the line of what was under way."""
    if sys.stdout.isatty():
        print(CLEAR, end="", flush=True)
