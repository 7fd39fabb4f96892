"""The arms of the experiment, how many are played a round, by which policies, and the bound on what these collect."""

from __future__ import annotations

from functools import cache

import jax.numpy as jnp

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
STEERING = (ADVICE, TWO_SET, UPDATE)
STEPS = 5  # of an LP-update's plan
LAST_SEEN = "Whittle, last seen"
POSTERIOR, OPTIMIST, BOLDER = "PosteriorWhittle", "UCWhittle", "UCWhittle, radius / 10"
MOST_LEARNED = 8  # states of an arm that learners take
MANY = 30  # arms in which all types come equally often
TYPES = 3  # arms that already have all types of their problem, which take turns


def arms_of(name: str, number: int, observed: bool = True) -> AllPayingArms:
    """The named problem with this number of arms; all of their states are seen, or only those of the arms played."""
    return atlas[name].make(arms=number, observed=observed)


def states_of(name: str) -> int:
    """How many states an arm has."""
    return int(atlas[name].arms.reward.shape[1])


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
    if states_of(name) > MOST_LEARNED:
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
