"""Upper bounds on the regret of TV-KL-UCB.

Both are written with the odds p01 / p10 of an arm's two states. A suboptimal arm is played while its optimistic odds
may exceed w, the best arm's odds: log f(n) / d(p01, w p10) times from one of its states, log f(n) / d(p10, p01 / w)
times from the other, log f(n) / d(mean, w / (1 + w)) times if it is i.i.d. Against a Markovian best arm all of this
counts twice, because that arm has an index from each of its two states. This gives the theorem's four cases.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit import chains
from jaxbandit.arguments import as_floats, choice
from jaxbandit.bounds.arms import Bound, MarkovEnvironment, TwoState, best_and_others, gaps, rounds, two_state_arms

Named = Literal["TV-KL-UCB", "KL-UCB-MC"]
LABEL = "upper bound of TV-KL-UCB"
HOLDS_FOR = "two-state arms, says the paper"
POINTS, NARROWINGS = 7, 14  # 1e-8 of the range, far less in the value at its minimum


def upper_asymptotic(environment: MarkovEnvironment, policy: Named = "TV-KL-UCB") -> Bound:
    """Constants of the paper's bound limsup R_n / log n <= sum over arms, by the case of each arm.

    With d the Bernoulli divergence, i the arm, 1 the best one, of two states 0 and 1, the better of which is 1:
    (a) both Markovian: 2 gap ([w p10_i < 1] / d(p01_i, w p10_i) + 1 / d(p10_i, p01_i / w)), w = p01_1 / p10_1,
    (b) best i.i.d., arm Markovian: the same with 1 in place of 2,
    (c) best Markovian, arm i.i.d.: 2 gap / d(mean_i, mean_1),
    (d) both i.i.d.: gap / d(mean_i, mean_1).
    Of several best arms, the one that gives the smallest constant counts.

    The paper's proof has a gap, and the bound does not hold: regret grows faster than log n (`regret_exponent`). Lower
    bounds of policies whose regret has the order log n can therefore exceed it, and do: in scenario 1 it is 9.05, below
    the paper's own 9.90 and the tight 13.69.

    Args:
      environment: two-state arms.
      policy: "TV-KL-UCB", or "KL-UCB-MC", for which the paper states case (a) for all arms. With scenario 1's means and
        i.i.d. arms that is 7.04, below the 8.32 of `lai_robbins`.

    Raises:
      ValueError: more than two states, different rewards, or an arm that is not irreducible.

    Source: the paper's theorem 1, and appendix D for KL-UCB-MC.

    >>> from jaxbandit import two_state
    >>> bound = upper_asymptotic(two_state([0.5, 0.4], [0.4, 0.55]))
    >>> bound.per_arm.round(4).tolist(), bound.cases
    ([0.0, 3.9391], ('', 'a'))
    """
    choice("policy", policy, get_args(Named))
    arms = two_state_arms(environment)
    always = policy == "KL-UCB-MC"

    def constant(best: TwoState, arm: TwoState) -> np.ndarray:
        ways = 1 if best.independent and not always else 2
        return np.asarray(ways * _plays(arm, np.zeros(()), np.asarray(best.p01 / best.p10), always))

    per_arm, cases = _against_best(gaps(environment), arms, constant, ())
    if always:
        cases = tuple("a" if case else "" for case in cases)
    return Bound(f"upper bound of {policy}, asymptotic", HOLDS_FOR, per_arm, per_arm.sum(0), cases=cases)


def upper_finite(environment: MarkovEnvironment, times: ArrayLike, eps: ArrayLike | None = None) -> Bound:
    """The paper's bound on R_n at finite times n, with its eps_1, eps_p, eps_q and eps_mu all `eps`, or searched for.

    gap times tau_i and the sums of theorem 1, with tau_i and t_i as in its proof and log f(n) = log(1 + n log^2 n). In
    case (d) tau has mean_1 - eps_mu, where the paper's mean_1 - eps_1 is a slip. Sums over t are in closed form or to
    1e-12. The bound is inf where `eps` is not admissible. In scenario 1 the paper's own choice (log n)^(-1/4) is not
    admissible until n = exp(2.5e6), and the eps found give a bound of 4e13: below that n it is weaker than R_n <= n.
    Its proof has the same gap as that of `upper_asymptotic`.

    Args:
      environment: two-state arms.
      times: [T], at least 1.
      eps: positive, [] or [T]; with None each of the four is searched for, so that the bound is least at each time.
        Any admissible ones make it valid; the bound found is within a tenth of the least one.

    Raises:
      ValueError: as `upper_asymptotic`, or times below 1, or eps not positive.

    Source: the paper's theorem 1 and appendix B.

    >>> from jaxbandit import two_state
    >>> bound = upper_finite(two_state([0.5, 0.1], [0.1, 0.5]), [1000, 10**9])
    >>> bound.total > 1e3
    array([ True,  True])
    >>> upper_finite(two_state([0.5, 0.1], [0.1, 0.5]), [1000], eps=0.3).total.tolist()
    [inf]
    """
    arms = two_state_arms(environment)
    times = rounds(times)
    log_f = np.log1p(times * np.log(times) ** 2)
    if eps is not None:
        eps = as_floats("eps", eps)
        if eps.shape not in ((), times.shape) or not (eps > 0).all():
            raise ValueError(f"eps: {eps} is not a positive number, nor one for each of the {times.size} times")

    def plays(best: TwoState, arm: TwoState) -> np.ndarray:
        return _finite_plays(best, arm, log_f, None if eps is None else np.broadcast_to(eps, times.shape))

    per_arm, cases = _against_best(gaps(environment), arms, plays, times.shape)
    return Bound(LABEL, HOLDS_FOR, per_arm, per_arm.sum(0), times=times, cases=cases)


def _against_best(
    gap: np.ndarray, arms: list[TwoState], plays: Callable[[TwoState, TwoState], np.ndarray], shape: tuple[int, ...]
) -> tuple[np.ndarray, tuple[str, ...]]:
    """gap times plays [K, *shape], for the best arm with which they are least, and the theorem's case of each arm."""
    best_arms, others = best_and_others(gap)
    per_arm, cases = np.zeros((len(arms), *shape)), [""] * len(arms)
    for i in others:
        values = [plays(arms[b], arms[i]) for b in best_arms]
        least = int(np.argmin([np.max(value) for value in values]))
        per_arm[i] = gap[i] * np.min(values, axis=0)
        cases[i] = "acbd"[2 * arms[best_arms[least]].independent + arms[i].independent]
    return per_arm, tuple(cases)


