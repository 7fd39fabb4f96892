"""The paper's propositions 5 and 6 and the bound on KL of its appendix D, beside exact sums: nothing is simulated.

Proposition 5 says nothing of how t depends on s. With "t = s" the confidence level of the s-th bound is log f(s), the
smallest for t >= s; with "t = n" it is log f(n), the largest; and "rounds" is the sum that its proof bounds and the
theorem needs: over rounds t, of the probability that the bound at level log f(t) is too low for some s <= t.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import rel_entr
from scipy.stats import binom

from jaxbandit.reports.tables import Row

SAMPLES, ROUNDS = 1000, 200  # n of the sums over samples of proposition 5, and over rounds
CASES_5 = [(mean, eps) for mean in (0.1, 0.5, 0.9) for eps in (0.05, 0.2)]
BEST, OTHER = (0.5, 0.4), (0.4, 0.55)  # p01 and p10 of arms 1 and 2 of scenario 1
EPS_P, EPS_1, LAST = 0.01, (0.005, 0.02), 2000  # of proposition 6, where n is 2000 and a = log f(n)
ALL_EPS = np.geomspace(1e-6, 0.2, 2000)


def divergence(p: np.ndarray, q: np.ndarray | float) -> np.ndarray:
    """The Bernoulli divergence D(p || q)."""
    p, q = np.asarray(p), np.asarray(q)
    return np.asarray(rel_entr(p, q) + rel_entr(1 - p, 1 - q))


def log_f(t: np.ndarray | float) -> np.ndarray:
    """log f(t) with f(t) = 1 + t log^2 t."""
    return np.asarray(np.log1p(t * np.log(t) ** 2))


def misses(s: int, mean: float, end: float, level: float | np.ndarray) -> np.ndarray:
    """For each number of successes in s draws whether the confidence bound stops short of `end`, [s + 1].

    The bound is the upper one if `end` is below the mean, else the lower one; [T, s + 1] for levels [T, 1].
    """
    share = np.arange(s + 1) / s
    return ((share - end) * (end - mean) > 0) & (s * divergence(share, end) > level)


def sum_over_samples(mean: float, end: float, levels: np.ndarray) -> float:
    """Proposition 5's sum over s of P(the bound after s draws stops short of `end`), with the level of each s."""
    value = 0.0
    for s, level in enumerate(levels, start=1):
        value += binom.pmf(np.arange(s + 1), s, mean)[misses(s, mean, end, level)].sum()
    return float(value)


def sum_over_rounds(mean: float, end: float, rounds: int) -> float:
    """The sum over rounds t of P(for some s <= t the bound at level log f(t) stops short of `end`)."""
    t = np.arange(1, rounds + 1)
    law = np.zeros((rounds, rounds + 1))  # of the number of successes, where no bound has stopped short
    law[:, 0] = 1
    for s in range(1, rounds + 1):
        drawn = law * (1 - mean)
        drawn[:, 1:] += law[:, :-1] * mean
        drawn[:, : s + 1][misses(s, mean, end, log_f(t)[:, None])] = 0
        law = np.where((t >= s)[:, None], drawn, law)
    return float((1 - law.sum(1)).sum())


def proposition_5() -> Iterator[Row]:
    """Parts (a) and (b) in their three readings."""
    levels = {"t = s": log_f(np.arange(1, SAMPLES + 1)), f"t = n = {SAMPLES}": np.full(SAMPLES, log_f(SAMPLES))}
    for part, sign in (("5 (a)", -1), ("5 (b)", 1)):
        for mean, eps in CASES_5:
            case, end, bound = f"mean {mean:g}, eps {eps:g}", mean + sign * eps, 2 / eps**2
            if 0 < end < 1:
                for reading, level in levels.items():
                    yield _row(part, f"{case}, {reading}", sum_over_samples(mean, end, level), bound)
                yield _row(part, f"{case}, rounds to {ROUNDS}", sum_over_rounds(mean, end, ROUNDS), bound)


