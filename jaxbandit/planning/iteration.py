"""Value iteration without a discount, for any function that says what a pair of action and state is worth."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.base import described
from jaxbandit.fast import larger, smaller

MOST_SWEEPS = 1000


@described
class Plan(NamedTuple):
    """The result of value iteration.

    Fields:
      actions: [S] int32, what to do in each state.
      values: [S], relative values, with minimum 0.
      gain: the long-run reward a round, to half of the tolerance.
      sweeps: int32, how many sweeps over all pairs were made.
      span: by how much the states' gains still differed in the last sweep.
    """

    actions: Array
    values: Array
    gain: Array
    sweeps: Array
    span: Array


def value_iteration(
    worth: Callable[[Array], Array],
    start: Array,
    tolerance: ArrayLike,
    *,
    most: int = MOST_SWEEPS,
    waiting: float = 0.0,
    among: Array | None = None,
) -> Plan:
    """The best actions of a decision process, by sweeps u <- u + (1 - waiting) (max over actions of worth(u) - u).

    A sweep chooses the best action of each state; the sweeps end when the changes max over actions of worth(u) - u
    of all states lie within the tolerance of each other. If worth(u) is the reward of a pair plus the mean of u after
    it, these changes are near the largest gain, and u near the relative values. For a periodic process they never do so
    without waiting: a positive `waiting` plans for a process that stays where it is with that probability, whose best
    actions and relative values are the same.

    Args:
      worth: from values [S] to what each pair is worth, [A, S].
      start: [S], the values to begin with.
      tolerance: positive; where numbers have few digits, not less than four roundings of the largest value.
      most: number of sweeps after which the last plan is returned as it is.
      waiting: from 0, below 1.
      among: [S] bool, the states that matter; None for all. The others have the value 0.

    Returns:
      a `Plan`; the actions are the best of the last sweep, the lowest on ties.

    Source: Puterman 1994, sections 8.5.4 and 8.5.5, for the waiting too.

    >>> rows, reward = jnp.array([[[1.0, 0.0], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]]]), jnp.array([[0.2, 1.0]] * 2)
    >>> plan = value_iteration(lambda u: reward + rows @ u, jnp.zeros(2), 1e-4)
    >>> plan.actions.tolist(), round(float(plan.gain), 3), [round(float(u), 3) for u in plan.values]
    ([1, 0], 0.6, [0.0, 0.8])
    """
    start = jnp.asarray(start, float)
    rounding = 4 * float(np.finfo(start.dtype).eps)
    inside = jnp.ones(start.shape, bool) if among is None else among

    def goes_on(loop: tuple[Plan, Array]) -> Array:
        plan, least = loop
        return (plan.sweeps == 0) | ((plan.span >= least) & (plan.sweeps < most))

    def sweep(loop: tuple[Plan, Array]) -> tuple[Plan, Array]:
        plan = loop[0]
        best, actions = best_actions(worth(plan.values))
        change = best - plan.values
        high, low = _ends(change, inside)
        values = plan.values + (1 - waiting) * change
        top, bottom = _ends(values, inside)
        values = jnp.where(inside, values - bottom, 0)
        least = larger(jnp.asarray(tolerance, start.dtype), rounding * (top - bottom))
        return Plan(actions, values, (high + low) / 2, plan.sweeps + 1, high - low), least

    nothing = jnp.zeros((), start.dtype)
    first_plan = Plan(jnp.zeros(start.shape, jnp.int32), start, nothing, jnp.int32(0), nothing)
    return jax.lax.while_loop(goes_on, sweep, (first_plan, nothing))[0]


def best_actions(worth: Array) -> tuple[Array, Array]:
    """What the best action of each state is worth [S], and which it is [S] int32, the lowest on ties, from [A, S].

    Actions are compared one by one: XLA may compute a number twice, and then the largest need not equal any of them.

    >>> [array.tolist() for array in best_actions(jnp.array([[1.0, 2.0], [3.0, 2.0]]))]
    [[3.0, 2.0], [1, 0]]
    """
    best, actions = worth[0], jnp.zeros(worth.shape[1:], jnp.int32)
    for action in range(1, worth.shape[0]):
        better = worth[action] > best
        best, actions = jnp.where(better, worth[action], best), jnp.where(better, action, actions)
    return best, actions


def _ends(values: Array, inside: Array) -> tuple[Array, Array]:
    """The largest and the least of the values [S] inside."""
    high, low = jnp.where(inside, values, -jnp.inf), jnp.where(inside, values, jnp.inf)
    most, least = high[0], low[0]
    for s in range(1, values.shape[0]):
        most, least = larger(most, high[s]), smaller(least, low[s])
    return most, least
