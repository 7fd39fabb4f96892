"""The Gittins index of a Bernoulli arm whose probability has a Beta prior."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.arguments import finite, integer, number

MOST = 4000  # plays ahead: more take minutes
ERROR = 1e-6  # of an index, if the depth is not given
HALVINGS = 50  # of the interval in which an index lies


def gittins_beta(a: ArrayLike, b: ArrayLike, discount: float, depth: int | None = None) -> np.ndarray:
    """Gittins index of Bernoulli arms whose probabilities of paying 1 have the priors Beta(a, b).

    It is the charge a play at which the arm is worth just as much as not to play: the largest value, over all stopping
    rules with N >= 1 plays, of E(sum over n < N of discount^n R_n+1) / E(sum over n < N of discount^n). After s
    successes and f failures the index is that of a + s and b + f. Of several such arms, one play a round, the rule that
    plays the largest index has the largest expected sum of discounted rewards over the prior.

    Plays are looked at `depth` ahead; from then on the arm is taken to pay its posterior mean for ever. This makes the
    index too small, by at most discount^depth / (4 (1 - discount) sqrt(a + b + depth + 1)). The work grows with the
    square of the depth.

    Args:
      a, b: positive numbers of any shapes that broadcast.
      discount: in [0, 1).
      depth: 1 to 4,000; None for the least with an error of at most 1e-6.

    Raises:
      ValueError: the argument and what is wrong with it; the discount, if it needs a larger depth than 4,000.

    Source: Gittins 1979 for the index. The error is derived here: the mean of max(0, p - charge) exceeds that value at
    the mean of p by at most half of the standard deviation of p.

    >>> gittins_beta([1, 2, 1], [1, 1, 2], 0.9).round(4).tolist()
    [0.7029, 0.8001, 0.5001]
    """
    first, second = finite("a", a), finite("b", b)
    try:
        first, second = np.broadcast_arrays(first, second)
    except ValueError:
        raise ValueError(f"b: shape {second.shape} does not fit that of a, {first.shape}") from None
    for name, values in (("a", first), ("b", second)):
        if not (values > 0).all():
            raise ValueError(f"{name}: {values.min()} is not positive")
    factor = number("discount", discount, 0, 1, below=True)
    ahead = _least_depth(factor) if depth is None else integer("depth", depth, 1, MOST)
    low, high = first / (first + second), np.ones(first.shape)
    for _ in range(HALVINGS):
        charge = (low + high) / 2
        worth = _worth(first, second, factor, ahead, charge) > 0
        low, high = np.where(worth, charge, low), np.where(worth, high, charge)
    return np.asarray(low)


def _worth(a: np.ndarray, b: np.ndarray, discount: float, depth: int, charge: np.ndarray) -> np.ndarray:
    """What an arm is worth whose first play is made, and those that follow while they are worth their charge."""
    a, plays, charge = a[..., None], (a + b)[..., None], charge[..., None]
    surplus = (a + np.arange(depth + 1)) / (plays + depth) - charge
    worth = surplus / (1 - discount)  # by the number of successes among the plays so far
    for n in range(depth - 1, -1, -1):
        mean, later = (a + np.arange(n + 1)) / (plays + n), np.maximum(worth, 0)
        worth = mean - charge + discount * (mean * later[..., 1:] + (1 - mean) * later[..., :-1])
    return np.asarray(worth[..., 0])


def _least_depth(discount: float) -> int:
    """The least depth whose error is at most `ERROR` for every prior."""
    for depth in range(1, MOST + 1):
        if discount**depth <= ERROR * 4 * (1 - discount) * math.sqrt(depth + 1):
            return depth
    raise ValueError(
        f"discount: {discount} needs a depth of more than {MOST:,} plays for an error of {ERROR}; give a depth"
    )
