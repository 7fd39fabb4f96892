"""How fast the regret of KL-UCB-MC and TV-KL-UCB grows at least: a power of n."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from jaxbandit import chains
from jaxbandit.arguments import choice
from jaxbandit.bounds.arms import MarkovEnvironment, TwoState, best_and_others, gaps, two_state_arms

Samples = Literal["arm", "state"]
POINTS, NARROWINGS = 41, 25  # of a grid over two numbers, which is halved around its best point each time


def regret_exponent(environment: MarkovEnvironment, samples: Samples = "arm") -> float:
    """The alpha for which the regret of `KLUCBMC` and `TVKLUCB` is proved to grow as n^(alpha - o(1)) or faster.

    Their index has a confidence bound on the row of the arm's present state, and none on the other row. So a best arm
    whose other row happens to look bad may go unplayed for a very long time. Let p and q be the best arm's
    probabilities of leaving its worse and its better state, m the largest mean of the other arms, w = m / (1 - m), and
    d the Bernoulli divergence. After its first T plays the best arm's estimates are a and b with a probability of
    exp(-T r), and then it is not played again before round exp(T c):
        r = (b d(a, p) + a d(b, q)) / (a + b),
        c = max(u d(a, w b), v d(b, a / w)),  u = v = 1 for samples="arm", u = b / (a + b) and v = a / (a + b)
        for samples="state".
    alpha = max(0, 1 - r / c), maximised over a and b with a < w b; of several best arms all must fail, and alpha is 1
    minus the sum of their r / c. It is 1 for samples="arm", the paper's equations, and for samples="state" where m is
    at least 1/2, but 0 if p = 1 and m is at most 1/2. For samples="state" and m below 1/2 it is often positive. A
    policy with alpha > 0 is not uniformly good, and no bound of the order log n on its regret can hold. The policy has
    no memory, and `TVKLUCB` has test="distance" and a positive exponent.

    Args:
      environment: two-state arms, as of `two_state`.
      samples: as of the policy, what divides the confidence level: the plays of the arm, or those in its present state.

    Returns:
      alpha in [0, 1]; 0 if all arms are best ones.

    Raises:
      ValueError: more than two states, different rewards, or an arm that is not irreducible.

    Source: our own proof, docs/uniformly_good.md, not peer-reviewed.

    >>> from jaxbandit import two_state
    >>> arms = two_state([0.5, 0.4, 0.3, 0.2, 0.1], [0.4, 0.55, 0.65, 0.65, 0.7])
    >>> regret_exponent(arms), round(regret_exponent(arms, samples="state"), 3)
    (1.0, 0.486)
    """
    choice("samples", samples, get_args(Samples))
    arms = two_state_arms(environment)
    best, others = best_and_others(gaps(environment))
    if not others:
        return 0.0
    rival = max(arms[k].mean for k in others)
    return max(0.0, 1.0 - sum(_least_ratio(arms[k], rival / (1 - rival), samples) for k in best))


def _least_ratio(arm: TwoState, odds: float, samples: Samples) -> float:
    """The least r / c over all estimates a = b odds share and b; inf where there is none."""
    if odds > 1:  # b = 1 and a < 1 forbid every index above the rival's mean in the worse state
        return 0.0
    if arm.p01 == 1:  # a = 1 always, and the index is at least 1 / (1 + b)
        return np.inf
    if samples == "arm":  # b = 1 and a near 0: c grows as log(1 / a), and r does not
        return 0.0
    low, width = np.zeros(2), np.ones(2)  # of share and b
    for _ in range(NARROWINGS):
        share, b = (start + size * np.linspace(0, 1, POINTS) for start, size in zip(low, width, strict=True))
        ratios = _ratio(arm, odds, share[:, None], b[None, :])
        at = np.unravel_index(ratios.argmin(), ratios.shape)
        width = width / 2
        low = np.clip(np.array([share[at[0]], b[at[1]]]) - width / 2, 0, 1 - width)
    return float(ratios.min())


def _ratio(arm: TwoState, odds: float, share: np.ndarray, b: np.ndarray) -> np.ndarray:
    """r / c for samples="state" and a = b odds share; its limit where a is 0."""
    a = b * odds * share
    rarity = b * _divergence(a, arm.p01) + a * np.where(a > 0, _divergence(b, arm.p10), 0)
    silence = np.maximum(
        b * _divergence(a, b * odds), np.where(a > 0, a * _divergence(b, np.maximum(b * share, 1e-300)), 0)
    )
    return np.where(silence > 0, rarity / np.maximum(silence, 1e-300), np.inf)


def _divergence(p: np.ndarray, q: np.ndarray | float) -> np.ndarray:
    p, q = np.broadcast_arrays(p, q)
    return np.asarray(chains.relative_entropy(np.stack([p, 1 - p], -1), np.stack([q, 1 - q], -1)))
