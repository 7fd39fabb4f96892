"""Regret and its summaries: float64 NumPy functions of a result's counts."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from jaxbandit.base import REWARDS

REALISED = ("restless", "observed", "restarting")  # problems in which an arm's mean is not what a play of it is worth


class Counts(Protocol):
    """What metrics need of a result."""

    @property
    def times(self) -> np.ndarray: ...  # [T], recorded rounds
    @property
    def visits(self) -> dict[str, np.ndarray]: ...  # label to [scenario, variant, run, time, arm, state]
    @property
    def means(self) -> np.ndarray: ...  # [scenario, arm]
    @property
    def reward(self) -> np.ndarray: ...  # [scenario, arm, state], or no state where rewards are no finite table
    @property
    def recorded(self) -> dict[str, dict[str, np.ndarray]]: ...  # "rewards" is used there, what each arm has paid
    @property
    def plays(self) -> int: ...  # arms played a round
    @property
    def problem(self) -> str: ...  # what the environment declares
    @property
    def comparator(self) -> np.ndarray | None: ...  # [scenario], or None for the sum of the M largest means


class Summary(NamedTuple):
    """What many runs say; every field has the shape of the values without their last axis."""

    mean: np.ndarray
    low: np.ndarray  # 95 % interval of the mean
    high: np.ndarray
    median: np.ndarray
    quantile_90: np.ndarray
    quantile_95: np.ndarray
    quantile_99: np.ndarray
    worst: np.ndarray  # mean of the worst 5 % of runs


def regret(result: Counts, label: str) -> np.ndarray:
    """What a result is read by: `realised_regret` of restless arms and of episodes, else `pseudo_regret`.

    Args, returns, raises: as `pseudo_regret`. Tables and pictures show this one, and say its name.

    >>> import jaxbandit
    >>> arms = jaxbandit.environments.restless([[[0.5, 0.5], [0.4, 0.6]], [[0.9, 0.1], [0.5, 0.5]]], (0, 1))
    >>> result = jaxbandit.simulate(arms, {"U": jaxbandit.Uniform()}, runs=5, horizon=100)
    >>> regret_name(result), bool((regret(result, "U") == realised_regret(result, "U")).all())
    ('realised regret', True)
    """
    return (realised_regret if result.problem in REALISED else pseudo_regret)(result, label)


def regret_name(result: Counts) -> str:
    """What `regret` is called, of this result."""
    return "realised regret" if result.problem in REALISED else "pseudo-regret"


def pseudo_regret(result: Counts, label: str) -> np.ndarray:
    """Sum over arms k of plays_k (b - means_k), b the average of the M largest means: regret against the best M arms.

    b is the environment's `comparator` a play, where it declares one. Of restless arms it is not what the player loses,
    as a player who comes to an arm in a good state collects more than its mean: its expectation and that of
    `realised_regret` differ by at most the sum over arms k of (max h_k - min h_k) times the expected number of
    uninterrupted stretches in which arm k is played, h_k its `chains.relative_values`. A rested arm has one stretch.

    Args:
      result: of `simulate`.
      label: of a policy.

    Returns:
      float64 [scenario, variant, run, time], in units of reward, from whole-number counts.

    Raises:
      ValueError: there is no such label, or no recorded round.

    >>> import jaxbandit
    >>> arms = jaxbandit.two_state([0.5, 0.4], [0.4, 0.55])
    >>> result = jaxbandit.simulate(arms, {"KL": jaxbandit.KLUCB(), "U": jaxbandit.Uniform()}, runs=5, horizon=100)
    >>> pseudo_regret(result, "KL").shape == (1, 1, 5, len(result.times))
    True
    """
    gaps = _benchmark(result)[:, None] - result.means
    regret: np.ndarray = np.einsum("cvrtk,ck->cvrt", _plays(result, label), gaps)
    return regret


def realised_regret(result: Counts, label: str) -> np.ndarray:
    """t times the M largest means, minus the reward collected: float64 [scenario, variant, run, time].

    The environment's `comparator` stands for the M largest means, where it declares one. Can be negative, as luck
    counts; of rested arms its mean differs from pseudo-regret's by what the starts of the chains are worth. Of restless
    arms its mean is the weak regret (Tekin and Liu 2012), which may be negative and linear: with two copies of
    p01 = p10 = 0.2 a player who stays on an arm while it shows 1 collects 0.65 a round, and each arm's mean is 0.5.
    Where rewards are no finite table, those collected are the recorded sums, not functions of counts.

    Raises:
      ValueError: there is no such label, or no recorded round.

    >>> import jaxbandit
    >>> arms = jaxbandit.two_state([0.5, 0.4], [0.4, 0.55])
    >>> result = jaxbandit.simulate(arms, {"KL": jaxbandit.KLUCB(), "U": jaxbandit.Uniform()}, runs=5, horizon=100)
    >>> realised_regret(result, "U").shape == (1, 1, 5, len(result.times))
    True
    """
    expected = result.times * result.plays * _benchmark(result)[:, None, None, None]
    return np.asarray(expected - _collected(result, label))


def discounted_reward(result: Counts, label: str, discount: float) -> np.ndarray:
    """Sum over rounds t of discount^(t-1) times the reward collected in t: float64 [scenario, variant, run].

    A result knows what was collected from one recorded round to the next, not in which of the rounds between; it is
    spread evenly over these. So the sum is exact where every round is recorded; else it is off by at most
    plays (max reward - min reward) / 2 times the sum over all rounds of the distance of discount^(t-1) from its mean
    between the recorded rounds around it. Rounds behind the last recorded one are left out, at most discount^last /
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
    if not 0 <= discount < 1:
        raise ValueError(f"discount: {discount!r} is not at least 0 and below 1")
    collected = _collected(result, label)
    ends = np.concatenate([[0], result.times])
    weights = -np.diff(float(discount) ** ends) / np.diff(ends) / (1 - discount)
    return np.asarray(np.diff(collected, axis=-1, prepend=0.0) @ weights)


