"""What the table of a result says above its numbers."""

from __future__ import annotations

from typing import Any

from jaxbandit import metrics


def sign(result: Any) -> int:
    """-1 where regret is minus the total reward, which is shown in its place."""
    return -1 if metrics.regret_name(result) == "minus the total reward" else 1


def measure(result: Any) -> str:
    """The name of the numbers."""
    return metrics.regret_name(result).capitalize() if sign(result) > 0 else "Total reward (the long-run reward is 0)"


def start(result: Any) -> str:
    """What the states in which arms start pay a round if all arms pay, beside the comparator; else empty."""
    numbers = result.provenance.get("scenarios", {}).values()
    starts = [of["pays_at_start"] for of in numbers if "pays_at_start" in of]
    if not starts or result.comparator is None:
        return ""
    pays, best = (", ".join(f"{value:,.4g}" for value in values[:6]) for values in (starts, result.comparator.ravel()))
    return f"where arms pay {pays} a round without plays; {result.comparator_name} pays {best}"
