"""The tables of `jaxbandit.atlas`: one for each kind of problem, and the figures that sources state."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jaxbandit
from docs.making.docstrings import escape, words
from docs.making.measured import table
from jaxbandit import decision_processes, members
from jaxbandit.members import declares


def write(folder: Path) -> dict[Path, str]:
    """A table for each kind of problem, and one of published figures."""
    kinds: dict[str, list[dict[str, str]]] = {}
    published = []
    for entry in jaxbandit.atlas.values():
        arms, many = entry.arms, declares(entry.arms).problem in ("restless", "observed")
        kind = "restless, and all arms pay" if declares(arms).paid == "all" else declares(arms).problem
        kinds.setdefault(kind, []).append(
            {
                "name": f"`{entry.name}`",
                "arms": str(len(arms.means())),
                **({"plays": str(entry.plays)} if many else {}),
                **_numbers(arms, entry.plays),
                "what for": words(entry.purpose),
                "from": words(entry.source),
            }
        )
        for figure, number in entry.published.items():
            value = f"{number:,.0f}" if number == round(number) else f"{number:,.2f}"
            published.append({"name": f"`{entry.name}`", "figure": escape(figure), "value": value})
    texts = [f"**{kind.capitalize()}**\n\n{table(rows)}" for kind, rows in kinds.items()]
    return {
        folder / "parts" / "atlas.md": "\n\n".join(texts) + "\n",
        folder / "parts" / "published.md": table(published),
    }


def _numbers(arms: Any, plays: int) -> dict[str, str]:
    """The two largest means; what suits arms that change or all pay, and processes."""
    if declares(arms).problem == "decision process":
        far = decision_processes.diameter(arms.transition)
        return {"states": str(arms.reward.shape[1]), "best gain": f"{arms.comparator(1):.4g}", "diameter": f"{far:.3g}"}
    if declares(arms).paid == "all":
        seen = "all states" if arms.observed else "arms played"
        return {"states": str(arms.reward.shape[1]), "seen": seen, "bound": f"{arms.comparator(plays):.4g}"}
    if declares(arms).problem == "changing" and members.breaks(arms) is None:
        return {"breaks": "every round", "variation": "random"}
    if declares(arms).problem == "changing":
        variation = f"{arms.variation:.3g}" if arms.variation < 1000 else f"{arms.variation:,.0f}"
        return {"breaks": f"{len(arms.breaks):,}", "variation": variation}
    return {"best and second mean": " ".join(f"{mean:.3g}" for mean in sorted(arms.means())[:-3:-1])}
