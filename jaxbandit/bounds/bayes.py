"""The least Bayes regret with two arms whose laws are drawn from a prior, by backward induction over counts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.arguments import finite, integer
from jaxbandit.base import described

MOST_BERNOULLI, MOST_MARKOV = 400, 100  # rounds: more take minutes, or gigabytes
NODES = 60  # of each half of an integral


class Layer(NamedTuple):
    """What may be known of an arm after n plays, and what its next play does.

    Fields:
      chance: [C], of the second of two results.
      reward: [C, 2], of both results.
      following: [C, 2], the place of what is known then, in the layer of n + 1 plays.
    """

    chance: np.ndarray
    reward: np.ndarray
    following: np.ndarray


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
      `BayesOptimum`: the reward exact but for rounding, the best mean within 1e-7.

    Raises:
      ValueError: the argument and what is wrong with it.

    Source: Bellman 1956, for one arm whose chance is known; the counts of a chain are our own.

    >>> round(bayes_optimum([[1, 1], [1, 1]], 2).reward, 6)
    1.083333
    >>> round(bayes_optimum(np.ones((2, 2, 2)), 4, start=(1, 0)).reward, 6)
    2.241667
    """
    priors, paid, first = finite("prior", prior), finite("reward", reward), finite("start", start)
    if priors.shape not in ((2, 2), (2, 2, 2)):
        raise ValueError(f"prior: shape {priors.shape} is neither [2, 2] of Bernoulli arms nor [2, 2, 2] of chains")
    if not (priors > 0).all():
        raise ValueError(f"prior: {priors.min()} is not positive")
    if paid.shape != (2,):
        raise ValueError(f"reward: shape {paid.shape} is not [2], one of each result")
    if first.shape != (2,) or not np.isin(first, (0, 1)).all():
        raise ValueError(f"start: {first.tolist()} are not two states, each 0 or 1")
    rounds = integer("horizon", horizon, 1, MOST_BERNOULLI if priors.ndim == 2 else MOST_MARKOV)
    arms = [
        [_bernoulli(n, arm, paid) if priors.ndim == 2 else _chain(n, arm, paid, int(state)) for n in range(rounds)]
        for arm, state in zip(priors, first, strict=True)
    ]
    sizes = [n + 1 if priors.ndim == 2 else (n + 1) * (n + 2) // 2 for n in range(rounds + 1)]
    worth = [np.zeros((sizes[n], sizes[rounds - n])) for n in range(rounds + 1)]  # by the plays of the first arm
    for played in range(rounds - 1, -1, -1):
        worth = [
            np.maximum(
                _played(arms[0][n], worth[n + 1]),
                _played(arms[1][played - n], worth[n].T).T,
            )
            for n in range(played + 1)
        ]
    most, best = float(worth[0][0, 0]), _best_mean(priors, paid)
    return BayesOptimum(most, best, rounds * best - most)


def _best_mean(prior: np.ndarray, reward: np.ndarray) -> float:
    """The expected mean of the better arm: reward_0 or, if it is larger, reward_1, and of the rest the larger share."""
    from scipy.special import betainc, betaincinv  # slow to import, so it waits until it is needed

    nodes, weights = np.polynomial.legendre.leggauss(NODES)
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


def _played(layer: Layer, worth: np.ndarray) -> np.ndarray:
    """What a play of an arm is worth in each case of its layer, if the cases of the next are worth `worth` [C', D]."""
    chance = layer.chance[:, None]
    now = (1 - layer.chance) * layer.reward[:, 0] + layer.chance * layer.reward[:, 1]
    later = (1 - chance) * worth[layer.following[:, 0]] + chance * worth[layer.following[:, 1]]
    return np.asarray(now[:, None] + later)


def _bernoulli(plays: int, prior: np.ndarray, reward: np.ndarray) -> Layer:
    """The layer of a Bernoulli arm: by the number of plays with result 1."""
    ones = np.arange(plays + 1)
    chance = (prior[1] + ones) / (prior.sum() + plays)
    return Layer(chance, np.broadcast_to(reward, (plays + 1, 2)), np.stack([ones, ones + 1], 1))


def _chain(plays: int, prior: np.ndarray, reward: np.ndarray, start: int) -> Layer:
    """The layer of an arm of two states: by its moves, and by how many plays stayed in state 0."""
    moves, stayed = np.triu_indices(plays + 1)
    moves, stayed = moves, stayed - moves  # the first row is that of no move, with 0 to n stays in state 0
    others = plays - moves - stayed  # that stayed in state 1
    state = (start + moves) % 2
    from_start = (moves + 1) // 2  # moves out of the first state
    left = np.where(start == 0, from_start, moves - from_start), np.where(start == 1, from_start, moves - from_start)
    move, stay = np.where(state == 0, left[0], left[1]), np.where(state == 0, stayed, others)
    of_move, of_stay = prior[state, 1 - state] + move, prior[state, state] + stay
    p_move = of_move / (of_move + of_stay)

    def place(moves: np.ndarray, stayed: np.ndarray) -> np.ndarray:
        """The place of a case in the layer of one more play."""
        size = plays + 2
        return moves * size - moves * (moves - 1) // 2 + stayed

    moved, kept = place(moves + 1, stayed), place(moves, stayed + (state == 0))
    one = state == 1
    chance = np.where(one, 1 - p_move, p_move)
    following = np.where(one[:, None], np.stack([moved, kept], 1), np.stack([kept, moved], 1))
    return Layer(chance, np.broadcast_to(reward, (len(moves), 2)), following)
