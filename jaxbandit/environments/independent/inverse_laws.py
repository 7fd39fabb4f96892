"""Tables, made on the host, of quantile functions without a closed form: Poisson and beta."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np

ENTRIES = 1023  # thresholds of a Poisson law, enough for every allowed mean; ten bisection steps search them
PIECES, DEGREE = 90, 6  # pieces of half a unit of log-odds on each side, up to 45, and degree of their polynomials


def poisson_thresholds(mean: float) -> tuple[int, np.ndarray]:
    """The least value of a Poisson draw, and thresholds [N, 2] uint32: words of 64 bits, high before low.

    The n-th threshold is 2^64 times the probability of at most least + n, rounded: a draw is least plus the number of
    thresholds that do not exceed 64 random bits. Unused entries at the end are 2^64 - 1, as rare as the values left
    out.
    """
    scale, thresholds, least, value = 2**64, [], 0, 0
    with localcontext(prec=50):
        probability = (-Decimal(mean)).exp()
        below = probability
        while (threshold := int((below * scale).to_integral_value())) < scale - 1:
            if threshold == 0:
                least = value + 1
            else:
                thresholds.append(threshold)
            value += 1
            probability *= Decimal(mean) / value
            below += probability
    numbers = np.full(ENTRIES, scale - 1, np.uint64)
    numbers[: len(thresholds)] = thresholds
    return least, np.stack([numbers >> np.uint64(32), numbers & np.uint64(2**32 - 1)], -1).astype(np.uint32)


def beta_log_odds(a: float, b: float) -> np.ndarray:
    """Coefficients [2, 90, 7] of log(x / (1 - x)), x the beta quantile, as a function of the log-odds of u.

    First where u < 1/2, then where u > 1/2; on the n-th piece polynomials, from power 0 up, of the distance of
    2 |log-odds of u| from n + 1/2. The function is smooth, and straight in both tails, with slopes 1/a and 1/b.
    """
    nodes = np.cos(np.pi * (np.arange(DEGREE + 1) + 0.5) / (DEGREE + 1)) / 2
    between = np.linspace(-0.5, 0.5, 21)
    powers, all_powers = (np.vander(at, DEGREE + 1, increasing=True) for at in (nodes, between))
    middles = np.arange(PIECES)[:, None] + 0.5
    table = []
    for side in (-0.5, 0.5):
        coefficients = np.linalg.solve(powers, _quantile(side * (middles + nodes), a, b).T).T
        exact = _quantile(side * (middles + between), a, b)
        error = np.abs(coefficients @ all_powers.T - exact)
        allowed = 1e-7 * (np.abs(exact) + 2 * np.abs(coefficients[:, 1:2]))
        if not (error <= allowed).all():
            raise ValueError(f"a and b: Beta({a:g}, {b:g}) cannot be tabulated with the accuracy of a float")
        table.append(coefficients)
    return np.stack(table)


def _quantile(log_odds: np.ndarray, a: float, b: float) -> np.ndarray:
    """log(x / (1 - x)) at the log-odds of u, in float64, with all digits in both tails."""
    from scipy.special import betainccinv, betaincinv, betaln  # imported here, because it takes a sixth of a second

    below, above = 1 / (1 + np.exp(-log_odds)), 1 / (1 + np.exp(log_odds))
    small = log_odds < 0
    x = np.where(small, betaincinv(a, b, below), betainccinv(a, b, above))
    rest = np.where(small, betainccinv(b, a, below), betaincinv(b, a, above))
    whole = betaln(a, b)
    with np.errstate(divide="ignore"):
        # u = x^a / (a B(a, b)) where x is small
        logs = [
            np.where((tiny := (np.log(p) + np.log(c) + whole) / c) < -600, tiny, np.log(y))
            for y, p, c in ((x, below, a), (rest, above, b))
        ]
    return np.asarray(logs[0] - logs[1])