def best_share(result: Counts, label: str) -> np.ndarray:
    """Share of all plays that went to one of the M best arms, in [0, 1], float64 [scenario, variant, run, time].

    Raises:
      ValueError: there is no such label, or no recorded round.

    >>> import jaxbandit
    >>> arms = jaxbandit.two_state([0.5, 0.4], [0.4, 0.55])
    >>> result = jaxbandit.simulate(arms, {"KL": jaxbandit.KLUCB(), "U": jaxbandit.Uniform()}, runs=5, horizon=100)
    >>> bool((best_share(result, "KL")[..., -1] > 0.4).all())
    True
    """
    best = np.einsum("cvrtk,ck->cvrt", _plays(result, label), best_arms(result).astype(float))
    return np.asarray(best / (result.times * result.plays))


def linear_share(result: Counts, label: str, threshold: float = 0.1) -> np.ndarray:
    """Share of runs whose regret still grows linearly at the end, [scenario, variant].

    In the second half of the rounds (from the last recorded one at or before the middle) the arms that are not best
    take `threshold` or more of the plays. That is what is counted for restless arms, too, where it may be right to.

    Raises:
      ValueError: there is no such label, or no recorded round.

    >>> import jaxbandit
    >>> arms = jaxbandit.two_state([0.5, 0.4], [0.4, 0.55])
    >>> result = jaxbandit.simulate(arms, {"KL": jaxbandit.KLUCB(), "U": jaxbandit.Uniform()}, runs=5, horizon=100)
    >>> linear_share(result, "U").tolist()
    [[1.0]]
    """
    visits = _visits(result, label)
    middle = int(np.searchsorted(result.times, result.times[-1] / 2, side="right")) - 1
    before, rounds = (visits[:, :, :, middle], int(result.times[middle])) if middle >= 0 else (0, 0)
    plays = (visits[:, :, :, -1] - before).sum(-1, dtype=np.int64)
    worse = np.einsum("cvrk,ck->cvr", plays, (~best_arms(result)).astype(float))
    return np.asarray((worse >= threshold * result.plays * (result.times[-1] - rounds)).mean(-1))


