"""Checks of rows of probabilities, in float64 on the host, and how rounding errors are removed from them."""

from __future__ import annotations

import numpy as np
from jax import Array

ROUNDING = 1e-6  # the error of probabilities, which may be of float32, and of their sums that is accepted
EXACT = 1e-12  # the largest error of a sum of probabilities that were divided by it in float64


def stochastic(name: str, rows: np.ndarray | Array, exact: float = 0.0) -> np.ndarray:
    """The rows [..., S] in float64, divided by their sums, so that they sum to 1 to the last digit.

    A row whose sum is off by `exact` at most stays as it is. Probabilities that rounding has made negative become 0.

    >>> stochastic("transition", np.float32([[0.3, 0.7], [0.9, 0.1]])).sum(-1).tolist()
    [1.0, 1.0]
    """
    rows = np.asarray(rows, float)
    if (rows < -ROUNDING).any():
        raise ValueError(f"{name}: negative probability {rows.min()}")
    rows = np.maximum(rows, 0)
    totals = rows.sum(-1)
    off = np.abs(totals - 1)
    if not (off <= ROUNDING).all():
        place = np.unravel_index(off.argmax(), off.shape)
        where = " of arm ".join(str(i) for i in place[::-1])
        raise ValueError(
            f"{name}: {f'row {where}' if where else 'it'} sums to {totals[place]}, not to 1; mend it, or divide rows "
            "by their sums: rows / rows.sum(-1, keepdims=True)"
        )
    return np.asarray(np.where(off[..., None] <= exact, rows, rows / totals[..., None]))
