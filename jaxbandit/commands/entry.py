"""Policies for bandits with Markovian rewards: judged, stressed, compared and looked up.

jaxbandit NAME --help says more of each command.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

from jaxbandit.command_line import options
from jaxbandit.command_line.listing import about, listing

# a command is a file beside this one, with `Settings` and `run`, and its name here; imported when it is asked for
COMMANDS = ("judge", "stress", "sweep", "tune", "evaluate", "atlas", "policies")


def module_of(name: str) -> ModuleType:
    """Where a command is written."""
    return import_module(f"jaxbandit.commands.{name}")


def main(arguments: list[str] | None = None) -> None:
    """Run the command that the arguments name, or those of the process; without one, list all commands."""
    name, *rest = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    if name in COMMANDS:
        module = module_of(name)
        options.main(module.run, module.Settings, name, str(module.__doc__), rest, f"jaxbandit {name}")
        return
    folder = Path(__file__).parent
    said = about(folder / f"{command}.py" for command in COMMANDS)
    parser = options.parser_of("jaxbandit", str(__doc__), listing(said))
    parser.add_argument("command", metavar="NAME", help="a command, of those listed below")
    if name not in ("-h", "--help", "--version"):
        parser.error(options.unknown("NAME", name, COMMANDS))
    parser.parse_args([name, *rest])
