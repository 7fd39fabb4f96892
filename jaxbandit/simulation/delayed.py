"""Feedback that is delayed by the same number of rounds in all rounds, or comes in batches."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxbandit import members
from jaxbandit.base import Feedback, Policy, State, pytree, static
from jaxbandit.wrapping import Wrapper

Shapes = tuple[tuple[str, Any], ...]  # name and shape of the fields of `Feedback`, except `t`


class Pending(NamedTuple):
    """The state of the policy of one run, and the pending feedback."""

    policy: State  # the policy's own
    under_way: dict[str, Array]  # [places, ..], the feedback of round r at index r % places
    due: Array | None = None  # [places] int32, after which round it is due; None if that is the same in all runs
    bits: Array | None = None  # uint32, the random bits of the present round's delay; None if delays are not drawn
    last: Array | None = None  # [K] int32, after which round each arm's last play is due; None unless `in_order`


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
        empty = room(self.shapes, self.delay + self.batch)
        return Pending(self.policy.init(*arguments), empty)

    def update(self, state: Pending, feedback: Feedback) -> Pending:
        """Keep the feedback, and update the policy with the feedback that is due after this round."""
        places = self.delay + self.batch
        under_way = kept_with(self, state, feedback, places)
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


def room(shapes: Shapes, places: int) -> dict[str, Array]:
    """Arrays for the feedback of so many rounds."""
    return {name: jnp.zeros((places, *shape.shape), shape.dtype) for name, shape in shapes}


def kept_with(policy: Wrapper, state: Pending, feedback: Feedback, places: int) -> dict[str, Array]:
    """The pending feedback with that of the present round."""
    if feedback.chances is None and (probabilities := members.probabilities(policy)) is not None:
        feedback = feedback._replace(chances=probabilities(state, feedback.t)[feedback.arms])
    return {
        name: jax.lax.dynamic_update_index_in_dim(
            kept, getattr(feedback, name).astype(kept.dtype), feedback.t % places, 0
        )
        for name, kept in state.under_way.items()
    }


def unwrapped(policy: Policy, state: State) -> tuple[Policy, State]:
    """The policy without its wrapper for delayed feedback, and its own state."""
    if isinstance(policy, Wrapper) and isinstance(state, Pending):
        return policy.policy, state.policy
    return policy, state


def own_state(state: State) -> State:
    """A policy's own state, without pending feedback."""
    return state.policy if isinstance(state, Pending) else state
