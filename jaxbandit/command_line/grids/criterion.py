"""What is to be small when numbers are chosen: the mean, the median or a quantile of final regret, in all scenarios."""

from __future__ import annotations

import numpy as np


def in_words(criterion: str) -> str:
    """For titles and columns."""
    return criterion if criterion in ("mean", "median") else f"{criterion} quantile"


def measure(final: np.ndarray, criterion: str) -> np.ndarray:
    """The criterion over the last axis, the runs.

    >>> [float(measure(np.array([1.0, 2.0, 6.0]), criterion)) for criterion in ("mean", "median", "0.75")]
    [3.0, 2.0, 4.0]
    """
    if criterion == "mean":
        return np.asarray(final.mean(-1))
    try:
        q = 0.5 if criterion == "median" else float(criterion)
        return np.asarray(np.quantile(final, q, axis=-1))
    except ValueError:
        raise ValueError(f"--criterion: {criterion!r} is neither mean, median nor a quantile in [0, 1]") from None


def shares(values: np.ndarray) -> np.ndarray:
    """Of the criterion [scenario, candidate] as a share of the first candidate's: geometric mean over scenarios.

    >>> shares(np.array([[10.0, 20.0, 5.0], [100.0, 50.0, 50.0]])).round(3).tolist()
    [1.0, 1.0, 0.5]
    """
    logarithms = np.log(np.maximum(values, 1e-9))  # a regret of 0 is not a reason to look at one scenario only
    return np.asarray(np.exp((logarithms - logarithms[:, :1]).mean(0)))


def choose(final: np.ndarray, criterion: str) -> int:
    """The candidate of least share, the first of several, from final regret [scenario, candidate, run]."""
    return int(shares(measure(final, criterion)).argmin())


def difference(chosen: np.ndarray, default: np.ndarray, criterion: str) -> tuple[float, float, float]:
    """Of the criterion, and its 95 % interval from 2,000 resamples of pairs of runs."""
    generator, resampled = np.random.default_rng(0), []
    for _ in range(100):  # 20 at a time, which fit in memory however many the runs
        drawn = generator.integers(len(chosen), size=(20, len(chosen)))
        resampled.append(measure(chosen[drawn], criterion) - measure(default[drawn], criterion))
    low, high = np.quantile(np.concatenate(resampled), [0.025, 0.975])
    return float(measure(chosen, criterion) - measure(default, criterion)), float(low), float(high)
