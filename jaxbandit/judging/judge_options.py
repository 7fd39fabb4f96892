"""What the command is asked."""

from __future__ import annotations

import dataclasses
import re
import shlex
from typing import Any

import jax

from jaxbandit.command_line.options import Quick, Simulation, arguments, option

FULL = {"problems": 4, "budget": 4, "number": 2, "runs": 4}  # times what is asked for

RANGES = {
    **{"runs": (2, 10**6), "horizon": (1, 2**31 - 1), "problems": (2, 10**6), "budget": (32, 10**6)},
    **{"number": (1, 32), "seed": (0, 2**32 - 1)},
}


@dataclasses.dataclass(frozen=True)
class Settings(Quick):
    """Options of a judgement."""

    QUICK = Quick.QUICK | {"runs": 64, "horizon": 1000}
    policies: tuple[str, ...] = arguments("an expression of the library's, or FILE.py:EXPRESSION", "POLICY")
    runs: int = option(200, "runs of every named problem, and of the worst ones")
    horizon: int = option(10_000, "rounds of a run")
    problems: int = option(96, "how many problems are drawn from the space")
    budget: int = option(256, "how many problems the search for the worst plays")
    number: int = option(3, "how many of the worst are reported")
    space: str = option("", "expression of a space of jaxbandit.stress; default: the first that the policy plays")
    full: bool = option(False, "for a night: more of everything, five arms, three states, and ten times the horizon")
    seed: int = option(0, "of the random key")
    out: str = option("", "folder for the report, tables and counts; default: results/judge/, one for each setting")

    def key(self, number: int) -> jax.Array:
        """The random key of a part of the report."""
        return jax.random.fold_in(Simulation(seed=self.seed).key(), number)

    def whole(self) -> Settings:
        """The numbers with which is played."""
        for name, (least, most) in RANGES.items():
            if not least <= (value := getattr(self, name)) <= most:
                raise ValueError(f"--{name}: {value}; give {least} to {most}")
        more: dict[str, Any] = {name: times * getattr(self, name) for name, times in FULL.items()} if self.full else {}
        return dataclasses.replace(self, **more)

    def changed(self) -> dict[str, Any]:
        """The options that differ from their defaults."""
        fields = [field for field in dataclasses.fields(self) if field.name not in ("policies", "quick")]
        return {field.name: value for field in fields if (value := getattr(self, field.name)) != field.default}

    def command(self) -> str:
        """The command that asks for this."""
        line = ["jaxbandit", "judge", *self.policies, *["--quick"] * self.quick]
        for name, value in self.changed().items():
            if not (self.quick and name in self.QUICK):
                line += [f"--{name}"] if value is True else [f"--{name}", f"{value}"]
        return shlex.join(line)

    def default_folder(self, labels: list[str]) -> str:
        """The folder of these policies, with the options that differ from their defaults."""
        changed = [f"{name}={value}" for name, value in self.changed().items() if name != "out"]
        changed = ["quick"] * self.quick + changed
        parts = [re.sub(r"[^\w.=]+", "_", part).strip("_") for part in [*labels, *changed]]
        return f"results/judge/{'-'.join(parts)[:150]}"
