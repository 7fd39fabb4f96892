"""Mutants that are known to change nothing, and the table of all that were played, by room."""

import tomllib
from collections.abc import Iterable
from pathlib import Path

from tests.mutation.mutants import Mutant

KINDS = ("noticed", "equivalent", "survived")


def equivalents() -> list[dict[str, str]]:
    """The entries of equivalent.toml: module, where, line, becomes, reason."""
    return tomllib.loads((Path(__file__).parent / "equivalent.toml").read_text()).get("mutant", [])


def is_equivalent(mutant: Mutant) -> bool:
    return any(
        all(getattr(mutant, name) == entry[name] for name in ("module", "where", "line", "becomes"))
        for entry in equivalents()
    )


def room(module: str) -> str:
    """The folder below jaxbandit, or the file that stands there alone."""
    return module.removeprefix("jaxbandit/").split("/")[0].removesuffix(".py")


def table(played: Iterable[tuple[str, str]]) -> str:
    """A table in Markdown of (module, one of KINDS): score = noticed / (mutants - equivalent)."""
    counts: dict[str, dict[str, int]] = {}
    for module, kind in played:
        for name in (room(module), "all"):
            counts.setdefault(name, dict.fromkeys(KINDS, 0))[kind] += 1
    rows = [f"| room | mutants | {' | '.join(KINDS)} | score |", "|---" * 6 + "|"]
    for name in sorted(counts, key=lambda name: (name == "all", name)):
        row = counts[name]
        judged = row["noticed"] + row["survived"]
        score = f"{row['noticed'] / judged:.1%}" if judged else ""
        rows.append(f"| {name} | {sum(row.values())} | {' | '.join(str(row[kind]) for kind in KINDS)} | {score} |")
    return "\n".join(rows)
