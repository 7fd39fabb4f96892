"""KL balls around one row of a chain: the largest mean over a ball, and the extreme stationary means.

Others may take what is listed here; `chain` also takes the arithmetic of rows from `arithmetic`.
"""

from jaxbandit.confidence.row.arithmetic import (
    MOST_LISTED,
    Row,
    alone,
    array_of,
    chosen_sum,
    dot,
    largest,
    row_of,
    smallest,
)
from jaxbandit.confidence.row.ball import kl_ball_max, weighted_mean_max
from jaxbandit.confidence.row.stationary_mean import excursions, stationary_mean_lower, stationary_mean_upper

__all__ = [
    "MOST_LISTED",
    "Row",
    "alone",
    "array_of",
    "chosen_sum",
    "dot",
    "excursions",
    "kl_ball_max",
    "largest",
    "row_of",
    "smallest",
    "stationary_mean_lower",
    "stationary_mean_upper",
    "weighted_mean_max",
]
