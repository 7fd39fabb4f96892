"""How long runs took to stop, and how often they answered wrongly."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jaxbandit.base import described
from jaxbandit.metrics.counts import Counts, check_best_arm, has_best_arm, plays_of, visits_of
from jaxbandit.metrics.shares import best_arms


@described
class IdentificationSummary(NamedTuple):
    """Stopping times and errors of the runs of one policy; [scenario, variant] but for the last field.

    Fields:
      mean: stopping time in rounds; a censored run counts the rounds that it played, so that with such runs this is a
        lower bound.
      error: standard error of the mean; NaN for a single run.
      median: the round by which half of the runs have stopped; inf if fewer have.
      quantile_90: the round by which 90 % have stopped; inf if fewer have.
      runs: of the policy.
      stopped: runs that gave an answer.
      censored: runs that gave none within the rounds played; they are neither right nor wrong.
      wrong: runs that answered an arm that has not the largest mean.
      wrong_share: of all runs, censored ones included.
      wrong_low: lower end of the exact 95 % interval of this share (Clopper-Pearson).
      wrong_high: upper end of the interval.
      regret: simple regret, the largest mean less that of the arm that was answered, mean over the runs with an answer;
        NaN without one.
      regret_error: its standard error; NaN for fewer than two answers.
      plays: [scenario, variant, K], the share of its plays that a run has given to each arm at its end, mean over runs.
    """

    mean: np.ndarray
    error: np.ndarray
    median: np.ndarray
    quantile_90: np.ndarray
    runs: np.ndarray
    stopped: np.ndarray
    censored: np.ndarray
    wrong: np.ndarray
    wrong_share: np.ndarray
    wrong_low: np.ndarray
    wrong_high: np.ndarray
    regret: np.ndarray
    regret_error: np.ndarray
    plays: np.ndarray


def identification(result: Counts, label: str) -> IdentificationSummary:
    """Stopping times, wrong answers, simple regret and shares of plays of runs that end when their policy stops.

    An answer is right if no mean is larger than that of its arm. The wrong share is at most delta, up to chance, for a
    rule that is exact on these arms.

    Args:
      result: of `simulate(.., until="stopped")`.
      label: of a policy.

    Raises:
      ValueError: there is no such label, or no recorded round; the runs do not end when their policy stops; the arms
        change, rot, are actions of a decision process, or all pay.

    Source: Clopper and Pearson 1934, for the interval. Not opened.

    >>> import jaxbandit
    >>> policy = jaxbandit.policies.Identify(stopping=jaxbandit.policies.BernoulliGLR(), delta=0.05)
    >>> arms = jaxbandit.bernoulli([0.8, 0.2])
    >>> result = jaxbandit.simulate(arms, {"T": policy}, until="stopped", runs=50, horizon=1_000)
    >>> summary = identification(result, "T")
    >>> summary.censored.tolist(), summary.wrong.tolist(), summary.wrong_high.round(3).tolist()
    ([[0]], [[0]], [[0.071]])
    """
    ends, answers = ends_of(result, label), result.recorded["answers"][label][..., -1]
    plays = plays_of(result, label)[..., -1, :]
    runs = ends.shape[-1]
    rounds = np.where(ends > 0, ends, result.times[-1]).astype(float)
    median, quantile_90 = np.quantile(np.where(ends > 0, rounds, np.inf), [0.5, 0.9], axis=-1, method="inverted_cdf")
    right = np.take_along_axis(best_arms(result)[:, None, None], np.maximum(answers, 0)[..., None], axis=-1)[..., 0]
    stopped, wrong = (ends > 0).sum(-1), ((ends > 0) & ~right).sum(-1)
    error = rounds.std(-1, ddof=1) / np.sqrt(runs) if runs > 1 else np.full(wrong.shape, np.nan)
    return IdentificationSummary(
        rounds.mean(-1),
        error,
        median,
        quantile_90,
        np.full(wrong.shape, runs),
        stopped,
        runs - stopped,
        wrong,
        wrong / runs,
        *_clopper_pearson(wrong, runs),
        *_simple_regret(result.means, answers, ends > 0),
        (plays / rounds[..., None]).mean(2),
    )


def _simple_regret(means: np.ndarray, answers: np.ndarray, stopped: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Its mean over the runs that have stopped and the standard error, [scenario, variant]."""
    lost = (
        means.max(1)[:, None, None]
        - np.take_along_axis(means[:, None, None], np.maximum(answers, 0)[..., None], -1)[..., 0]
    )
    number = stopped.sum(-1)
    with np.errstate(all="ignore"):
        mean = (lost * stopped).sum(-1) / number
        squares = (np.square(lost - mean[..., None]) * stopped).sum(-1)
        error = np.sqrt(squares / (number - 1) / number)
    return np.where(number > 0, mean, np.nan), np.where(number > 1, error, np.nan)


def ends_of(result: Counts, label: str) -> np.ndarray:
    """The round after which each run stopped, 0 where it has not: [scenario, variant, run]; ValueError if none can."""
    visits_of(result, label)
    check_best_arm(result, "identification")
    if not has_stops(result):
        raise ValueError(
            'result: its runs go on to the horizon; identification is for those of simulate(.., until="stopped")'
        )
    return result.recorded["stopped"][label][..., -1]


def has_stops(result: Counts) -> bool:
    """Whether runs ended when their policy stopped, on arms of which one is the best."""
    return has_best_arm(result) and result.recorded.keys() >= {"stopped", "answers"}


def _clopper_pearson(count: np.ndarray, runs: int) -> tuple[np.ndarray, np.ndarray]:
    """The exact 95 % interval of a probability of which `count` of the runs are successes."""
    from scipy.special import betaincinv  # slow to import, so it waits until it is needed

    low = betaincinv(np.maximum(count, 1), runs - count + 1, 0.025)
    high = betaincinv(count + 1, np.maximum(runs - count, 1), 0.975)
    return np.where(count == 0, 0.0, low), np.where(count == runs, 1.0, high)
