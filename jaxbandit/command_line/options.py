"""One frozen dataclass holds an experiment's options; the command line is made from it."""

from __future__ import annotations

import argparse
import dataclasses
import re
import shutil
import sys
import textwrap
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, ClassVar, TypeVar

import jax

from jaxbandit import __version__, use_all_cores
from jaxbandit.interruption import reraise_ctrl_c

T = TypeVar("T")


def option(default: Any, help: str) -> Any:
    return dataclasses.field(default=default, metadata={"help": help})


def argument(help: str) -> Any:
    """An option that has to be given, without a flag."""
    return dataclasses.field(metadata={"help": help})


def arguments(help: str, one: str) -> Any:
    """What has to be given without a flag, once or several times: a tuple of texts, each of which is called `one`."""
    return dataclasses.field(metadata={"help": help, "one": one})


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
                own = ", ".join(map(_flag, self.QUICK))
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


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def listed(text: str) -> list[str]:
    """What an option lists with commas between."""
    return [name.strip() for name in text.split(",")]


def names_in(text: str, flag: str, known: Sequence[str]) -> list[str]:
    """The names that an option lists."""
    names = listed(text)
    for name in names:
        if name not in known:
            raise ValueError(f"{flag}: there is no {name!r}; there are {', '.join(known)}")
    return names


def _filled(description: str) -> str:
    """The paragraphs of a description, and the entries of its lists, no wider than the terminal."""
    width = min(120, shutil.get_terminal_size().columns) - 2

    def filled(block: str) -> str:
        indent = "  " * ("- " in block[:3])
        text = textwrap.fill(" ".join(block.split()), width, break_on_hyphens=False, subsequent_indent=indent)
        return "\n" * block.startswith("\n") + text

    return "\n".join(map(filled, re.split(r"\n(?=\n|- )", description.strip())))


def from_command_line(settings: type[T], name: str, description: str, arguments: list[str] | None = None) -> T:
    """The settings that the command line asks for."""
    parser = argparse.ArgumentParser(
        prog=f"python -m experiments.{name}",
        description=_filled(description),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"jaxbandit {__version__}")
    for field in sorted(dataclasses.fields(settings), key=lambda each: each.name == "quick"):  # type: ignore[arg-type]
        flag, default = _flag(field.name), field.default
        if "one" in field.metadata:
            parser.add_argument(field.name, help=field.metadata["help"], metavar=field.metadata["one"], nargs="+")
            continue
        if default is dataclasses.MISSING:
            parser.add_argument(field.name, help=field.metadata["help"], metavar=field.name.upper())
            continue
        text = field.metadata["help"] + ("" if default == "" or default is False else f" (default: {default})")
        if field.name == "quick":
            text += "".join(f" {_flag(name)} {value!r}" for name, value in settings.QUICK.items())  # type: ignore[attr-defined]
        if isinstance(default, bool):
            parser.add_argument(flag, action="store_true", help=text)
        else:
            kind = _state if field.name == "initial_state" else _whole if isinstance(default, int) else type(default)
            parser.add_argument(flag, type=kind, default=default, help=text, metavar=field.name.upper())
    chosen = vars(parser.parse_args(arguments))
    return settings(**{name: tuple(each) if isinstance(each, list) else each for name, each in chosen.items()})


def main(function: Any, settings: type[T], name: str, description: str) -> None:
    """Run an experiment from the command line: one CPU device a core, errors of the user's making without traceback.

    Ctrl-C ends it with 130 at whatever moment it comes.
    """
    try:
        chosen = from_command_line(settings, name, description)
        use_all_cores()
        with reraise_ctrl_c():
            function(chosen)
    except KeyboardInterrupt:
        print("stopped; what is written is kept, and the same command continues")
        sys.exit(130)
    except (ValueError, OSError) as error:
        sys.exit(f"{name}: {error}")
