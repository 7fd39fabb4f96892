"""Regret, run by run."""

from __future__ import annotations

import numpy as np

from jaxbandit.metrics.counts import Counts, check_best_arm, check_label, check_result, collected, plays_of

# problems in which a play of an arm is not worth the arm's mean
JUDGED_BY_REWARD = ("restless", "observed", "restarting", "changing", "rotting", "decision process")
RECORDED = ("external_regret", "dynamic_regret")  # what may be recorded as the regret, the first that is there counts


def regret(result: Counts, label: str) -> np.ndarray:
    """The regret that suits the problem.

    It is what was recorded as "external_regret" or else as "dynamic_regret", where the environment has `means_now`, as
    arms that change do; else `realised_regret` for arms that move by themselves, restart or share one state, and
    `pseudo_regret` for all others. Tables and pictures show this one, and say which it is.

    Args:
      result: of `simulate`.
      label: of a policy.

    Returns:
      float64 [scenario, variant, run, time], in units of reward.

    Raises:
      ValueError: there is no such label, or no recorded round.

    >>> import jaxbandit
    >>> arms = jaxbandit.environments.restless([[[0.5, 0.5], [0.4, 0.6]], [[0.9, 0.1], [0.5, 0.5]]], (0, 1))
    >>> result = jaxbandit.simulate(arms, {"U": jaxbandit.Uniform()}, runs=5, horizon=100)
    >>> regret_name(result), bool((regret(result, "U") == realised_regret(result, "U")).all())
    ('realised regret', True)
    """
    check_result(result)
    if name := _recorded(result):
        check_label(result, label)
        return result.recorded[name][label]
    return (realised_regret if result.problem in JUDGED_BY_REWARD else pseudo_regret)(result, label)


def regret_name(result: Counts) -> str:
    """What the `regret` of this result is called."""
    check_result(result)
    if name := _recorded(result):
        of_oracle = "dynamic regret" if result.problem == "changing" else "regret against the greedy oracle"
        return of_oracle if name == "dynamic_regret" else "regret against the best single arm"
    if result.comparator is not None and result.comparator.ndim == 3:
        return "regret of episodes"
    if result.comparator_name is not None:
        return f"regret against {result.comparator_name}"
    return "realised regret" if result.problem in JUDGED_BY_REWARD else "pseudo-regret"


def dynamic_regret(result: Counts, label: str) -> np.ndarray:
    """Sum over rounds of how much more the best M arms of the round pay on average than those that were played.

    It is sum_t (max_k m_k(t) - m_{a_t}(t)) with one play a round, a_t the arm played and m_k(t) what a play of arm k
    pays on average in round t: the environment's `means_now`. `simulate` adds it up round by round. Where plays change
    what arms pay, as in arms that rot, the first of the two is what the greedy oracle's arms pay: another player of the
    same arms, who plays the M arms with the largest mean in every round. No player collects more from arms whose means
    never rise.

    Args:
      result: of `simulate`.
      label: of a policy.

    Returns:
      float64 [scenario, variant, run, time], in units of reward.

    Raises:
      ValueError: there is no such label, or the environment does not record it.

    >>> import jaxbandit
    >>> arms = jaxbandit.environments.piecewise([51], [[0.9, 0.2], [0.2, 0.9]])
    >>> result = jaxbandit.simulate(arms, {"first": jaxbandit.Oracle([1.0, 0.0])}, runs=2, horizon=100, times=[50, 100])
    >>> dynamic_regret(result, "first")[0, 0].round(5).tolist()
    [[0.0, 35.0], [0.0, 35.0]]
    """
    check_label(result, label)
    if "dynamic_regret" not in result.recorded:
        raise ValueError(
            "result: it has no dynamic regret, which is recorded of environments with means_now(state, t), such as "
            "arms that change"
        )
    return result.recorded["dynamic_regret"][label]


def pseudo_regret(result: Counts, label: str) -> np.ndarray:
    """Sum over arms k of plays_k (b - means_k), b the average of the M largest means: regret against the best M arms.

    b is the environment's `comparator` a play, where it declares one. For restless arms this is not what is lost:
    a player who comes to an arm in a good state collects more than its mean. The expectations of this regret and of
    `realised_regret` differ by at most the sum over arms k of (max h_k - min h_k) times the expected number of
    uninterrupted stretches in which arm k is played, h_k its `chains.relative_values`. A rested arm has one stretch.

    Args:
      result: of `simulate`.
      label: of a policy.

    Returns:
      float64 [scenario, variant, run, time], in units of reward, from whole-number counts.

    Raises:
      ValueError: there is no such label, or no recorded round; arms that change, are actions of a decision process, or
        all pay.

    >>> import jaxbandit
    >>> arms = jaxbandit.two_state([0.5, 0.4], [0.4, 0.55])
    >>> result = jaxbandit.simulate(arms, {"KL": jaxbandit.KLUCB(), "U": jaxbandit.Uniform()}, runs=5, horizon=100)
    >>> pseudo_regret(result, "KL").shape == (1, 1, 5, len(result.times))
    True
    """
    check_label(result, label)
    check_best_arm(result, "pseudo_regret")
    gaps = _benchmark(result)[:, None] - result.means
    regret: np.ndarray = np.einsum("cvrtk,ck->cvrt", plays_of(result, label), gaps)
    return regret


