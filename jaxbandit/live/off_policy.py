"""Estimates of what another policy earns a round, from weighted rewards of a log; in float64 on the host."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

PRIOR = 10  # rounds that an arm's mean begins with; few rounds of an arm alone say little where rewards are rare
METHODS = ("IPS", "self-normalised", "doubly robust")


class Weighted(NamedTuple):
    """The rounds of a log as a policy weighs them: `weights` and `rewards` [n]; `models` and `model` are of
    `doubly_robust`.
    """

    weights: np.ndarray  # [n], the policy's probability of the arm over the log's
    rewards: np.ndarray  # [n]
    expected: np.ndarray  # [n], of the rewards under the policy, by a model from the rounds before
    model: np.ndarray  # [n], of the reward of the arm that was chosen, by the same


def weighted(chances: np.ndarray, arm: np.ndarray, reward: np.ndarray, probability: np.ndarray) -> Weighted:
    """The rounds as a policy weighs them that plays with `chances` [n, K].

    The model of an arm's reward is its mean over the rounds before, and over `PRIOR` more that pay the mean of all
    rounds before, so that no round is judged by a model that has seen it.
    """
    rounds = np.arange(len(arm))
    before = np.cumsum(reward) - reward
    overall = np.divide(before, rounds, out=np.zeros(len(arm)), where=rounds > 0)
    expected, model = np.zeros((2, len(arm)))
    for k in range(chances.shape[1]):
        chosen = arm == k
        plays = np.cumsum(chosen) - chosen
        gained = np.cumsum(chosen * reward) - chosen * reward
        mean = (gained + PRIOR * overall) / (plays + PRIOR)
        expected += chances[:, k] * mean
        model[chosen] = mean[chosen]
    return Weighted(chances[rounds, arm] / probability, reward, expected, model)


def estimates(rounds: Weighted) -> tuple[np.ndarray, np.ndarray]:
    """Estimates [3] of the mean reward a round by `METHODS`, and their standard errors.

    With weights w, rewards r, and for the last q and e of the model,
    IPS: the mean of w r; self-normalised: v = sum of w r / sum of w, with the error sqrt(sum of w^2 (r - v)^2) / sum of
    w; doubly robust: the mean of e + w (r - q).
    """
    w, r = rounds.weights, rounds.rewards
    number, total = len(w), w.sum()
    plain, robust = w * r, rounds.expected + w * (r - rounds.model)
    ratio = plain.sum() / total if total > 0 else np.nan
    values = np.array([plain.mean(), ratio, robust.mean()])
    if number < 2 or not total > 0:
        return values, np.full(3, np.nan)
    plain_error, robust_error = (each.std(ddof=1) / math.sqrt(number) for each in (plain, robust))
    return values, np.array([plain_error, math.sqrt((w**2 * (r - ratio) ** 2).sum()) / total, robust_error])


def effective_size(weights: np.ndarray) -> float:
    """(sum of w)^2 / sum of w^2: so many rounds of equal weights would say as much.

    >>> effective_size(np.array([1.0, 1.0, 0.0, 0.0]))
    2.0
    """
    squares = float((weights**2).sum())
    return float(weights.sum()) ** 2 / squares if squares > 0 else 0.0


def of_one_law(arm: np.ndarray, probability: np.ndarray, arms: int) -> bool:
    """Whether an arm has the same probability in all rounds, as if no policy that learns had made the log.

    >>> of_one_law(np.array([0, 1, 0]), np.array([0.4, 0.6, 0.4]), 3), of_one_law(np.array([0, 1]), np.ones(2), 2)
    (True, False)
    """
    least, most = np.full(arms, np.inf), np.zeros(arms)
    np.minimum.at(least, arm, probability)
    np.maximum.at(most, arm, probability)
    return bool((most <= least * (1 + 1e-6)).all() and most.sum() <= 1.01)  # 1 for several arms: it changed its mind


def bootstrap(rounds: Weighted, level: float, resamples: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The ends [3] of percentile intervals: rounds are drawn with replacement."""
    draw, number = np.random.default_rng(seed), len(rounds.weights)
    w, r = rounds.weights, rounds.rewards
    columns = np.stack([w, w * r, rounds.expected + w * (r - rounds.model)], -1)
    counts = (np.bincount(draw.integers(number, size=number), minlength=number) for _ in range(resamples))
    sums = np.array([count @ columns for count in counts])
    ratio = np.divide(sums[:, 1], sums[:, 0], out=np.zeros(resamples), where=sums[:, 0] > 0)
    values = np.stack([sums[:, 1] / number, ratio, sums[:, 2] / number], -1)
    low, high = np.quantile(values, [level / 2, 1 - level / 2], axis=0)
    return low, high


def bernstein(rounds: Weighted, reward_range: tuple[float, float], level: float) -> tuple[float, float]:
    """An interval that holds the policy's mean reward with probability 1 - level, whatever the weights.

    Rewards are mapped to [0, 1]. The lower end is `lower` of w r; the upper end is 1 minus `lower` of w (1 - r), which
    are not negative either, so that no bound on the weights is needed. Arms that the log cannot choose only lower both.
    """
    low, high = reward_range
    share = (rounds.rewards - low) / (high - low)
    least, rest = lower(rounds.weights * share, level / 2), lower(rounds.weights * (1 - share), level / 2)
    return low + (high - low) * least, low + (high - low) * (1 - rest)


def lower(values: np.ndarray, level: float) -> float:
    """A number that the average of the means of `values` [n] exceeds with probability 1 - level.

    Each value is at least 0, and its mean v_t, given those before, lies in [0, 1]. With m_t = min(1, (1/2 + x_1 + .. +
    x_(t-1)) / t) it is the largest over G scales s = 1/2, 1/4, .. of

        (m_1 + .. + m_n + (sum over t of log(1 + s (x_t - m_t)) - log(G / level)) / s) / n:

    1 + s (x_t - m_t) > 0 has the mean 1 + s (v_t - m_t) <= exp(s (v_t - m_t)), so that the product over t of the left
    side, divided by that of the right side, exceeds G / level with probability level / G at most (Ville's inequality).
    It is at least the empirical Bernstein bound with these m_t and scales, which has z + (log(1 - s) + s) (z / s)^2, no
    more than log(1 + z), for z = s (x_t - m_t); in logs of Thompson sampling intervals are two thirds as wide.

    Source: Waudby-Smith and Ramdas 2024 (betting); for the empirical Bernstein bound Fan, Grama and Liu 2015; Howard,
    Ramdas, McAuliffe and Sekhon 2021 (none opened: written from memory, and proved by the lines above).

    >>> lower(np.ones(1000), 0.05) > 0.98, lower(np.zeros(10), 0.05)
    (True, 0.0)
    """
    number = len(values)
    mean = np.minimum(1, (0.5 + np.cumsum(values) - values) / np.arange(1, number + 1))
    scales = 0.5 ** np.arange(1, 2 + math.ceil(math.log2(number + 1) / 2))
    gains = np.array([np.log1p(scale * (values - mean)).sum() for scale in scales])
    bounds = mean.sum() + (gains - math.log(len(scales) / level)) / scales
    return min(max(float(bounds.max()) / number, 0.0), 1.0)
