"""Runs that end when their policy stops: the round and the answer, and the carry that stands still afterwards."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxbandit import members
from jaxbandit.arguments import excerpt
from jaxbandit.base import Policy, State, described
from jaxbandit.simulation.delayed import unwrapped

Until = Literal["stopped"]
STOPPED, ANSWERS = "stopped", "answers"  # the names under which both are recorded


@described
class Stopped(NamedTuple):
    """Whether a run has ended.

    Fields:
      round: int32, the round after which the policy stopped; 0 while it plays.
      answer: int32, the arm that it answered; -1 while it plays.
    """

    round: Array
    answer: Array


def not_stopped() -> Stopped:
    """Before the first round."""
    return Stopped(jnp.int32(0), jnp.int32(-1))


def after_round(policy: Policy, state: State, order: Array | None, t: Array) -> Stopped:
    """Whether a policy that has not stopped before stops after round t.

    Args:
      policy: as it plays, perhaps wrapped for delayed feedback.
      state: of the policy after the round.
      order: the run's order of arms, or None.
    """
    policy, state = unwrapped(policy, state)
    stops: Any = members.stops(policy)
    answer = jnp.asarray(stops.answer(state, t), jnp.int32)
    stop = jnp.asarray(stops.stop(state, t), bool)
    return Stopped(jnp.where(stop, t, 0), jnp.where(stop, answer if order is None else order[answer], -1))


def frozen(before: Any, after: Any, states: bool = True) -> Any:
    """The carry after a round, and that before it in a run that had stopped.

    Args:
      states: False to leave out the states of the environment and the policy, which are then those after the round.
    """
    if not states:
        before = before._replace(environment=after.environment, policy=after.policy)
    return jax.tree.map(lambda old, new: jnp.where(before.stopped.round > 0, old, new), before, after)


def any_goes_on(stopped: Any) -> Array:
    """Whether any of many runs has not stopped."""
    going: Array = (stopped.round == 0).any()
    return going


def records_of(stopped: Stopped) -> dict[str, Array]:
    """The records of a run."""
    return {STOPPED: stopped.round, ANSWERS: stopped.answer}


def checked_until(until: Until | None, policies: dict[str, Any], plays: int, offered: Any) -> bool:
    """Whether runs end when their policy stops.

    Raises:
      ValueError: another word, a policy that never stops, or one that stops where nothing waits for it.
    """
    if until is not None and not (isinstance(until, str) and until == "stopped"):
        raise ValueError(f'until: {excerpt(until)} is neither "stopped" nor None')
    stopping = {label: members.stops(policy) is not None for label, policy in policies.items()}
    if until is None and any(stopping.values()):
        label = next(label for label, stops in stopping.items() if stops)
        raise ValueError(
            f"policies[{label!r}]: it stops when it knows its answer, and the horizon alone would play on; give "
            'until="stopped", and as horizon the most rounds that a run may take'
        )
    if until is not None and not all(stopping.values()):
        label = next(label for label, stops in stopping.items() if not stops)
        raise ValueError(
            f"policies[{label!r}]: it has no stop(state, t) and answer(state, t), so that a run would never end; leave "
            "until out, or let it sample for policies.Identify(sampling=..)"
        )
    if until is not None and plays > 1:
        raise ValueError(f'plays: {plays} arms a round; with until="stopped" one arm is played a round')
    if until is not None and offered is not None:
        raise ValueError('offered: with until="stopped" all arms are offered in every round; leave it out')
    return until is not None
