"""The arms of the experiment, how many are played a round, by which policies, and the bound on what these collect.

The limit of a rule for many arms: the shares of arms in each state no longer fluctuate, and move by a fixed map. A rule
that gives every state of every type of arm a number plays the states in the order of these numbers until the budget is
spent; of the last of them it plays a part. If the shares settle where the relaxation would have them, the gap to its
bound vanishes. If they settle elsewhere, or keep oscillating, the gap stays.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

import jaxbandit
from jaxbandit import Policy, atlas
from jaxbandit.environments import AllPayingArms
from jaxbandit.pytrees import in_order

NAMES = (
    *("circular", "maternal health", "CPAP", "collapsing", "machines 5", "machines 10", "swinging", "treadmill"),
    *(f"no attractor {number}" for number in (1, 2, 3)),
    "conveyor",
)
UNSEEN = ("collapsing",)  # also played by those who see only the arms that they play
WHITTLE, PRIORITY, MYOPIC, RANDOM = "Whittle", "LP-priority", "myopic", "random"
KNOWING = (WHITTLE, PRIORITY, MYOPIC, RANDOM)
ADVICE, TWO_SET, UPDATE = "virtual advice", "two-set", "LP-update"
STEPS = 5  # of an LP-update's plan
LAST_SEEN = "Whittle, last seen"
POSTERIOR, OPTIMIST, BOLDER = "PosteriorWhittle", "UCWhittle", "UCWhittle, radius / 10"
MOST_LEARNED = 8  # states of an arm that learners take
MANY = 30  # arms in which all types come equally often
TYPES = 3  # arms that already have all types of their problem, which take turns
ROUNDS = 4000  # of the map of shares; the second half counts
STILL = 1e-6  # what an arm's reward may change in the last rounds where the shares are at rest
EQUAL = 1e-6  # numbers of a rule that are closer are equal: its states share what is left of the budget


def arms_of(name: str, number: int, observed: bool = True) -> AllPayingArms:
    """The named problem with this number of arms; all of their states are seen, or only those of the arms played."""
    return atlas[name].make(arms=number, observed=observed)


def plays_of(name: str, number: int) -> int:
    """How many of the arms are played a round, in the proportion of the atlas; 0 if that is not a whole number."""
    entry = atlas[name]
    plays, rest = divmod(entry.plays * number, len(entry.arms.reward))
    return 0 if rest else plays


def playable(name: str, number: int) -> bool:
    """Whether the atlas's share of this number of arms is a whole number of plays, and leaves something to choose."""
    return 0 < plays_of(name, number) < number


@cache
def bound(name: str, number: int) -> float:
    """The most that any policy can collect, per arm and round: the value of the relaxation."""
    return arms_of(name, number).relaxation(plays_of(name, number)).value / number


def knowing(name: str, number: int) -> dict[str, Policy]:
    """Those that know the chains, and random play."""
    arms = arms_of(name, number)
    return {
        WHITTLE: jaxbandit.Whittle.of(arms),
        PRIORITY: jaxbandit.LPPriority.of(arms, plays_of(name, number)),
        MYOPIC: jaxbandit.Myopic.of(arms),
        RANDOM: jaxbandit.Uniform(),
    }


def steering(name: str, number: int) -> dict[str, Policy]:
    """Those that know the chains and steer the shares of arms in each state; two-set for arms of one kind."""
    arms, plays = arms_of(name, number), plays_of(name, number)
    policies: dict[str, Policy] = {ADVICE: jaxbandit.FollowVirtualAdvice.of(arms, plays)}
    if of_one_kind(name):
        policies[TWO_SET] = jaxbandit.TwoSet.of(arms, plays)
    return policies | {UPDATE: jaxbandit.LPUpdate.of(arms, plays, STEPS)}


@cache
def of_one_kind(name: str) -> bool:
    """Whether all arms of the problem are alike."""
    laws = arms_of(name, TYPES).known()
    return all((law == law[:1]).all() for law in laws.moves)


@cache
def locally_stable(name: str) -> bool:
    """Whether the relaxation's plan has one state that is played in part, and small differences from it die out."""
    return of_one_kind(name) and float(jaxbandit.TwoSet.of(arms_of(name, MANY), plays_of(name, MANY)).reach) > 0


