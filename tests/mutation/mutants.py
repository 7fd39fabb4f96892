"""Mutants: what one of cosmic-ray's operators makes of one place in the code, and which of them a sample has."""

import ast
import hashlib
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).parent.parent.parent


@dataclass(frozen=True)
class Mutant:
    """One small error: an operator of cosmic-ray's at its occurrence-th place in a file."""

    module: str  # the file, from the root
    source: str  # a hash of the file, which says whether a result is still about this code
    operator: str
    occurrence: int
    where: str  # the function or class around it
    number: int  # of the line
    line: str  # the line as it is, and what it becomes
    becomes: str

    @property
    def key(self) -> tuple[str, str, str, int]:
        return self.module, self.source, self.operator, self.occurrence

    def __str__(self) -> str:
        return f"{self.module}:{self.number} {self.line}  ->  {self.becomes or '(nothing)'}"


def modules(paths: Iterable[str] = ("jaxbandit",)) -> list[str]:
    """The Python files that stand at or below these paths, from the root."""
    found = []
    for path in paths:
        place = ROOT / path
        if not place.exists() or not place.resolve().is_relative_to(ROOT / "jaxbandit"):
            raise ValueError(f"paths: there is no {path} in jaxbandit")
        found += [place] if place.is_file() else place.rglob("*.py")
    return sorted({str(file.resolve().relative_to(ROOT)) for file in found})


def settings() -> dict[str, Any]:
    """What pyproject.toml says to cosmic-ray."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["cosmic-ray"]


def places(module: str) -> list[tuple[str, int, int]]:
    """(operator, occurrence, line) of every place where an operator that is not excluded applies, but annotations."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.plugins import get_operator, operator_names

    excluded = re.compile("|".join(settings()["filters"]["operators-filter"]["exclude-operators"]))
    code = (ROOT / module).read_text()
    said = _said(code)
    nodes = list(ast_nodes(get_ast(code)))
    found = []
    for name in sorted(operator_names()):
        operator = get_operator(name)
        if operator.arguments() or excluded.match(name):
            continue
        starts = (start for node in nodes for start, _ in operator().mutation_positions(node))
        found += [(name, n, at[0]) for n, at in enumerate(starts) if not any(a <= at < b for a, b in said)]
    return found


def _said(code: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Where annotations stand: they say something to a reader, and compute nothing."""
    spans = []
    for node in ast.walk(ast.parse(code)):
        for part in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if part is not None:
                spans.append(((part.lineno, part.col_offset), (part.end_lineno, part.end_col_offset)))
    return spans


def mutant(module: str, operator: str, occurrence: int, number: int) -> Mutant | None:
    """The mutant of one place, which is in this line; None where that is no Python, or means the same."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    code = (ROOT / module).read_text()
    tree = ast.parse(code)
    changed = mutate_code(code, get_operator(operator)(), occurrence)
    try:
        if changed is None or ast.dump(ast.parse(changed)) == ast.dump(tree):
            return None
    except SyntaxError:
        return None
    line = code.splitlines()[number - 1].strip()
    becomes = "" if operator.endswith("RemoveDecorator") else changed.splitlines()[number - 1].strip()
    around = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    first = {node.name: min([node.lineno, *(one.lineno for one in node.decorator_list)]) for node in around}
    inside = [node for node in around if first[node.name] <= number <= node.end_lineno]
    where = max(inside, key=lambda node: node.lineno).name if inside else ""
    source = hashlib.sha256(code.encode()).hexdigest()[:12]
    return Mutant(module, source, operator, occurrence, where, number, line, becomes)


def sample(files: list[str], count: int, seed: int) -> list[Mutant]:
    """So many mutants, in proportion to how many a module has and at least one of each; the same for the same seed.

    A module's are drawn by a generator of its own: what is drawn of it depends on other files by their sizes only.
    """
    candidates = {module: found for module in files if (found := places(module))}
    whole = _shares({module: len(found) for module, found in candidates.items()}, count)
    drawn = []
    for module, found in candidates.items():
        Random(f"{seed} {module}").shuffle(found)
        made = (one for place in found if (one := mutant(module, *place)))
        drawn += [one for one, _ in zip(made, range(whole[module]))]
    Random(seed).shuffle(drawn)
    return drawn


def _shares(sizes: dict[str, int], count: int) -> dict[str, int]:
    """Whole numbers of sum `count`, at least 1 each, in proportion to sizes; count 0: the sizes themselves."""
    if not count:
        return sizes
    shares = dict.fromkeys(sizes, 1)
    while sum(shares.values()) < count:  # one more for whoever has least of its share (the way of Sainte-Lague)
        shares[max(sizes, key=lambda module: sizes[module] / (2 * shares[module] + 1))] += 1
    return shares
