"""The policies that can play any arms with two states."""

from __future__ import annotations

import jaxbandit
from jaxbandit import Policy, atlas
from jaxbandit.judging.judged_spaces import refused


def playing_two_states() -> dict[str, Policy]:
    """Every policy that needs no argument and plays rested arms with two states, and IMED-MC with an exponent."""
    arms, policies = atlas["scenario 1"].arms, {name: make() for name, make in jaxbandit.ALL.items()}
    played = {name: policy for name, policy in policies.items() if not refused(name, policy, arms)}
    return played | {"IMEDMC(exponent=0.5)": jaxbandit.IMEDMC(exponent=0.5)}
