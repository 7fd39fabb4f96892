"""Regret, run by run."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxbandit.arguments import has
from jaxbandit.metrics.counts import (
    Counts,
    check_best_arm,
    check_known,
    check_label,
    check_result,
    collected,
    kind,
    plays_of,
)
from jaxbandit.metrics.summaries import OfRuns, Summary, summary

RECORDED = ("external_regret", "dynamic_regret")  # names under which regret is recorded; the first one counts
NONE = 1e-9  # of the largest reward: a comparator that counts as 0


def regret(result: Counts, label: str) -> np.ndarray:
    """The regret that suits the problem.

    If the environment has `means_now`, as non-stationary arms do, it is what was recorded as "external_regret", or else
    as "dynamic_regret". Otherwise it is `realised_regret` for arms that move by themselves, restart or share one state,
    and `pseudo_regret` for all others. Tables and plots show this regret and name it (`regret_name`).

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
    return (pseudo_regret if kind(result).by_means else realised_regret)(result, label)


def regret_name(result: Counts) -> str:
    """The name of what `regret` returns for this result; if the comparator is 0, it is minus the total reward."""
    check_result(result)
    if name := _recorded(result):
        if result.problem == "sleeping":
            return "regret against the best arms offered"
        of_oracle = "dynamic regret" if result.problem == "changing" else "regret against the greedy oracle"
        return of_oracle if name == "dynamic_regret" else "regret against the best single arm"
    if result.comparator is not None and result.comparator.ndim == 3:
        return "regret of episodes"
    if not kind(result).by_means and (abs(_benchmark(result)) <= NONE * abs(result.reward).max(initial=0)).all():
        return "minus the total reward"
    if result.comparator_name is not None:
        return f"regret against {result.comparator_name}"
    return "pseudo-regret" if kind(result).by_means else "realised regret"


def dynamic_regret(result: Counts, label: str) -> np.ndarray:
    """Sum over rounds of the mean reward of the best M arms of the round minus that of the arms played.

    With one play a round it is sum_t (max_k m_k(t) - m_{a_t}(t)), a_t the arm played and m_k(t) the mean reward of a
    play of arm k in round t: the environment's `means_now`. `simulate` adds it up round by round. With
    `simulate(offered=..)` the maximum is over the arms offered in the round (Kleinberg, Niculescu-Mizil and Sharma
    2010, written from memory), and arms that do not change have their `means`. Where plays change
    the means, as with rotting arms, the first term is the mean reward of the greedy oracle: another player of the same
    arms, who plays the M arms with the largest means in every round. No player collects more from arms whose means
    never rise.

    Args:
      result: of `simulate`.
      label: of a policy.

    Returns:
      float64 [scenario, variant, run, time], in units of reward.

    Raises:
      ValueError: there is no such label, or the environment does not record this regret.

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

    If the environment declares a `comparator`, b is that divided by M. For restless arms this is not the loss: a
    player who finds an arm in a good state collects more than its mean. The expectations of this regret and of
    `realised_regret` differ by at most the sum over arms k of (max h_k - min h_k) times the expected number of
    uninterrupted stretches in which arm k is played, h_k its `chains.relative_values`. A rested arm has one stretch.

    Args:
      result: of `simulate`.
      label: of a policy.

    Returns:
      float64 [scenario, variant, run, time], in units of reward, from whole-number counts.

    Raises:
      ValueError: there is no such label, or no recorded round; the arms change, rot, are actions of a decision process,
        or all pay.

    >>> import jaxbandit
    >>> arms = jaxbandit.two_state([0.5, 0.4], [0.4, 0.55])
    >>> result = jaxbandit.simulate(arms, {"KL": jaxbandit.KLUCB(), "U": jaxbandit.Uniform()}, runs=5, horizon=100)
    >>> pseudo_regret(result, "KL").shape == (1, 1, 5, len(result.times))
    True
    """
    check_label(result, label)
    check_best_arm(result, "pseudo_regret")
    if result.comparator is not None and result.comparator.ndim == 2:
        return _of_rounds(result) - np.einsum("cvrtk,ck->cvrt", plays_of(result, label), result.means)
    gaps = _benchmark(result)[:, None] - result.means
    return np.einsum("cvrtk,ck->cvrt", plays_of(result, label), gaps)


