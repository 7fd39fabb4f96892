"""The least Bayes regret with two arms whose laws are drawn from a prior, by backward induction over counts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.base import described
from jaxbandit.indices.posterior_layers import layers_of_two
from jaxbandit.indices.posterior_tables import best_of_two

MOST = {2: 400, 3: 100}  # rounds by the axes of the prior, Bernoulli arms or chains: more take minutes, or gigabytes
NODES, NODES_OF_CHAINS = 300, 100  # of each half of an integral


@described
class BayesOptimum(NamedTuple):
    """What the best of all policies gets on average over arms that are drawn from a prior.

    Fields:
      reward: the largest expected total reward.
      best_mean: the expected mean of the better arm.
      regret: the least Bayes regret, horizon best_mean - reward; with chains it also holds what their first states are
        worth.
    """

    reward: float
    best_mean: float
    regret: float


def bayes_optimum(
    prior: ArrayLike, horizon: int, reward: ArrayLike = (0, 1), start: ArrayLike = (0, 0)
) -> BayesOptimum:
    """The largest expected total reward of `horizon` rounds with two arms whose laws are drawn from a prior.

    No policy gets more, averaged over arms drawn from the prior, however it chooses. What is known of an arm is how
    many of its plays had each result; with V_0 = 0 and the posterior chance p of the result that pays reward_1,

        V_n(known) = max over arms of (1 - p) (reward_0 + V_n-1(known and 0)) + p (reward_1 + V_n-1(known and 1)).

    An arm of two states goes from one to the other whenever it moves. So its n plays are known by how many moved and
    how many stayed in state 0, (n + 1) (n + 2) / 2 cases, and there are about horizon^6 / 720 pairs of cases in all
    (horizon^4 / 24 of Bernoulli arms).

    Args:
      prior: [2, 2], the parameters (b_0, b_1) of a Beta prior for each arm, whose mean chance of result 1 is
        b_1 / (b_0 + b_1); or [2, 2, 2], (b_0, b_1) of independent priors for the step from each state of each arm to
        states 0 and 1. Positive; (1, 1) is uniform.
      horizon: 1 to 400 rounds, or 1 to 100 of arms with two states.
      reward: [2], of results 0 and 1, or of the states to which a play leads.
      start: [2], the states, 0 or 1, in which arms with two states begin.

    Returns:
      `BayesOptimum`: the reward is exact but for rounding, the best mean within 1e-6 of the rewards' range
      where all parameters are between .01 and 1,000.

    Raises:
      ValueError: the argument and what is wrong with it.

    Source: Bellman 1956, for one arm whose chance is known; the counts of a chain are our own.

    >>> round(bayes_optimum([[1, 1], [1, 1]], 2).reward, 6)
    1.083333
    >>> round(bayes_optimum(np.ones((2, 2, 2)), 4, start=(1, 0)).reward, 6)
    2.241667
    """
    two = layers_of_two(prior, horizon, reward, start, MOST)
    *_, first_round = best_of_two(two.arms, two.reward)
    most, best = float(first_round.worth[0][0, 0]), _best_mean(two.prior, two.reward)
    return BayesOptimum(most, best, len(two.arms[0]) * best - most)


def _best_mean(prior: np.ndarray, reward: np.ndarray) -> float:
    """The expected mean of the better arm: reward_0 or, if it is larger, reward_1, and of the rest the larger share."""
    from scipy.special import betainc, betaincinv  # slow to import, so it waits until it is needed

    nodes, weights = np.polynomial.legendre.leggauss(NODES if prior.ndim == 2 else NODES_OF_CHAINS)
    # x = sin(angle)^2 makes the integrands smooth at 0 and 1; those of chains have a corner at 1/2
    angle = np.pi / 8 * np.concatenate([nodes + 1, nodes + 3])
    share, weight = np.sin(angle) ** 2, np.pi / 8 * np.tile(weights, 2) * np.sin(2 * angle)
    better = int(reward[1] > reward[0])

    def below(arm: np.ndarray) -> np.ndarray:
        """The chance that the better result's long-run share of plays is at most each x."""
        if arm.ndim == 1:
            return np.asarray(betainc(arm[better], arm[1 - better], share))
        leaves, comes = (
            (arm[better, 1 - better], arm[better, better]),
            (arm[1 - better, better], arm[1 - better, 1 - better]),
        )
        odds = share / (1 - share)
        # the share is at most x where the better state is reached with a chance of at most odds times that of leaving
        # it, which is certain if the latter is more than 1 / odds
        likely = betainc(*leaves, np.minimum(1 / odds, 1))
        away = betaincinv(*leaves, likely[:, None] * share[None])
        return np.asarray(likely * (betainc(*comes, np.minimum(away * odds[:, None], 1)) @ weight) + 1 - likely)

    larger = weight @ (1 - below(prior[0]) * below(prior[1]))
    return float(reward[1 - better] + abs(reward[1] - reward[0]) * larger)
