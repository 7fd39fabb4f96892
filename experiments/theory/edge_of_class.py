"""What docs/optimality.md leaves open: a best arm whose reward gap is exactly that of the class (sections 2 and 10)."""

from __future__ import annotations

import numpy as np

from experiments.reports.tables import Row
from experiments.theory.arms import row
from jaxbandit import chains

POINTS = 100  # of a line of types


def line_of_types(chain: np.ndarray, reward: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The flows of types to which the chain is a stationary point of the likelihood in the class of its own gap.

    Args:
      chain: [S, S], positive.
      reward: [S], not all equal.

    Returns:
      the chain's own flow [S, S], which is the line's beginning, and its direction [S, S], as long as the line is: at
      its end a flow is 0.
    """
    law, values = chains.stationary(chain), chains.relative_values(chain, reward)
    deviation = np.linalg.inv(np.eye(len(law)) - chain + law) - law
    force = deviation[values.argmax()] - deviation[values.argmin()]  # how the range of values follows each row's
    tilted = force[:, None] * chain * (values - (chain @ values)[:, None])
    begin, along = law[:, None] * chain, (tilted.sum(0) @ deviation)[:, None] * chain + tilted
    return begin, along * (begin[along < 0] / -along[along < 0]).min()


def on_line(chain: np.ndarray, reward: np.ndarray) -> tuple[float, float]:
    """How much the mean rises along `line_of_types`, and by what the reward gap falls short of the chain's own there.

    The latter is the least of 1 - gap / own gap on a grid, over the share of the line that leads to the point.
    """
    begin, along = line_of_types(chain, reward)
    share = np.arange(1, POINTS + 1) / (POINTS + 1)
    flows = begin + share[:, None, None] * along
    law = flows.sum(2)
    rows = flows / law[:, :, None]
    fundamental = np.eye(len(chain)) - rows + law[:, None, :]
    values = np.linalg.solve(fundamental, (reward - (law @ reward)[:, None])[:, :, None])[:, :, 0]
    short = 1 - np.ptp(chains.relative_values(chain, reward)) / np.ptp(values, axis=1)
    return float(along.sum(1) @ reward), float((short / share).min())


def edge(seed: int, chains_seen: int = 2000) -> list[Row]:
    """Of random chains with three and four states, those on whose line the mean falls: is a type of it in the class?"""
    generator = np.random.default_rng(seed)
    falls, least = 0, np.inf
    for _ in range(chains_seen):
        states, weight = int(generator.integers(3, 5)), generator.choice([0.3, 1.0, 3.0])
        chain = generator.dirichlet(np.full(states, weight), states) + 1e-9
        rise, short = on_line(chain / chain.sum(1, keepdims=True), generator.random(states))
        if rise < 0:
            falls, least = falls + 1, min(least, short)
    what = f"{chains_seen:,} chains with the gap of their class, the mean falls for {falls:,}: least shortfall of a gap"
    return [row("7", what, "> 0", least, least > 0)]