def paired_difference(result: Counts, label: str, other: str) -> np.ndarray:
    """Final `regret` of `label` minus that of `other`, run by run, float64 [scenario, variant, run].

    Both met the same luck. Variants are paired in order; a single one is paired with each of the other's.

    Raises:
      ValueError: no such label, or numbers of variants that cannot be paired.

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


def summary(values: np.ndarray) -> Summary:
    """Summarise values over runs, their last axis.

    The interval is Student's; for heavy tails it is honest only where a good many runs are in the tail.

    >>> round(float(summary(np.arange(101.0)).worst), 1)
    97.5
    """
    values = np.asarray(values, float)
    runs = values.shape[-1]
    mean = values.mean(-1)
    half = np.full_like(mean, np.nan)
    if runs > 1:
        from scipy.special import stdtrit  # a sixth of a second, which an import of the package need not take

        half = stdtrit(runs - 1, 0.975) * values.std(-1, ddof=1) / np.sqrt(runs)
    median, q90, q95, q99 = np.quantile(values, [0.5, 0.9, 0.95, 0.99], axis=-1)
    worst = np.sort(values, axis=-1)[..., -int(np.ceil(0.05 * runs)) :].mean(-1)
    return Summary(mean, mean - half, mean + half, median, q90, q95, q99, worst)


def median_interval(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distribution-free interval of the median over the last axis, at least 95 %, from order statistics.

    (-inf, inf) with fewer than 6 values, where there is none.

    >>> [float(end) for end in median_interval(np.arange(100.0))]
    [39.0, 60.0]
    """
    ordered = np.sort(np.asarray(values, float), axis=-1)
    runs = ordered.shape[-1]
    if runs < 6:
        return np.full(ordered.shape[:-1], -np.inf), np.full(ordered.shape[:-1], np.inf)
    from scipy.special import bdtrik

    below = int(np.floor(bdtrik(0.025, runs, 0.5)))  # the most with P(Binomial(runs, 1/2) <= below) at most 0.025
    return ordered[..., below], ordered[..., runs - 1 - below]


def _benchmark(result: Counts) -> np.ndarray:
    """What regret is measured against, a play: [scenario]."""
    if result.comparator is not None:
        return np.asarray(result.comparator / result.plays)
    return np.asarray(np.sort(result.means, axis=1)[:, -result.plays :].mean(axis=1))


def best_arms(result: Counts) -> np.ndarray:
    """Which arms are among the M best of their scenario, [scenario, arm] bool; means within rounding are equal."""
    rounding = 1e-12 * np.abs(result.reward if result.reward.size else result.means).max()
    return np.asarray(result.means >= np.sort(result.means, axis=1)[:, -result.plays, None] - rounding)


def _collected(result: Counts, label: str) -> np.ndarray:
    """All rewards up to the recorded rounds, [scenario, variant, run, time]."""
    visits = _visits(result, label)
    if not result.reward.size:
        return np.asarray(result.recorded[REWARDS][label].sum(-1))
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


def of_variant(values: np.ndarray, variant: int, label: str) -> np.ndarray:
    """What one variant of the policy has of [variant, ..]; the only one there is, whatever the number.

    Raises:
      ValueError: there are several, and none of this number.
    """
    if len(values) > 1 and not 0 <= variant < len(values):
        raise ValueError(f"variant: {variant}; {label!r} has variants 0 to {len(values) - 1}")
    return np.asarray(values[variant if len(values) > 1 else 0])


def check_label(result: Counts, label: str, argument: str = "label") -> None:
    """Refuse a label that the result does not have.

    Raises:
      ValueError: the argument's name and the labels there are.
    """
    if label not in result.visits:
        raise ValueError(f"{argument}: {label!r} is not in the result; it has {', '.join(result.visits)}")
