"""Named problems: all of them by kind, or one with its source, its published figures and the code that makes it.

NAME is that of a problem, as scenario 1; it needs no quotes.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

from jaxbandit import atlas, environments
from jaxbandit.command_line.listing import listing
from jaxbandit.command_line.options import name_in_words
from jaxbandit.members import declares
from jaxbandit.named_problems import NamedProblem
from jaxbandit.texts import filled, near_miss


@dataclasses.dataclass(frozen=True)
class Settings:
    """What is looked up."""

    name: str = name_in_words("of a problem; all are listed if there is none")


def kind_of(arms: Any) -> str:
    """The kind of problem, as its heading has it."""
    return "restless, and all arms pay" if declares(arms).paid == "all" else declares(arms).problem


def all_of_them() -> str:
    """A list for each kind of problem."""
    kinds: dict[str, dict[str, str]] = {}
    for problem in atlas.values():
        kinds.setdefault(kind_of(problem.arms), {})[problem.name] = problem.purpose
    return "\n\n".join(f"{kind.capitalize()}\n{listing(lines)}" for kind, lines in kinds.items())


def code_of(problem: NamedProblem) -> list[str]:
    """The lines that make the arms, beginning with the atlas; a public function's own call where that makes them."""
    lines = ["import jaxbandit", f"arms = jaxbandit.atlas[{problem.name!r}].arms"]
    make = problem.make if isinstance(problem.make, partial) else partial(problem.make)
    name = next((name for name in environments.__all__ if getattr(environments, name) is make.func), "")
    if name:
        given = [*map(repr, make.args), *(f"{name}={value!r}" for name, value in make.keywords.items())]
        lines.append(f"arms = jaxbandit.environments.{name}({', '.join(given)})  # the same")
    return lines


def one(problem: NamedProblem) -> str:
    """Everything that the atlas has on a problem."""
    arms = problem.arms
    number = len(arms.means())
    many = f"{number} {'actions' if declares(arms).problem == 'decision process' else 'arms'}"
    sentences = {"what for": problem.purpose, "from": problem.source, "kind": f"{kind_of(arms)}, {many}"}
    if problem.plays > 1:
        sentences["plays"] = f"{problem.plays} a round"
    if problem.horizon is not None:
        sentences["rounds"] = f"{problem.horizon:,}; with_horizon(n) makes it for n"
    figures = {figure: f"{value:,.6g}" for figure, value in problem.published.items()}
    parts = [problem.name, listing(sentences)]
    parts += [f"Published\n{listing(figures)}"] if figures else []
    return "\n\n".join([*parts, "\n".join(code_of(problem)), filled(str(arms))])


def run(settings: Settings) -> None:
    """Print the list, or the problem."""
    if (name := settings.name) and name not in atlas:
        raise ValueError(f"no problem is called {name!r}{near_miss(name, atlas)}; jaxbandit atlas lists all")
    print(one(atlas[name]) if name else all_of_them())
