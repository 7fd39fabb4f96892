"""How many rounds it takes at least to know which arm is best, and how the plays are shared among the arms then."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit import chains
from jaxbandit.arguments import as_floats, excerpt
from jaxbandit.base import described
from jaxbandit.bounds.arms import MarkovEnvironment, best_and_others, gaps
from jaxbandit.bounds.moved_means import Among, Class, class_of
from jaxbandit.bounds.shares_of_plays import Cuts, best_shares, shares, shares_by_few


@described
class Pair(NamedTuple):
    """The problem in which another arm is as good as the best one that is hardest to tell from this one.

    Fields:
      arm: the other arm.
      mean: the mean that both have there; NaN if no problem of the class gives both the same.
      of_best: what a play of the best arm tells against that problem, in nats.
      of_arm: what a play of the other arm tells.
      information: what a round tells, w_best of_best + w_arm of_arm: 1 / time, or more for an arm without a weight.
    """

    arm: int
    mean: float
    of_best: float
    of_arm: float
    information: float


@described
class Identification(NamedTuple):
    """How hard it is to know which arm is best.

    Fields:
      time: T*, rounds for each unit of log(1 / delta).
      weights: w* [K], the share of all plays that each arm gets where that is reached; their sum is 1.
      pairs: for each other arm, what distinguishes the best one from it.
      best: the best arm.
      holds_for: the arms that an algorithm has to be right for, in words.
      constant: nats by which the information may exceed its long-run value, because of where the chains start. 0 for
        independent arms; NaN for a family of chains, where it is not computed.
      tight: whether `time` is T*, up to a part in 10^9; else it is the largest lower bound found, and T* may be larger.
    """

    time: float
    weights: np.ndarray
    pairs: tuple[Pair, ...]
    best: int
    holds_for: str
    constant: float
    tight: bool

    def at_least(self, delta: ArrayLike) -> np.ndarray:
        """T* kl(delta, 1 - delta), the least expected rounds of a delta-correct algorithm up to a constant of the arms.

        E tau >= T* (kl(delta, 1 - delta) - c), with c = `constant`: before an algorithm stops, the states that a chain
        leaves are not in the proportions of its stationary law. For independent arms c is 0.

        Args:
          delta: largest probability of a wrong answer, in (0, 1/2].

        Raises:
          ValueError: delta is not in (0, 1/2].
        """
        wrong = _probability(delta)
        return np.asarray(self.time * (1 - 2 * wrong) * (np.log1p(-wrong) - np.log(wrong)))

    def about(self, delta: ArrayLike) -> np.ndarray:
        """T* log(1 / delta), which the rounds of the best algorithms approach in proportion as delta falls to 0.

        Args:
          delta: largest probability of a wrong answer, in (0, 1/2].

        Raises:
          ValueError: delta is not in (0, 1/2].
        """
        return np.asarray(-self.time * np.log(_probability(delta)))


def identification(environment: MarkovEnvironment, among: Among = None) -> Identification:
    """How hard it is to know which arm is best: the characteristic time T* and the shares of plays w* that reach it.

    An algorithm plays one arm a round, stops at a round tau of its choice and names an arm. It is delta-correct if for
    all arms of a class it names another arm than the best with a probability of at most delta. Then
        liminf of E tau / log(1 / delta) >= T* for delta to 0,   E tau >= T* (kl(delta, 1 - delta) - c),
    with 1 the best arm
        1 / T* = max over w of min over k of inf over m of w_1 I-(P_1, m) + w_k I+(P_k, m),
        I+(P, m) = inf{I(P || Q) : mean(Q) >= m},   I-(P, m) = inf{I(P || Q) : mean(Q) <= m},
    Q in the class, I the `chains.kl_rate`: what a play of an arm tells against the problem in which the best arm and
    arm k both have the mean m. w is solved for as by Garivier and Kaufmann: if the best arm is played once, arm k has
    to be played x_k(y) = max over m of (y - I-(P_1, m)) / I+(P_k, m) times for this to be y, and (1 + sum of x_k(y)) /
    y is least where the sum of I- / I+ at these m is 1. Every m gives a lower bound on T*.

    c is the mean over k, with the weights 1 / (T* I+(P_k, m)), of what the arms 1 and k can tell beyond I a play. With
    Q the chain to which an arm P is moved, f_s = KL(P_s, Q_s) and h the `chains.relative_values` of P with the rewards
    f, n plays tell n I + h(first state) - h(last state) on average, which is at most n I + E h(first state) - min h.

    For two states I is in closed form, and it is convex in the log odds of m; for independent arms, and in families, in
    m or in the family's parameter. So where the arms also pay alike, nothing is missed. For three states and more I is
    that of the nearest chain that a search finds (`lower`), and m the best of some that are searched: `time` is a lower
    bound on T* that may not be the largest. Five arms of three states take some ten seconds.

    The larger the class, the larger is T*: one that is right for all chains needs more rounds on independent arms, too.

    Args:
      environment: arms with one best arm.
      among: the class that the algorithm is right for. "chains": all chains on the arms' states and rewards.
        "independent": all laws on the arms' rewards, for arms whose rows are equal. One of `jaxbandit.families`: all
        arms of that family. None: the family of arms without a finite table of rewards, "independent" if all rows of
        each arm are equal, else "chains".

    Raises:
      ValueError: two arms have the best mean, there is one arm only, an arm is not irreducible, or the arms are not in
        the class.

    Source: Garivier and Kaufmann 2016, written from memory, for independent arms; Moulos 2019 (its introduction was
    read) for one family of chains; for all chains the same proof, with what a move tells in place of a reward.

    >>> from jaxbandit import bernoulli, two_state
    >>> result = identification(two_state([0.5, 0.4], [0.4, 0.55]))
    >>> round(result.time, 2), result.weights.round(3).tolist(), round(float(result.at_least(0.1)), 1)
    (130.37, [0.512, 0.488], 229.2)
    >>> round(identification(bernoulli([0.5, 0.45, 0.43, 0.4])).time, 2)
    989.79
    """
    best, others = _one_best(environment)
    means = np.asarray(environment.means(), float)
    kind = class_of(environment, best, others, among)
    low, high = means[others], float(means[best])
    if kind.thorough is None:
        cuts, best_plays = best_shares(kind.informations, low, high)
    else:
        cuts, best_plays = shares_by_few(kind.informations, kind.thorough, low, high)
    time = shares(cuts).time
    weights = np.ones(len(means))
    if time > 0:
        weights[others] = best_plays.plays
    weights /= weights.sum()
    pairs = _pairs(cuts, weights, best, others)
    return Identification(
        time=time,
        weights=weights,
        pairs=pairs,
        best=best,
        holds_for=kind.name,
        constant=_constant(environment, kind, best, [pair for pair in pairs if weights[pair.arm] > 0 < time]),
        tight=kind.tight,
    )


def _one_best(environment: MarkovEnvironment) -> tuple[int, np.ndarray]:
    """The best arm and the others."""
    best, others = best_and_others(gaps(environment))
    if len(best) > 1:
        mean = float(np.max(environment.means()))
        raise ValueError(
            f"environment: arms {', '.join(map(str, best))} all have the best mean, {mean:g}; no number of rounds "
            "tells which of them is best"
        )
    if not others:
        raise ValueError("environment: there is one arm only, which is the best")
    return best[0], np.array(others)


def _pairs(cuts: Cuts, weights: np.ndarray, best: int, others: np.ndarray) -> tuple[Pair, ...]:
    pairs = []
    for k, arm in enumerate(others.tolist()):
        if not cuts.possible[k].any():
            pairs.append(Pair(arm, np.nan, np.inf, np.inf, np.inf))
            continue
        rate = np.where(cuts.possible[k], weights[best] * cuts.best[k] + weights[arm] * cuts.other[k], np.inf)
        at = int(rate.argmin())
        mean, of_best, of_arm = (float(values[k, at]) for values in cuts)
        pairs.append(Pair(arm, mean, of_best, of_arm, float(rate[at])))
    return tuple(pairs)


def _constant(environment: MarkovEnvironment, kind: Class, best: int, pairs: list[Pair]) -> float:
    """The most that pairs with weights tell beyond what they tell in the long run, on the average over them."""
    nearest = kind.nearest
    if nearest is None:
        return kind.constant

    def beyond(arm: int, mean: float, information: float) -> float:
        if information == 0:
            return 0.0
        rows = np.asarray(environment.transition[arm], float)
        values = chains.relative_values(rows, chains.relative_entropy(rows, nearest(arm, mean)))
        return float(environment.initial[arm] @ values - values.min())

    both = [beyond(best, pair.mean, pair.of_best) + beyond(pair.arm, pair.mean, pair.of_arm) for pair in pairs]
    return float(np.average(both, weights=[1 / pair.of_arm for pair in pairs])) if pairs else 0.0


def _probability(delta: ArrayLike) -> np.ndarray:
    wrong = as_floats("delta", delta)
    if not ((wrong > 0) & (wrong <= 0.5)).all():
        raise ValueError(f"delta: {excerpt(delta)} is not in (0, 1/2]")
    return wrong
