"""The maximisation over a KL ball in scaled variables, and where the search for the maximum begins.

Values are counted down from the best one and divided by their range (`below`, from 0 to 1). Weights are divided by
their mean under p, so that the mean of the values is the sum of p_j w_j value_j. The value v that is sought moves from
this mean towards a target, usually the best value:

    v = (mean + added target) / (1 + added),  gap = target - mean,  left = target - v = gap / (1 + added),
    gain = v - mean = added left,  added = w (exp(y) - 1),  w = the target's weight.

`tilt` defines p_j (row), w_j (weights), x_j and K(v); `ball` finds the y >= 0 at which K(v) is the radius.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.confidence.bernoulli import begin
from jaxbandit.confidence.row.arithmetic import Row, chosen_sum, dot, each, first_largest, kept, largest, room
from jaxbandit.fast import exponential, larger, smaller

FAR = 46.0  # a y at which v equals its target to rounding, whatever the weights of an estimated chain


class Problem(NamedTuple):
    """What is maximised, in the units of the module's docstring."""

    p: Row
    weights: Row  # w_j, with sum of p_j w_j = 1
    below: Row  # best value less value_j, from 0 to 1
    at_p: Row  # x_j at v = mean: w_j (value_j - mean)
    gap: Array  # best value less the mean
    radius: Array  # at most 1e4


class Target(NamedTuple):
    """The value that v is moved towards: v = (mean + added target) / (1 + added) for added >= 0."""

    gap: Array  # target less the mean
    weight: Array  # w_j of the states with this value
    below: Array  # best value less the target
    low: Array  # a lower bound of `added` at the root


def scaled(p: Row, below: Row, weights: Row, radius: Array) -> Problem:
    """The problem with its weights scaled to mean 1, and what follows from them; `below` is in units of the range."""
    inverse = 1 / dot(p, weights)
    weights = each(lambda w: w * inverse, weights)
    held = each(lambda a, w: a * w, p, weights)  # shares of the mean, which sum to 1
    gap = dot(held, below)
    # by way of the state that holds most weight: the mean may be that state's value to rounding, and then gap - below_j
    # has no digits left
    base = first_largest(held)
    of_base = chosen_sum(below, base)
    above_base = each(lambda here, b: jnp.where(here, 0, of_base - b), base, below)
    shift = dot(held, above_base)
    at_p = each(lambda w, above: w * (above - shift), weights, above_base)
    return Problem(p, weights, below, at_p, gap, radius)


def best_target(problem: Problem) -> Target:
    """The best value as the target; several states with that value count as one, by their mean weight under p."""
    p, weights, below, _, gap, radius = problem
    tiny = float(np.finfo(gap.dtype).tiny)
    inside = each(lambda b: b <= room(below), below)
    share = chosen_sum(p, inside)
    rest = chosen_sum(p, each(lambda here: ~here, inside))
    held = chosen_sum(each(lambda a, w: a * w, p, weights), inside)
    heaviest = largest(each(lambda w, here: jnp.where(here, w, 0), weights, inside))
    weight = jnp.where(share > 0, held / jnp.where(share > 0, share, 1), heaviest)
    # to shrink all other states alike is one way to reach v, so y is at least max(a, s) of `bernoulli.kl_bound`
    ratio = radius / larger(rest, tiny)
    low = smaller(larger(ratio, jnp.sqrt(2 * ratio * share)), FAR)
    lost, kept = exponential(low)
    return Target(gap, weight, jnp.zeros_like(gap), weight * (lost / kept))


def placed(problem: Problem, target: Target, added: Array) -> tuple[Row, Array, Array, Array]:
    """x_j at v, `gain`, `left`, and minus the derivative of log(left) by y (called `steep`), for this `added`."""
    inverse = 1 / (1 + added)
    left = target.gap * inverse
    gain = added * left
    # from the nearer of mean and target, so that a small value_j - v keeps its digits
    x = each(
        lambda a, w, b: jnp.where(gain < left, a - w * gain, w * (left - (b - target.below))),
        problem.at_p,
        problem.weights,
        problem.below,
    )
    return kept(x), gain, left, (target.weight + added) * inverse


def within_reach(problem: Problem) -> tuple[Array, Row]:
    """A gain of the mean within the radius (y to 0.7 %), and the gains if each state alone grew by as much.

    The states above the mean are taken as one state and the rest as another, each in the proportions that it has under
    p. Where p holds none of the states above, all goes to the one that gains most, which is exact for a unit vector.
    """
    p, weights, _, at_p, gap, radius = problem
    tiny = float(np.finfo(gap.dtype).tiny)
    # a state whose value is the mean to rounding is not above it: of a unit vector, that is the state that it names
    above = each(lambda x, w: x > room(at_p) * w, at_p, weights)
    growing = chosen_sum(p, above)
    _, y, _ = begin(larger(chosen_sum(p, each(lambda here: ~here, above)), tiny), growing, radius)
    lost, kept = exponential(smaller(y, 30.0))
    growth = lost / kept
    singles = each(lambda x, w: growth * x / (1 + growth * w), at_p, weights)
    excess, weight = (chosen_sum(each(lambda a, b: a * b, p, row), above) for row in (at_p, weights))
    together = growth * excess / larger(growing + growth * weight, tiny)
    return smaller(jnp.where(growing > 0, together, largest(singles)), gap), singles
