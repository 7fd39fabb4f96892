"""One frozen dataclass holds an experiment's options; the command line is made from it."""

from __future__ import annotations

import argparse
import dataclasses
import io
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, ClassVar, TypeVar

import jax

from jaxbandit import __version__, use_all_cores
from jaxbandit.interruption import reraise_ctrl_c
from jaxbandit.texts import PLAIN, near_miss

T = TypeVar("T")
VALUES = {int: "N", float: "X"}  # what stands for a value of this type in `--help`


def option(default: Any, help: str) -> Any:
    """An option with a flag."""
    return dataclasses.field(default=default, metadata={"help": help})


def argument(help: str) -> Any:
    """An option that has to be given, without a flag."""
    return dataclasses.field(metadata={"help": help, "nargs": None})


def arguments(help: str, one: str) -> Any:
    """What has to be given without a flag, once or several times: a tuple of texts, each of which is called `one`."""
    return dataclasses.field(metadata={"help": help, "nargs": "+", "one": one})


def name_in_words(help: str) -> Any:
    """A name without a flag, which may be left out, and may have blanks that are not quoted."""
    return dataclasses.field(default="", metadata={"help": help, "nargs": "*"})


def _whole(text: str) -> int:
    """A whole number, which may be written as 1e4 or 10_000."""
    with suppress(ValueError):
        return int(text)
    with suppress(ValueError):
        if (number := float(text)).is_integer():
            return int(number)
    raise argparse.ArgumentTypeError(f"{text!r} is not a whole number, such as 10000 or 1e4")


def _state(text: str) -> int | str:
    try:
        return text if text == "stationary" else int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a state's number, such as 0, nor 'stationary'") from None


@dataclasses.dataclass(frozen=True)
class Quick:
    """Options of a command that takes a while: --quick puts the numbers of `QUICK` in the place of the defaults."""

    QUICK: ClassVar[dict[str, Any]] = {"runs": 8}
    quick: bool = dataclasses.field(default=False, kw_only=True, metadata={"help": "to see that everything works:"})

    def __post_init__(self) -> None:
        """Put the numbers there."""
        defaults = {field.name: field.default for field in dataclasses.fields(self)}
        for name, value in self.QUICK.items() if self.quick else ():
            if getattr(self, name) not in (defaults[name], value):
                own = ", ".join(map(flag, self.QUICK))
                raise ValueError(f"--quick: has its own {own}; leave these out, or --quick")
            object.__setattr__(self, name, value)


@dataclasses.dataclass(frozen=True)
class Simulation(Quick):
    """Options of any simulation."""

    QUICK = Quick.QUICK | {"horizon": 500}
    runs: int = option(1000, "independent runs of every policy")
    horizon: int = option(100_000, "rounds of a run")
    seed: int = option(0, "of the random key")
    out: str = option("", "folder for figures, tables and counts; default: results/NAME/, a folder for each setting")

    def key(self) -> jax.Array:
        """The random key of the seed."""
        if not 0 <= self.seed < 2**32:
            raise ValueError(f"seed: {self.seed} lies outside 0..2^32 - 1")
        return jax.random.key(self.seed)

    def size(self) -> dict[str, Any]:
        """Key, runs and horizon, as `simulate` takes them."""
        return {"key": self.key(), "runs": self.runs, "horizon": self.horizon}

    def default_folder(self, name: str) -> str:
        """The experiment's folder where none is asked for."""
        return f"results/{name}/{self.runs}x{self.horizon}-seed{self.seed}"


def simulation(**defaults: int) -> type[Simulation]:
    """`Simulation` with other defaults."""
    texts = {field.name: field.metadata["help"] for field in dataclasses.fields(Simulation)}
    fields = [(name, int, option(value, texts[name])) for name, value in defaults.items()]
    return dataclasses.make_dataclass("Settings", fields, bases=(Simulation,), frozen=True)


def flag(name: str) -> str:
    """The flag of an option."""
    return "--" + name.replace("_", "-")


def listed(text: str) -> list[str]:
    """What an option lists with commas between."""
    return [name.strip() for name in text.split(",")]


def names_in(text: str, where: str, known: Sequence[str]) -> list[str]:
    """The names that an option lists."""
    names = listed(text)
    for name in names:
        if name not in known:
            raise ValueError(unknown(where, name, known))
    return names


