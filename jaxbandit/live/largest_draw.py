"""The probability that each of several independent draws is the largest, by Gauss-Legendre quadrature in float64."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

# Where the panels of an integral end, in standard deviations from the mean. Logarithms of gamma draws and log-odds of
# beta draws have exponential tails, of which 40 standard deviations leave out less than 1e-17.
ENDS = np.array([0, 0.5, 1, 1.5, 2, 3, 4.5, 6.5, 9, 13, 20, 40])
ENDS = np.concatenate([-ENDS[:0:-1], ENDS])
NODES, WEIGHTS = (array / 2 for array in np.polynomial.legendre.leggauss(10))
NODES = NODES + 0.5
MOST = 2**22  # numbers of an array that are held at a time


def of_betas(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The probability that each of the draws from Beta(a, b) [rounds, K] is the largest."""
    from scipy.special import polygamma, psi  # slow to import, so it waits until it is needed

    def density(x: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Of log-odds, divided by that at the mean."""
        mean = (psi(a) - psi(b))[..., None, None]
        a, b = a[..., None, None], b[..., None, None]
        return np.asarray(np.exp(a * (x - mean) - (a + b) * (_softplus(x) - _softplus(mean))))

    return largest(density, psi(a) - psi(b), np.sqrt(polygamma(1, a) + polygamma(1, b)), a, b, at=0.0)


def of_gammas(shape: np.ndarray, rate: np.ndarray, sign: float = 1.0) -> np.ndarray:
    """The same of draws from Gamma(shape, rate), for the sign 1, or of their inverses, for -1."""
    from scipy.special import polygamma, psi

    def density(x: np.ndarray, shape: np.ndarray, rate: np.ndarray) -> np.ndarray:
        """Of sign times logarithms, divided by that at the mean."""
        y = sign * x + np.log(rate)[..., None, None]
        mean = psi(shape)[..., None, None]
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(shape[..., None, None] * (y - mean) - (np.exp(y) - np.exp(mean))))

    return largest(density, sign * (psi(shape) - np.log(rate)), np.sqrt(polygamma(1, shape)), shape, rate)


def of_normals(gained: np.ndarray, plays: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """The same of draws from Normal(gained / plays, variance / plays); an arm never played comes first."""
    number = np.maximum(plays, 1e-30)
    means, spread = np.where(plays > 0, gained / number, 0), np.sqrt(variance / np.where(plays > 0, number, 1))

    def density(x: np.ndarray, means: np.ndarray, spread: np.ndarray) -> np.ndarray:
        return np.asarray(np.exp(-(((x - means[..., None, None]) / spread[..., None, None]) ** 2) / 2))

    first = np.arange(plays.shape[-1]) == np.argmax(plays == 0, -1)[..., None]
    return np.where((plays == 0).any(-1, keepdims=True), first, largest(density, means, spread, means, spread))


def of_chains(*numbers: np.ndarray) -> np.ndarray:
    """The same of stationary means of chains with P01 from Beta(a, b) and P10 from Beta(c, d), all [rounds, K].

    The mean grows, or falls, with log(P01 / P10). For x <= 0 its density at x is the mean over P10 of the density of
    log P01 at x + log P10; for x > 0 arms change their roles.
    """
    from scipy.special import betaln, polygamma, psi

    *laws, low, high = numbers
    pays = np.stack([low, high])
    if not (pays == pays[:, :1, :1]).all() or (low == high).any():
        raise ValueError(
            "policy: choice probabilities of ThompsonMC are known for arms whose two states pay the same in all arms"
        )

    def half(x: np.ndarray, a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> np.ndarray:
        """The density of log(P / Q) at x <= 0, with P from Beta(a, b) and Q from Beta(c, d)."""
        ends = (psi(c) - psi(d))[..., None] + np.sqrt(polygamma(1, c) + polygamma(1, d))[..., None] * ENDS
        z = (ends[..., :-1, None] + np.diff(ends)[..., None] * NODES).reshape(*ends.shape[:-1], -1)
        q = -_softplus(-z)  # logarithms of Q
        chance = np.exp(c[..., None] * q - d[..., None] * _softplus(z) - betaln(c, d)[..., None])
        chance *= (np.diff(ends)[..., None] * WEIGHTS).reshape(z.shape)
        total = np.zeros(np.broadcast_shapes(x.shape, a[..., None, None].shape))
        for n in range(z.shape[-1]):
            p = np.minimum(x + q[..., n, None, None], -1e-300)
            logarithm = a[..., None, None] * p + (b - 1)[..., None, None] * np.log(-np.expm1(p))
            total += chance[..., n, None, None] * np.exp(logarithm - betaln(a, b)[..., None, None])
        return total

    def density(x: np.ndarray, a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> np.ndarray:
        return np.where(x <= 0, half(np.minimum(x, 0), a, b, c, d), half(-np.maximum(x, 0), c, d, a, b))

    a, b, c, d = laws
    mean = psi(a) - psi(a + b) - psi(c) + psi(c + d)
    spread = np.sqrt(polygamma(1, a) - polygamma(1, a + b) + polygamma(1, c) - polygamma(1, c + d))
    if (high > low).all():
        return largest(density, mean, spread, *laws, at=0.0)
    return largest(lambda x, *rest: density(-x, *rest), -mean, spread, *laws, at=0.0)


def largest(
    density: Callable[..., np.ndarray], mean: np.ndarray, spread: np.ndarray, *numbers: np.ndarray, at: float = np.nan
) -> np.ndarray:
    """The probability [rounds, K] that each of K independent draws is the largest.

    `density` has the shape [rounds, K, panels, nodes] and depends on [rounds, 1, panels, nodes] and on the `numbers`
    [rounds, K]; `at` is a place where it may have a kink.
    """
    arms = mean.shape[-1]
    step = max(MOST // (arms * arms * (len(ENDS) + 1) * len(NODES)), 1)
    parts = []
    for n in range(0, len(mean), step):
        ends = mean[n : n + step, :, None] + spread[n : n + step, :, None] * ENDS
        ends = np.sort(ends.reshape(len(ends), -1), -1)
        if at == at:
            ends = np.sort(np.append(ends, np.clip(np.full_like(ends[:, :1], at), ends[:, :1], ends[:, -1:]), -1), -1)
        widths = np.diff(ends)[..., None]
        x = ends[:, None, :-1, None] + widths[:, None] * NODES
        height = density(x, *(each[n : n + step] for each in numbers)) * widths[:, None]
        masses = height * WEIGHTS
        whole = masses.sum(-1)
        below = (np.cumsum(whole, -1) - whole)[..., None] + height @ UP_TO.T
        total = whole.sum(-1)[..., None, None]
        others = _others(np.clip(below / total, 0, 1))
        parts.append((masses / total * others).sum((-1, -2)))
    chances = np.concatenate(parts)
    return np.asarray(chances / chances.sum(-1, keepdims=True))


def _others(values: np.ndarray) -> np.ndarray:
    """The product over all other arms of values [rounds, K, ..], without a division by small ones."""
    ones = np.ones_like(values[:, :1])
    before = np.cumprod(np.concatenate([ones, values[:, :-1]], 1), 1)
    after = np.cumprod(np.concatenate([ones, values[:, :0:-1]], 1), 1)[:, ::-1]
    return np.asarray(before * after)


def _softplus(x: np.ndarray) -> np.ndarray:
    """log(1 + exp(x))."""
    return np.logaddexp(0.0, x)


def _integrals() -> np.ndarray:
    """[nodes, nodes]: the integral from 0 to each node of the polynomial that is 1 at one node and 0 at the others."""
    number = len(NODES)
    x = 2 * NODES - 1
    values = np.polynomial.legendre.legvander(x, number)  # [nodes, degrees]
    degrees = np.arange(1, number)
    upper = np.concatenate([x[:, None] + 1, (values[:, 2:] - values[:, : number - 1]) / (2 * degrees + 1)], 1)
    return np.asarray(upper @ np.linalg.inv(values[:, :number]) / 2)


UP_TO = _integrals()
