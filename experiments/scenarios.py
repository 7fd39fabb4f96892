"""The paper's scenarios, as data, and the names it gives its policies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jaxbandit
from jaxbandit import MarkovArms, Policy

SCENARIOS: dict[str, Callable[..., MarkovArms]] = {
    "scenario 1": lambda **start: jaxbandit.two_state(
        p01=[0.5, 0.4, 0.3, 0.2, 0.1], p10=[0.4, 0.55, 0.65, 0.65, 0.7], **start
    ),
    "scenario 2": lambda **start: jaxbandit.two_state(
        p01=[0.5, 0.0004, 0.0003, 0.0002, 0.0001], p10=[0.4, 0.00055, 0.00065, 0.00065, 0.0007], **start
    ),
}

POLICIES: dict[str, Policy] = {
    "UCB-SM": jaxbandit.UCBSM(),
    "KL-UCB-SM": jaxbandit.KLUCB(),
    "KL-UCB-SM2": jaxbandit.RoundRobinKLUCB(),
    "KL-UCB-MC": jaxbandit.KLUCBMC(),
    "TV-KL-UCB": jaxbandit.TVKLUCB(),
}

# claim, the policy that should have less regret, the one it should beat, where the paper says so
CLAIMS: dict[str, list[tuple[str, str, str, str]]] = {
    "scenario 1": [
        ("TV-KL-UCB beats UCB-SM", "TV-KL-UCB", "UCB-SM", "figure 1a"),
        ("TV-KL-UCB beats KL-UCB-SM", "TV-KL-UCB", "KL-UCB-SM", "figure 1c"),
        ("TV-KL-UCB beats KL-UCB-SM2", "TV-KL-UCB", "KL-UCB-SM2", "figure 1c"),
        ("KL-UCB-SM beats UCB-SM", "KL-UCB-SM", "UCB-SM", "section V"),
    ],
    "scenario 2": [
        ("TV-KL-UCB beats UCB-SM", "TV-KL-UCB", "UCB-SM", "figure 1b"),
        ("TV-KL-UCB beats KL-UCB-SM", "TV-KL-UCB", "KL-UCB-SM", "figure 1d"),
        ("TV-KL-UCB beats KL-UCB-SM2", "TV-KL-UCB", "KL-UCB-SM2", "figure 1d"),
    ],
}


def environment(name: str, **start: Any) -> MarkovArms:
    return SCENARIOS[name](**start)
