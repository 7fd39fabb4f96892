"""Lower bounds on the regret of every uniformly good policy, per log n."""

from __future__ import annotations

import jax
import numpy as np

from jaxbandit import chains, members
from jaxbandit.bounds.arms import (
    TOLERANCE,
    Bound,
    MarkovEnvironment,
    best_and_others,
    gaps,
    irreducible,
    shared_rewards,
    transitions,
    unit_numbers,
)
from jaxbandit.bounds.nearest import nearest_fast_enough, nearest_row, nearest_two_state
from jaxbandit.bounds.search import nearest_chain


def lower_paper(environment: MarkovEnvironment) -> Bound:
    """The paper's constants gap / I(M_k || M_1): the information to tell arm k from the best arm.

    I is `chains.kl_rate`. The bound is valid but loose: among the chains that are as good as the best arm, it uses the
    best arm's own and not the one nearest to arm k. Of several best arms it uses the nearest. The constant is 0 where
    arm k makes moves that the best arm cannot make.

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


def lower(environment: MarkovEnvironment, gap: float | None = None) -> Bound:
    """The tight constants gap_k / inf{I(M_k || M) : mean(M) >= mean_1}, M any chain on the arm's states and rewards.

    With two states the infimum is that of a convex function on a line, and certified: `uncertainty` says by how much
    the constant can exceed `per_arm`, which is rounding. With more, the chains that are good enough do not form a
    convex set. A search from many of them finds a chain near to arm k, which may have moves that arm k never makes.
    That chain is good enough, up to rounding, so that the constant is at least `per_arm`, which is a valid bound; it is
    not certified that no chain is nearer (uncertainty inf). For 320 random chains with three states and 200 with four,
    many with impossible moves, with a gap and without, differential evolution over all rows found none that is nearer
    by a part in 10^8. The constant is 0 for an arm that no chain on its states makes good enough.

    With a gap, M is a chain whose `chains.reward_gap` is at least that, and the distance of M_k from this class is
    subtracted:
    gap_k / (inf{I(M_k || M) : M in the class, mean(M) >= mean_1} - inf{I(M_k || M) : M in the class}).
    Where all arms are in the class the second infimum is 0, and this is the lower bound for policies that are good for
    all chains of the class. Where arm k is not in the class, it is not a bound but the regret of a policy that assumes
    that arm k is in the class and knows the best mean: gap_k over what a play adds to the log-likelihood ratio. It is
    inf where the nearest chain of the class is as good as the best arm, as such a policy never tells them apart. That
    happens with slow arms: in the class of gap 0.3 the nearest to p01 = 0.05, p10 = 0.04 has the mean 0.63. With more
    than two states the second infimum is the least that a search found, too.

    Args:
      gap: in [0, 1]; None, as 0, for all chains.

    Raises:
      ValueError: an arm is not irreducible, or the gap is not a number in [0, 1].

    Source: the proof of the paper's theorem 3 before it replaces the infimum by M_1; Burnetas and Katehakis 1997.

    >>> from jaxbandit import two_state
    >>> lower(two_state([0.5, 0.4], [0.4, 0.55])).per_arm.round(4).tolist()
    [0.0, 4.3621]
    >>> slow = two_state([0.5, 0.0004], [0.4, 0.00055])
    >>> [round(float(lower(slow, gap).total), 1) for gap in (None, 0.03, 0.1, 1)]
    [8012.7, 68.7, 19.0, 3.7]
    """
    least_gap = 0.0 if gap is None else float(unit_numbers("gap", gap, ends=True))
    transition, reward = irreducible(environment), np.asarray(environment.reward, float)
    distance = gaps(environment)
    target = float(environment.means().max())
    per_arm, uncertainty = np.zeros(len(distance)), np.zeros(len(distance))
    for k in best_and_others(distance)[1]:
        if reward[k].max() <= target:
            continue
        most, least = _information(transition[k], reward[k], target, least_gap)
        if most == 0:
            per_arm[k] = np.inf
            continue
        per_arm[k] = distance[k] / most
        uncertainty[k] = distance[k] / least - per_arm[k] if least > 0 else np.inf
    within = f"chains with a reward gap of at least {least_gap:g}" if least_gap else "all chains"
    return Bound("lower bound, tight", f"policies good for {within}", per_arm, per_arm.sum(), uncertainty=uncertainty)


def _information(transition: np.ndarray, reward: np.ndarray, target: float, gap: float) -> tuple[float, float]:
    """What a play adds to the log-likelihood ratio of the class to its good chains: a value reached, a lower bound."""
    if len(reward) == 2:
        mean, most, least = nearest_fast_enough(transition, reward, gap)
        if mean >= target:
            return 0.0, 0.0
        good, good_least = nearest_two_state(transition, reward, target, gap)
        return max(good - least, 0.0), good_least - most
    nearest = nearest_chain(transition, reward, gap=gap)
    if nearest.mean >= target:
        return 0.0, 0.0
    return max(nearest_chain(transition, reward, target, gap).rate - nearest.rate, 0.0), 0.0


def lai_robbins(environment: MarkovEnvironment) -> Bound:
    """The constants gap / inf{KL(row_k, q) : mean(q) >= mean_1} for i.i.d. arms, q any law on the arm's rewards.

    For Bernoulli arms gap / d(mean_k, mean_1). It holds for policies that are good for all i.i.d. arms, and is at most
    `lower`, for policies that are good for all chains. Where rewards have no finite table, q is any law of the arm's
    family (`environments.gaussian`, `poisson` and `exponential`): the constants are gap / D(mean_k || mean_1), for
    policies that are good for all arms of the family.

    Raises:
      ValueError: an arm is Markovian, or the laws of the arms do not belong to a one-parameter family.

    Source: Lai and Robbins 1985; Burnetas and Katehakis 1996 for more than two rewards.

    >>> from jaxbandit import bernoulli, environments
    >>> lai_robbins(bernoulli([0.75, 0.5])).per_arm.round(4).tolist()
    [0.0, 1.738]
    >>> lai_robbins(environments.gaussian([0.75, 0.5], deviation=0.5)).per_arm.round(4).tolist()  # 2 deviation^2 / gap
    [0.0, 2.0]
    """
    gap, target = gaps(environment), float(environment.means().max())
    if environment.reward is None:
        information, among = _of_family(environment, target)
    else:
        information, among = _of_rows(environment, gap, target), "i.i.d. arms"
    per_arm = np.zeros(len(gap))
    for k in best_and_others(gap)[1]:
        per_arm[k] = gap[k] / information[k]
    return Bound("lower bound, Lai and Robbins", f"policies good for {among}", per_arm, per_arm.sum())


def _of_family(environment: MarkovEnvironment, target: float) -> tuple[np.ndarray, str]:
    """D(mean_k || target) of each arm [K], in float64, and which laws the arms are among."""
    family = members.family(environment)
    if family is None:
        raise ValueError(
            "environment: the laws of its arms are of no one-parameter family; give Gaussian, Poisson or exponential "
            "arms"
        )
    with jax.enable_x64(True):
        divergence = np.asarray(family.divergence(environment.means(), target))
    return divergence, f"all arms of the family {type(family).__name__}"


def _of_rows(environment: MarkovEnvironment, gap: np.ndarray, target: float) -> np.ndarray:
    """The least divergence, from each arm's row, of a law on its rewards with the mean `target`, [K]; or inf."""
    transition, reward = transitions(environment), np.asarray(environment.reward, float)
    for arm, rows in enumerate(transition):
        if np.abs(rows - rows[0]).max() > TOLERANCE:
            raise ValueError(f"environment: arm {arm} is Markovian (its rows differ); this bound is for i.i.d. arms")
    divergence = np.full(len(gap), np.inf)
    for k in best_and_others(gap)[1]:
        if reward[k].max() > target:
            divergence[k] = nearest_row(transition[k, :1], reward[k][None] - target).cost[0]
    return divergence
