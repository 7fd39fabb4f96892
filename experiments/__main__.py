"""Lists the commands, each with the first line of what it says of itself: `python -m experiments`."""

import argparse
import ast
from pathlib import Path
from shutil import get_terminal_size
from textwrap import TextWrapper

import jaxbandit


def listing() -> str:
    """A paragraph for each command; nothing is imported for it."""
    about = {path.stem: ast.get_docstring(ast.parse(path.read_text())) for path in Path(__file__).parent.glob("*.py")}
    first = {name: text.splitlines()[0] for name, text in about.items() if text and not name.startswith("__")}
    width = max(map(len, first)) + 2
    wrap = TextWrapper(min(120, get_terminal_size().columns), break_on_hyphens=False, subsequent_indent=" " * width)
    return "\n".join(wrap.fill(f"{name:{width}}{line}") for name, line in sorted(first.items()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m experiments",
        description="Runnable experiments: python -m experiments.NAME, of which --help says more.",
        epilog=listing(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"jaxbandit {jaxbandit.__version__}")
    parser.parse_args()
    parser.print_help()
