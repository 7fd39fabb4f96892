"""The row, or the chain with two states, nearest in KL divergence to a given one among those that are good enough."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jaxbandit import chains


class Nearest(NamedTuple):
    """For each of S rows, the nearest one q with sum over s of q_s value_s >= 0."""

    cost: np.ndarray  # [S], KL(row, q); inf where every value is negative
    price: np.ndarray  # [S], derivative of the cost by a shift of the values, times -1
    row: np.ndarray  # [S, S], q


def nearest_row(rows: np.ndarray, values: np.ndarray) -> Nearest:
    """inf{KL(row, q) : sum over s of q_s value_s >= 0} for each row.

    It is max over 0 <= x <= 1 / max(values) of sum over s of row_s log(1 - x value_s), concave; q_s is
    row_s / (1 - x value_s), and what is then missing from a sum of 1 goes to the state with the best value.

    Args:
      rows: [R, S], laws.
      values: [R, S].

    Source: Honda and Takemura 2010; Cappe, Garivier, Maillard, Munos and Stoltz 2013.

    >>> round(float(nearest_row(np.array([[0.5, 0.5]]), np.array([[-0.75, 0.25]])).cost[0]), 6)
    0.143841
    """
    rows, values = np.asarray(rows, float), np.asarray(values, float)
    best = values.max(-1)
    enough = (rows * values).sum(-1) >= 0
    possible = best > 0
    top = np.where(possible, best, 1)[:, None]
    scaled = values / top  # at most 1; x in [0, 1]
    low, high = np.zeros(len(rows)), np.ones(len(rows))
    seen = rows > 0
    for _ in range(60):
        middle = (low + high) / 2
        left = np.where(seen, 1 - middle[:, None] * scaled, 1)
        rises = (rows * scaled / left).sum(-1) < 0
        low, high = np.where(rises, middle, low), np.where(rises, high, middle)
    x = np.where(enough | ~possible, 0, low)[:, None]  # below 1 where the best value has been seen
    cost = (rows * np.log1p(np.where(seen, -x * scaled, 0))).sum(-1)
    row = rows / np.where(seen, 1 - x * scaled, 1)
    row[np.arange(len(rows)), values.argmax(-1)] += np.maximum(1 - row.sum(-1), 0)
    return Nearest(np.where(possible | enough, np.maximum(cost, 0), np.inf), (x / top)[:, 0], row)


def nearest_two_state(
    transition: np.ndarray, reward: np.ndarray, target: float, gap: float = 0.0
) -> tuple[float, float]:
    """inf{I(transition || Q) : mean of Q >= target, p01' + p10' >= gap}: a value that is reached, and a lower bound.

    I is convex in (p01', p10'). If the nearest Q with p01' + p10' >= gap has too low a mean, the mean at the infimum is
    `target`: p01' = x and p10' = x (1 - m) / m, m the better state's share, and x is at least gap m.
    """
    transition, reward = np.asarray(transition, float), np.asarray(reward, float)
    if reward[1] < reward[0]:
        transition, reward = transition[::-1, ::-1], reward[::-1]
    share = (target - reward[0]) / (reward[1] - reward[0])
    ratio = (1 - share) / share
    _, reached, least = _least_on_line(transition, 0.0, ratio, gap * share, min(1.0, 1 / ratio))
    return reached, least


def two_state_rate(p01: np.ndarray, p10: np.ndarray, share: np.ndarray) -> np.ndarray:
    """inf{I(P || Q) : Q is in state 1 a share m = `share` of the time}, two states, P the chain of `p01` and `p10`.

    As I falls on the straight way to P, the chains Q (`two_state_chain`) are the nearest ones of all on the other side
    of m, too: those with a mean of at least m, or of at most m.

    Args:
      p01, p10: in (0, 1], broadcast against `share`.
      share: outside (0, 1) the rate is inf.

    >>> float(two_state_rate(np.array(0.4), np.array(0.55), np.array(5 / 9)).round(10))
    0.0308345172
    """
    p01, p10, share = np.broadcast_arrays(np.asarray(p01, float), np.asarray(p10, float), np.asarray(share, float))
    possible = (share > 0) & (share < 1)
    nearest = two_state_chain(p01, p10, np.where(possible, share, 0.5))
    law = np.stack([p10, p01], -1) / (p01 + p10)[..., None]
    rate = (law * chains.relative_entropy(_two_rows(p01, p10), nearest)).sum(-1)
    return np.asarray(np.where(possible, rate, np.inf))


def two_state_chain(p01: np.ndarray, p10: np.ndarray, share: np.ndarray) -> np.ndarray:
    """The nearest Q [..., 2, 2] that is in state 1 a share m = `share` of the time, in (0, 1).

    With c = (1 - m) / m it is the least of law_0 d(p01, x) + law_1 d(p10, c x), where x is the smaller root of
    c x^2 - (A (1 + c) + B + c C) x + A = 0, A = law_0 p01 + law_1 p10, B = law_0 (1 - p01), C = law_1 (1 - p10).
    """
    c = (1 - share) / share
    law_0, law_1 = p10 / (p01 + p10), p01 / (p01 + p10)
    leaving = 2 * law_0 * p01
    middle = leaving * (1 + c) + law_0 * (1 - p01) + c * law_1 * (1 - p10)
    x = 2 * leaving / (middle + np.sqrt(np.maximum(middle**2 - 4 * c * leaving, 0)))
    x = np.minimum(x, np.minimum(1, 1 / c))
    return _two_rows(x, np.minimum(c * x, 1))


def _two_rows(p01: np.ndarray, p10: np.ndarray) -> np.ndarray:
    return np.stack([np.stack([1 - p01, p01], -1), np.stack([p10, 1 - p10], -1)], -2)


def nearest_fast_enough(transition: np.ndarray, reward: np.ndarray, gap: float) -> tuple[float, float, float]:
    """inf{I(transition || Q) : p01' + p10' >= gap} for two states: the mean there, a value reached, a lower bound."""
    transition, reward = np.asarray(transition, float), np.asarray(reward, float)
    if transition[0, 1] + transition[1, 0] >= gap:
        return float(chains.stationary(transition) @ reward), 0.0, 0.0
    x, reached, least = _least_on_line(transition, gap, -1.0, 0.0, gap)
    return float(reward[0] + x / gap * (reward[1] - reward[0])), reached, least


def _least_on_line(
    transition: np.ndarray, start: float, ratio: float, low: float, high: float
) -> tuple[float, float, float]:
    """The least I(transition || Q) where p01' = x and p10' = start + ratio x: x, a value reached, and a lower bound.

    Along the line I is convex in x. Between two neighbouring floats where its slope changes sign, its tangent is a
    lower bound.
    """
    p01, p10 = transition[0, 1], transition[1, 0]

    def rate(x: float) -> float:
        y = start + ratio * x
        return chains.kl_rate(transition, np.array([[1 - x, x], [y, 1 - y]]))

    def slope(x: float) -> float:
        """The derivative of the rate, without the factor p10 / (p01 + p10)."""
        y = start + ratio * x
        if x >= 1 or not 0 < y < 1:
            return -np.inf if ratio < 0 and y >= 1 else np.inf
        return float((x - p01) / (x * (1 - x)) + p01 / p10 * ratio * (y - p10) / (y * (1 - y)))

    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    nearest = low if rate(low) <= rate(high) else high
    reached = rate(nearest)
    tangent = rate(low) + slope(low) * p10 / (p01 + p10) * (high - low)
    return nearest, reached, min(reached, tangent)
