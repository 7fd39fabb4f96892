"""Late news: feedback that reaches the policy some rounds after the play, or all at once every so many rounds."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxbandit import members
from jaxbandit.arguments import LARGEST_INTEGER, integer
from jaxbandit.base import Feedback, Policy, State, pytree, static
from jaxbandit.wrapping import Wrapper

Shapes = tuple[tuple[str, Any], ...]  # name and shape of what a round shows, but the round itself


class Pending(NamedTuple):
    """What the policy of one run knows, and what it has not heard yet."""

    policy: State  # the policy's own
    under_way: dict[str, Array]  # [delay + batch, ..], the feedback of round r in place r % (delay + batch)


@pytree
class Delayed(Wrapper):
    """A policy that hears of the rounds j batch + 1 to (j + 1) batch after round (j + 1) batch + delay, in their order.

    The feedback is unchanged, and its `t` is the round in which it was seen. To a policy with `probabilities` it also
    tells those of the arms played, by what the policy knew when it played them.

    Fields: the `policy`, `delay` from 0, `batch` from 1, and the `shapes` of what the environment shows in a round.
    """

    policy: Policy
    delay: int = static(0)
    batch: int = static(1)
    shapes: Shapes = static(())

    def init(self, *given: Array) -> Pending:
        """What the policy knows before the first round, and room for what it will hear."""
        room = {name: jnp.zeros((self.delay + self.batch, *each.shape), each.dtype) for name, each in self.shapes}
        return Pending(self.policy.init(*given), room)

    def update(self, state: Pending, feedback: Feedback) -> Pending:
        """Keep the feedback, and let the policy hear what is due after this round."""
        places = self.delay + self.batch
        if (probabilities := members.probabilities(self)) is not None:
            feedback = feedback._replace(chances=probabilities(state, feedback.t)[feedback.arms])
        under_way = {
            name: jax.lax.dynamic_update_index_in_dim(
                kept, getattr(feedback, name).astype(kept.dtype), feedback.t % places, 0
            )
            for name, kept in state.under_way.items()
        }
        last = feedback.t - self.delay  # the round up to which feedback may be heard
        due = jnp.where((last > 0) & (last % self.batch == 0), jnp.int32(self.batch), jnp.int32(0))

        def hear(n: Array, known: State) -> State:
            t = last - self.batch + 1 + n
            seen = {
                name: jax.lax.dynamic_index_in_dim(kept, t % places, keepdims=False) for name, kept in under_way.items()
            }
            return self.policy.update(known, Feedback(**seen, t=t))

        # A loop, not a choice, so that nothing is computed where nothing is due and large states change in place.
        return Pending(jax.lax.fori_loop(0, due, hear, state.policy), under_way)


def checked_delay(delay: int, batch: int, horizon: int) -> tuple[int, int]:
    """By how many rounds feedback is late, and how many rounds' feedback comes at once, checked.

    Raises:
      ValueError: one of them is no such number, or no feedback would reach the policies within the horizon.
    """
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
    """The policy as it plays: itself where feedback comes at once.

    Args:
      feedback: shapes of what the environment shows in a round.
    """
    if delay == 0 and batch == 1:
        return policy
    shown = feedback._asdict()
    if members.probabilities(policy) is not None:
        shown["chances"] = jax.ShapeDtypeStruct(feedback.arms.shape, jnp.result_type(float))
    shapes = tuple((name, each) for name, each in shown.items() if each is not None and name != "t")
    return Delayed(policy, delay, batch, shapes)


def unwrapped(policy: Policy, state: State) -> tuple[Policy, State]:
    """The policy to which news may come late, and its own state."""
    return (policy.policy, state.policy) if isinstance(policy, Delayed) else (policy, state)


def own_state(state: State) -> State:
    """A policy's own state, without what it has not heard yet."""
    return state.policy if isinstance(state, Pending) else state
