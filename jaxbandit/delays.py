"""Laws of delays of feedback, for `simulate(delay=..)`: every round's delay is drawn, the same for all policies."""

from __future__ import annotations

import numpy as np
from jax.typing import ArrayLike

from jaxbandit.arguments import Numbers, check_together
from jaxbandit.chains import thresholds
from jaxbandit.pytrees import pytree

__all__ = ["Delays", "geometric", "table", "uniform"]

LONGEST = 10**6  # rounds
LARGEST_WORD = 2**32 - 1


@pytree
class Delays:
    """A law of delays, made by `geometric`, `uniform` or `table`; on the host.

    The delay of a round is a function of the run's key and the round, and of the arm where arms have laws of their own.
    One random number serves all arms of a round, and all laws: a law of longer delays has longer ones in every round.

    Fields:
      thresholds: [D] uint32, D the longest delay: the delay is the number of them that do not exceed 32 random bits; or
        [K, D], a row for each arm.
    """

    thresholds: ArrayLike

    @property
    def longest(self) -> int:
        """The longest possible delay, in rounds."""
        return int(np.shape(self.thresholds)[-1])

    def means(self) -> np.ndarray:
        """The mean delay in rounds, or that of each arm, [K]; float64.

        >>> uniform(0, 4).means().round(6).item(), table([[1.0, 0.0, 0.0], [0.5, 0.25, 0.25]]).means().round(6).tolist()
        (2.0, [0.0, 0.75])
        """
        words = np.asarray(self.thresholds)
        return np.asarray((1 - np.where(words == LARGEST_WORD, 1.0, words / 2.0**32)).sum(-1))


def geometric(mean: ArrayLike) -> Delays:
    """Geometric delays: P(delay >= d) = (mean / (1 + mean))^d for d = 0, 1, 2, ..

    Each round the feedback arrives with probability 1 / (1 + mean). Delays rarer than 2^-32 are cut: the longest one
    is about 22 (mean + 1), and `simulate` keeps the feedback of so many rounds of every run.

    Args:
      mean: mean delay in rounds, 0 to 40,000; or one of each arm, [K].

    Raises:
      ValueError: a mean out of range.

    >>> geometric(10.0).longest, geometric(10.0).means().round(4).item()
    (233, 10.0)
    """
    means = _numbers("mean", mean, 4e4)
    with np.errstate(divide="ignore", over="ignore"):
        slope = -np.log1p(1 / means)  # the logarithm of mean / (1 + mean)
    most = int(np.ceil(32 * np.log(2) / -slope.max())) if means.max() else 0
    sooner = -np.expm1(np.multiply.outer(slope, np.arange(1, most + 1)))
    words = np.minimum(np.rint(sooner * 2.0**32), LARGEST_WORD).astype(np.uint32)
    return Delays(words)


def uniform(low: ArrayLike, high: ArrayLike) -> Delays:
    """Uniform delays: low, low + 1, .., high, each with the same probability.

    Args:
      low: shortest delay in rounds, an integer from 0; or one of each arm, [K].
      high: longest delay, an integer from low to 1,000,000; or one of each arm.

    Raises:
      ValueError: an argument that is no integer, or out of range.

    >>> uniform(10, 200).longest, uniform([0, 10], 20).means().round(6).tolist()
    (200, [10.0, 15.0])
    """
    first, last = np.broadcast_arrays(_numbers("low", low, LONGEST, int), _numbers("high", high, LONGEST, int))
    if (last < first).any():
        raise ValueError(f"high: {high} is less than low, {low}")
    ends = np.arange(1, last.max() + 1)
    sooner = np.clip((ends - first[..., None]) / (last - first + 1)[..., None], 0, 1)
    return Delays(np.minimum(np.rint(sooner * 2.0**32), LARGEST_WORD).astype(np.uint32))


def table(probabilities: ArrayLike) -> Delays:
    """Delays from a table: entry d is the probability of a delay of d rounds.

    For delays that were measured, integers from 0, it is `np.bincount(delays) / len(delays)`.

    Args:
      probabilities: [D + 1], which sum to 1; or a row for each arm, [K, D + 1].

    Raises:
      ValueError: a negative probability, a positive one below 2^-31, a sum that is not 1.

    >>> table([0.5, 0.0, 0.5]).means().item()
    1.0
    """
    wanted = Numbers("[..., D]", 0, 1, law=True, kind=np.float64)
    law = np.asarray(check_together({"probabilities": (probabilities, wanted)})["probabilities"])
    if law.ndim > 2 or not law.size or law.shape[-1] > LONGEST + 1:
        raise ValueError(f"probabilities: shape {law.shape} is neither [D + 1] nor [K, D + 1], D at most {LONGEST:,}")
    most = int(np.flatnonzero(law.reshape(-1, law.shape[-1]).any(axis=0)).max())
    return Delays(thresholds(law[..., : most + 1], "probabilities"))


def _numbers(name: str, values: ArrayLike, most: float, kind: type = np.float64) -> np.ndarray:
    """One number or [K] from 0 to `most`, in float64."""
    array = np.asarray(check_together({name: (values, Numbers("...", 0, most, kind=kind))})[name], float)
    if array.ndim > 1 or not array.size:
        raise ValueError(f"{name}: shape {array.shape} is neither one number nor one of each arm, [K]")
    return array
