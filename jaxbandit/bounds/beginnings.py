"""Starting points of the search for the nearest chain."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from jaxbandit import chains

STARTS, STARTS_IN_CLASS = 24, 48


def beginnings(
    transition: np.ndarray, reward: np.ndarray, target: float, gap: float, gaps_of: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """Chains [B, S, S] with positive entries, whose mean is above `target` and whose reward gap is above `gap`.

    For a given stationary law the nearest chain is the solution of a convex problem, so local minima differ in their
    laws: one may stay long in a good state that the given chain hardly ever visits, which costs little. So laws are
    chosen first. They are drawn near the corners of the set of laws with a mean (which give weight to two states) and
    between them, and then a chain like the given one is slowed in each state until its stationary law is that one.

    Independent draws from the law have that law, too, and draws that depend a little on the state, against its reward,
    have a reward gap above 1. So for a class each chain is mixed with such draws until it is in the class.

    Args:
      reward: [S], from 0 to 1.
      target: less than 1.
      gaps_of: of chains [B, S, S], their reward gaps [B].
    """
    states, generator = len(reward), np.random.default_rng(0)
    number = STARTS_IN_CLASS if gap else STARTS
    missing = target - chains.stationary(transition) @ reward
    least = max(target, 0.0)
    least += 0.1 * min(1 - least, missing if missing > 0 else 1)
    # in a class the nearest good chain may have a mean above the target
    means = least + (0.9 * (1 - least) * generator.random(number) ** 2 if gap else np.zeros(number))
    means = np.minimum(means, np.nextafter(1, 0))  # a law whose mean is the best reward gives other states no weight
    laws = np.stack([_law(reward, mean, k, generator) for k, mean in enumerate(means)])
    like = (0.9 * generator.random(number) if gap else np.full(number, 0.9))[:, None, None]
    rows = like * transition + (1 - like) * generator.dirichlet(np.ones(states), (number, states))
    leave = np.stack([chains.stationary(row_set) for row_set in rows]) / laws
    leave = (leave / leave.max(1, keepdims=True))[:, :, None]
    slowed = np.eye(states) * (1 - leave) + leave * rows
    if not gap:
        return np.asarray(slowed)
    above = reward - (laws @ reward)[:, None]
    draws = laws[:, None, :] * (1 - above[:, :, None] * above[:, None, :] / 2)
    enough = gap + 0.1 * (gaps_of(draws) - gap)
    low, high = np.zeros(number), np.ones(number)
    for _ in range(40):
        share = (low + high) / 2
        inside = gaps_of(_mixed(draws, slowed, share)) >= enough
        low, high = np.where(inside, low, share), np.where(inside, share, high)
    return _mixed(draws, slowed, high)


def _mixed(first: np.ndarray, second: np.ndarray, share: np.ndarray) -> np.ndarray:
    """The share [B] of the first chains, and the rest of the second."""
    return np.asarray(share[:, None, None] * first + (1 - share)[:, None, None] * second)


def _law(reward: np.ndarray, mean: float, number: int, generator: np.random.Generator) -> np.ndarray:
    """A law with this mean in (0, 1), most of it on a few states; the first numbers give laws near the corners."""
    better, worse = np.nonzero((reward[:, None] >= mean) & (reward < mean))
    weights = generator.dirichlet(np.full(len(better), 0.5))
    if number < len(better):
        weights = 0.1 * weights + 0.9 * (np.arange(len(better)) == number)
    share = (mean - reward[worse]) / (reward[better] - reward[worse])
    law = np.zeros(len(reward))
    np.add.at(law, better, weights * share)
    np.add.at(law, worse, weights * (1 - share))
    middle = reward.mean()
    end = 1.0 if mean > middle else 0.0
    part = (mean - middle) / (end - middle)
    everywhere = np.full(len(reward), (1 - part) / len(reward))
    everywhere[reward.argmax() if end else reward.argmin()] += part
    return np.asarray(0.99 * law + 0.01 * everywhere)