def numbers_in(text: str, where: str, least: int) -> list[int]:
    """The whole numbers that an option lists, each once, the least first."""
    with suppress(argparse.ArgumentTypeError):
        if min(numbers := {_whole(word) for word in listed(text)}) >= least:
            return sorted(numbers)
    raise ValueError(f"{where}: {text!r} is not a list of numbers of at least {least}, such as '10, 30, 100'")


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """The message on a name that is not known."""
    return f"{what}: there is no {name!r}{near_miss(name, known)}; there are {', '.join(known)}"


def file_name(words: str) -> str:
    """Words that a file or folder can be called by."""
    return re.sub(r"[^\w.=]+", "_", words).strip("_")


def _filled(description: str) -> str:
    """The paragraphs of a description, and the entries of its lists, no wider than the terminal."""
    width = min(120, shutil.get_terminal_size().columns) - 2

    def filled(block: str) -> str:
        indent = "  " * ("- " in block[:3])
        text = textwrap.fill(" ".join(block.split()), width, break_on_hyphens=False, subsequent_indent=indent)
        return "\n" * block.startswith("\n") + text

    return "\n".join(map(filled, re.split(r"\n(?=\n|- )", description.strip())))


def parser_of(program: str, description: str, epilog: str = "") -> argparse.ArgumentParser:
    """A parser without options but `--help` and `--version`."""
    parser = argparse.ArgumentParser(
        prog=program,
        description=_filled(description),
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"jaxbandit {__version__}")
    return parser


def from_command_line(
    settings: type[T], name: str, description: str, arguments: list[str] | None = None, program: str = ""
) -> T:
    """The settings that the command line asks for; of an experiment, unless the program has another name."""
    parser = parser_of(program or f"python -m experiments.{name}", description)
    for field in sorted(dataclasses.fields(settings), key=lambda each: each.name == "quick"):  # type: ignore[arg-type]
        own, default, said = flag(field.name), field.default, field.metadata
        if "nargs" in said:
            one = said.get("one", field.name.upper())
            parser.add_argument(field.name, help=said["help"], metavar=one, nargs=said["nargs"])
            continue
        text = said["help"].replace("NAME", name) + (
            "" if default == "" or default is False else f" (default: {default})"
        )
        if field.name == "quick":
            text += "".join(f" {flag(name)} {value!r}" for name, value in settings.QUICK.items())  # type: ignore[attr-defined]
        if isinstance(default, bool):
            parser.add_argument(own, action="store_true", help=text)
            continue
        kind = _state if field.name == "initial_state" else _whole if isinstance(default, int) else type(default)
        value = "DIR" if field.name == "out" else VALUES.get(type(default), "TEXT")
        parser.add_argument(own, type=kind, default=default, help=text, metavar=value)
    known, rest = parser.parse_known_args(arguments)
    if rest:
        flags = [each for action in parser._actions for each in action.option_strings if each.startswith("--")]
        wrong = rest[0].partition("=")[0]
        parser.error(unknown("options", wrong, flags) if wrong.startswith("-") else f"{wrong!r}: not one more is taken")
    chosen = vars(known)
    for field in dataclasses.fields(settings):  # type: ignore[arg-type]
        if (nargs := field.metadata.get("nargs")) is not None:
            chosen[field.name] = tuple(chosen[field.name]) if nargs == "+" else " ".join(chosen[field.name])
    return settings(**chosen)


def main(
    function: Any,
    settings: type[T],
    name: str,
    description: str,
    arguments: list[str] | None = None,
    program: str = "",
) -> None:
    """Run a command: one CPU device a core, errors of the user's making without traceback.

    It ends with 2 for what was asked wrongly, with 1 for what failed on the way, such as a disk that is full, and with
    130 for Ctrl-C at whatever moment it comes. `program` is what was called where it is no experiment.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors=PLAIN)
    try:
        chosen = from_command_line(settings, name, description, arguments, program)
        use_all_cores()
        with reraise_ctrl_c():
            function(chosen)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("stopped; what is written is kept, and the same command continues")
        sys.exit(130)
    except BrokenPipeError:  # what read the output, as `head` does, has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python complains when it flushes
        sys.exit(1)
    except (ValueError, OSError, ImportError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        sys.exit(2 if isinstance(error, ValueError) else 1)
