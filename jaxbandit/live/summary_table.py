"""What a player reports of its arms."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import numpy as np

from jaxbandit.base import described
from jaxbandit.confidence import kl_lower, kl_upper
from jaxbandit.families import Gaussian
from jaxbandit.live.choice_laws import choice_probabilities
from jaxbandit.live.decision import Decision
from jaxbandit.live.position import Position
from jaxbandit.policies import Thompson, ThompsonMC


@described
class Report(NamedTuple):
    """Plays and mean rewards of the arms of a player; its text is a table.

    The interval of an arm holds its mean after all numbers of answers together with probability 1 - level, if its
    rewards are independent and lie in their range: with n answers, Chernoff's bound with the radius
    log(2 n (n + 1) / level) / n, whose error probabilities add up to the level. It does not hold for Markov arms.

    Fields:
      arms: [K] names.
      plays: [K], how often each was chosen.
      answers: [K], how many of these were learned.
      open: [K], how many have no answer yet.
      mean: [K], mean reward of the answers; NaN without one.
      low: [K], the lower end of its interval; NaN if rewards have no finite range.
      high: [K], the upper end.
      best: [K], the probability that it has the largest mean of the arms that are not retired, under the posterior law
        of `Thompson`, or of `ThompsonMC` for two states that pay the same in all arms; NaN for all other policies. The
        prior, and imagined answers, count.
      decision: which arm is the best, if the policy identifies it and has stopped; None otherwise.
    """

    arms: list[str]
    plays: np.ndarray
    answers: np.ndarray
    open: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    best: np.ndarray
    decision: Decision | None

    def __str__(self) -> str:
        width = max(len("arm"), *map(len, self.arms))
        shown = not np.isnan(self.best).all()
        best = f"  {'best':>6}" if shown else ""
        digits = digits_of([self.mean, self.low, self.high])
        lines = [f"{'arm':{width}}  {'plays':>9}  {'answers':>9}  {'open':>6}  {'mean':>9}{best}  interval"]
        for k, name in enumerate(self.arms):
            interval = "" if np.isnan(self.low[k]) else f"[{self.low[k]:.{digits}g}, {self.high[k]:.{digits}g}]"
            mean = "" if np.isnan(self.mean[k]) else f"{self.mean[k]:.{digits}g}"
            counts = f"{self.plays[k]:>9,}  {self.answers[k]:>9,}  {self.open[k]:>6,}"
            if shown:
                best = f"  {self.best[k]:>6.1%}" if not np.isnan(self.best[k]) else " " * 8
            lines.append(f"{name:{width}}  {counts}  {mean:>9}{best}  {interval}".rstrip())
        return "\n".join(lines if self.decision is None else [*lines, str(self.decision)])


def digits_of(numbers: Any) -> int:
    """How many significant digits show the differences of these numbers: four, more where they are large and close.

    >>> digits_of([0.1, 0.7, np.nan]), digits_of([1e8, 1e8 + 1])
    (4, 12)
    """
    finite = np.asarray(numbers, float)
    finite = finite[np.isfinite(finite)]
    width = np.ptp(finite) if finite.size else 0.0
    lost = np.log10(np.abs(finite).max() / width) if width > 0 else 0.0
    return int(np.clip(4 + np.floor(max(lost, 0)), 4, 15))


def report(position: Position, level: float) -> Report:
    """The report of a position."""
    arms, (least, most) = position.arms, position.arms.reward_range
    plays, answers = (np.array([row[n] for row in position.totals]) for n in (0, 1))
    waiting = np.array([sum(choice.arm == name for choice in position.open.values()) for name in arms.names])
    mean = np.array([row[2] if row[1] else np.nan for row in position.totals])
    low, high = np.full((2, arms.arms), np.nan)
    if np.isfinite([least, most]).all() and least < most:
        n = np.maximum(answers, 1)
        radius = np.log(2.0 * n * (n + 1) / level) / n
        share = np.where(answers > 0, np.clip((mean - least) / (most - least), 0, 1), 0.5)
        ends = [np.asarray(bound(share, radius), float) for bound in (kl_lower, kl_upper)]
        low, high = (np.where(answers > 0, least + (most - least) * end, outer)
                     for end, outer in zip(ends, (least, most)))  # fmt: skip
    best, decision = _best(position, answers), position.decision()
    return Report(list(arms.names), plays, answers, waiting, mean, low, high, best, decision)


def _best(position: Position, answers: np.ndarray) -> np.ndarray:
    """The probability of each arm to be the best one: that its draw from the posterior law is the largest."""
    policy, best = position.policy, np.full(position.arms.arms, np.nan)
    left = np.setdiff1d(np.arange(len(best)), position.retired)
    if isinstance(policy, Thompson):
        has_posterior = policy.memory is None  # a policy that forgets says nothing of all answers
        if isinstance(policy.family, Gaussian):  # its flat prior is no law
            has_posterior = has_posterior and bool(answers[left].all())
    else:
        table = position.arms.table
        has_posterior = isinstance(policy, ThompsonMC) and table.shape[1] == 2 and bool((table == table[0]).all())
    if has_posterior:
        state = jax.tree.map(lambda leaf: leaf[left], position.state) if position.retired else position.state
        best[left] = choice_probabilities(policy, state, position.round + 1)
    return best
