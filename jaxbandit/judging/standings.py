"""Which policies the runs tell apart on a problem, and by how much one of them is above the least of the others.

All intervals of a report on a policy hold together: each is Student's, of paired differences, with the chance of error
divided by the number of comparisons (Bonferroni). A rank is claimed only where all differences that it depends on are
certain in this sense.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from jaxbandit.reports.tables import Row, mean_and_interval
from jaxbandit.stress import Interval, Survey
from jaxbandit.stress.survey import means_of_parts

CHANCE = 0.05  # of any error among all comparisons together
HEAVY = 0.2  # share of the sum of squares that one run may have before an interval is said to rest on few runs


class Standing(NamedTuple):
    """Where a policy stands among those that have played the same runs.

    Fields:
      best: label of the one with the least mean regret of the others; empty if there are none.
      ahead: labels of those that have certainly less regret.
      behind: labels of those that have certainly more.
      open: labels of those from which it is not told apart.
      least: mean regret of `best`.
      more: its regret minus that of `best`; negative where it has less than all others.
      times: its regret over that of `best`; None unless its own is above 0, and the other certainly.
      share: of the sum of squares of its differences to `best`, the largest that a single run has.
    """

    best: str
    ahead: list[str]
    behind: list[str]
    open: list[str]
    least: float
    more: Interval
    times: Interval | None
    share: float

    @property
    def of(self) -> int:
        """How many there are, with the policy itself."""
        return 1 + len(self.ahead) + len(self.behind) + len(self.open)

    @property
    def rank(self) -> str:
        """The rank where it is certain, and otherwise what is certain of it."""
        if not self.open:
            return f"{1 + len(self.ahead)} of {self.of}"
        words = [f"among the best {self.of - len(self.behind)} of {self.of}"] if self.behind else []
        if self.ahead:
            words.append("not the best" if len(self.ahead) == 1 else f"not among the best {len(self.ahead)}")
        return ", ".join(words) or "undecided"

    @property
    def is_first(self) -> bool:
        """Whether it certainly has the least regret."""
        return bool(self.behind) and not self.ahead and not self.open

    @property
    def is_told(self) -> bool:
        """Whether it certainly has the least regret, or another one certainly has less."""
        return self.is_first or bool(self.ahead)

    @property
    def heavy(self) -> bool:
        """Whether the comparison with `best` rests on few runs, so that its interval may be too short."""
        return self.share > HEAVY


def quantile(runs: int, comparisons: int) -> float:
    """Student's quantile for an interval that is one of many; infinite where so few runs cannot claim anything.

    A sign test is exact whatever the law of the differences, and even where all runs agree it has no smaller p-value
    than 2^(1 - runs). Fewer runs than it needs claim nothing here, either.
    """
    from scipy.special import stdtrit

    if 2.0 ** (1 - runs) > CHANCE / comparisons:
        return math.inf
    return float(stdtrit(runs - 1, 1 - CHANCE / 2 / comparisons))


def difference(first: np.ndarray, second: np.ndarray, comparisons: int = 1) -> Interval:
    """Mean of first minus second [R], run by run, with Student's interval, which is one of `comparisons`.

    >>> str(difference(np.array([3.0, 5.0, 4.0, 3.0, 4.0, 5.0]), np.ones(6)))
    '3.0 (2.1 to 3.9)'
    """
    values = first - second
    mean, t = float(values.mean()), quantile(len(values), comparisons)
    half = t * float(values.std(ddof=1)) / math.sqrt(len(values)) if t < math.inf else math.inf
    return Interval(mean, mean - half, mean + half)


def ratio(first: np.ndarray, second: np.ndarray, comparisons: int = 1) -> Interval | None:
    """Mean of first [R] over mean of second, run by run, with Fieller's interval; None unless both are above 0.

    There is none, either, where the runs do not tell that the second is above 0. The interval has every number r for
    which Student's interval of first - r second holds 0, so that it excludes 1 where that of `difference` excludes 0.

    Source: Fieller 1954, written from memory.

    >>> str(ratio(np.array([2.1, 4.0, 5.9, 8.0, 10.0, 12.0]), np.arange(1.0, 7.0)))
    '2.0 (2.0 to 2.0)'
    """
    t, a, b = quantile(len(first), comparisons), float(first.mean()), float(second.mean())
    if a <= 0 or b <= 0:
        return None
    if t == math.inf:
        return Interval(a / b, 0.0, math.inf)
    (of_a, of_both), (_, of_b) = (np.cov(first, second) * t * t / len(first)).tolist()
    square, product, rest = b * b - of_b, a * b - of_both, a * a - of_a
    if square <= 0:
        return None
    half = math.sqrt(max(0.0, product * product - square * rest))
    return Interval(a / b, (product - half) / square, (product + half) / square)


def standing(label: str, regrets: Mapping[str, np.ndarray], comparisons: int = 0) -> Standing:
    """Where a policy stands, from the final regret of every policy in the same runs, label to [R].

    As the intervals of all comparisons hold together, so does that of the comparison with the other one of the least
    mean, though it is these runs that say which one that is.

    Args:
      comparisons: how many are made in all; those of this problem by default.

    >>> run = np.arange(8.0)
    >>> regrets = {"mine": run + 4, "a": run % 2 + run, "b": np.array([9.0, 0, 5, 19, 2, 4, 0, 30])}
    >>> stands = standing("mine", regrets)
    >>> stands.rank, stands.ahead, stands.open, stands.best
    ('not the best', ['a'], ['b'], 'a')
    """
    others = {other: values for other, values in regrets.items() if other != label}
    if not others:
        return Standing("", [], [], [], math.nan, Interval(0.0, 0.0, 0.0), None, 0.0)
    own, many = regrets[label], comparisons or len(others)
    apart = {other: difference(own, values, many) for other, values in others.items()}
    best = min(others, key=lambda other: float(others[other].mean()))
    squares = (own - others[best] - apart[best].mean) ** 2
    ahead = [other for other, interval in apart.items() if interval.low > 0]
    behind = [other for other, interval in apart.items() if interval.high < 0]
    return Standing(
        best,
        ahead,
        behind,
        [other for other in others if other not in ahead + behind],
        float(others[best].mean()),
        apart[best],
        ratio(own, others[best], many),
        float(squares.max() / squares.sum()) if squares.max() > 1e-18 * (own**2).max() else 0.0,  # not of rounding
    )


def standing_over(survey: Survey, label: str) -> Standing:
    """Where a policy stands over a space, by the means of the independent parts of its problems."""
    parts = {each: means_of_parts(values.mean(-1)) for each, values in survey.regrets.items()}
    return standing(label, parts)._replace(share=0.0)  # which is not of a run


def columns(stands: Standing) -> Row:
    """Columns of a table."""
    none: Row = dict.fromkeys(("times the least", "times: 95% low", "times: 95% high"), "")
    times = mean_and_interval(stands.times, "times the least", "times: ") if stands.times else none
    row = {"standing": stands.rank} | times | {"by": stands.best, "least of the others": stands.least}
    return row | mean_and_interval(stands.more, "more than the least", "more: ")
