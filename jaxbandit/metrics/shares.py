"""Shares of plays and runs, and discounted reward."""

from __future__ import annotations

import numpy as np

from jaxbandit.arguments import number, truth
from jaxbandit.metrics.counts import (
    Counts,
    check_best_arm,
    check_label,
    check_result,
    collected,
    gain_of_plays,
    kept_reward,
    plays_of,
    visits_of,
)
from jaxbandit.metrics.regrets import realised_regret


def best_arms(result: Counts) -> np.ndarray:
    """Which arms are among the M best of their scenario, [scenario, arm] bool; means equal up to rounding are ties."""
    check_result(result)
    rounding = 1e-12 * np.abs(result.reward if result.reward.size else result.means).max()
    return result.means >= np.sort(result.means, axis=1)[:, -result.plays, None] - rounding


def best_share(result: Counts, label: str, recent: bool = False) -> np.ndarray:
    """Share of all plays that went to one of the M best arms, in [0, 1], float64 [scenario, variant, run, time].

    Args:
      result: of `simulate`.
      label: of a policy.
      recent: count the plays since the recorded round before, instead of all plays so far.

    Raises:
      ValueError: there is no such label, or no recorded round; the arms change, rot, are actions of a decision process,
        or all pay.

    >>> import jaxbandit
    >>> arms = jaxbandit.two_state([0.5, 0.4], [0.4, 0.55])
    >>> result = jaxbandit.simulate(arms, {"KL": jaxbandit.KLUCB(), "U": jaxbandit.Uniform()}, runs=5, horizon=100)
    >>> bool((best_share(result, "KL")[..., -1] > 0.4).all())
    True
    """
    check_label(result, label)
    check_best_arm(result, "best_share")
    best = np.einsum("cvrtk,ck->cvrt", plays_of(result, label), best_arms(result).astype(float))
    rounds = result.times
    if truth("recent", recent):
        best, rounds = np.diff(best, axis=-1, prepend=0), np.diff(rounds, prepend=0)
    return best / (rounds * result.plays)


def linear_share(result: Counts, label: str, threshold: float = 0.1) -> np.ndarray:
    """Share of runs whose regret still grows linearly at the end, [scenario, variant].

    These are the runs in which, in the second half of the rounds (after the last recorded one at or before the middle),
    the arms that are not best take a share `threshold` or more of the plays. It is counted alike for restless arms,
    where such plays may be right. For a decision process, and where all arms pay, these are the runs that lose a share
    `threshold` or more of the difference between what the best policy collects and the least reward in every round.

    Raises:
      ValueError: there is no such label, or no recorded round; the arms change or rot.

    >>> import jaxbandit
    >>> arms = jaxbandit.two_state([0.5, 0.4], [0.4, 0.55])
    >>> result = jaxbandit.simulate(arms, {"KL": jaxbandit.KLUCB(), "U": jaxbandit.Uniform()}, runs=5, horizon=100)
    >>> linear_share(result, "U").tolist()
    [[1.0]]
    """
    threshold = number("threshold", threshold)
    visits = visits_of(result, label)
    middle = int(np.searchsorted(result.times, result.times[-1] / 2, side="right")) - 1
    start = int(result.times[middle]) if middle >= 0 else 0
    rounds = int(result.times[-1]) - start
    if (least := _least(result)) is not None:
        lost = realised_regret(result, label)
        best = lost + collected(result, label)
        lost, best = (values[..., -1] - (values[..., middle] if start else 0.0) for values in (lost, best))
        return (lost >= threshold * (best - least[:, None, None] * rounds)).mean(-1)
    check_best_arm(result, "linear_share")
    plays = (visits[:, :, :, -1] - (visits[:, :, :, middle] if start else 0)).sum(-1, dtype=np.int64)
    worse = np.einsum("cvrk,ck->cvr", plays, (~best_arms(result)).astype(float))
    return (worse >= threshold * result.plays * rounds).mean(-1)


def _least(result: Counts) -> np.ndarray | None:
    """The least reward of a round, [scenario], where loss is judged by rewards; None where it is judged by plays."""
    if result.problem in ("decision process", "colliding"):
        return result.reward.min((1, 2)) * result.plays
    if result.cost is not None:
        kept = kept_reward(result).min(2)
        of_plays = (kept_reward(result) + gain_of_plays(result, result.cost)).min(2) - kept
        return kept.sum(1) + np.sort(of_plays, axis=1)[:, : result.plays].sum(1)
    return None


def discounted_reward(result: Counts, label: str, discount: float) -> np.ndarray:
    """Sum over rounds t of discount^(t-1) times the reward collected in t: float64 [scenario, variant, run].

    A result has the reward collected between recorded rounds, not in each of them; it is spread evenly over these. So
    the sum is exact where every round is recorded; otherwise it is off by at most plays (max reward - min reward) / 2
    times the sum over all rounds of the distance of discount^(t-1) from its mean between the recorded rounds around it.
    Rounds after the last recorded one are left out: at most plays times the largest reward times discount^last /
    (1 - discount). `indices.rounds_to_record` keeps both errors small with few rounds.

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
    rewards = collected(result, label)
    ends = np.concatenate([[0], result.times])
    weights = -np.diff(float(discount) ** ends) / np.diff(ends) / (1 - discount)
    return np.diff(rewards, axis=-1, prepend=0.0) @ weights