def realised_regret(result: Counts, label: str) -> np.ndarray:
    """t times the M largest means, minus the reward collected: float64 [scenario, variant, run, time].

    The environment's `comparator` stands for the M largest means, where it declares one. Can be negative, as luck
    counts; of rested arms its mean differs from pseudo-regret's by what the starts of the chains are worth. Of restless
    arms its mean is the weak regret (Tekin and Liu 2012), which may be negative and linear: with two copies of
    p01 = p10 = 0.2 a player who stays on an arm while it shows 1 collects 0.65 a round, and each arm's mean is 0.5.
    Where all arms pay, what is collected is what all of them pay, less what the plays cost, and the comparator is what
    the environment says: the best gain, or what the relaxation bounds it by (`regret_name`).
    Of arms that change, `means` are averages over the rounds that they were made for, so that this regret is against
    the best single arm, at the end of these rounds; `dynamic_regret` is what is meant for them.
    Of a decision process it is t times the best gain, minus the reward collected. With episodes it is the sum over them
    of V_1(s_1), the largest expected reward of an episode that begins in s_1, minus the reward collected; of an episode
    under way, the largest expected reward of what is left of it counts as collected.
    Where rewards have no finite table, the reward collected is read from the recorded sums, not from counts.

    Raises:
      ValueError: there is no such label, or no recorded round.

    >>> import jaxbandit
    >>> arms = jaxbandit.two_state([0.5, 0.4], [0.4, 0.55])
    >>> result = jaxbandit.simulate(arms, {"KL": jaxbandit.KLUCB(), "U": jaxbandit.Uniform()}, runs=5, horizon=100)
    >>> realised_regret(result, "U").shape == (1, 1, 5, len(result.times))
    True
    """
    check_label(result, label)
    if result.comparator is not None and result.comparator.ndim == 3:
        return np.asarray(_of_episodes(result, label, result.comparator) - collected(result, label))
    expected = result.times * result.plays * _benchmark(result)[:, None, None, None]
    return np.asarray(expected - collected(result, label))


def paired_difference(result: Counts, label: str, other: str) -> np.ndarray:
    """Final `regret` of `label` minus that of `other`, run by run, float64 [scenario, variant, run].

    Run j of both had the same random numbers. Variants are paired in order; a single one is paired with each of the
    other's.

    Raises:
      ValueError: there is no such label, or the numbers of variants cannot be paired.

    >>> import jaxbandit
    >>> arms = jaxbandit.two_state([0.5, 0.4], [0.4, 0.55])
    >>> result = jaxbandit.simulate(arms, {"KL": jaxbandit.KLUCB(), "U": jaxbandit.Uniform()}, runs=5, horizon=100)
    >>> bool((paired_difference(result, "KL", "U") == -paired_difference(result, "U", "KL")).all())
    True
    """
    check_label(result, other, "other")
    left, right = regret(result, label)[..., -1], regret(result, other)[..., -1]
    if left.shape[1] != right.shape[1] and 1 not in (left.shape[1], right.shape[1]):
        raise ValueError(f"other: {left.shape[1]} and {right.shape[1]} variants cannot be paired")
    difference: np.ndarray = left - right
    return difference


def _recorded(result: Counts) -> str | None:
    """The name of the regret that the environment has recorded, for every policy; None if it has none."""
    return next((name for name in RECORDED if result.recorded.get(name, {}).keys() >= result.visits.keys()), None)


def _of_episodes(result: Counts, label: str, values: np.ndarray) -> np.ndarray:
    """What the best policy collects from where episodes have begun, without what it would still: [c, v, r, t]."""
    begun, state = (result.recorded[name][label] for name in ("episodes", "state_now"))
    played = result.times % values.shape[1]  # rounds of the episode under way
    ahead = values[np.arange(len(values))[:, None, None, None], played, state]
    return np.asarray(np.einsum("cvrts,cs->cvrt", begun, values[:, 0]) - np.where(played > 0, ahead, 0))


def _benchmark(result: Counts) -> np.ndarray:
    """What regret is measured against, a play: [scenario]."""
    if result.comparator is not None:
        return np.asarray(result.comparator / result.plays)
    return np.asarray(np.sort(result.means, axis=1)[:, -result.plays :].mean(axis=1))
