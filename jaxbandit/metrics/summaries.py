"""Summaries of many runs: mean, median and tail, with intervals."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from jaxbandit.arguments import finite
from jaxbandit.base import described


class OfRuns(np.ndarray):
    """Numbers [.., run], which `print` shows as their mean with its 95 % interval; what is computed from them is plain.

    >>> np.array([[3.0, 5.0, 4.0]]).view(OfRuns)
    mean 4 (95 % interval 1.516 to 6.484) of 3 runs
    """

    def __array_finalize__(self, of: np.ndarray | None) -> None:
        self.runs: int = of.runs if isinstance(of, OfRuns) else self.shape[-1] if self.ndim else 0

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return np.asarray(array)[()] if return_scalar else np.asarray(array)

    def __repr__(self) -> str:
        if not self.size or self.shape[-1:] != (self.runs,):  # some of the runs, or another axis
            return repr(np.asarray(self))
        of, lines = summary(np.asarray(self)), []
        for place in np.ndindex(of.mean.shape):
            interval = f"95 % interval {of.low[place]:,.4g} to {of.high[place]:,.4g}"
            where = f"{list(place)}: " if of.mean.size > 1 else ""
            lines.append(f"{where}mean {of.mean[place]:,.4g} ({interval}) of {self.runs:,} runs")
        return "\n".join(lines)

    __str__ = __repr__


@described
class Summary(NamedTuple):
    """Statistics over runs; every field has the shape of the values without their last axis.

    Fields:
      mean: over the runs.
      low: lower end of the 95 % interval of the mean.
      high: upper end of the interval.
      median: over the runs.
      quantile_90: the value that 90 % of the runs do not exceed.
      quantile_95: the value that 95 % do not exceed.
      quantile_99: the value that 99 % do not exceed.
      worst: mean of the worst 5 % of runs.
    """

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    median: np.ndarray
    quantile_90: np.ndarray
    quantile_95: np.ndarray
    quantile_99: np.ndarray
    worst: np.ndarray


def summary(values: np.ndarray) -> Summary:
    """A `Summary` of values over runs, their last axis.

    The interval is Student's, NaN for a single run; under heavy tails it covers the mean only if many runs lie in the
    tail.

    >>> round(float(summary(np.arange(101.0)).worst), 1)
    97.5
    """
    values = _of_runs(values)
    runs = values.shape[-1]
    mean = values.mean(-1)
    half = np.full_like(mean, np.nan)
    if runs > 1:
        from scipy.special import stdtrit  # slow to import, so it waits until it is needed

        half = stdtrit(runs - 1, 0.975) * values.std(-1, ddof=1) / np.sqrt(runs)
    median, q90, q95, q99 = np.quantile(values, [0.5, 0.9, 0.95, 0.99], axis=-1)
    worst = np.sort(values, axis=-1)[..., -int(np.ceil(0.05 * runs)) :].mean(-1)
    return Summary(mean, mean - half, mean + half, median, q90, q95, q99, worst)


def median_interval(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distribution-free interval of the median over the last axis, at least 95 %, from order statistics.

    (-inf, inf) with fewer than 6 values, where no such interval exists.

    >>> [float(end) for end in median_interval(np.arange(100.0))]
    [39.0, 60.0]
    """
    ordered = np.sort(_of_runs(values), axis=-1)
    runs = ordered.shape[-1]
    if runs < 6:
        return np.full(ordered.shape[:-1], -np.inf), np.full(ordered.shape[:-1], np.inf)
    from scipy.special import bdtrik

    below = int(np.floor(bdtrik(0.025, runs, 0.5)))  # the largest with P(Binomial(runs, 1/2) <= below) at most 0.025
    return ordered[..., below], ordered[..., runs - 1 - below]


def _of_runs(values: np.ndarray) -> np.ndarray:
    """Finite numbers of one run or more, along the last axis."""
    numbers = finite("values", values)
    if not numbers.ndim or not numbers.shape[-1]:
        raise ValueError(f"values: shape {numbers.shape} is not [..., runs] with at least one run")
    return numbers
