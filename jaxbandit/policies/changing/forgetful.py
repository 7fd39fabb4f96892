"""Discounted UCB and sliding-window UCB for piecewise stationary arms, with rates from the number of changes."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.arguments import excerpt
from jaxbandit.base import Feedback, Task, pytree, static, total
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.forgetting import Discounted, Window, check_window
from jaxbandit.policies.parts.memory import Memory, no_visits, positive

UNIT = (0.0, 1.0)


@pytree
class DiscountedUCB:
    """Discounted UCB (D-UCB): X / N + 2 sqrt(xi log n / N), with n the sum of N over the arms.

    Every round multiplies every arm's number of plays N and sum of rewards X by the discount, and then adds 1 and the
    reward to those of the arm played. Rewards are mapped to [0, 1]. Each arm is played once first.

    Args:
      discount: in (0, 1); or None: 1 - sqrt(changes / horizon) / 4.
      xi: above 0; above 1/2 in the source's theorems, 1/2 in its experiments.
      horizon: the number of rounds.
      changes: the number of changes within the horizon, from 1 to the horizon.

    Raises:
      ValueError: from `simulate` and `check_policy`: a number out of range, neither a discount nor both a horizon and
        changes, a discount beside these, rewards without a finite table outside [0, 1], or several plays a round, for
        which the source has no rule; `UCB1(memory=Discounted(0.99))` plays them.

    Source: Garivier and Moulines 2011, section 3, with B = 1.

    >>> policy = DiscountedUCB(horizon=10_000, changes=2)  # a discount of 0.99646
    >>> table = jnp.array([[0.0, 1.0], [0.0, 1.0]])
    >>> state = policy.init(table)
    >>> for t in (1, 2):
    ...     state = policy.update(state, Feedback.of(t - 1, 1.0, t=t, table=table))
    >>> policy.scores(None, state, 3)[0].round(4).tolist()
    [2.2904, 2.2881]
    """

    units = "mapped"

    discount: ArrayLike | None = None
    xi: ArrayLike = 0.6
    horizon: ArrayLike | None = None
    changes: ArrayLike | None = None

    def validate(self, task: Task) -> None:
        _check(self, task, "discount", "a discount")
        if self.discount is not None:
            checks.number(self, "discount", 0, 1, above=True, below=True)

    def init(self, reward: Array) -> Memory:
        discount = self.discount
        if discount is None:
            share = jnp.asarray(self.changes, float) / self.horizon  # type: ignore[operator]
            discount = 1 - jnp.sqrt(share) / 4
        return no_visits(reward, memory=Discounted(discount))

    def scores(self, key: Array, state: Memory, t: Array) -> tuple[Array, Memory]:
        mean, plays = state.mean_and_plays()
        widening = self.xi * jnp.log(jnp.maximum(total(plays), 1))
        return jnp.where(plays == 0, jnp.inf, mean + 2 * jnp.sqrt(widening / positive(plays))), state

    def update(self, state: Memory, feedback: Feedback) -> Memory:
        return state.counted(feedback)


@pytree
class SlidingWindowUCB:
    """Sliding-window UCB (SW-UCB): X / N + sqrt(xi log(min(t - 1, window)) / N).

    N is the number of an arm's plays in the last `window` rounds, X the sum of its rewards in these. An arm without
    plays in the window is played. Rewards are mapped to [0, 1].

    Args:
      window: a number of rounds, at most the horizon; or None: 2 sqrt(n log n / changes), n the horizon, rounded. It is
        part of the program, and so are horizon and changes. See `Window` for its memory.
      xi: above 0; above 1/2 in the source's theorems, 1/2 in its experiments.
      horizon: the number of rounds.
      changes: the number of changes within the horizon, from 1 to the horizon.

    Raises:
      ValueError: from `simulate` and `check_policy`: a number out of range, neither a window nor both a horizon and
        changes, a window beside these, rewards without a finite table outside [0, 1], or several plays a round, for
        which the source has no rule; `UCB1(memory=Window(500))` plays them.

    Source: Garivier and Moulines 2011, section 4, with B = 1.

    >>> SlidingWindowUCB(horizon=10_000, changes=2).length()
    429
    >>> policy = SlidingWindowUCB(window=2)
    >>> table = jnp.array([[0.0, 1.0], [0.0, 1.0]])
    >>> state = policy.init(table)
    >>> for t, arm in ((1, 0), (2, 1), (3, 1)):
    ...     state = policy.update(state, Feedback.of(arm, 1.0, t=t, table=table))
    >>> policy.scores(None, state, 4)[0].round(4).tolist()
    [inf, 1.456]
    """

    units = "mapped"

    window: int | None = static(None)
    xi: ArrayLike = 0.6
    horizon: float | None = static(None)
    changes: float | None = static(None)

    def validate(self, task: Task) -> None:
        for name in ("horizon", "changes"):
            value = getattr(self, name)
            if not isinstance(value, int | float | np.number | None):
                raise ValueError(f"{name}: {excerpt(value)} is not a number")
        _check(self, task, "window", "a window")
        check_window("window", self.length() if self.window is None else self.window, task)

    def length(self) -> int:
        """The rounds of the window."""
        if self.window is not None:
            return self.window
        n = float(self.horizon)  # type: ignore[arg-type]
        least = max(1, round(2 * math.sqrt(n * math.log(n) / float(self.changes))))  # type: ignore[arg-type]
        return min(least, math.ceil(n))

    def init(self, reward: Array) -> Memory:
        return no_visits(reward, memory=Window(self.length()))

    def scores(self, key: Array, state: Memory, t: Array) -> tuple[Array, Memory]:
        mean, plays = state.mean_and_plays()
        rounds = jnp.clip(t - 1, 1, self.length()).astype(float)
        return jnp.where(plays == 0, jnp.inf, mean + jnp.sqrt(self.xi * jnp.log(rounds) / positive(plays))), state

    def update(self, state: Memory, feedback: Feedback) -> Memory:
        return state.counted(feedback)


def _check(policy: Any, task: Task, name: str, what: str) -> None:
    """Raise ValueError for a task that D-UCB and SW-UCB cannot play, or if fields are missing or superfluous."""
    checks.suits(policy, task, rewards=UNIT)
    checks.one_play(policy, task)
    checks.number(policy, "xi", 0, above=True)
    sources = [source for source in ("horizon", "changes") if getattr(policy, source) is not None]
    if getattr(policy, name) is not None:
        if sources:
            raise ValueError(f"{name}: {what} and {' and '.join(sources)}; give {what}, or both a horizon and changes")
    elif len(sources) < 2:
        raise ValueError(f"{name}: give {what}, or both a horizon and how many changes there are by then, at least 1")
    else:
        checks.number(policy, "horizon", 1)
        checks.horizon(policy, task)
        checks.number(policy, "changes", 1, float(policy.horizon))
