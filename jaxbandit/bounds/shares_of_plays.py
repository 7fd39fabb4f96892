"""How to share plays among arms so that they tell the best one from each other one as soon as possible, by cuts."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

MEANS, ROUNDS = 16, 25  # of each pair at first, and rounds of two more
NEAR = 1e-6  # of the range, a distance between two means that count as one
FEW = 4  # means at first, and rounds of one more, where each takes long
DOUBLINGS = 60  # of y, beyond which plays of the best arm tell nothing that plays of the others do not

# for means [P, n], one row a pair: information on the best arm, and on the other one, of a play, both [P, n]
Informations = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
Curve = Callable[[np.ndarray], np.ndarray]


class Cuts(NamedTuple):
    """Means to which both arms of each of P pairs may be moved, rising, and what a play tells against that."""

    mean: np.ndarray  # [P, n]
    best: np.ndarray  # [P, n], of the best arm; inf where it cannot have this mean
    other: np.ndarray  # [P, n], of the other one

    @property
    def possible(self) -> np.ndarray:
        return np.isfinite(self.best) & np.isfinite(self.other) & (self.other > 0)

    def with_more(self, mean: np.ndarray, best: np.ndarray, other: np.ndarray) -> Cuts:
        """These and further cuts, [P, n], in the order of their means."""
        together = Cuts(*(np.concatenate(pair, axis=1) for pair in zip(self, (mean, best, other), strict=True)))
        order = np.argsort(together.mean, axis=1, kind="stable")
        return Cuts(*(np.take_along_axis(values, order, 1) for values in together))


class Shares(NamedTuple):
    """Plays of each other arm for one of the best arm, and what follows from them."""

    rate: float  # y, what these plays tell at least of every pair
    plays: np.ndarray  # [P], x
    active: np.ndarray  # [P], the cut that asks for these plays
    excess: np.ndarray  # [P, n], plays that each cut asks for

    @property
    def time(self) -> float:
        """Rounds that these plays take for each unit of what they tell."""
        return float((1 + self.plays.sum()) / self.rate)


def shares(cuts: Cuts) -> Shares:
    """The x that minimise (1 + sum of x) / y with best_j + x_k other_j >= y for every cut j of each pair k.

    x_k(y) = max over j of (y - best_j) / other_j, which is convex in y. So the minimum is where
    F(y) = sum over k of best_j / other_j, of the cut j of each maximum, passes 1; F rises with y.
    """
    possible = cuts.possible
    if not possible.any():
        return Shares(np.inf, np.zeros(len(possible)), np.zeros(len(possible), int), np.zeros(possible.shape))
    best, other = np.where(possible, cuts.best, 0), np.where(possible, cuts.other, 1)
    price = best / other
    pairs = np.arange(len(best))

    def at(y: float) -> tuple[Shares, bool]:
        asked = np.where(possible, (y - best) / other, -np.inf)
        active = asked.argmax(1)
        plays = np.maximum(asked[pairs, active], 0)
        return Shares(y, plays, active, asked), bool(price[pairs, active][plays > 0].sum() < 1)

    high = float(best.max()) or float(other[possible].max())
    low = 0.0
    for _ in range(DOUBLINGS):
        if not at(high)[1]:
            break
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if at(middle)[1] else (low, middle)
    return at(high)[0]


def best_shares(informations: Informations, low: np.ndarray, high: float) -> tuple[Cuts, Shares]:
    """The cuts of some even means and then of two more at a time for each pair, and the shares among them.

    Each cut is a mean that both arms of a pair may have. All of them together are an upper bound on what plays tell,
    and a lower bound on the time. Means are added beside the one that asks for most plays: the vertex of the parabola
    through it and its neighbours, and the middle of the wider side. So where a pair's plays are unimodal in the mean,
    their largest number is best.

    Args:
      informations: of means [P, n] in (low, high].
      low: [P], means of the other arms.
      high: the best mean.
    """
    part = np.arange(1, MEANS + 1) / MEANS
    mean = low[:, None] + part * (high - low)[:, None]
    mean[:, -1] = high
    cuts = Cuts(mean, *informations(mean))
    for _ in range(ROUNDS):
        if not cuts.possible.any():
            break
        more = _between(cuts, shares(cuts), low)
        cuts = cuts.with_more(more, *informations(more))
    return cuts, shares(cuts)


def shares_by_few(quick: Informations, thorough: Informations, low: np.ndarray, high: float) -> tuple[Cuts, Shares]:
    """`best_shares` for slow informations: means are added where polynomials through the others have their best.

    Near an arm's own mean its information is a square. So the polynomials are of the root of the information through
    the distance from the arm's mean. The shares are those among the polynomials, which have more means than the cuts.

    Args:
      quick: informations for all means but the last.
      thorough: informations for the last means, which may be smaller.
    """
    part = np.arange(1, FEW + 1) / FEW
    mean = low[:, None] + part * (high - low)[:, None]
    mean[:, -1] = high
    cuts = Cuts(mean, *quick(mean))
    for n in range(FEW):
        guess, best = best_shares(_near(cuts, low, high), low, high)
        more = guess.mean[np.arange(len(low)), best.active][:, None]
        cuts = cuts.with_more(more, *(thorough if n == FEW - 1 else quick)(more))
    return cuts, best_shares(_near(cuts, low, high), low, high)[1]


def _near(cuts: Cuts, low: np.ndarray, high: float) -> Informations:
    """Informations at any means, from those of the cuts."""
    best = [_curve(mean, information, high) for mean, information in zip(cuts.mean, cuts.best, strict=True)]
    other = [_curve(mean, information, own) for mean, information, own in zip(cuts.mean, cuts.other, low, strict=True)]

    def informations(mean: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        first, second = (
            np.array([curve(m) for curve, m in zip(curves, mean, strict=True)]) for curves in (best, other)
        )
        return first, second

    return informations


def _curve(mean: np.ndarray, information: np.ndarray, own: float) -> Curve:
    """An information [n] at any mean, from those at some means [n], of an arm with the mean `own`; inf beyond infs."""
    known = np.isfinite(information) & (mean != own)
    if not known.any():
        return lambda m: np.full(m.shape, np.inf)
    at = mean[known]
    size = np.abs(at - own).max()
    degree = len(np.unique(np.round((at - own) / size, 3))) - 1  # means that nearly agree count once
    root = np.polynomial.Polynomial.fit(at, np.sqrt(information[known]) / np.abs(at - own), degree)
    return lambda m: np.where(np.abs(m - own) <= size, np.square((m - own) * root(m)), np.inf)


def _between(cuts: Cuts, best: Shares, low: np.ndarray) -> np.ndarray:
    """Two means for each pair beside its active cut, [P, 2]."""
    pairs, at, last = np.arange(len(low)), best.active, cuts.mean.shape[1] - 1
    here = cuts.mean[pairs, at]
    # the neighbours' places: a mean may be there twice or nearly so, and between two of these there is nothing to gain
    apart = NEAR * (cuts.mean[:, -1] - low)
    below = (cuts.mean < (here - apart)[:, None]).sum(1) - 1
    above = np.minimum((cuts.mean <= (here + apart)[:, None]).sum(1), last)
    before = np.where(below >= 0, cuts.mean[pairs, below], low)
    after = cuts.mean[pairs, above]
    left, right = here - before, after - here
    with np.errstate(all="ignore"):
        rise = best.excess[pairs, at] - np.where(below >= 0, best.excess[pairs, below], -np.inf)
        fall = best.excess[pairs, at] - best.excess[pairs, above]
        vertex = here + (right**2 * rise - left**2 * fall) / (right * rise + left * fall) / 2
    middle = np.where(left > right, before + left / 2, here + right / 2)
    inside = (vertex > before) & (vertex < after)
    return np.stack([np.where(inside, vertex, before + left / 2), middle], 1)
