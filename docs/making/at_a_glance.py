"""What there is, in two tables made from the code: constructors of environments by what they declare, and policies."""

from __future__ import annotations

import dataclasses
import inspect
from pathlib import Path
from typing import Any

from docs.making import policies
from docs.making.docstrings import words
from docs.making.measured import table
from jaxbandit import environments
from jaxbandit.members import declares

OPTIONS = ("memory", "family", "horizon", "changes", "discount")  # fields that many policies share


def write(folder: Path) -> dict[Path, str]:
    """Both tables."""
    made = {name: getattr(environments, name) for name in environments.__all__}
    arms = [
        _environment(name, thing) for name, thing in made.items() if inspect.isfunction(thing) and "fit" not in name
    ]
    rows = [_policy(name, policy) for name, policy in policies.classes().items()]
    parts = folder / "parts"
    return {
        parts / "environments_at_a_glance.md": table(
            sorted(arms, key=lambda row: (row["problem"] != "rested", row["problem"]))
        ),
        parts / "policies_at_a_glance.md": table(rows),
    }


def _first_sentence(thing: Any) -> str:
    return words((inspect.getdoc(thing) or "").split("\n\n")[0].rstrip(":"))


def _environment(name: str, constructor: Any) -> dict[str, str]:
    kind = getattr(environments, constructor.__annotations__["return"].split(" | ")[0])
    declared = declares(kind)  # a property where the problem depends on the arms
    depends = "any, with full information" if name == "full_information" else "restless"
    return {
        "constructor": words(f"`{name}`"),
        "problem": depends if isinstance(declared, property) else declared.problem,
        "what it makes": _first_sentence(constructor),
    }


def _policy(name: str, policy: Any) -> dict[str, str]:
    fields = {field.name for field in dataclasses.fields(policy)}
    return {
        "policy": f"[`{name}`](/generated/policies/{name}.md)",
        "arms it plays": policies.kinds(policy) or "all",
        "takes": ", ".join(f"`{option}`" for option in OPTIONS if option in fields),
        "what it is": _first_sentence(policy),
    }
