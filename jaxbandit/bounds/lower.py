"""Lower bounds on the regret of every uniformly good policy, per log n."""

from __future__ import annotations

import numpy as np

from jaxbandit import chains
from jaxbandit.bounds.arms import (
    TOLERANCE,
    Bound,
    MarkovEnvironment,
    best_and_others,
    gaps,
    irreducible,
    shared_rewards,
    transitions,
)
from jaxbandit.bounds.nearest import nearest_chain, nearest_row, nearest_two_state


def lower_paper(environment: MarkovEnvironment) -> Bound:
    """The paper's constants gap / I(M_k || M_1): the information to tell arm k from the best arm.

    I is `chains.kl_rate`. Valid, but loose: the best arm's chain stands where the one nearest to arm k should, among
    those as good. Of several best arms the nearest counts. 0 where arm k moves as the best arm cannot.

    Raises:
      ValueError: an arm is not irreducible, or arms pay differently.

    Source: the paper's theorem 3 (appendix A), written for two states; the proof is the same for more.

    >>> from jaxbandit import two_state
    >>> lower_paper(two_state([0.5, 0.4], [0.4, 0.55])).per_arm.round(4).tolist()
    [0.0, 4.3534]
    """
    transition = irreducible(environment)
    shared_rewards(environment)
    gap = gaps(environment)
    best, others = best_and_others(gap)
    per_arm = np.zeros(len(gap))
    for k in others:
        per_arm[k] = gap[k] / min(chains.kl_rate(transition[k], transition[b]) for b in best)
    return Bound("lower bound, the paper's", "policies good for all chains", per_arm, per_arm.sum())


def lower(environment: MarkovEnvironment) -> Bound:
    """The tight constants gap / inf{I(M_k || M) : mean(M) >= mean_1}, M any chain on the arm's states and rewards.

    With two states the infimum is that of a convex function on a line, and certified: `uncertainty` says by how much
    the constant can exceed `per_arm`, which is rounding. With more, the chains that are good enough are no convex set,
    and a search from several of them finds one near to arm k. Any of them makes `per_arm` a valid bound; that none is
    nearer is not certified (uncertainty inf), but brute force on three states has found none. 0 for an arm that no
    chain on its states makes good enough.

    Raises:
      ValueError: an arm is not irreducible.

    Source: the proof of the paper's theorem 3 before it puts M_1 for the infimum; Burnetas and Katehakis 1997.

    >>> from jaxbandit import two_state
    >>> lower(two_state([0.5, 0.4], [0.4, 0.55])).per_arm.round(4).tolist()
    [0.0, 4.3621]
    """
    transition, reward = irreducible(environment), np.asarray(environment.reward, float)
    gap = gaps(environment)
    target = float(environment.means().max())
    per_arm, uncertainty = np.zeros(len(gap)), np.zeros(len(gap))
    for k in best_and_others(gap)[1]:
        if reward[k].max() <= target:
            continue
        if transition.shape[1] == 2:
            most, least = nearest_two_state(transition[k], reward[k], target)
        else:
            most, least = nearest_chain(transition[k], reward[k], target), 0.0
        per_arm[k] = gap[k] / most
        uncertainty[k] = gap[k] / least - per_arm[k] if least > 0 else np.inf
    return Bound("lower bound, tight", "policies good for all chains", per_arm, per_arm.sum(), uncertainty=uncertainty)


def lai_robbins(environment: MarkovEnvironment) -> Bound:
    """The constants gap / inf{KL(row_k, q) : mean(q) >= mean_1} for i.i.d. arms, q any law on the arm's rewards.

    For Bernoulli arms gap / d(mean_k, mean_1). It holds for policies that are good for all i.i.d. arms, and is at most
    `lower`, for policies that are good for all chains.

    Raises:
      ValueError: an arm is Markovian.

    Source: Lai and Robbins 1985; Burnetas and Katehakis 1996 for more than two rewards.

    >>> from jaxbandit import bernoulli
    >>> lai_robbins(bernoulli([0.75, 0.5])).per_arm.round(4).tolist()
    [0.0, 1.738]
    """
    transition, reward = transitions(environment), np.asarray(environment.reward, float)
    for arm, rows in enumerate(transition):
        if np.abs(rows - rows[0]).max() > TOLERANCE:
            raise ValueError(f"environment: arm {arm} is Markovian (its rows differ); this bound is for i.i.d. arms")
    gap = gaps(environment)
    target = float(environment.means().max())
    per_arm = np.zeros(len(gap))
    for k in best_and_others(gap)[1]:
        if reward[k].max() > target:
            per_arm[k] = gap[k] / nearest_row(transition[k, :1], reward[k][None] - target).cost[0]
    return Bound("lower bound, Lai and Robbins", "policies good for i.i.d. arms", per_arm, per_arm.sum())
