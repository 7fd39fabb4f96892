"""The price of protection from a best arm that is slow to leave its worst state: a lower bound at finite times."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.bounds.arms import Bound, MarkovEnvironment, best_and_others, gaps, irreducible, rounds, unit_numbers

PLAYED_ENOUGH = 0.45  # of the rounds: `metrics.linear_share` counts the runs that play the best arm less


def price_of_slow_arms(environment: MarkovEnvironment, times: ArrayLike, slowest: ArrayLike, failure: float) -> Bound:
    """Least expected regret at times n of a policy that seldom fails where the best arm leaves its worst state slowly.

    Let environment k be this one with another chain for arm k: it makes arm k the best, starts as arm k does, and
    leaves arm k's worst state with the chance x = `slowest`. A policy fails there if it plays arm k in at most 0.45 n
    rounds. If it does so with a chance of at most `failure`, for each k, then its regret here is at least the sum over
    arms of
        gap_k E_k,   E_k = (1 - (1 - p)^m) / p,   m = log(1 / failure) / -log(1 - x),
    p arm k's own chance to leave its worst state: the expected plays of an arm that is given up after m plays, if it
    has not left that state before. E_k is about m where m p is small, and about 1 / p where it is large.

    Proof: let arm k stay in its worst state for ever, let the other arms and the policy's randomness be as here,
    and let N be the plays of arm k until n. Here it is played at least min(N, 1 + Z) times, in environment k exactly
    N times if N <= Z': Z and Z' count the plays before the first departure, are independent of N, and are at least t
    with the chances (1 - p)^t and (1 - x)^t. So failing has at least the chance E[(1 - x)^N; N <= 0.45 n], and arm k is
    played (1 - E (1 - p)^N) / p times or more. Where p <= x, that is convex in (1 - x)^N, and N = m is best (Jensen).
    A policy may also have N > 0.45 n, at the price of N = 0.45 n + 1 plays, and does not fail then. So the least is on
    the lower convex hull of the curve and this point, and that is what is returned for any p and x. An arm that starts
    in its worst state with the chance s counts s times, with failure / s for `failure`.

    The sum leaves out an arm whose rewards are at most the best mean, and one that starts in another state. A price
    above n means that no policy is as safe as that. It grows as log(1 / failure) until it comes near 1 / p of the arms.

    Args:
      times: [T], at least 1; each is a horizon of its own.
      slowest: in (0, 1), or [K]. A chain with two states, that pay 0 and 1, the mean m and the `chains.reward_gap` g
        has x = g m, so a policy that is safe in the class of that gap is safe from x = g m, for any m above the best
        mean; the nearer m comes to it, the less a failure costs there.
      failure: in (0, 1).

    Raises:
      ValueError: as `lower`, times below 1, or `slowest` or `failure` outside (0, 1).

    Source: no paper known to us; a change of measure as in Lai and Robbins 1985, on the event of no departure.

    >>> from jaxbandit import two_state
    >>> arms = two_state([0.5, 4e-4, 3e-4, 2e-4, 1e-4], [0.4, 5.5e-4, 6.5e-4, 6.5e-4, 7e-4])
    >>> price_of_slow_arms(arms, [100_000], 0.025, failure=0.001).total.round(1).tolist()
    [298.5]
    >>> price_of_slow_arms(arms, [100_000], [0.5, 4e-4, 3e-4, 2e-4, 1e-4], failure=0.001).total.round(1).tolist()
    [6987.3]
    """
    transition, reward = irreducible(environment), np.asarray(environment.reward, float)
    times = rounds(times)
    slow = np.broadcast_to(unit_numbers("slowest", slowest, len(reward), ends=False), len(reward))
    allowed = float(unit_numbers("failure", failure, ends=False))
    gap = gaps(environment)
    target = float(environment.means().max())
    per_arm = np.zeros((len(gap), len(times)))
    for k in best_and_others(gap)[1]:
        worst = reward[k].argmin()
        start = float(environment.initial[k, worst])
        if reward[k].max() > target and start > allowed:
            leave = 1 - transition[k, worst, worst]
            with np.errstate(over="ignore"):  # from probabilities that count as 0
                per_arm[k] = gap[k] * start * _plays(leave, slow[k], allowed / start, np.floor(PLAYED_ENOUGH * times))
    label = f"price of slow arms, failure {allowed:g}"
    return Bound(label, "policies that are as safe from slow arms", per_arm, per_arm.sum(0), times=times)


def _plays(leave: float, slow: float, failure: float, most: np.ndarray) -> np.ndarray:
    """Least expected plays of an arm that leaves with the chance `leave`, [T], if N > `most` [T] is not a failure."""
    log_stay, log_slow = np.log1p(-min(leave, 1 - 2.0**-53)), np.log1p(-slow)  # a certain departure, up to rounding

    def plays(count: np.ndarray) -> np.ndarray:
        return np.asarray(-np.expm1(count * log_stay) / leave)

    # the tangent from the point of `most` + 1 plays and no failure touches the curve here; beyond it is the hull
    tangent = most + 1 - np.log1p(-log_stay / log_slow) / log_stay if log_stay > log_slow else np.zeros_like(most)
    count = np.clip(np.log(failure) / log_slow, 0, np.maximum(tangent, 0))
    end = plays(most + 1)
    return np.asarray(end - (end - plays(count)) * failure * np.exp(-count * log_slow))
