"""The chains of one exponential family: one chain tilted along its reward, in float64 on the host."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from jaxbandit import chains
from jaxbandit.arguments import finite
from jaxbandit.probabilities import stochastic


def generator_and_reward(generator: ArrayLike, reward: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """The generator of a family, with rows that sum to 1, and its reward, checked."""
    rows = finite("generator", generator)
    if rows.ndim != 2 or rows.shape[0] != rows.shape[1] or len(rows) < 2:
        raise ValueError(f"generator: shape {rows.shape} is not [S, S] with S >= 2")
    rows = stochastic("generator", rows)
    if (classes := chains.recurrent_classes(rows)) != [list(range(len(rows)))]:
        raise ValueError(f"generator: not irreducible, recurrent classes {classes}; every state must reach every other")
    paid = finite("reward", reward)
    if paid.shape != rows.shape[:1]:
        raise ValueError(f"reward: shape {paid.shape} is not [S] = ({len(rows)},)")
    if paid.min() == paid.max():
        raise ValueError(f"reward: every state pays {paid.min()}, so that theta changes nothing")
    return rows, paid


def tilted(theta: float, generator: np.ndarray, reward: np.ndarray) -> tuple[np.ndarray, float]:
    """The chain P(x, y) exp(theta f(y)) v(y) / (v(x) rho) [S, S], P = `generator`, f = `reward`, and A = log rho.

    rho and v are the largest eigenvalue of the matrix of P(x, y) exp(theta f(y)) and its right eigenvector. The chain
    is NaN where theta is so large that these are beyond the floats.

    >>> rows, A = tilted(-1.0, np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([0.0, 1.0]))
    >>> rows.round(4).tolist(), round(A, 4)
    ([[0.9869, 0.0131], [0.6773, 0.3227]], -0.0922)
    """
    tilt = theta * reward
    weights = generator * np.exp(tilt - tilt.max())
    if not weights.sum(1).all():
        return np.full_like(weights, np.nan), np.nan
    vector = perron(weights)
    moves = weights * vector
    leaving = moves.sum(1, keepdims=True)
    return moves / leaving, float(np.log(leaving.sum() / vector.sum()) + tilt.max())


def perron(weights: Any) -> Any:
    """Right eigenvector [S] of the largest eigenvalue of an irreducible nonnegative matrix, NumPy's or JAX's.

    By 40 squarings, without subtractions, so that small entries keep their digits. Powers of a periodic matrix have no
    limit, so a multiple of the identity is added. It is a lower bound of the eigenvalue, the largest n-th root of an
    entry on the diagonal of the n-th power for n up to S; with a much larger multiple the eigenvalue would lose digits.

    >>> perron(np.array([[0.5, 0.5], [1.0, 0.0]])).tolist()
    [1.0, 1.0]
    """
    larger = jnp.maximum if isinstance(weights, jax.Array) else np.maximum
    power, shift = weights, weights.diagonal().max()
    for n in range(2, len(weights) + 1):
        power = power @ weights
        shift = larger(shift, power.diagonal().max() ** (1 / n))
    power = weights + shift * np.eye(len(weights))
    power = power / power.max()
    for _ in range(40):
        power = power @ power
        power = power / power.max()
    vector = power.sum(1)
    return vector / vector.max()


def largest_cycle(generator: np.ndarray, reward: np.ndarray) -> float:
    """The largest mean reward of a possible cycle of states, the limit of the family's means.

    By Karp's theorem: the maximum over y of the minimum over k < S of (best_S(y) - best_k(y)) / (S - k), where
    best_k(y) is the largest total reward of k moves from state 0 that end in y.

    Source: Karp 1978.

    >>> largest_cycle(np.array([[0.5, 0.5, 0.0], [0.3, 0.4, 0.3], [0.0, 1.0, 0.0]]), np.array([0.0, 0.5, 1.0]))
    0.75
    """
    states = len(generator)
    gain = np.where(generator > 0, reward, -np.inf)
    best = [np.where(np.arange(states) == 0, 0, -np.inf)]
    for _ in range(states):
        best.append((best[-1][:, None] + gain).max(0))
    ends = np.isfinite(best[-1])
    moves = np.arange(states, 0, -1)[:, None]
    means = (best[-1][ends] - np.array(best[:-1])[:, ends]) / moves
    return float(means.min(0).max())
