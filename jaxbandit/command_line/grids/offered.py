"""The grids on offer to choose a policy's numbers from, and those that a command line gives."""

from __future__ import annotations

import tomllib
from typing import Any

import jaxbandit
from jaxbandit.command_line.grids.policy_grid import NONE, Grid, make_grid
from jaxbandit.command_line.options import unknown

EXPLORATION = [NONE, 0, 1, 3]
GRIDS: dict[str, dict[str, list[Any]]] = {
    "TVKLUCB": {
        "exploration": EXPLORATION,
        "exponent": [0.1, 0.15, 0.2, 0.25, 0.3, 0.4],
        "scale": [0.25, 0.5, 1, 2, 4],
    },
    "KLUCBMC": {"exploration": EXPLORATION, "unvisited": [0, 0.5, 1]},
    "KLUCB": {"exploration": [NONE, 0, 0.5, 1, 2, 3]},
    "RoundRobinKLUCB": {"exploration": EXPLORATION, "delta": [0, 0.05, 0.1, 0.2]},
    "UCBSM": {"L": [0.1, 0.2, 0.5, 1, 2, 5, 10, 343]},
    "UCB1": {"bonus": [0.1, 0.2, 0.3, 0.5, 0.7, 1, 2]},
    "Thompson": {"a": [0.25, 0.5, 1, 2], "b": [0.25, 0.5, 1, 2]},
    "ThompsonMC": {"leaving": [0.25, 0.5, 1, 2], "staying": [0.25, 0.5, 1, 2]},
}


def grid_of(policy: str, text: str) -> Grid:
    """The policy's grid as the text gives it in TOML, or if that is empty the one on offer."""
    if policy not in jaxbandit.ALL:
        raise ValueError(unknown("--policy", policy, jaxbandit.ALL))
    if policy not in GRIDS and not text:
        raise ValueError(f"--policy: {policy} has no grid of its own; give --grid, or one of {', '.join(GRIDS)}")
    try:
        table = tomllib.loads(f"grid = {{{text}}}")["grid"] if text else GRIDS[policy]
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f'--grid: {error}; write it as "scale = [0.5, 1], exponent = [0.2, 0.3]"') from None
    grid = make_grid(policy, jaxbandit.ALL[policy], table, "--grid: ")
    if not grid.axes:
        raise ValueError("--grid: one combination only; give at least one field several values")
    return grid
