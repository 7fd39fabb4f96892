"""What other policies would have earned, from the weighted rounds of a log."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit import members
from jaxbandit.arguments import LARGEST_INTEGER, as_floats, choice, excerpt, integer, number
from jaxbandit.base import described
from jaxbandit.live import off_policy
from jaxbandit.live.choice_laws import choice_law, taught
from jaxbandit.live.logged_rounds import Log, as_log, real_arms
from jaxbandit.live.player import Player
from jaxbandit.live.real_arms import check_plays, check_rewards
from jaxbandit.probabilities import stochastic

LEAST = 30  # effective rounds, below which the bootstrap is not trusted
FEW = 100  # effective rounds, below which there is a warning
HEAVY = 0.05  # share of one round in the sum of weights, above which there is one
FAR = 4  # standard errors of the mean weight from 1, above which there is one
Interval = Literal["auto", "bootstrap", "bernstein"]
LEARNS = (
    "the log chose an arm with different probabilities in different rounds, as policies do that learn; standard errors "
    "are then too small, and bootstrap intervals cover the truth less often than they say"
)


@described
class Evaluation(NamedTuple):
    """What other policies would have earned a round, by the log; its text is a table.

    The last axis of length 3 are the methods "IPS", "self-normalised" and "doubly robust".

    Fields:
      policies: P labels.
      methods: the three of them.
      mean: [P, 3], mean reward a round; where an estimate lies outside the range of the rewards, the end of the range.
      standard_error: [P, 3], of the mean.
      low: [P, 3], lower end of the interval, which has the mean inside: that of `interval`, or of the rewards' range
        where it is "bootstrap" and the effective size is below 30.
      high: [P, 3], its upper end.
      bernstein_low: [P], lower end of the empirical Bernstein interval.
      bernstein_high: [P], its upper end.
      effective_size: [P], (sum of the weights)^2 / sum of their squares.
      mean_weight: [P], about 1 if the log's probabilities are right and it can choose all that the policy plays.
      largest_weight: [P].
      unseen: [P], mean probability with which the policy plays arms that the log never chose.
      rounds: how many rounds were weighed.
      logged_mean: mean reward of the log in these rounds.
      level: the probability with which an interval may leave out the truth.
      interval: "bootstrap" or "bernstein", the kind of `low` and `high`.
      log_notes: texts, what is to be known of the log's probabilities; they are warnings, too.
      notes: P lists of texts, what is wrong with the weights; they are warnings, too.
    """

    policies: tuple[str, ...]
    methods: tuple[str, ...]
    mean: np.ndarray
    standard_error: np.ndarray
    low: np.ndarray
    high: np.ndarray
    bernstein_low: np.ndarray
    bernstein_high: np.ndarray
    effective_size: np.ndarray
    mean_weight: np.ndarray
    largest_weight: np.ndarray
    unseen: np.ndarray
    rounds: int
    logged_mean: float
    level: float
    interval: str
    log_notes: tuple[str, ...]
    notes: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        share = 100 * (1 - self.level)
        lines = [f"{self.rounds:,} rounds, in which the log earned {self.logged_mean:.4g} a round"]
        lines += [f"Warning: {note}" for note in self.log_notes]
        head = f"{'policy':26}  {'mean':>10}  {'error':>9}  {share:g} % interval"
        for place, label in enumerate(self.policies):
            weights = (
                f"weights: mean {self.mean_weight[place]:.3g}, largest {self.largest_weight[place]:.4g}, "
                f"effective size {self.effective_size[place]:,.1f}"
            )
            lines += ["", head if not place else "", label] if not place else ["", label]
            for n, method in enumerate(self.methods):
                ends = f"[{self.low[place, n]:.4g}, {self.high[place, n]:.4g}]"
                error = f"{self.standard_error[place, n]:.2g}"
                lines.append(f"  {method:24}  {self.mean[place, n]:10.4g}  {error:>9}  {ends}")
            ends = f"[{self.bernstein_low[place]:.4g}, {self.bernstein_high[place]:.4g}]"
            lines += [f"  {'empirical Bernstein':24}  {'':10}  {'':9}  {ends}", f"  {weights}"]
            lines += [f"  Warning: {note}" for note in self.notes[place]]
        return "\n".join(textwrap.fill(line, 80, subsequent_indent="    ") for line in lines)


def evaluate(
    log: Log | Player,
    policies: Mapping[str, Any],
    *,
    frozen_after: int | None = None,
    level: float = 0.05,
    interval: Interval = "auto",
    resamples: int = 1000,
    seed: int = 0,
) -> Evaluation:
    """What other policies would have earned a round, from a log that knows with which probability it chose.

    A round in which the log chose arm a with probability p, and that paid r, weighs w = pi(a) / p for a policy that
    plays a with probability pi(a). The estimates of its mean reward a round are

    - IPS: the mean of w r;
    - self-normalised: the sum of w r over the sum of w;
    - doubly robust: the mean of e + w (r - q), where q is the mean reward of a in the rounds before (shrunk to that of
      all arms), and e the mean of the q of all arms under pi.

    If rewards are independent and p > 0 wherever pi > 0, they estimate the average over rounds of the sum over a of
    pi(a) times the mean reward of a: IPS and doubly robust without bias, self-normalised with one that vanishes. An
    estimate outside the range of the rewards, where the truth is not, is moved to the end of the range.

    A policy that learns is evaluated along the log: its pi in round t comes from the state in which the feedback of
    rounds 1 to t-1 of the log leaves it. That is what this policy would earn if the log went on teaching it; not what
    it would earn alone, where it learns from its own choices only: that is `replay`. With `frozen_after` it learns from
    the first rounds only, and is evaluated, as it then is, on all later ones, which it has not seen. Rewards of Markov
    arms depend on earlier plays: weights then tell what an arm pays in the states in which the log leaves it.

    Args:
      log: a `Log` (see `read_log`) or a `Player`.
      policies: by label: an object with `init`, `scores` and `update` whose choice probabilities are known (see
        `choice_probabilities`); or fixed probabilities [K] of the arms, in the order of `log.arms`; or the name of the
        one arm that is always played.
      frozen_after: number of rounds, of those in the log, after which policies stop learning; only later ones are
        weighed. None: all rounds are weighed, and policies go on learning.
      level: the probability, for each interval, that it leaves out the truth, in [1e-12, 1).
      interval: "bootstrap"; "bernstein"; or "auto", the default: "bernstein" if the log chose an arm with different
        probabilities in different rounds, as policies do that learn. They differ, too, where a fixed policy depends on
        a context that the log leaves out: there "bootstrap" is right.
      resamples: of the bootstrap.
      seed: of the bootstrap.

    Returns:
      An `Evaluation`. Bootstrap intervals hold asymptotically for logs of a fixed policy, and say too much where few
      rounds carry the weight; in logs of policies that learn they do not hold: of nominal 95 % they covered 77 to 95 %.
      The empirical Bernstein interval is wider, and holds, if rewards lie in `log.reward_range`, for any number of
      rounds, any weights, and logs of policies that learn.

    Warns:
      UserWarning: probabilities differ from round to round, unless `interval` is "bernstein"; the weights are those of
        fewer than 100 rounds (of fewer than 30: bootstrap intervals are then the range of the rewards), one round has
        more than 5 % of the weight, the policy plays arms that the log never chose, or the mean weight is more than 4
        errors from 1. The same words stand in the table.

    Raises:
      ValueError: a probability of the log is not known; a label without a policy, an arm that there is not,
        probabilities that do not sum to 1, or a policy that cannot play these arms or whose probabilities are unknown.

    Source: Horvitz and Thompson 1952; Dudik, Langford and Li 2011 (doubly robust); Swaminathan and Joachims 2015
    (self-normalised). None was opened: the formulas are written from memory.

    >>> from jaxbandit.live import read_log
    >>> log = read_log({"arm": ["a", "b"] * 200, "reward": [0, 1] * 200, "probability": [0.5] * 400})
    >>> evaluate(log, {"always b": "b", "mostly a": [0.75, 0.25]}).mean.round(2).tolist()
    [[1.0, 1.0, 1.0], [0.25, 0.25, 0.25]]
    """
    log = as_log(log)
    unknown = np.flatnonzero(np.isnan(log.probability))
    if len(unknown):
        raise ValueError(
            f"log: the probability of round {log.round[unknown[0]]} is not known ({len(unknown):,} of them); let a "
            "policy play whose choice probabilities are known, or give a table with probabilities"
        )
    if not isinstance(policies, Mapping) or not policies:
        raise ValueError(f"policies: {excerpt(policies)} is not a dict of policies by their labels")
    rounds = len(log.arm)
    start = 0 if frozen_after is None else integer("frozen_after", frozen_after, 0, rounds - 1)
    level = number("level", level, 1e-12, 1, below=True)
    choice("interval", interval, get_args(Interval))
    resamples = integer("resamples", resamples, 1, LARGEST_INTEGER)
    seed = integer("seed", seed, 0, LARGEST_INTEGER)
    late = slice(start, None)
    seen = log._replace(arm=log.arm[late], reward=log.reward[late], probability=log.probability[late])
    one_law = off_policy.of_one_law(seen.arm, seen.probability, len(log.arms))
    kind = interval if interval != "auto" else "bootstrap" if one_law else "bernstein"
    log_notes = () if one_law or interval == "bernstein" else (LEARNS,)
    for note in log_notes:
        warnings.warn(f"log: {note}", stacklevel=2)
    rows = []
    for label, policy in policies.items():
        learns = rounds if frozen_after is None else start
        chances = _chances(f"policies: {label!r}", log, policy, learns)[late]
        rows.append(_judged(seen, chances, level, resamples if kind == "bootstrap" else 0, seed))
        for note in rows[-1]["notes"]:
            warnings.warn(f"{label}: {note}", stacklevel=2)
    return Evaluation(
        policies=tuple(map(str, policies)),
        methods=off_policy.METHODS,
        **{name: np.array([row[name] for row in rows]) for name in rows[0] if name != "notes"},
        rounds=len(seen.arm),
        logged_mean=float(seen.reward.mean()),
        level=level,
        interval=kind,
        log_notes=log_notes,
        notes=tuple(row["notes"] for row in rows),
    )


def _judged(log: Log, chances: np.ndarray, level: float, resamples: int, seed: int) -> dict[str, Any]:
    """The fields of an `Evaluation` that one policy with `chances` [n, K] has; without `resamples` no bootstrap."""
    rounds = off_policy.weighted(chances, log.arm, log.reward, log.probability)
    mean, error = off_policy.estimates(rounds)
    mean = np.clip(mean, *log.reward_range)  # as the intervals, so that they agree
    size = off_policy.effective_size(rounds.weights)
    bernstein_low, bernstein_high = off_policy.bernstein(rounds, log.reward_range, level)
    low, high = (np.full(3, end) for end in ((bernstein_low, bernstein_high), log.reward_range)[resamples > 0])
    if resamples and size >= LEAST:
        ends = off_policy.bootstrap(rounds, level, resamples, seed)
        low, high = (np.clip(end, *log.reward_range) for end in ends)
    never = np.bincount(log.arm, minlength=len(log.arms)) == 0
    fields = {
        "mean": mean,
        "standard_error": error,
        "low": np.fmin(low, mean),  # a percentile may pass an estimate by; a wider interval covers no less
        "high": np.fmax(high, mean),
        "bernstein_low": bernstein_low,
        "bernstein_high": bernstein_high,
        "effective_size": size,
        "mean_weight": float(rounds.weights.mean()),
        "largest_weight": float(rounds.weights.max()),
        "unseen": float(chances[:, never].sum(1).mean()),
    }
    names = [name for name, chance in zip(log.arms, chances.mean(0) * never) if chance > 0]
    return fields | {"notes": tuple(_notes(fields, rounds.weights, names))}


def _notes(fields: dict[str, Any], weights: np.ndarray, names: list[str]) -> Iterator[str]:
    """What is wrong with the weights."""
    size, mean, largest = (fields[name] for name in ("effective_size", "mean_weight", "largest_weight"))
    if names:
        yield (
            f"the log never chose {', '.join(names[:3])}{', ..' * (len(names) > 3)}, which this policy plays with "
            f"probability {fields['unseen']:.3g}; what that pays is not known, and IPS takes it for 0"
        )
    if size < LEAST:
        few = f"the weights are those of {size:.1f} rounds, too few for an estimate"
        yield f"{few}; only the empirical Bernstein interval holds"
    elif size < FEW:
        yield f"the weights are those of {size:.1f} rounds; errors and bootstrap intervals are rough"
    if size >= LEAST and largest > HEAVY * weights.sum():
        yield f"one round has {largest / weights.sum():.0%} of the weight"
    error = weights.std(ddof=1) / len(weights) ** 0.5 if len(weights) > 1 else np.inf
    if size >= FEW and abs(mean - 1) > max(FAR * error, 1e-6) and not names:
        yield (
            f"the mean weight is {mean:.3g}, not about 1; the probabilities of the log are wrong, or it cannot choose "
            "what the policy plays"
        )


def _chances(name: str, log: Log, policy: Any, learns: int) -> np.ndarray:
    """With which probability the policy plays each arm in each round of the log, [n, K] float64."""
    shape = len(log.arm), len(log.arms)
    if isinstance(policy, str):
        if policy not in log.arms:
            raise ValueError(f"{name}: {policy!r} is not an arm; the arms are {excerpt(log.arms)}")
        return np.broadcast_to(np.array(log.arms) == policy, shape).astype(float)
    if not members.lacks(policy, "init", "scores", "update") and not isinstance(policy, type):
        return _along(name, log, policy, learns)
    row = as_floats(name, policy)
    if row.shape != shape[1:]:
        raise ValueError(
            f"{name}: shape {row.shape} is not [K] = [{shape[1]}], a probability for each arm; other policies have "
            "init, scores and update"
        )
    return np.broadcast_to(stochastic(name, row), shape)


def _along(name: str, log: Log, policy: Any, learns: int) -> np.ndarray:
    """The probabilities of a policy that the first `learns` rounds of the log teach."""
    try:
        check_plays(policy, real_arms(log))
        units = check_rewards(name, policy, real_arms(log))
        table = jnp.asarray(units.seen(log.table), float)
        law = choice_law(policy, jax.eval_shape(policy.init, table))
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    rows = np.stack([log.arm, log.state, np.arange(1, len(log.arm) + 1)], -1).astype(np.int32)
    real = np.stack([units.seen(log.reward), log.probability], -1).astype(table.dtype)
    numbers = taught(policy, table, rows, real, np.int32(learns), law.numbers)
    return law.probabilities(*(np.asarray(each, float) for each in numbers))