def realised_regret(result: Counts, label: str) -> np.ndarray:
    """t times the M largest means, minus the reward collected: float64 [scenario, variant, run, time].

    If the environment declares a `comparator`, that takes the place of the M largest means, and its sum that of t times
    these. The regret may be negative, since rewards are random. For rested arms its mean differs from that of
    `pseudo_regret` by what the initial states are worth. For restless arms its mean is the weak regret (Tekin and Liu
    2012), which may be negative and linear: with two arms of p01 = p10 = 0.2 a player who stays on an arm while it
    shows 1 collects 0.65 a round, and the mean of each arm is 0.5.
    Where all arms pay, the reward collected is that of all arms minus the cost of the plays, and the comparator is
    declared: the best gain, or its bound by the relaxation (`regret_name`). For arms that change, `means` are averages
    over their horizon, so that this is the regret against the best single arm at the end of that horizon;
    `dynamic_regret` is the measure meant for them. For a decision process it is t times the best gain, minus the reward
    collected. With episodes it is the sum over episodes of V_1(s_1), the largest expected reward of an episode that
    begins in s_1, minus the reward collected; in an unfinished episode, the largest expected reward of its rest counts
    as collected. Where rewards have no finite table, the reward collected is the recorded sum of rewards.

    Raises:
      ValueError: there is no such label, or no recorded round; arms are not offered in every round.

    >>> import jaxbandit
    >>> arms = jaxbandit.two_state([0.5, 0.4], [0.4, 0.55])
    >>> result = jaxbandit.simulate(arms, {"KL": jaxbandit.KLUCB(), "U": jaxbandit.Uniform()}, runs=5, horizon=100)
    >>> realised_regret(result, "U").shape == (1, 1, 5, len(result.times))
    True
    """
    check_label(result, label)
    if result.problem == "sleeping":
        check_best_arm(result, "realised_regret")
    if result.comparator is not None and result.comparator.ndim == 3:
        return _of_episodes(result, label, result.comparator) - collected(result, label)
    if result.comparator is not None and result.comparator.ndim == 2:
        return _of_rounds(result) - collected(result, label)
    check_known(result, "regret")
    expected = plays_of(result, label).sum(-1) * _benchmark(result)[:, None, None, None]  # t, or up to a run's end
    return expected - collected(result, label)


def bayes_regret(result: Counts, label: str) -> Summary:
    """The realised regret averaged over the runs of each scenario, summarised over scenarios drawn from a prior.

    Its mean estimates the Bayes regret of that prior, which `bounds.bayes_optimum` bounds from below for two arms. Draw
    the scenarios from a space, such as `stress.PriorSpace`, and play them with
    `simulate(.., random_numbers="independent")`: with common random numbers all scenarios share their luck, which no
    number of scenarios averages out.

    Args:
      result: of `simulate`, of two scenarios or more.
      label: of a policy.

    Returns:
      A `Summary` with fields [variant, time]; the interval accounts for the draw of the scenarios and of the runs.

    Raises:
      ValueError: there is no such label, or no recorded round; one scenario only, or common random numbers.

    >>> import jaxbandit
    >>> space = jaxbandit.stress.PriorSpace(((1, 1), (1, 1)))
    >>> points = np.random.default_rng(0).random((100, space.dimension))
    >>> arms = {str(n): space.problem(point).arms for n, point in enumerate(points)}
    >>> policies = {"U": jaxbandit.Uniform()}
    >>> result = jaxbandit.simulate(arms, policies, runs=8, horizon=20, times=[20], random_numbers="independent")
    >>> bayes_regret(result, "U").mean.shape
    (1, 1)
    """
    values = realised_regret(result, label)
    if len(values) < 2:
        raise ValueError("result: it has one scenario; a prior is represented by many that are drawn from it")
    has("result", result, "a result of simulate", "asked")
    played: Any = result
    if played.asked.get("random_numbers", "common") == "common":
        raise ValueError(
            "result: all scenarios have common random numbers, and with them one luck; play them with "
            'simulate(.., random_numbers="independent")'
        )
    return summary(np.moveaxis(values.mean(2), 0, -1))


