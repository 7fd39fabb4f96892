"""The rounds to record where rewards are discounted."""

from __future__ import annotations

import numpy as np

from jaxbandit.arguments import number

MOST = 2 * 10**6  # rounds; the weights of more take seconds and gigabytes
TAIL = 0.1  # the part of the error for the rounds after the last recorded one, none of which is seen


def rounds_to_record(discount: float, error: float = 1e-4) -> np.ndarray:
    """Rounds to record, from which a discounted sum is known to within error / (1 - discount).

    They are `times` of `simulate`. With rewards in [0, 1] and one play a round, `metrics.discounted_reward` of such a
    result differs from the sum over all rounds by no more than that. A tenth of the error is allowed for the rounds
    after the last recorded one, the rest for the unknown order of rewards between two recorded rounds, which usually
    matters much less. The intervals between recorded rounds grow as rounds lose weight: a discount of 0.999 needs
    2,800 of 11,508 rounds for an error of 1e-4, and 597 of 9,206 for 1e-3.

    Args:
      discount: in [0, 1).
      error: in (0, 1), as a share of 1 / (1 - discount), the most that can be collected.

    Returns:
      rounds [T] int64, increasing.

    Raises:
      ValueError: the argument and what is wrong with it.

    >>> rounds_to_record(0.5, 0.1).tolist()
    [1, 2, 4, 7]
    """
    factor = number("discount", discount, 0, 1, below=True)
    allowed = number("error", error, 1e-300, 1, above=True, below=True)
    if factor and np.log(TAIL * allowed) / np.log(factor) > MOST:
        raise ValueError(f"discount: {discount} with error {error} takes more than {MOST:,} rounds")
    last = 1 if factor == 0 else max(1, int(np.ceil(np.log(TAIL * allowed) / np.log(factor))))
    longest = 1 / (1 - factor)
    while True:
        times = _growing(last, longest, np.sqrt(factor))
        if _left_open(times, factor) <= (1 - TAIL) * allowed / (1 - factor):
            return times
        longest /= 1.1


def _growing(last: int, first: float, root: float) -> np.ndarray:
    """Rounds up to `last`, from t to the next at most first / root^t apart, which spreads the error most evenly."""
    times = [0]
    while times[-1] < last:
        interval = first * root ** -times[-1] if root else 1.0
        times.append(int(min(last, times[-1] + max(1.0, np.floor(min(interval, last))))))
    return np.array(times[1:])


def _left_open(times: np.ndarray, discount: float) -> float:
    """The largest influence on a discounted sum of the order of rewards in [0, 1] between recorded rounds."""
    weights, starts = discount ** np.arange(times[-1]), np.concatenate([[0], times[:-1]])
    lengths = np.diff(times, prepend=0)
    means = np.add.reduceat(weights, starts) / lengths
    return float(np.abs(weights - np.repeat(means, lengths)).sum() / 2)
