"""Delayed and batched feedback."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxbandit import members
from jaxbandit.arguments import LARGEST_INTEGER, integer
from jaxbandit.base import Feedback, Policy, State, pytree, static
from jaxbandit.wrapping import Wrapper

Shapes = tuple[tuple[str, Any], ...]  # name and shape of the fields of `Feedback`, except `t`


class Pending(NamedTuple):
    """The state of the policy of one run, and the pending feedback."""

    policy: State  # the policy's own
    under_way: dict[str, Array]  # [delay + batch, ..], the feedback of round r at index r % (delay + batch)


@pytree
class Delayed(Wrapper):
    """A policy with delayed feedback: rounds j batch + 1 to (j + 1) batch reach it after round (j + 1) batch + delay.

    The feedback is unchanged, and its `t` is the round of the play. For a policy with `probabilities` it also has those
    of the arms played, in the state in which the policy played them.

    Fields: the `policy`, `delay` from 0, `batch` from 1, and the `shapes` of the feedback of a round.
    """

    policy: Policy
    delay: int = static(0)
    batch: int = static(1)
    shapes: Shapes = static(())

    def init(self, *arguments: Array) -> Pending:
        """The policy's state before the first round, and empty arrays for pending feedback."""
        room = {name: jnp.zeros((self.delay + self.batch, *shape.shape), shape.dtype) for name, shape in self.shapes}
        return Pending(self.policy.init(*arguments), room)

    def update(self, state: Pending, feedback: Feedback) -> Pending:
        """Keep the feedback, and update the policy with the feedback that is due after this round."""
        places = self.delay + self.batch
        if (probabilities := members.probabilities(self)) is not None:
            feedback = feedback._replace(chances=probabilities(state, feedback.t)[feedback.arms])
        under_way = {
            name: jax.lax.dynamic_update_index_in_dim(
                kept, getattr(feedback, name).astype(kept.dtype), feedback.t % places, 0
            )
            for name, kept in state.under_way.items()
        }
        last = feedback.t - self.delay  # the last round whose feedback may have arrived
        due = jnp.where((last > 0) & (last % self.batch == 0), jnp.int32(self.batch), jnp.int32(0))

        def receive(n: Array, policy_state: State) -> State:
            t = last - self.batch + 1 + n
            seen = {
                name: jax.lax.dynamic_index_in_dim(kept, t % places, keepdims=False) for name, kept in under_way.items()
            }
            return self.policy.update(policy_state, Feedback(**seen, t=t))

        # A loop, not `lax.cond`, so that nothing is computed if nothing is due and large states change in place.
        return Pending(jax.lax.fori_loop(0, due, receive, state.policy), under_way)


def checked_delay(delay: int, batch: int, horizon: int) -> tuple[int, int]:
    """Return the delay and the batch size, checked."""
    delay, batch = integer("delay", delay, 0, LARGEST_INTEGER), integer("batch", batch, 1, LARGEST_INTEGER)
    if (delay or batch > 1) and delay + batch > horizon:
        name = "delay" if delay else "batch"
        first = f"after round {delay + batch:,}" + (f", with batch={batch}" if delay and batch > 1 else "")
        raise ValueError(
            f"{name}: {delay or batch} rounds; the first feedback would reach the policies {first}, and there are "
            f"{horizon:,} rounds (the horizon); give a smaller {name} or a longer horizon"
        )
    return int(delay), int(batch)


def delayed(policy: Policy, delay: int, batch: int, feedback: Feedback) -> Policy:
    """The policy, wrapped if its feedback is delayed or batched.

    Args:
      feedback: shapes of the feedback of a round.
    """
    if delay == 0 and batch == 1:
        return policy
    fields = feedback._asdict()
    if members.probabilities(policy) is not None:
        fields["chances"] = jax.ShapeDtypeStruct(feedback.arms.shape, jnp.result_type(float))
    shapes = tuple((name, shape) for name, shape in fields.items() if shape is not None and name != "t")
    return Delayed(policy, delay, batch, shapes)


def unwrapped(policy: Policy, state: State) -> tuple[Policy, State]:
    """The policy without its wrapper for delayed feedback, and its own state."""
    return (policy.policy, state.policy) if isinstance(policy, Delayed) else (policy, state)


def own_state(state: State) -> State:
    """A policy's own state, without pending feedback."""
    return state.policy if isinstance(state, Pending) else state
