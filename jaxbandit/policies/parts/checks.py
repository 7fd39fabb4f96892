"""Checks of a policy's fields and of its task, on the host, for its `validate`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxbandit import arguments, members
from jaxbandit.arguments import LARGEST, LARGEST_INTEGER, as_floats
from jaxbandit.base import Paid, Pays, Problem, Range, Task
from jaxbandit.members import declares
from jaxbandit.probabilities import stochastic

GRID = "; for a grid give a list of policies"
RESTLESS: tuple[Problem, ...] = ("restless", "observed")
CHAINS: tuple[Problem, ...] = ("rested", "restarting", *RESTLESS)  # problems for which indices of states are computed
PROCESSES: tuple[Problem, ...] = ("decision process",)
# all problems but decision processes
ARMS: tuple[Problem, ...] = ("rested", "restarting", "restless", "observed", "changing", "rotting", "hidden", "costly")


def number(
    policy: Any, name: str, low: float = -LARGEST, high: float = LARGEST, *, above: bool = False, below: bool = False
) -> None:
    """Check that the field `name` is one finite number in [low, high]; not low if `above`, not high if `below`."""
    if isinstance(getattr(policy, name), bool | np.bool_):
        raise ValueError(f"{name}: {getattr(policy, name)} is not a number")
    arguments.number(name, getattr(policy, name), low, high, above=above, below=below, hint=GRID)


def choice(policy: Any, name: str, choices: tuple[str, ...]) -> None:
    """Raise ValueError unless the field `name` is one of `choices`."""
    arguments.choice(name, getattr(policy, name), choices)


def truth(policy: Any, name: str) -> None:
    """Raise ValueError unless the field `name` is True or False."""
    arguments.truth(name, getattr(policy, name))


def suits(
    policy: Any,
    task: Task,
    problems: Sequence[Problem] = ARMS,
    rewards: Range | None = None,
    *,
    left_may_pay: bool = False,
) -> None:
    """Raise ValueError unless the policy is for the task.

    Args:
      problems: those that the policy plays; by default all but decision processes.
      rewards: the interval in which rewards must lie where they have no finite table; None if the policy needs a table.
      left_may_pay: whether the policy plays restless arms that pay for the state that they leave; most judge an arm by
        what the states are worth to which its plays led.
    """
    name, declared = type(policy).__name__, declares(task.environment).problem
    if declared in RESTLESS and declares(task.environment).pays == "before" and not left_may_pay:
        raise ValueError(
            f"{name} is for arms that pay for the state moved to, and those of {task.name} pay for the state left "
            '(paid="present"); play Whittle.of, LPPriority.of, Myopic.of, PosteriorWhittle.of or UCWhittle.of of them'
        )
    if declared not in problems:
        if tuple(problems) == PROCESSES:
            raise ValueError(f"{name} is for decision processes; {task.name} has {declared} arms")
        if declared == "restless" and "observed" in problems and "restless" not in problems:
            raise ValueError(
                f"{name} needs observed arms, and {task.name} shows only the states of the arms played; make it "
                "with restless(.., observed=True), or play Myopic or WhittleLastSeen"
            )
        if declared == "observed" and "restless" in problems:
            raise ValueError(
                f"{name} is for arms that are observed only when played, and those of {task.name} are always observed; "
                "play Whittle"
            )
        raise ValueError(f"{name} is for {' or '.join(problems)} arms; those of {task.name} are {declared}")
    if task.environment.reward is not None:
        return
    if rewards is None:
        raise ValueError(
            f"{name} needs rewards that tell the states of an arm apart, and {task.name} has no finite table of them; "
            "UCB1, UCBSM, MOSS, GradientBandit, and KLUCB, IMED or Thompson with a family, need none"
        )
    low, high = task.reward_range
    if not (rewards[0] <= low and high <= rewards[1]):
        raise ValueError(
            f"{name} plays rewards from {rewards[0]:g} to {rewards[1]:g}; those of {task.name} lie from {low:g} to "
            f"{high:g}, and no finite table says how to map them; give it a family of laws that has them, or use UCB1"
        )


def paid_to(policy: Any, task: Task, which: Paid, pays: Pays = "after") -> None:
    """Raise ValueError unless the arms and states that pay are those that the policy assumes."""
    declared = declares(task.environment)
    of_arms = {"played": "the arms that are played pay", "all": "all arms pay, played or not"}
    of_states = {"after": "the state moved to pays", "before": "the state left pays"}
    for name, assumed, actual, kinds in (
        ("paid", which, declared.paid, of_arms),
        ("pays", pays, declared.pays, of_states),
    ):
        arguments.choice(name, assumed, tuple(kinds))
        if assumed != actual:
            raise ValueError(f"{type(policy).__name__}: assumes that {kinds[assumed]}; in {task.name} {kinds[actual]}")


def paid_alike(policy: Any, task: Task) -> None:
    """Raise ValueError if a state pays another reward when its arm is not played, which the policy does not know."""
    if members.passive_reward(task.environment) is not None:
        raise ValueError(
            f"{type(policy).__name__}: knows one reward of each state, and in {task.name} arms that are not played pay "
            "another (passive_reward); play Whittle.of, LPPriority.of or Myopic.of of these arms"
        )


def full_information(policy: Any, task: Task) -> None:
    """Raise ValueError unless every arm shows its reward in every round."""
    if declares(task.environment).shows != "all":
        raise ValueError(
            f"{type(policy).__name__} needs the reward of every arm in every round (full information), and {task.name} "
            "shows those of the arms played; make it with environments.full_information(arms)"
        )


def of_arms(policy: Any, name: str, arms: int) -> None:
    """Raise ValueError unless the field `name` is one number, or one for each arm, [K]."""
    shape = arguments.finite(name, getattr(policy, name)).shape
    if shape not in ((), (arms,)):
        raise ValueError(f"{name}: shape {shape} is neither a number nor [K] = ({arms},)")


def each_arm(policy: Any, name: str, task: Task, low: float, high: float = LARGEST) -> None:
    """Check that the field `name` is one number in [low, high], or one for each arm, [K]."""
    values = as_floats(name, getattr(policy, name))
    if not values.ndim:
        number(policy, name, low, high)
        return
    of_arms(policy, name, len(task.reward))
    if not ((values >= low) & (values <= high)).all():
        raise ValueError(f"{name}: {arguments.excerpt(getattr(policy, name))} is not all within [{low:g}, {high:g}]")


def one_play(policy: Any, task: Task) -> None:
    """Raise ValueError for more than one play a round, of a policy whose source has no rule for more."""
    if task.plays > 1:
        raise ValueError(f"{type(policy).__name__} plays one arm a round, and plays is {task.plays}; use plays=1")


def plays(policy: Any, task: Task, needed: bool = False) -> None:
    """Raise ValueError for another number of plays a round than the field `plays`.

    If that is None, any number will do, unless one is `needed`.
    """
    if policy.plays is None and not needed:
        return
    if arguments.integer("plays", policy.plays, 1, LARGEST_INTEGER) != task.plays:
        raise ValueError(f"plays: the policy is for {policy.plays} plays a round, and {task.plays} are asked for")


def horizon(policy: Any, task: Task) -> None:
    """Raise ValueError unless the field `horizon` is None, or positive and at least the horizon of the task.

    A `Task` without a horizon fits every field.
    """
    if policy.horizon is None:
        return
    number(policy, "horizon", 0, above=True)
    rounds = float(np.asarray(policy.horizon))
    if rounds < task.horizon != Task._field_defaults["horizon"]:
        raise ValueError(
            f"horizon: {type(policy).__name__} is made for {rounds:,.10g} rounds, and {task.horizon:,} will be played; "
            f"give horizon={task.horizon}"
        )


def given_or_follows(policy: Any, task: Task, numbers: dict[str, Any], sources: dict[str, Any]) -> None:
    """Raise ValueError if numbers are missing and cannot be computed from other fields, or are given beside these.

    A field `horizon` among the sources must be at least the horizon of the task.

    Args:
      numbers: fields by name, None if they are to be computed from the sources.
      sources: fields by name; all are needed if a number is None, and none if all numbers are given.
    """
    left_out = [name for name, value in numbers.items() if value is None]
    for name, value in sources.items():
        if left_out and value is None:
            raise ValueError(f"{left_out[0]}: missing; give it, or {' and '.join(sources)}, from which it is computed")
        if not left_out and value is not None:
            raise ValueError(
                f"{name}: {value} beside {' and '.join(numbers)}; leave it out, or the numbers that it would determine"
            )
        if name == "horizon":
            horizon(policy, task)
        elif value is not None:
            number(policy, name, 0, above=True)


def family(policy: Any, task: Task) -> None:
    """Raise ValueError unless the field `family` is None or a family with the task's rewards.

    Rewards without a finite table must lie in the family's range, or in [0, 1] if the field is None.
    """
    if policy.family is None:
        return suits(policy, task, rewards=(0.0, 1.0))
    parts = ("divergence", "upper", "validate")
    if isinstance(policy.family, type) or members.lacks(policy.family, *parts):
        raise ValueError(f"family: {policy.family!r} is not a family; None or one of jaxbandit.families is needed")
    try:
        policy.family.validate(task.reward)
    except ValueError as error:
        if not members.lacks(
            policy.family, str(error).partition(":")[0]
        ):  # a field of the family is wrong, not the rewards
            raise ValueError(f"family: {error}") from None
        raise
    low, high = policy.family.range
    suits(policy, task, rewards=(float(low), float(high)))


def memory(policy: Any, task: Task, states: int | None = None) -> None:
    """Raise ValueError unless the field `memory` is None or a memory (`memory.Forgets`) that suits the task.

    Args:
      states: the largest number of states for which the policy can forget; None for any number.
    """
    field = policy.memory
    if field is None:
        return
    if isinstance(field, type) or not hasattr(type(field), "rounds") or not hasattr(field, "initial_state"):
        raise ValueError(
            f"memory: {arguments.excerpt(field)} is not a memory; give None, Discounted(0.99) or Window(500), or your "
            "own with rounds and initial_state"
        )
    try:
        members.validate(field, task)
    except ValueError as error:
        raise ValueError(f"memory: {error}") from error
    if states is not None and task.reward.shape[1] > states:
        raise ValueError(
            f"memory: {type(policy).__name__} can forget for arms with up to {states} states, and those of "
            f"{task.name} have {task.reward.shape[1]}; leave it out"
        )


def laws(policy: Any, name: str, shape: tuple[int, ...]) -> None:
    """Raise ValueError unless the field `name` has this shape, and probabilities that sum to 1 along its last axis."""
    stochastic(name, _shaped(policy, name, shape))


def table(policy: Any, name: str, shape: tuple[int, ...], low: float = -LARGEST, high: float = LARGEST) -> None:
    """Raise ValueError unless the field `name` has this shape, and all of its entries are in [low, high]."""
    array = _shaped(policy, name, shape)
    if not ((array >= low) & (array <= high)).all():
        raise ValueError(f"{name}: {arguments.excerpt(array)} is not all within [{low:g}, {high:g}]")


def _shaped(policy: Any, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """The field `name` as floats; ValueError for another shape."""
    array = as_floats(name, getattr(policy, name))
    if array.shape != shape:
        raise ValueError(f"{name}: shape {array.shape} is not {shape}")
    return array