def _plays(arm: TwoState, eps: np.ndarray, odds: np.ndarray, by_rows: bool = False) -> np.ndarray:
    """Plays per unit of log f(n) until the arm's optimistic odds fall below `odds`, with estimates eps too good."""
    if arm.independent and not by_rows:
        return _inverse(arm.mean + eps, odds / (1 + odds))
    return np.asarray(_inverse(arm.p01 + eps, odds * (arm.p10 - eps)) + _inverse(arm.p10 - eps, (arm.p01 + eps) / odds))


def _inverse(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """1 / d(p, q), and 0 where q is beyond 1, because no estimate can be that large."""
    p, q = np.where(q < 1, p, 0), np.where(q < 1, q, 1)
    with np.errstate(divide="ignore"):
        return np.asarray(1 / chains.relative_entropy(np.stack([p, 1 - p], -1), np.stack([q, 1 - q], -1)))


class Way(NamedTuple):
    """How the best arm is judged: its pessimistic odds with (eps_1, e), and what e must stay below."""

    odds: Callable[[np.ndarray, np.ndarray], np.ndarray]
    limit: Callable[[np.ndarray], np.ndarray]


def _ways(best: TwoState, arm: TwoState) -> list[Way]:
    """One way for each state of a Markovian best arm, or one for the mean of another; against the arm's estimates."""

    def arm_odds(eps_1: np.ndarray) -> np.ndarray:
        if arm.independent:
            return (arm.mean + eps_1) / (1 - arm.mean - eps_1)
        return (arm.p01 + eps_1) / (arm.p10 - eps_1)

    mean, p01, p10 = best.mean, best.p01, best.p10
    if best.independent:
        return [
            Way(
                lambda eps_1, e: (mean - e) / (1 - mean + e),
                lambda eps_1: (mean - arm_odds(eps_1) * (1 - mean)) / (1 + arm_odds(eps_1)),
            )
        ]
    return [
        Way(lambda eps_1, e: (p01 - e) / (p10 + eps_1), lambda eps_1: p01 - arm_odds(eps_1) * (p10 + eps_1)),
        Way(lambda eps_1, e: (p01 - eps_1) / (p10 + e), lambda eps_1: (p01 - eps_1) / arm_odds(eps_1) - p10),
    ]


def _finite_plays(best: TwoState, arm: TwoState, log_f: np.ndarray, eps: np.ndarray | None) -> np.ndarray:
    """Bound on the expected plays of `arm`, [T]."""
    ways = _ways(best, arm)
    markovian = [chain for chain in (best, arm) if not chain.independent]
    most = min([arm.p10, 1 - arm.mean, best.p01, *(abs(chain.sigma - 1) / 2 for chain in markovian)])

    def of_a_way(eps_1: np.ndarray, odds: Callable[..., np.ndarray], e: np.ndarray) -> np.ndarray:
        return np.asarray(2 / e**2 + log_f * _plays(arm, eps_1, odds(eps_1, e)))

    def bound(eps_1: np.ndarray) -> np.ndarray:
        total = _outside(best, arm, eps_1)
        for way in ways:
            total = total + _minimum(partial(of_a_way, eps_1, way.odds), way.limit(eps_1))
        return total

    def room(eps_1: np.ndarray) -> np.ndarray:
        return np.asarray(np.min([way.limit(eps_1) for way in ways], axis=0))

    if eps is not None:
        inside = np.where(eps < most, eps, most / 2)
        with np.errstate(all="ignore"):
            total = _outside(best, arm, inside) + sum(of_a_way(inside, way.odds, inside) for way in ways)
        return np.asarray(np.where((eps < most) & (inside < room(inside)), total, np.inf))
    low, high = 0.0, most
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if room(np.asarray(middle)) > 0 else (low, middle)
    return _minimum(bound, np.full(log_f.shape, low))


def _outside(best: TwoState, arm: TwoState, eps_1: np.ndarray) -> np.ndarray:
    """The terms that do not grow with n: the rounds in which a test or an estimate is wrong, and t_i."""
    times = sum((abs(chain.sigma - 1) - 2 * eps_1) ** -4 for chain in (best, arm) if not chain.independent)
    mixing = {chain: mixing_sum(eps_1 * chain.sigma) for chain in {best, arm}}
    if not best.independent and not arm.independent:
        return np.asarray(times + 20 / eps_1**2 + 10 * mixing[arm] + 10 * mixing[best])
    wrong = 4 * independent_sum() + visits_sum()
    if not arm.independent:
        return np.asarray(times + 6 / eps_1**2 + 6 * mixing[arm] + wrong)
    if not best.independent:
        return np.asarray(times + 7 / eps_1**2 + 6 * mixing[best] + wrong)
    return np.asarray(1 / (2 * eps_1**2) + 2 * wrong)


def mixing_sum(x: np.ndarray) -> np.ndarray:
    """Sum over t >= 1 of (t + 1)^3 exp(-2 (t - 1) x^2)."""
    z = np.exp(-2 * x**2)
    return np.asarray((8 - 5 * z + 4 * z**2 - z**3) / (-np.expm1(-2 * x**2)) ** 4)


@cache
def independent_sum() -> float:
    """Sum over t >= 1 of exp(-2 sqrt(t) / 9)."""
    return float(np.exp(-2 / 9 * np.sqrt(np.arange(1.0, 100_000))).sum())


@cache
def visits_sum() -> float:
    """Sum over t >= 1 of (t + 1)^3 exp(-2 sqrt(t - 1))."""
    t = np.arange(1.0, 5_000)
    return float(((t + 1) ** 3 * np.exp(-2 * np.sqrt(t - 1))).sum())


def _minimum(objective: Callable[[np.ndarray], np.ndarray], limit: np.ndarray) -> np.ndarray:
    """Least value over 0 < x < limit of a function that falls and then rises, for each entry; x gets a leading axis."""
    steps = np.arange(1, POINTS + 1).reshape(-1, *[1] * limit.ndim) / (POINTS + 1)
    low, width = np.zeros_like(limit), limit
    for _ in range(NARROWINGS):
        values = objective(low + steps * width)
        low = low + values.argmin(0) * width / (POINTS + 1)
        width = width * 2 / (POINTS + 1)
    return np.asarray(values.min(0))
