"""What a policy would have earned by itself: it plays against the log, which answers where it can."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Mapping
from statistics import NormalDist
from typing import Any, Literal, NamedTuple, get_args

import jax
import numpy as np

from jaxbandit.arguments import LARGEST_INTEGER, choice, excerpt, has, integer, number
from jaxbandit.base import described
from jaxbandit.live.logged_rounds import Log, as_log, real_arms
from jaxbandit.live.player import Player
from jaxbandit.live.real_arms import check_plays, check_rewards
from jaxbandit.live.replayed_rounds import in_own_order, in_rounds

Order = Literal["round", "arm"]
UNLIKELY = 1e-6  # p-value of the counts of arms, below which choices were hardly uniform


@described
class Replay(NamedTuple):
    """What policies earned when they were replayed; its text is a table.

    Fields:
      policies: P labels.
      mean: [P], mean reward a round, over all seeds that had a round.
      standard_error: [P], of one replay, from logs whose rounds are drawn with replacement, and therefore not too small
        for the mean over many; NaN if `order` is "arm".
      low: [P], lower end of the interval, as many errors from the mean as the level asks of a normal law; NaN likewise.
      high: [P], its upper end.
      seed_mean: [P, seeds], mean reward a round of each seed; NaN of one without a round.
      used: [P, seeds], how many rounds of the log each seed used.
      rounds: how many rounds the log has.
      order: "round" or "arm".
      level: the probability with which an interval may leave out the truth.
    """

    policies: tuple[str, ...]
    mean: np.ndarray
    standard_error: np.ndarray
    low: np.ndarray
    high: np.ndarray
    seed_mean: np.ndarray
    used: np.ndarray
    rounds: int
    order: Order
    level: float

    def __str__(self) -> str:
        width = min(max(len("policy"), *map(len, self.policies)), 30)
        interval = f"{100 * (1 - self.level):g} % interval"
        lines = [f"{'policy':{width}}  {'mean':>9}  {'error':>8}  {interval:18}  {'rounds':>8}"]
        for p, label in enumerate(self.policies):
            known = self.order == "round"
            ends = f"[{self.low[p]:.4g}, {self.high[p]:.4g}]" if known else ""
            error = f"{self.standard_error[p]:.2g}" if known else ""
            used = f"{self.used[p].mean():,.1f}"
            lines.append(f"{label[:width]:{width}}  {self.mean[p]:9.4g}  {error:>8}  {ends:18}  {used:>8}")
        by = "in which log and policy agreed" if self.order == "round" else "each arm's in its own order"
        last = f"Rounds: mean over {self.used.shape[1]:,} seeds of those used, of {self.rounds:,}, {by}."
        return "\n".join([*lines, textwrap.fill(last, 80)])


def replay(
    log: Log | Player,
    policies: Mapping[str, Any],
    *,
    order: Order = "round",
    rounds: int | None = None,
    seeds: int = 100,
    level: float = 0.05,
    seed: int = 0,
) -> Replay:
    """What policies would have earned by themselves: each plays from its first round, and the log answers.

    By rounds, for logs of uniform choices: a round of the log is used if the policy chooses its arm, and passed over if
    not. If rewards are independent, the rounds used have exactly the law of as many rounds of play, and their number,
    binomial with the parameter 1 / K, tells nothing of the rewards, so that the mean reward is that of play with this
    number of rounds. Any order of the rounds is then as good as another: each seed goes through them in an order of its
    own, and the mean over seeds varies less. It is not exact for Markov arms, which also move in rounds that are passed
    over, nor for arms that change.

    By arms: the n-th play of an arm gets the answer of its n-th play in the log, whenever that was. It is
    exact for rested arms, Markovian or independent, whose n-th play is the same whenever it happens, up to the least
    number of plays of an arm in the log, which is the default of `rounds`; beyond, a seed ends when an arm has no
    answer left, which happens sooner or later depending on rewards. It is not exact if these numbers depend on rewards,
    as they do in the log of a policy that learns, nor for restless and changing arms. What one sequence of answers an
    arm says of all others is not known; the difference between seeds is that of the policy's random numbers alone.

    Args:
      log: a `Log` (see `read_log`) or a `Player`.
      policies: by label, with `init`, `scores` and `update`.
      order: "round" or "arm".
      rounds: the most that a seed uses; None: all in which the policy agrees, or the least number of plays of an arm.
      seeds: how many times a policy is replayed with other random numbers, at least 2; for the error as often again,
        each time on a log whose rounds are drawn from this one with replacement.
      level: the probability, for each interval, that it leaves out the truth, in [1e-12, 1).
      seed: of all random numbers.

    Returns:
      A `Replay`; its means tell what a policy earns in the first rounds, not in the long run.

    Warns:
      UserWarning: by arms, choices were not uniform; or they should have been, and the counts of arms say otherwise.

    Raises:
      ValueError: choices of the log were not uniform and the order is that of rounds, an arm was never chosen, or a
        policy cannot play these arms.

    Source: Li, Chu, Langford and Wang 2011, algorithm 3; Mary, Preux and Nicol 2014 for resampled logs (neither was
    opened: written from memory).

    >>> from jaxbandit import UCB1
    >>> from jaxbandit.live import read_log
    >>> log = read_log({"arm": ["a", "b"] * 50, "reward": [0, 1] * 50, "probability": [0.5] * 100})
    >>> replay(log, {"UCB1": UCB1()}, order="arm", seeds=2).used.tolist()
    [[50, 50]]
    """
    log = as_log(log)
    if not isinstance(policies, Mapping) or not policies:
        raise ValueError(f"policies: {excerpt(policies)} is not a dict of policies by their labels")
    choice("order", order, get_args(Order))
    seeds = integer("seeds", seeds, 2, LARGEST_INTEGER)
    level = number("level", level, 1e-12, 1, below=True)
    seed = integer("seed", seed, 0, LARGEST_INTEGER)
    plays = np.bincount(log.arm, minlength=len(log.arms))
    _check_choices(log, plays, order)
    most = len(log.arm) if order == "round" else int(plays.min())
    most = most if rounds is None else integer("rounds", rounds, 1, len(log.arm))
    arms = real_arms(log)
    found = []
    for label, policy in policies.items():
        try:
            has("policy", policy, "a policy", "init", "scores", "update")
            check_plays(policy, arms)
            check_rewards("rewards", policy, arms)
        except ValueError as error:
            raise ValueError(f"policies: {label!r}: {error}") from None
        found.append(_replayed(log, policy, order, most, seeds, level, seed))
    mean, errors, low, high, seed_mean, used = (np.array(column) for column in zip(*found))
    labels = tuple(map(str, policies))
    return Replay(labels, mean, errors, low, high, seed_mean, used, len(log.arm), order, level)


def _check_choices(log: Log, plays: np.ndarray, order: Order) -> None:
    """Raise ValueError, or warn, if the log is not for a replay."""
    if not plays.all():
        raise ValueError(
            f"log: arm {log.arms[int(plays.argmin())]!r} was never chosen, and has no answers for a replay; leave "
            "it out of `arms` if no policy may play it"
        )
    uniform = np.abs(log.probability * len(plays) - 1) <= 1e-6
    if not uniform.all():
        place = int(np.argmin(uniform))
        said = f"in round {log.round[place]} an arm was chosen with probability {log.probability[place]:.4g}"
        said += f", not 1 / {len(plays)}"
        if order == "round":
            raise ValueError(
                f"log: {said}; a replay by rounds is for uniform choices; use live.evaluate, or "
                "order='arm' for rested arms"
            )
        warnings.warn(f"{said}; if it depended on rewards, so do the answers that there are", stacklevel=3)
        return
    from scipy.special import chdtrc  # slow to import, so it waits until it is needed

    expected = len(log.arm) / len(plays)
    p_value = float(chdtrc(len(plays) - 1, ((plays - expected) ** 2).sum() / expected))
    if p_value < UNLIKELY:
        warnings.warn(f"uniform choices lead to such counts of arms with probability {p_value:.2g}", stacklevel=3)


def _replayed(
    log: Log, policy: Any, order: Order, most: int, seeds: int, level: float, seed: int
) -> tuple[float, float, float, float, np.ndarray, np.ndarray]:
    """The fields of a `Replay` that one policy has."""
    keys = np.asarray(jax.random.key_data(jax.random.split(jax.random.key(seed), 2 * seeds)))
    if order == "arm":
        mean, used = _of_places(log, in_own_order(log, policy, keys[:seeds], most))
        return float(np.nanmean(mean)), np.nan, np.nan, np.nan, mean, used
    draw, number = np.random.default_rng(seed), len(log.arm)
    shuffled = np.argsort(draw.random((seeds, number)), axis=1)
    mean, used = _of_places(log, in_rounds(log, policy, keys[:seeds], shuffled, most))
    others = draw.integers(number, size=(seeds, number))
    resampled, _ = _of_places(log, in_rounds(log, policy, keys[seeds:], others, most))
    if np.isnan(mean).all() or np.isnan(resampled).all():
        return np.nan, np.nan, *log.reward_range, mean, used
    centre, error = float(np.nanmean(mean)), float(np.nanstd(resampled, ddof=1))
    half = NormalDist().inv_cdf(1 - level / 2) * error
    low, high = np.clip([centre - half, centre + half], *log.reward_range).tolist()
    return centre, error, low, high, mean, used


def _of_places(log: Log, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean reward and the number of rounds of each seed, from the places of rounds it used, -1 for none."""
    used = (places >= 0).sum(-1)
    total = np.where(places >= 0, log.reward[places], 0).sum(-1)
    return np.where(used > 0, total / np.maximum(used, 1), np.nan), used
