"""Regret-bound formulas evaluated term by term in mpmath with 50 digits from the paper."""

from functools import cache

import numpy as np
from mpmath import mp, mpf
from scipy.special import rel_entr

from jaxbandit import chains

IID_TOLERANCE = 1e-9
# Means this near the largest are best too: 0.1, 0.3 and 0.3, 0.9 have one mean, but not as binary floats.
TIE_TOLERANCE = 1e-12
INF = mpf("inf")


def part(p, q):
    """Return p log(p / q), with 0 log 0 = 0 and inf where q is not positive but p is."""
    if p == 0:
        return mpf(0)
    return p * mp.log(p / q) if q > 0 else INF


def kl(x, y):
    """Return D(x || y) of the problem formulation."""
    return part(mpf(x), mpf(y)) + part(1 - mpf(x), 1 - mpf(y))


def best_arms(means):
    """Return the arms whose mean is the largest."""
    return [k for k, mean in enumerate(means) if mean >= max(means) - TIE_TOLERANCE]


def over_best(p01, p10, bracket):
    """Return per arm the least (gap times bracket, case letter) over the best arms it can be compared with."""
    arms = [(mpf(a), mpf(b)) for a, b in zip(p01, p10)]
    means = [a / (a + b) for a, b in arms]
    iid = [abs(a + b - 1) <= IID_TOLERANCE for a, b in arms]
    best = best_arms(means)
    result = [[(mpf(0), "")] if i in best else [] for i in range(len(arms))]
    for i in range(len(arms)):
        for one in best if i not in best else []:
            case = "abcd"[iid[one] + 2 * iid[i]]
            result[i].append(((means[one] - means[i]) * bracket(case, *arms[one], *arms[i]), case))
    return [min(pairs) for pairs in result]


def state_0_term(over, x, y):
    """Return over / D(x || y) where x < y < 1, 0 where y >= 1 (impossible event), inf where x is not below y."""
    if y >= 1:
        return mpf(0)
    return over / kl(x, y) if x < y else INF


def state_1_term(over, x, y):
    """Return over / D(x || y) where y < x, inf where it is not."""
    return over / kl(x, y) if y < x else INF


@mp.workdps(50)
def upper_asymptotic(p01, p10, always=None):
    """Return per arm the limsup constant of the upper-bound theorem (a)-(d), times the gap, and the case letters.

    `always`: one case for all arms, whatever they are.
    """

    def bracket(case, a1, b1, ai, bi):
        case = always or case
        mu1, mui = a1 / (a1 + b1), ai / (ai + bi)
        if case == "a":
            return state_0_term(2, ai, a1 * bi / b1) + state_1_term(2, bi, b1 * ai / a1)
        if case == "b":
            return state_0_term(1, ai, mu1 * bi / (1 - mu1)) + state_1_term(1, bi, ai * (1 - mu1) / mu1)
        return (2 if case == "c" else 1) / kl(mui, mu1)

    result = over_best(p01, p10, bracket)
    return [bound for bound, _ in result], [case for _, case in result]


@mp.workdps(80)
def mixing_sum(x):
    """Return the sum of proposition `mixing`, of (t+1)^3 exp(-2 (t-1) x) over t >= 1, by polylogarithms."""
    # With k = t - 1 and z = exp(-2x) the terms are (k^3 + 6 k^2 + 12 k + 8) z^k; Li_{-m}(z) sums k^m z^k from k = 1.
    z = mp.exp(-2 * x)
    return 8 + mp.fsum(weight * mp.polylog(-power, z) for power, weight in ((3, 1), (2, 6), (1, 12), (0, 8)))


@cache
@mp.workdps(50)
def iid_sum():
    """Return the two sums of proposition `Hellinger` for an i.i.d. arm: 200 terms, then Euler and Maclaurin's rule."""
    term = lambda t: 4 * mp.exp(-mpf(2) / 9 * mp.sqrt(t)) + (t + 1) ** 3 * mp.exp(-2 * mp.sqrt(t - 1))
    return mp.fsum(term(t) for t in range(1, 201)) + mp.sumem(term, [201, mp.inf], tol=mpf(10) ** -45)


def visit_time(a, b, eps1):
    """Return the part of t_{1,i}, t_{2,i} or t_{3,i} that belongs to the Markovian arm with p01 = a and p10 = b."""
    distance = (a + eps1) - (1 - b - eps1) if a + b < 1 else (a - eps1) - (1 - b + eps1)
    return 1 / abs(distance) ** 4


