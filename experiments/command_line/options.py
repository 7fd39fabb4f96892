"""One frozen dataclass holds an experiment's options; the command line is made from it."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Sequence
from typing import Any, TypeVar

import jax

from jaxbandit.cores import use_all_cores
from jaxbandit.interruption import noted

T = TypeVar("T")


def option(default: Any, help: str) -> Any:
    return dataclasses.field(default=default, metadata={"help": help})


def argument(help: str) -> Any:
    """An option that has to be given, without a flag."""
    return dataclasses.field(metadata={"help": help})


def arguments(help: str, one: str) -> Any:
    """What has to be given without a flag, once or several times: a tuple of texts, each of which is called `one`."""
    return dataclasses.field(metadata={"help": help, "one": one})


def _state(text: str) -> int | str:
    return text if text == "stationary" else int(text)


@dataclasses.dataclass(frozen=True)
class Simulation:
    """Options of any simulation."""

    runs: int = option(1000, "independent runs of every policy")
    horizon: int = option(100_000, "rounds of a run")
    seed: int = option(0, "of the random key")
    out: str = option("", "folder for figures, tables and counts; default: results/NAME/, a folder for each setting")

    def key(self) -> jax.Array:
        """The random key of the seed.

        Raises:
          ValueError: the seed is none.
        """
        if not 0 <= self.seed < 2**32:
            raise ValueError(f"seed: {self.seed} lies outside 0..2^32 - 1")
        return jax.random.key(self.seed)

    def size(self) -> dict[str, Any]:
        """Key, runs and horizon, as `simulate` takes them."""
        return {"key": self.key(), "runs": self.runs, "horizon": self.horizon}

    def default_folder(self, name: str) -> str:
        """The experiment's folder where none is asked for."""
        return f"results/{name}/{self.runs}x{self.horizon}-seed{self.seed}"


def quickly(settings: T, numbers: dict[str, Any]) -> T:
    """The settings, where --quick is given with these numbers in place of the defaults.

    Raises:
      ValueError: --quick beside other numbers.
    """
    if not settings.quick:  # type: ignore[attr-defined]
        return settings
    default = type(settings)()
    if any(getattr(settings, name) != getattr(default, name) for name in numbers):
        own = ", ".join(name.replace("_", "-") for name in numbers)
        raise ValueError(f"--quick: has its own {own}; leave these out, or --quick")
    return dataclasses.replace(settings, **numbers)  # type: ignore[type-var]


def listed(text: str) -> list[str]:
    """What an option lists with ; between."""
    return [name.strip() for name in text.split(";")]


def names_in(text: str, flag: str, known: Sequence[str]) -> list[str]:
    """The names that an option lists.

    Raises:
      ValueError: the option, the name that is not known, and those that are.
    """
    found = listed(text)
    for name in found:
        if name not in known:
            raise ValueError(f"{flag}: there is no {name!r}; there are {'; '.join(known)}")
    return found


def from_command_line(settings: type[T], name: str, description: str, arguments: list[str] | None = None) -> T:
    """The settings that the command line asks for."""
    parser = argparse.ArgumentParser(
        prog=f"python -m experiments.{name}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for field in dataclasses.fields(settings):  # type: ignore[arg-type]
        flag, default = "--" + field.name.replace("_", "-"), field.default
        if "one" in field.metadata:
            parser.add_argument(field.name, help=field.metadata["help"], metavar=field.metadata["one"], nargs="+")
            continue
        if default is dataclasses.MISSING:
            parser.add_argument(field.name, help=field.metadata["help"], metavar=field.name.upper())
            continue
        shown = field.metadata["help"] + ("" if default == "" or default is False else f" (default: {default})")
        if isinstance(default, bool):
            parser.add_argument(flag, action="store_true", help=shown)
        else:
            kind = _state if field.name == "initial_state" else type(default)
            parser.add_argument(flag, type=kind, default=default, help=shown, metavar=field.name.upper())
    given = vars(parser.parse_args(arguments))
    return settings(**{name: tuple(each) if isinstance(each, list) else each for name, each in given.items()})


def main(function: Any, settings: type[T], name: str, description: str) -> None:
    """Run an experiment from the command line: one CPU device a core, errors of the user's making without traceback.

    Ctrl-C ends it with 130 at whatever moment it comes.
    """
    chosen = from_command_line(settings, name, description)
    use_all_cores()
    try:
        with noted():
            function(chosen)
    except KeyboardInterrupt:
        print("stopped; what is written is kept, and the same command continues")
        sys.exit(130)
    except (ValueError, OSError) as error:
        sys.exit(f"{name}: {error}")
