"""A small set of observed rewards, and the function that made it."""

from __future__ import annotations

import random
from pathlib import Path

EXAMPLE = Path(__file__).with_suffix(".csv")

P01 = (0.5, 0.05, 0.9, 0.3)  # of the four arms: i.i.d., sticky, alternating, i.i.d.
P10 = (0.5, 0.1, 0.8, 0.7)
STEPS = 500


def generate() -> str:
    """The text of the file EXAMPLE: four arms that pay 0 or 1, 500 steps each, from state 0 before the first.

    Python promises the same numbers from `random.Random(seed).random()` in every version.

    >>> generate().splitlines()[:2]
    ['arm,step,reward', '0,0,0']
    >>> generate() == EXAMPLE.read_text()
    True
    """
    uniform = random.Random(0).random
    lines = ["arm,step,reward"]
    for arm, (leave, back) in enumerate(zip(P01, P10)):
        state = 0
        for step in range(STEPS):
            state = int(uniform() < (1 - back if state else leave))
            lines.append(f"{arm},{step},{state}")
    return "\n".join(lines) + "\n"
