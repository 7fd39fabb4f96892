"""Regret and its summaries: float64 NumPy functions of a result's counts."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from jaxbandit.arguments import has, number, shown
from jaxbandit.summaries import Summary as Summary
from jaxbandit.summaries import median_interval as median_interval
from jaxbandit.summaries import summary as summary

__all__ = [
    "Summary",
    "best_arms",
    "best_share",
    "discounted_reward",
    "dynamic_regret",
    "linear_share",
    "median_interval",
    "paired_difference",
    "pseudo_regret",
    "realised_regret",
    "regret",
    "regret_name",
    "summary",
]

# problems in which a play of an arm is not worth the arm's mean, and those in which no arm is the best one throughout
JUDGED_BY_REWARD = ("restless", "observed", "restarting", "changing", "decision process")
NO_BEST_ARM = ("changing", "decision process")
# what an environment may record as the regret, in the order in which it counts, and what it is called
RECORDED = {"external_regret": "regret against the best single arm", "dynamic_regret": "dynamic regret"}


class Counts(Protocol):
    """What metrics need of a result."""

    @property
    def times(self) -> np.ndarray: ...  # [T], recorded rounds
    @property
    def visits(self) -> dict[str, np.ndarray]: ...  # label to [scenario, variant, run, time, arm, state]
    @property
    def means(self) -> np.ndarray: ...  # [scenario, arm]
    @property
    def reward(self) -> np.ndarray: ...  # [scenario, arm, state]; no state where rewards have no finite table
    @property
    def recorded(self) -> dict[str, dict[str, np.ndarray]]: ...  # its "rewards", what each arm has paid, are used then
    @property
    def plays(self) -> int: ...  # arms played a round
    @property
    def problem(self) -> str: ...  # what the environment declares
    @property
    def comparator(self) -> np.ndarray | None: ...  # [scenario], or None for the sum of the M largest means


def regret(result: Counts, label: str) -> np.ndarray:
    """The regret that suits the problem.

    It is what the environment has recorded as its "external_regret" or "dynamic_regret", if it has, as arms that change
    do; else `realised_regret` for arms that move by themselves, change, restart or share one state, and `pseudo_regret`
    for all others. Tables and pictures show this one, and say which it is.

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
        return RECORDED[name]
    return "realised regret" if result.problem in JUDGED_BY_REWARD else "pseudo-regret"


def dynamic_regret(result: Counts, label: str) -> np.ndarray:
    """Sum over rounds of how much more the best M arms of the round pay on average than those that were played.

    For arms that change (`environments.piecewise` and its kin), which count it as they are played: of Bernoulli arms
    sum_t (max_k m_k(t) - m_{a_t}(t)), m_k(t) the mean of arm k in round t and a_t the arm played.

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
            "result: its environment does not record a dynamic regret; arms that change do, or one whose `records` has "
            '"dynamic_regret"'
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
      ValueError: there is no such label, or no recorded round; arms that change or are actions of a decision process.

    >>> import jaxbandit
    >>> arms = jaxbandit.two_state([0.5, 0.4], [0.4, 0.55])
    >>> result = jaxbandit.simulate(arms, {"KL": jaxbandit.KLUCB(), "U": jaxbandit.Uniform()}, runs=5, horizon=100)
    >>> pseudo_regret(result, "KL").shape == (1, 1, 5, len(result.times))
    True
    """
    check_label(result, label)
    _check_best_arm(result, "pseudo_regret")
    gaps = _benchmark(result)[:, None] - result.means
    regret: np.ndarray = np.einsum("cvrtk,ck->cvrt", _plays(result, label), gaps)
    return regret