def not_seeing(name: str, number: int) -> dict[str, Policy]:
    """Those that know the chains and see only the arms that they play, and random play."""
    return {
        LAST_SEEN: in_order(_last_seen(name), jnp.arange(number) % TYPES),
        MYOPIC: jaxbandit.Myopic.of(arms_of(name, number, observed=False)),
        RANDOM: jaxbandit.Uniform(),
    }


@cache
def _last_seen(name: str) -> jaxbandit.WhittleLastSeen:
    """For one arm of each type, as its indices take seconds."""
    return jaxbandit.WhittleLastSeen.of(arms_of(name, TYPES, observed=False))


def not_for_learners(name: str) -> str:
    """Why learners do not play the problem; empty if they do."""
    if atlas[name].arms.reward.shape[1] > MOST_LEARNED:
        return f"more than {MOST_LEARNED} states"
    return "" if arms_of(name, TYPES).passive_reward is None else "a state pays by whether its arm is played"


def learning(name: str, number: int) -> dict[str, Policy]:
    """Those that have to learn the chains, with Whittle's rule and random play beside them; none of too many states."""
    arms = arms_of(name, number)
    if not_for_learners(name):
        return {}
    return {
        WHITTLE: jaxbandit.Whittle.of(arms),
        POSTERIOR: jaxbandit.PosteriorWhittle.of(arms),
        OPTIMIST: jaxbandit.UCWhittle.of(arms),
        BOLDER: jaxbandit.UCWhittle.of(arms, scale=0.1),
        RANDOM: jaxbandit.Uniform(),
    }


class Limit(NamedTuple):
    """The limit of a rule for many arms.

    Fields:
      gap: to the bound, per arm and round.
      swings: whether the shares keep oscillating.
      room: of the state that is played in part, the share of all arms that are in it and are played, or are not if
        these are fewer: how far the shares may fluctuate before the rule plays other states. 0 if no state is played
        in part.
      tied: whether several states have the number of that state. Finitely many arms share it by their order.
    """

    gap: float
    swings: bool
    room: float
    tied: bool


def limit_of(name: str, label: str) -> Limit:
    """Of one of the policies that know the chains, or of random play."""
    arms, share = arms_of(name, TYPES), plays_of(name, MANY) / MANY
    policy: Any = knowing(name, MANY)[label]
    if label == RANDOM:
        numbers = np.zeros(arms.reward.shape)
    elif label == MYOPIC:
        laws = arms.known()
        numbers = laws.earned - laws.kept
    else:
        numbers = np.asarray(policy.indices)[:TYPES]
    collected, shares = rewards(arms, numbers, share)
    in_part = (shares > STILL).all(-1)
    kinds = {rows.tobytes() for rows, some in zip(np.asarray(arms.passive), in_part) if some.any()}
    tied = label != RANDOM and (len(kinds) > 1 or in_part.sum(1).max() > 1)
    late = collected[ROUNDS // 2 :]
    gap = bound(name, MANY) - float(late.mean())
    return Limit(gap, bool(np.ptp(late[-ROUNDS // 10 :]) > STILL), float(shares[in_part].sum(0).min()), bool(tied))


def rewards(arms: AllPayingArms, numbers: np.ndarray, share: float, rounds: int = ROUNDS) -> tuple[np.ndarray, ...]:
    """What is collected per arm in every round of the map [rounds], and who is played at its end.

    That is [K, S, 2], the shares of all arms in each state that are not played (0) or are (1). Each arm is a type,
    all equally frequent; states are played in the order of `numbers` [K, S], the largest first, and `share` is M / K.
    """
    active, passive, earned, kept = arms.known().moves
    levels = np.unique(np.round(numbers / EQUAL).astype(np.int64), return_inverse=True)[1].reshape(numbers.shape)
    here = np.asarray(arms.initial) / len(numbers)
    collected = np.empty(rounds)
    for t in range(rounds):
        of_level = np.bincount(levels.ravel(), here.ravel())[::-1]
        before = np.append(0, of_level.cumsum()[:-1])
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            parts = np.where(of_level > 0, np.clip((share - before) / of_level, 0, 1), 0)[::-1]
        played = here * parts[levels]
        collected[t] = (played * earned).sum() + ((here - played) * kept).sum()
        shares = np.stack([here - played, played], axis=-1)
        here = np.einsum("ks,kst->kt", played, active) + np.einsum("ks,kst->kt", here - played, passive)
    return collected, shares
