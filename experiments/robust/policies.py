"""The policies that are compared on random arms with two states."""

from __future__ import annotations

import jaxbandit
from jaxbandit import Policy, Task, atlas
from jaxbandit.simulation.asking.contracts import check_task


def playing_two_states() -> dict[str, Policy]:
    """Every policy that needs no argument and plays rested arms with two states, and IMED-MC with an exponent."""
    task, found = Task(atlas["scenario 1"].arms), dict[str, Policy]()
    for name, policy in jaxbandit.ALL.items():
        try:
            check_task(name, policy(), task)
        except ValueError:
            continue
        found[name] = policy()
        if name == "IMEDMC":
            found["IMEDMC(exponent=0.5)"] = jaxbandit.IMEDMC(exponent=0.5)
    return found