def constant_regret(result: Counts, label: str) -> np.ndarray:
    """t max_a f(a) minus the reward collected, f(a) the long-run reward a round of always taking action a.

    The regret of a decision process against the best constant action. The best policy chooses by the state: without
    episodes this is at most `realised_regret`, and may be negative. A policy that does not look at the state can only
    learn the best constant action. With episodes, f(a) is the expected reward of an episode of action a
    divided by its rounds, which is exact at the end of an episode.

    Args:
      result: of `simulate`, for a decision process.
      label: of a policy.

    Returns:
      float64 [scenario, variant, run, time], in units of reward.

    Raises:
      ValueError: there is no such label, or no recorded round; the result is not of a decision process.

    Source: Azar, Lazaric and Brunskill 2014 (not opened), for actions from a continuum. Their policy, HCT, divides the
    continuum by a tree that grows; it is not here, where the actions are finitely many.

    >>> import jaxbandit
    >>> river = jaxbandit.environments.riverswim()
    >>> right = jaxbandit.KnownProcess([1] * 6)
    >>> result = jaxbandit.simulate(river, {"right": right}, runs=5, horizon=100)
    >>> bool((constant_regret(result, "right") <= realised_regret(result, "right")).all())
    True
    """
    check_label(result, label)
    if result.problem != "decision process":
        raise ValueError(
            f"result: constant_regret is for decision processes, and this result is of {kind(result).arms}; use regret"
        )
    best = result.means.max(axis=1)[:, None, None, None]
    return result.times * best - collected(result, label)


def paired_difference(result: Counts, label: str, other: str) -> np.ndarray:
    """Final `regret` of `label` minus that of `other`, run by run, float64 [scenario, variant, run].

    Run j of both policies had common random numbers. Variants are paired in order; a single variant is paired with each
    of the other's. Printed, it is its mean over the runs with the 95 % interval, of which `summary` has the numbers.

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
    return (left - right).view(OfRuns)


def _recorded(result: Counts) -> str | None:
    """The name of the regret that is recorded for every policy, if there is one."""
    return next((name for name in RECORDED if result.recorded.get(name, {}).keys() >= result.visits.keys()), None)


def _of_episodes(result: Counts, label: str, values: np.ndarray) -> np.ndarray:
    """Expected reward of the best policy from where episodes began, less that of unplayed rounds: [c, v, r, t]."""
    starts, state = (result.recorded[name][label] for name in ("episodes", "state_now"))
    played = result.times % values.shape[1]  # rounds of the unfinished episode
    rest = values[np.arange(len(values))[:, None, None, None], played, state]
    return np.einsum("cvrts,cs->cvrt", starts, values[:, 0]) - np.where(played > 0, rest, 0)


def _of_rounds(result: Counts) -> np.ndarray:
    """The comparator of each round, [scenario, horizon], added up to the recorded rounds: [c, 1, 1, t]."""
    return np.cumsum(np.asarray(result.comparator), axis=1)[:, None, None, np.asarray(result.times) - 1]


def _benchmark(result: Counts) -> np.ndarray:
    """What regret is measured against, a play: [scenario]."""
    if result.comparator is not None:
        return result.comparator / result.plays
    return np.sort(result.means, axis=1)[:, -result.plays :].mean(axis=1)
