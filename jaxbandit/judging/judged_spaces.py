"""Which problems a policy plays: what it refuses, and the space in which it is judged."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import jax
import numpy as np

from jaxbandit import IMEDMC, Environment, Policy, Task, members, stress
from jaxbandit.base import reward_table
from jaxbandit.judging.policy_text import in_users_words
from jaxbandit.simulation.asking.contracts import check_task
from jaxbandit.simulation.asking.request import check
from jaxbandit.simulation.telling.fingerprint import fingerprint
from jaxbandit.stress.spaces import FAMILIES

NUMBERS = {2: "two", 5: "five"}


class Chapter(NamedTuple):
    """A space of problems and a horizon, and the policies that are judged there."""

    space: Any
    horizon: int
    policies: dict[str, Policy]

    @property
    def title(self) -> str:
        return f"{in_words(self.space)}, {self.horizon:,} rounds"

    def identity(self, policies: dict[str, Policy]) -> str:
        """What tells these policies from others in this chapter, also from what they were before they were changed."""
        case = {"scenarios": middle(self.space), "policies": policies, "horizon": self.horizon, "runs": 1}
        return digest(case | {"until": until(next(iter(policies.values())))})


def until(policy: Policy) -> Literal["stopped"] | None:
    """How a policy is played: until it stops, or to the horizon."""
    return "stopped" if members.stops(policy) else None


def digest(case: Mapping[str, Any]) -> str:
    """What tells a case from all others, whatever changes: fields, programs, horizon."""
    asked = fingerprint(check(**case))
    return hashlib.sha256(json.dumps([asked, case["horizon"]], sort_keys=True).encode()).hexdigest()[:8]


def in_words(space: Any) -> str:
    """A space in words; its own text where it is a user's."""
    arms = getattr(space, "arms", 0)
    number = NUMBERS.get(arms, f"{arms}")
    if isinstance(space, stress.IndependentSpace):
        law = space.family if space.family in ("poisson", "exponential") else space.family.capitalize()
        kind = f"with independent {'Poisson' if law == 'poisson' else law} rewards"
    else:
        kinds = {
            stress.TwoStateSpace: "with two states",
            stress.ThreeStateSpace: "with three states",
            stress.RestlessSpace: "with two states that move in every round (restless)",
            stress.PiecewiseSpace: "that change at two breaks",
        }
        kind = kinds.get(type(space), "")
    if getattr(space, "paid", "played") == "all":
        kind = "with two states that all pay, played or not (restless)"
    shape = {name: getattr(space, name) for name in ("arms", "family", "paid") if hasattr(space, name)}
    kind_of_space: Any = type(space)
    default = dataclasses.is_dataclass(space) and kind_of_space(**shape) == space
    return f"{number} arms {kind}" if kind and default else str(space)


def space_of(label: str, policy: Policy) -> Any:
    """The first space that the policy does not refuse, that of its own family of rewards before all others; or None."""
    independent = [stress.IndependentSpace(family) for family in FAMILIES]  # type: ignore[arg-type]
    family = members.family(policy)
    own = [space for space in independent if family is not None and type(FAMILIES[space.family]) is type(family)]
    for space in [*own, stress.TwoStateSpace(), *independent, stress.RestlessSpace(), stress.RestlessSpace(paid="all")]:
        if not refused(label, policy, middle(space)):
            return space
    return None


def middle(space: Any) -> Environment:
    """The arms in the middle of a space."""
    return space.problem(np.full(space.dimension, 0.5)).arms


def affordable(panel: Mapping[str, Policy], arms: Environment, hours: bool = True) -> dict[str, Policy]:
    """The panel, where arms have more than two states without IMED-MC, which is slow there, or with an exponent slower.

    Args:
      hours: whether there is time for IMED-MC without an exponent.
    """
    few = reward_table(arms).shape[1] <= 2
    slow = {label for label, policy in panel.items() if not few and isinstance(policy, IMEDMC)}
    return {label: policy for label, policy in panel.items() if label not in slow or (hours and policy == IMEDMC())}


def relabelled(panel: Mapping[str, Policy], policies: Mapping[str, Policy]) -> dict[str, Policy]:
    """The panel; a policy of it that is among the others has there the label that it has among them."""
    labels = {repr(policy): label for label, policy in policies.items()}
    return {labels.get(repr(policy), label): policy for label, policy in panel.items()}


def refused(label: str, policy: Policy, arms: Environment, horizon: int = 2**31 - 1, plays: int = 1) -> str:
    """Why a policy refuses arms of which `plays` are played a round, or nothing."""
    try:
        check_task(label, policy, Task(arms, plays, horizon))
    except ValueError as error:
        return str(error)
    except Exception as error:
        raise ValueError(in_users_words(error, f"{label}.validate")) from None
    return ""


def not_played(label: str, policy: Policy, arms: Environment, horizon: int, plays: int = 1) -> str:
    """Why a policy does not play arms, because it refuses them or is not written for their shapes; or nothing."""
    if reason := refused(label, policy, arms, horizon, plays):
        return reason
    try:
        check({"problem": arms}, {label: policy}, runs=1, horizon=horizon, plays=plays)
    except ValueError as error:
        return str(error)
    return ""


def chapters(policies: dict[str, Policy], space: Any, horizon: int, full: bool) -> list[Chapter]:
    """The spaces in which policies are judged, those with the same space together.

    Args:
      space: for all policies; None for the one that suits each.
      full: also with five arms and at ten times the horizon, and with three states.

    Raises:
      ValueError: one of a policy's methods fails in its space, with the user's line.
    """
    together: dict[str, tuple[Any, dict[str, Policy]]] = {}
    for label, policy in policies.items():
        suits = space_of(label, policy) if space is None else space
        if suits is not None and not refused(label, policy, middle(suits), horizon):
            check({"problem": middle(suits)}, {label: policy}, runs=1, horizon=horizon, until=until(policy))
            together.setdefault(str(suits), (suits, {}))[1][label] = policy
    chapters = []
    for suits, judged in together.values():
        chapters.append(Chapter(suits, horizon, judged))
        if full:
            five = dataclasses.replace(suits, arms=5)
            chapters += [Chapter(five, horizon, judged)]
            chapters += [Chapter(stress.ThreeStateSpace(), horizon, judged)] * isinstance(suits, stress.TwoStateSpace)
            chapters += [Chapter(each, 10 * horizon, judged) for each in (suits, five)]
    return chapters


def space_from_text(text: str) -> Any:
    """The space that an expression makes, with the names of `jaxbandit.stress`; None for an empty text."""
    if not text:
        return None
    names = {name: getattr(stress, name) for name in stress.__all__ if name.endswith("Space") and name != "Space"}
    try:
        space = eval(text, names | {"stress": stress, "jax": jax, "np": np})
        space = space() if isinstance(space, type) else space
        over = space.validate() if hasattr(space, "validate") else None
        if over is not None or not space.dimension:
            raise TypeError("not a space")
    except Exception as error:
        raise ValueError(f"--space {text}: {error}; give one of {', '.join(names)}, with its numbers") from None
    return space
