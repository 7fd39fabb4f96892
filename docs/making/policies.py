"""The table of policies and their formulas: from the registry, the docstrings and `docs/policies.toml`."""

from __future__ import annotations

import inspect
import re
import tomllib
from pathlib import Path

import jaxbandit
from docs.making.measured import table
from docs.making.readme import ROOT
from docs.making.reference import places, words
from jaxbandit import policies


def classes() -> dict[str, type]:
    """Every policy that the package exports: those of `jaxbandit.ALL` in their order, then those that know the arms."""
    rest = {name: each for name in policies.__all__ if inspect.isclass(each := getattr(policies, name))}
    return {**jaxbandit.ALL, **rest}


def said() -> dict[str, dict[str, str]]:
    """What `docs/policies.toml` says of each policy."""
    return tomllib.loads((ROOT / "docs" / "policies.toml").read_text())


def about(name: str, spoken: dict[str, dict[str, str]]) -> dict[str, str]:
    """The words for one policy.

    Raises:
      KeyError: there are none; the message names the policy and what is missing.
    """
    for key in ("name", "formula", "assumes", "guarantee"):
        if not spoken.get(name, {}).get(key):
            raise KeyError(f"docs/policies.toml has no {key} for the policy {name}")
    return spoken[name]


def source(policy: type) -> str:
    """What a policy's docstring says after the word Source, or nothing."""
    match = re.search(r"^Source: (.*?)(?:\n\n|\Z)", inspect.getdoc(policy) or "", re.DOTALL | re.MULTILINE)
    return " ".join(match[1].split()) if match else ""


def write(folder: Path, rates: dict[str, str]) -> dict[Path, str]:
    """The tables of policies that need no argument and of those that know the arms, and the formulas of all."""
    where, spoken = places(), said()
    rows = {name: _row(name, policy, about(name, spoken), where) for name, policy in classes().items()}
    ready = [
        {"policy": rows[name].pop("policy"), "million rounds/s": rates.get(name) or rates.get(spoken[name]["name"], "")}
        | rows[name]
        for name in jaxbandit.ALL
    ]
    formulas = [_formula(name, policy, spoken[name], where) for name, policy in classes().items()]
    return {
        folder / "parts" / "policies.md": table(ready),
        folder / "parts" / "known.md": table([row for name, row in rows.items() if "policy" in row]),
        folder / "parts" / "formulas.md": "\n".join(formulas),
    }


def _row(name: str, policy: type, spoken: dict[str, str], where: dict[str, str]) -> dict[str, str]:
    kinds = getattr(policy, "problems", ())
    states = f"{spoken['states']} states" if "states" in spoken else ""
    return {
        "policy": f"[`{name}`](#policy-{name.lower()})<br>{spoken['name']}",
        "assumes": _linked(spoken["assumes"], where),
        "arms it plays": ", ".join(filter(None, [" or ".join(kinds), states, _rewards(policy)])) or "all",
        "regret": _linked(spoken["guarantee"], where),
        "source": words(re.split(r"(?<=[a-z0-9)])(?:[.:;](?:\s|$)|, with)", source(policy))[0], where) or "-",
    }


def _rewards(policy: type) -> str:
    """Which rewards alone the policy plays: it says so itself, or needs the states that pay them."""
    if not hasattr(policy, "reward_range"):
        return "rewards that a table lists"
    return "rewards in [0, 1] or of a `family`" if "family" in policy.__dataclass_fields__ else ""


def _linked(text: str, where: dict[str, str]) -> str:
    """Names between backquotes as links; the rest is Markdown already."""
    return re.sub(r"`[^`]+`", lambda match: words(match[0], where), text)


def _formula(name: str, policy: type, spoken: dict[str, str], where: dict[str, str]) -> str:
    first = (inspect.getdoc(policy) or "").split("\n\n")[0]
    shown = words(first, where)
    parts = [f"(policy-{name.lower()})=\n### {name}", shown, f"$$\n{spoken['formula']}\n$$"]
    if found := source(policy):
        parts.append(f"**Source**: {words(found, where)}")
    return "\n\n".join([*parts, f"Arguments: {{py:obj}}`jaxbandit.{name}`.\n"])
