"""The arms of the experiment, how many are played a round, by which policies, and the bound on what these collect."""

from __future__ import annotations

from functools import cache

from jaxbandit import (
    LPPriority,
    Myopic,
    Policy,
    PosteriorWhittle,
    UCWhittle,
    Uniform,
    Whittle,
    atlas,
)
from jaxbandit.environments import AllPayingArms

NAMES = ("circular", "maternal health", "CPAP", "collapsing", "machines 5", "machines 10", "swinging")
WHITTLE, PRIORITY, MYOPIC, RANDOM = "Whittle", "LP-priority", "myopic", "random"
KNOWING = (WHITTLE, PRIORITY, MYOPIC, RANDOM)
POSTERIOR, OPTIMIST, BOLDER = "PosteriorWhittle", "UCWhittle", "UCWhittle, radius / 10"
MOST_LEARNED = 8  # states of an arm that learners take


def arms_of(name: str, number: int) -> AllPayingArms:
    """The named problem with this number of arms, whose states are all seen."""
    made: AllPayingArms = atlas[name].make(arms=number, observed=True)
    return made


def plays_of(name: str, number: int) -> int:
    """How many of the arms are played a round, in the proportion of the atlas; 0 if that is not a whole number."""
    entry = atlas[name]
    plays, rest = divmod(entry.plays * number, len(entry.arms.reward))
    return 0 if rest else plays


@cache
def bound(name: str, number: int) -> float:
    """The most that any policy can collect, per arm and round: the value of the relaxation."""
    return arms_of(name, number).relaxation(plays_of(name, number)).value / number


def knowing(name: str, number: int) -> dict[str, Policy]:
    """Those that know the chains, and random play."""
    arms = arms_of(name, number)
    return {
        WHITTLE: Whittle.of(arms),
        PRIORITY: LPPriority.of(arms, plays_of(name, number)),
        MYOPIC: Myopic.of(arms),
        RANDOM: Uniform(),
    }


def learning(name: str, number: int) -> dict[str, Policy]:
    """Those that have to learn the chains, with Whittle's rule and random play beside them; none of too many states."""
    arms = arms_of(name, number)
    if arms.reward.shape[1] > MOST_LEARNED:
        return {}
    return {
        WHITTLE: Whittle.of(arms),
        POSTERIOR: PosteriorWhittle.of(arms),
        OPTIMIST: UCWhittle.of(arms),
        BOLDER: UCWhittle.of(arms, scale=0.1),
        RANDOM: Uniform(),
    }