def distances(part: str, eps: float | np.ndarray) -> np.ndarray:
    """The divergence in the bound of a part of proposition 6 at eps_1 = `eps`; NaN where that is not admissible."""
    p, q = BEST[0] - EPS_P, BEST[1] + eps
    share = np.asarray(p / (p + q))  # the least mean of the best arm
    if part == "6 (c)":
        start, end = OTHER[0] / sum(OTHER) + eps, share
        return np.where(start < end, divergence(start, end), np.nan)
    leave, back = OTHER[0] + eps, OTHER[1] - eps
    admissible = leave < p * back / q
    start, end = (leave, p * back / q) if part == "6 (a)" else (back, q * leave / p)
    return np.where(admissible & (end < 1), divergence(start, np.minimum(end, 1)), np.nan)


def number(distance: float, a: float, c: int, n: int) -> int:
    """The number of s in c..n with distance <= a / s."""
    return max(0, min(n, int(a // distance)) - c + 1)


def chances_close(mean: float, end: float, a: float, n: int) -> np.ndarray:
    """For s = 1..n the probability that D(share || end + z) <= a / s for some z >= 0, [n]; mean < end."""
    chances = np.zeros(n)
    for s in range(1, n + 1):
        share = np.arange(s + 1) / s
        close = (share >= end) | (s * divergence(share, end) <= a)
        chances[s - 1] = binom.pmf(np.arange(s + 1), s, mean)[close].sum()
    return chances


def proposition_6() -> Iterator[Row]:
    """Each part with its worst Z, against the bound at the same eps_1 and, as printed, the least over all eps_1."""
    a = float(log_f(LAST))
    for part in ("6 (a)", "6 (b)", "6 (c)"):
        # parts (a) and (b) are largest with Z_1 = 0, and (c) with a Z_2 that brings end + Z_2 nearest to the share
        extra = 1 / (2 * ALL_EPS**2) if part == "6 (c)" else np.zeros_like(ALL_EPS)
        for eps in EPS_1:
            first, distance, chances = 0.0, float(distances(part, eps)), np.zeros(0)
            if part == "6 (c)":
                p, q, first = BEST[0] - EPS_P, BEST[1] + eps, 1 / (2 * eps**2)
                chances = chances_close(OTHER[0] / sum(OTHER), p / (p + q), a, LAST)
            for c in (1, 50):
                case = f"c = {c}, eps_1 = {eps:g}, "
                value = float(chances[c - 1 :].sum()) if len(chances) else number(distance, a, c, LAST)
                least = float(np.nanmin(extra + np.maximum(a / distances(part, ALL_EPS) - (c - 1), 0)))
                yield _row(part, case + "bound of that eps_1", value, first + max(a / distance - (c - 1), 0))
                yield _row(part, case + "least bound", value, least)
                if part == "6 (c)":
                    yield _row(part, case + "Z_2 of any sign, least bound", LAST - c + 1, least)


def dragomir() -> Row:
    """The largest ratio of D(p || q) and (p - q)^2 / (q (1 - q)) on a grid."""
    p, q = np.meshgrid(np.linspace(0, 1, 401), np.linspace(1e-3, 1 - 1e-3, 999))
    apart = np.abs(p - q) > 1e-9
    ratio = divergence(p, q)[apart] / ((p - q) ** 2 / (q * (1 - q)))[apart]
    return _row("appendix D", "largest D(p || q) / ((p - q)^2 / (q (1 - q))) on a grid", float(ratio.max()), 1)


def table() -> list[Row]:
    """Every sum beside its bound."""
    return [*proposition_5(), *proposition_6(), dragomir()]


def _row(proposition: str, case: str, value: float, bound: float) -> Row:
    verdict = "holds" if value <= bound else "does not hold"
    return {"proposition": proposition, "case": case, "sum": f"{value:.4g}", "bound": f"{bound:.4g}", "it": verdict}