@mp.workdps(50)
def upper_finite(p01, p10, n, eps1, epsp, epsq):
    """Return per arm the finite-time bound of the upper-bound theorem at n, inf where the eps are not admissible."""
    n, eps1, epsp, epsq = map(mpf, (int(n), eps1, epsp, epsq))
    log_f = mp.log(1 + n * mp.log(n) ** 2)

    def bracket(case, a1, b1, ai, bi):
        mu1, mui = a1 / (a1 + b1), ai / (ai + bi)
        positive = [eps1, epsp, epsq]
        positive += [abs(a1 + b1 - 1) / 2 - eps1, a1 - epsp, a1 - eps1] if case in "ac" else [mu1 - epsp]
        positive += [abs(ai + bi - 1) / 2 - eps1, bi - eps1] if case in "ab" else []
        if min(positive) <= 0:
            return INF
        if case == "a":
            tau = visit_time(ai, bi, eps1) + visit_time(a1, b1, eps1)
            tau += state_0_term(log_f, ai + eps1, (a1 - epsp) * (bi - eps1) / (b1 + eps1))
            tau += state_1_term(log_f, bi - eps1, (b1 + eps1) * (ai + eps1) / (a1 - epsp))
            tau += state_0_term(log_f, ai + eps1, (a1 - eps1) * (bi - eps1) / (b1 + epsq))
            tau += state_1_term(log_f, bi - eps1, (b1 + epsq) * (ai + eps1) / (a1 - eps1))
            sums = 10 * mixing_sum(eps1**2 * (ai + bi) ** 2) + 10 * mixing_sum(eps1**2 * (a1 + b1) ** 2)
            return tau + 20 / eps1**2 + 2 / epsp**2 + 2 / epsq**2 + sums
        if case == "b":
            tau = visit_time(ai, bi, eps1)
            tau += state_0_term(log_f, ai + eps1, (mu1 - epsp) * (bi - eps1) / (1 - mu1 + epsp))
            tau += state_1_term(log_f, bi - eps1, (ai + eps1) * (1 - mu1 + epsp) / (mu1 - epsp))
            sums = 6 * mixing_sum(eps1**2 * (ai + bi) ** 2) + iid_sum()
            return tau + 6 / eps1**2 + 2 / epsp**2 + sums
        if case == "c":
            tau = visit_time(a1, b1, eps1)
            tau += state_0_term(log_f, mui + eps1, (a1 - epsp) / (a1 - epsp + b1 + eps1))
            tau += state_0_term(log_f, mui + eps1, (a1 - eps1) / (a1 - eps1 + b1 + epsq))
            sums = 6 * mixing_sum(eps1**2 * (a1 + b1) ** 2) + iid_sum()
            return tau + 7 / eps1**2 + 2 / epsp**2 + 2 / epsq**2 + sums
        # The paper's second argument of D is mu_1 - eps_1, a slip for mu_1 - eps_mu.
        tau = state_0_term(log_f, mui + eps1, mu1 - epsp)
        return tau + 1 / (2 * eps1**2) + 2 / epsp**2 + 2 * iid_sum()

    return [bound for bound, _ in over_best(p01, p10, bracket)]


def ucb_sm_constant(transitions, rewards, constant, gap):
    """Return constant S^2 r_max^2 pi_max^2 / (least gap), the exploration constant in the proof of theorem `eigen`."""
    laws, gaps = np.array([chains.stationary(rows) for rows in transitions]), []
    for law, rows in zip(laws, transitions):
        reversal = law * rows.T / law[:, None]
        # Chains that are not reversible may have complex eigenvalues; the second has the second largest real part.
        eigenvalues = np.sort(np.linalg.eigvals(reversal @ rows if gap == "multiplicative" else rows).real)
        gaps.append(1 if gap == "none" else 1 - eigenvalues[-2])
    pi_max = max(laws.max(), (1 - laws).max())
    return constant * len(transitions[0]) ** 2 * np.abs(rewards).max() ** 2 * pi_max**2 / min(gaps)


def lower_bounds(means, rate):
    """Return per arm the largest gap / rate(k, one) over the best arms `one`, and 0 for the best arms themselves."""
    best = best_arms(means)
    gaps = [0 if k in best else max(means) - mean for k, mean in enumerate(means)]
    return [max(gap / rate(k, one) if gap else gap for one in best) for k, gap in enumerate(gaps)]


def lower_paper(transitions, reward):
    """Return per arm gap / I(M_k || M_1), the theorem of appendix `a`, with I of the problem formulation."""
    laws = [chains.stationary(rows) for rows in transitions]
    rate = lambda k, one: laws[k] @ rel_entr(transitions[k], transitions[one]).sum(1)
    return lower_bounds([law @ reward for law in laws], rate)


@mp.workdps(50)
def lai_robbins(means):
    """Return per arm gap / D(mu_k || mu_1), the lower bound within i.i.d. Bernoulli arms that case (d) matches."""
    means = [mpf(mean) for mean in means]
    return lower_bounds(means, lambda k, one: kl(means[k], means[one]))