def realised_regret(result: Counts, label: str) -> np.ndarray:
    """t times the M largest means, minus the reward collected: float64 [scenario, variant, run, time].

    The environment's `comparator` stands for the M largest means, where it declares one. Can be negative, as luck
    counts; of rested arms its mean differs from pseudo-regret's by what the starts of the chains are worth. Of restless
    arms its mean is the weak regret (Tekin and Liu 2012), which may be negative and linear: with two copies of
    p01 = p10 = 0.2 a player who stays on an arm while it shows 1 collects 0.65 a round, and each arm's mean is 0.5.
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
    expected = result.times * result.plays * _benchmark(result)[:, None, None, None]
    return np.asarray(expected - _collected(result, label))


def discounted_reward(result: Counts, label: str, discount: float) -> np.ndarray:
    """Sum over rounds t of discount^(t-1) times the reward collected in t: float64 [scenario, variant, run].

    A result knows what was collected from one recorded round to the next, not in which of the rounds between; it is
    spread evenly over these. So the sum is exact where every round is recorded; else it is off by at most
    plays (max reward - min reward) / 2 times the sum over all rounds of the distance of discount^(t-1) from its mean
    between the recorded rounds around it. Rounds after the last recorded one are left out, at most discount^last /
    (1 - discount) of plays times the largest reward. `indices.rounds_to_record` keeps both small with few rounds.

    Raises:
      ValueError: the discount lies outside [0, 1), there is no such label, or no recorded round.

    >>> import jaxbandit
    >>> arms = jaxbandit.two_state([0.5, 0.4], [0.4, 0.55])
    >>> times = jaxbandit.indices.rounds_to_record(0.9)
    >>> policy = jaxbandit.Gittins.of(arms, 0.9)
    >>> result = jaxbandit.simulate(arms, {"G": policy}, runs=5, horizon=int(times[-1]), times=times)
    >>> discounted_reward(result, "G", 0.9).shape
    (1, 1, 5)
    """
    number("discount", discount, 0, 1, below=True)
    collected = _collected(result, label)
    ends = np.concatenate([[0], result.times])
    weights = -np.diff(float(discount) ** ends) / np.diff(ends) / (1 - discount)
    return np.asarray(np.diff(collected, axis=-1, prepend=0.0) @ weights)


def best_share(result: Counts, label: str) -> np.ndarray:
    """Share of all plays that went to one of the M best arms, in [0, 1], float64 [scenario, variant, run, time].

    Raises:
      ValueError: there is no such label, or no recorded round; arms that change or are actions of a decision process.

    >>> import jaxbandit
    >>> arms = jaxbandit.two_state([0.5, 0.4], [0.4, 0.55])
    >>> result = jaxbandit.simulate(arms, {"KL": jaxbandit.KLUCB(), "U": jaxbandit.Uniform()}, runs=5, horizon=100)
    >>> bool((best_share(result, "KL")[..., -1] > 0.4).all())
    True
    """
    check_label(result, label)
    _check_best_arm(result, "best_share")
    best = np.einsum("cvrtk,ck->cvrt", _plays(result, label), best_arms(result).astype(float))
    return np.asarray(best / (result.times * result.plays))


def linear_share(result: Counts, label: str, threshold: float = 0.1) -> np.ndarray:
    """Share of runs whose regret still grows linearly at the end, [scenario, variant].

    In the second half of the rounds (from the last recorded one at or before the middle) the arms that are not best
    take `threshold` or more of the plays. The same is counted for restless arms, where taking such plays may be right.

    Raises:
      ValueError: there is no such label, or no recorded round; arms that change or are actions of a decision process.

    >>> import jaxbandit
    >>> arms = jaxbandit.two_state([0.5, 0.4], [0.4, 0.55])
    >>> result = jaxbandit.simulate(arms, {"KL": jaxbandit.KLUCB(), "U": jaxbandit.Uniform()}, runs=5, horizon=100)
    >>> linear_share(result, "U").tolist()
    [[1.0]]
    """
    threshold = number("threshold", threshold)
    visits = _visits(result, label)
    _check_best_arm(result, "linear_share")
    middle = int(np.searchsorted(result.times, result.times[-1] / 2, side="right")) - 1
    before, rounds = (visits[:, :, :, middle], int(result.times[middle])) if middle >= 0 else (0, 0)
    plays = (visits[:, :, :, -1] - before).sum(-1, dtype=np.int64)
    worse = np.einsum("cvrk,ck->cvr", plays, (~best_arms(result)).astype(float))
    return np.asarray((worse >= threshold * result.plays * (result.times[-1] - rounds)).mean(-1))


def paired_difference(result: Counts, label: str, other: str) -> np.ndarray:
    """Final `regret` of `label` minus that of `other`, run by run, float64 [scenario, variant, run].

    Run by run, both met the same luck. Variants are paired in order; a single one is paired with each of the other's.

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


def _check_best_arm(result: Counts, name: str) -> None:
    """Refuse results in which no arm is the best one throughout, so that plays of others do not measure a loss."""
    if result.problem in NO_BEST_ARM:
        kind = "arms that change" if result.problem == "changing" else "a decision process"
        raise ValueError(
            f"result: {name} is for arms with means of their own, and this result is of {kind}; use regret, or "
            "realised_regret"
        )


def _benchmark(result: Counts) -> np.ndarray:
    """What regret is measured against, a play: [scenario]."""
    if result.comparator is not None:
        return np.asarray(result.comparator / result.plays)
    return np.asarray(np.sort(result.means, axis=1)[:, -result.plays :].mean(axis=1))


def best_arms(result: Counts) -> np.ndarray:
    """Which arms are among the M best of their scenario, [scenario, arm] bool; means within rounding are equal."""
    check_result(result)
    rounding = 1e-12 * np.abs(result.reward if result.reward.size else result.means).max()
    return np.asarray(result.means >= np.sort(result.means, axis=1)[:, -result.plays, None] - rounding)


def _collected(result: Counts, label: str) -> np.ndarray:
    """All rewards up to the recorded rounds, [scenario, variant, run, time]."""
    visits = _visits(result, label)
    if not result.reward.size:
        return np.asarray(result.recorded["rewards"][label].sum(-1))
    return np.asarray(np.einsum("cvrtks,cks->cvrt", visits, result.reward))


def _plays(result: Counts, label: str) -> np.ndarray:
    """[scenario, variant, run, time, arm] int64."""
    return np.asarray(_visits(result, label).sum(-1, dtype=np.int64))


def _visits(result: Counts, label: str) -> np.ndarray:
    check_label(result, label)
    if not len(result.times):
        raise ValueError(
            "result: stopped before its first recorded round; continue it with simulate(..., resume=result)"
        )
    return result.visits[label]


def check_result(result: Counts) -> None:
    """Refuse a thing that lacks what metrics need of a result of `simulate`.

    Raises:
      ValueError: what it is.
    """
    has(
        "result", result, "a result of simulate", "visits", "times", "means", "reward", "plays", "problem", "comparator"
    )


def check_label(result: Counts, label: str, argument: str = "label") -> None:
    """Refuse a label that the result does not have.

    Raises:
      ValueError: the argument's name and the labels there are.
    """
    check_result(result)
    if not isinstance(label, str) or label not in result.visits:
        raise ValueError(f"{argument}: {shown(label)} is not in the result; it has {', '.join(result.visits)}")
