"""Which policies the runs tell apart on a problem, and which may stand in another order by chance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from jaxbandit.stress import Interval


class Standing(NamedTuple):
    """Where a policy stands among those that have played the same runs.

    Fields:
      best: label of the policy with the least mean regret.
      ahead: labels of those that have certainly less regret.
      behind: labels of those that have certainly more.
      open: labels of those from which it is not told apart.
      more: how much more regret than the best it has; zeros if it is the best itself.
    """

    best: str
    ahead: list[str]
    behind: list[str]
    open: list[str]
    more: Interval

    @property
    def rank(self) -> str:
        """The ranks that it may have: "2 of 5", or "1 to 3 of 5"."""
        first, many = 1 + len(self.ahead), 1 + len(self.ahead) + len(self.behind) + len(self.open)
        last = many - len(self.behind)
        return f"{first} of {many}" if first == last else f"{first} to {last} of {many}"


def difference(first: np.ndarray, second: np.ndarray, comparisons: int = 1) -> Interval:
    """Mean of first minus second [R], run by run, with Student's interval: of 95 % for all comparisons together.

    The interval is all numbers with a single run; and with fewer than six that all differ by the same, as counts of few
    rounds may by chance: such runs say nothing of their spread, and a sign test would not exclude 0, either.

    >>> str(difference(np.array([3.0, 5.0, 4.0]), np.array([1.0, 1.0, 1.0])))
    '3.0 (0.5 to 5.5)'
    """
    from scipy.special import stdtrit

    values = first - second
    same = np.ptp(values) <= 1e-9 * np.abs(values).max() and values.any()
    half = np.inf
    if len(values) > 1 and not (same and len(values) < 6):
        half = stdtrit(len(values) - 1, 1 - 0.025 / comparisons) * values.std(ddof=1) / np.sqrt(len(values))
    return Interval(float(values.mean()), float(values.mean() - half), float(values.mean() + half))


def standing(label: str, regrets: Mapping[str, np.ndarray]) -> Standing:
    """Where a policy stands, from the final regret of every policy in the same runs, label to [R].

    All that it says of one problem is right together with a probability of 95 %, as far as means of so many runs are
    normal.

    >>> regrets = {"mine": np.array([4.0, 6.0, 5.0]), "a": np.array([1.0, 3.1, 2.0]), "b": np.array([9.0, 0.0, 5.0])}
    >>> stands = standing("mine", regrets)
    >>> stands.rank, stands.ahead, stands.open, stands.best
    ('2 to 3 of 3', ['a'], ['b'], 'a')
    """
    others = [other for other in regrets if other != label]
    differences = {other: difference(regrets[label], regrets[other], len(others)) for other in others}
    best = min(regrets, key=lambda name: float(regrets[name].mean()))
    ahead = [other for other in others if differences[other].low > 0]
    behind = [other for other in others if differences[other].high < 0]
    unclear = [other for other in others if other not in ahead + behind]
    return Standing(best, ahead, behind, unclear, differences.get(best, Interval(0.0, 0.0, 0.0)))
