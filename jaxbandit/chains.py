"""Finite Markov chains in float64 NumPy: recurrent classes, stationary laws, thresholds for draws, entropies, gaps."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.arguments import Numbers, accepts, truth

__all__ = [
    "eigenvalue_gap",
    "kl_rate",
    "recurrent_classes",
    "relative_entropy",
    "relative_values",
    "reward_gap",
    "stationary",
    "thresholds",
]

CHAIN = Numbers("[S, S]", 0, 1, law=True, kind=np.float64)
ROWS = Numbers("[..., S]", 0, 1)
RAREST = 2.0**-31  # smallest positive probability that thresholds of 32 bits can represent, also for the last state


@accepts(transition=CHAIN)
def recurrent_classes(transition: ArrayLike) -> list[list[int]]:
    """The recurrent classes of one chain, each a sorted list of states.

    Args:
      transition: [S, S], row-stochastic.

    >>> recurrent_classes(np.array([[1.0, 0.0, 0.0], [0.5, 0.0, 0.5], [0.0, 0.0, 1.0]]))
    [[0], [2]]
    """
    reaches = np.asarray(transition) > 0
    reaches |= np.eye(len(reaches), dtype=bool)
    for s in range(len(reaches)):  # Warshall 1962: paths through the states up to s
        reaches[reaches[:, s]] |= reaches[s]
    classes = {tuple(np.flatnonzero(row).tolist()) for s, row in enumerate(reaches) if reaches[row, s].all()}
    return sorted(list(states) for states in classes)


@accepts(transition=CHAIN)
def stationary(transition: ArrayLike) -> np.ndarray:
    """Stationary law [S] of one chain with a single recurrent class.

    It is computed by elimination without subtractions, so that rare states keep full relative accuracy.

    Args:
      transition: [S, S], row-stochastic.

    Raises:
      ValueError: there are several recurrent classes, so the law is not unique.

    Source: Grassmann, Taksar and Heyman 1985.

    >>> stationary(np.array([[0.5, 0.5], [0.4, 0.6]])).round(6).tolist()
    [0.444444, 0.555556]
    """
    transition = np.asarray(transition, float)
    classes = recurrent_classes(transition)
    if len(classes) != 1:
        raise ValueError(f"transition: several recurrent classes {classes}; the long-run mean depends on the start")
    (states,) = classes
    rates = transition[np.ix_(states, states)].copy()
    for last in range(len(states) - 1, 0, -1):
        rates[:last, last] /= rates[last, :last].sum()
        rates[:last, :last] += np.outer(rates[:last, last], rates[last, :last])
    weights = np.ones(len(states))
    for s in range(1, len(states)):
        weights[s] = weights[:s] @ rates[:s, s]
    law = np.zeros(len(transition))
    law[states] = weights / weights.sum()
    return law


@accepts(transition=CHAIN, reward=Numbers("[S]"))
def relative_values(transition: ArrayLike, reward: ArrayLike) -> np.ndarray:
    """Relative values h [S]: the expected total reward from each state, minus the long-run mean m for each step.

    h solves h - P h = r - m with law h = 0, where P = `transition`, law is its stationary law, r = `reward` and
    m = law r. If row s of P changes in a direction d, which sums to 0, the derivative of m is
    law_s times the sum over s' of d_s' h_s'.

    Args:
      transition: [S, S], row-stochastic, with a single recurrent class.
      reward: [S], reward of the state in which a step begins.

    Raises:
      ValueError: as `stationary`.

    Source: Schweitzer 1968.

    >>> relative_values(np.array([[0.5, 0.5], [0.4, 0.6]]), np.array([0.0, 1.0])).round(6).tolist()
    [-0.617284, 0.493827]
    """
    transition, reward = np.asarray(transition, float), np.asarray(reward, float)
    law = stationary(transition)
    fundamental = np.eye(len(law)) - transition + law  # its inverse is Kemeny and Snell's fundamental matrix
    return np.asarray(np.linalg.solve(fundamental, reward - law @ reward))


@accepts(transition=CHAIN, reward=Numbers("[S]"))
def reward_gap(transition: ArrayLike, reward: ArrayLike) -> float:
    """Reward gap of one chain: (max r - min r) / (max u - min u), r = `reward` and u the `relative_values`; the rate at
    which the influence of the state on rewards decays.

    With rewards paid on arrival the values are h = u - r; u is the same for both. The gap is p01 + p10 for two states
    (as `eigenvalue_gap`), 1 for independent rewards, and 1 minus the eigenvalue where r - m is an eigenvector.
    Otherwise it may lie on either side of the eigenvalue gap: it depends only on how long the state influences later
    rewards. Every chain with a single recurrent class has a positive one.

    Raises:
      ValueError: as `stationary`, or all states pay the same.

    >>> round(reward_gap(np.array([[0.95, 0.05], [0.04, 0.96]]), np.array([0.0, 1.0])), 6)
    0.09
    """
    reward = np.asarray(reward, float)
    if np.ptp(reward) == 0:
        raise ValueError(f"reward: every state pays {reward[0]}, and the state has no influence on rewards")
    return float(np.ptp(reward) / np.ptp(relative_values(transition, reward)))


@accepts(law=Numbers("[..., S]", 0, 1, law=True, kind=np.float64))
def thresholds(law: ArrayLike, name: str = "transition") -> np.ndarray:
    """Integer thresholds [..., S-1] uint32 that map 32 random bits to a draw from `law` [..., S].

    The probability of each state is exact to within 2^-32, and 0 and 1 are exact (see `draws.play_bits`): 1e-4 is
    off by at most one part in 400,000, 1e-7 by one in 400.

    Args:
      law: [..., S], each sums to 1.
      name: of the argument, for the message.

    Raises:
      ValueError: a positive probability is below 2^-31.

    >>> thresholds(np.array([0.25, 0.75])).tolist()
    [1073741824]
    """
    law = np.asarray(law, float)
    if ((law > 0) & (law < RAREST)).any():
        raise ValueError(f"{name}: a positive probability is below 2^-31, too rare to be drawn; make it 0 or larger")
    return np.minimum(np.rint(np.cumsum(law, axis=-1)[..., :-1] * 2.0**32), 2.0**32 - 1).astype(np.uint32)


@accepts(p=ROWS, q=ROWS)
def relative_entropy(p: ArrayLike, q: ArrayLike) -> np.ndarray:
    """KL(p, q) = sum over s of p_s log(p_s / q_s) in float64: [..., S] and [..., S] to [...]; inf where only q_s is 0.

    It is computed as the sum of q h((p - q)/q) with h(e) = (1+e) log(1+e) - e. h is never negative, and this form keeps
    its digits near p = q, where the direct formula cancels.

    >>> float(relative_entropy(np.array([0.5, 0.5]), np.array([0.25, 0.75])).round(6))
    0.143841
    """
    p, q = np.broadcast_arrays(np.asarray(p, float), np.asarray(q, float))
    rare = (q > 0) & (q < p * 1e-300)  # where p / q would overflow
    possible = np.where((q > 0) & ~rare, q, 1)
    e = (p - q) / possible
    near = np.abs(e) < 1e-2
    small = np.where(near, e, 0)
    series = small * small * np.polyval(_SERIES, small)
    log = np.log1p(np.where(near | (e <= -1), 0, e))
    terms = possible * np.where(near, series, np.where(e <= -1, 0, (1 + e) * log) - e)
    terms = np.where(rare, p * (np.log(np.where(rare, p, 1)) - np.log(np.where(rare, q, 1))) - p, terms)
    return np.asarray(np.where(q > 0, terms, np.where(p > 0, np.inf, 0)).sum(-1))


_SERIES = [(-1) ** n / ((n + 1) * (n + 2)) for n in range(8)][::-1]  # h(e) / e^2 in powers of e, highest first


@accepts(transition=CHAIN, other=CHAIN)
def kl_rate(transition: ArrayLike, other: ArrayLike) -> float:
    """I(P || Q) = sum over s of law_s KL(P_s, Q_s), law the stationary law of P = `transition`, Q = `other`, [S, S].

    This is the mean log-likelihood ratio of P to Q for a step of P, in nats. It is inf if P has a transition that Q
    does not have.

    Source: the paper's section II, for two states.

    >>> round(kl_rate(np.array([[0.6, 0.4], [0.55, 0.45]]), np.array([[0.5, 0.5], [0.4, 0.6]])), 6)
    0.030896
    """
    law = stationary(transition)
    rates = relative_entropy(transition, other)
    return float(np.sum(law[law > 0] * rates[law > 0]))


@accepts(transition=CHAIN)
def eigenvalue_gap(transition: ArrayLike, symmetrise: bool = False) -> float:
    """1 minus the second largest eigenvalue of a reversible chain, or of the product of any chain with its reversal.

    With two states these are sigma = p01 + p10 and sigma (2 - sigma). The gap is computed from the probabilities of
    moving to another state, so that it keeps its digits for slowly moving chains.

    Args:
      transition: [S, S], row-stochastic and irreducible.
      symmetrise: whether to take the product, the multiplicative symmetrisation, which any irreducible chain has.

    Raises:
      ValueError: there is one state only, the chain is not irreducible, or it is not reversible without `symmetrise`.

    Source: Lezaud 1998; Tekin and Liu 2010 (without) and 2012 (with the symmetrisation).

    >>> round(eigenvalue_gap(np.array([[0.5, 0.5], [0.4, 0.6]])), 6)
    0.9
    >>> round(eigenvalue_gap(np.array([[0.5, 0.5], [0.4, 0.6]]), symmetrise=True), 6)
    0.99
    """
    truth("symmetrise", symmetrise)
    law = stationary(transition)
    if len(law) < 2:
        raise ValueError("transition: one state only, which has no second eigenvalue")
    if (law == 0).any():
        raise ValueError("transition: not irreducible, so its eigenvalue gap bounds nothing")
    flow = law[:, None] * np.asarray(transition, float)
    if symmetrise:
        flow = flow.T @ (flow / law[:, None])
    if not np.allclose(flow, flow.T, rtol=1e-9, atol=1e-300):
        raise ValueError("transition: not reversible, so its eigenvalue gap bounds nothing; take its symmetrisation")
    moving = (flow + flow.T) / 2
    np.fill_diagonal(moving, 0)
    laplacian = (np.diag(moving.sum(1)) - moving) / np.sqrt(np.outer(law, law))
    return float(np.linalg.eigvalsh(laplacian)[1])
