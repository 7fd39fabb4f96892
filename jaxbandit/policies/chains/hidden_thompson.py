"""HiddenThompson: Thompson sampling for hidden Markov chains, with an exact posterior law over a grid of them."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.arguments import integer
from jaxbandit.base import Feedback, Task, pytree, static, total
from jaxbandit.feedback import check_feedback
from jaxbandit.policies.parts import checks

MOST_LEVELS = 16
GROUP = 32  # chains whose weights are added up together


class HiddenChains(NamedTuple):
    """State of `HiddenThompson`, for N hidden chains in groups, [J, 32].

    Fields:
      weights: [K, J, 32], of each chain in the posterior law of each arm; the largest is 1.
      beliefs: [K, J, 32], the probability that each arm is in state 1, if it is that chain.
      reward: [K, 2], of each symbol.
    """

    weights: Array
    beliefs: Array
    reward: Array


@pytree
class HiddenThompson:
    """Thompson sampling for hidden Markov chains: the arm whose drawn chain has the largest long-run mean.

    An arm has two hidden states and shows symbol 1 rather than 0 with probability e0 in state 0 and e1 in state 1; it
    moves from state 0 to 1 with probability p01 and back with p10. Its chain is one of a grid: p01, p10, e0 and e1
    are sin(pi (i + 1/2) / (2 levels))^2 for i = 0, .., levels - 1, where e0 < e1. All are equally likely before the
    first play, and the state is then drawn from the stationary law. For each of these chains the forward recursion
    gives the exact probability of the symbols, and so the posterior law over the chains. In every round a chain is
    drawn for each arm; the M arms are played whose chains have the largest means
    r0 + (r1 - r0) (p10 e0 + p01 e1) / (p01 + p10), for r0 and r1 the rewards of the symbols.

    If an arm's chain is not in the grid, its posterior law settles on the one that fits its symbols best. Of the many
    chains of a grid some have nearly the right mean, but not exactly it: arms whose means are closer than that may be
    taken one for the other for ever. To know the hidden states is of no use for the choice of a rested arm, whose mean
    alone counts; IMED-MC and Thompson-MC, which take symbols for states, are as good on most arms, and faster.

    Args:
      levels: 2 to 16, different values of a probability; levels^3 (levels - 1) / 2 chains.

    Raises:
      ValueError: from `simulate` and `check_policy`, for another number of levels, and for arms that do not have two
        symbols.

    Source: our own, after Thompson 1933; the recursion of hidden Markov models as in Rabiner 1989.

    >>> policy = HiddenThompson(levels=4)
    >>> state = policy.init(jnp.array([[0.0, 1.0], [0.0, 1.0]]))
    >>> state.weights.shape, jax.jit(policy.scores)(jax.random.key(0), state, 1)[0].shape
    ((2, 3, 32), (2,))
    """

    levels: int = static(6)

    def validate(self, task: Task) -> None:
        checks.suits(self, task)
        integer("levels", self.levels, 2, MOST_LEVELS)
        if task.reward.shape[1] != 2:
            raise ValueError(f"HiddenThompson: is for two symbols, and {task.name} has {task.reward.shape[1]}")

    def init(self, reward: Array) -> HiddenChains:
        chains = grid(self.levels)
        shape = len(reward), *chains.mean.shape
        weights = jnp.broadcast_to(jnp.asarray(chains.mean > 0, float), shape)
        beliefs = jnp.broadcast_to(jnp.asarray(chains.p01 / (chains.p01 + chains.p10), float), shape)
        return HiddenChains(weights, beliefs, jnp.asarray(reward, float))

    def scores(self, key: Array, state: HiddenChains, t: Array) -> tuple[Array, HiddenChains]:
        means = jnp.asarray(grid(self.levels).mean, float)
        drawn = _drawn(state.weights, jax.random.uniform(key, (len(state.reward),)), means)
        return state.reward[:, 0] + (state.reward[:, 1] - state.reward[:, 0]) * drawn, state

    def update(self, state: HiddenChains, feedback: Feedback) -> HiddenChains:
        check_feedback(feedback, *state.reward.shape)
        p01, p10, e0, e1 = (jnp.asarray(numbers, float)[None] for numbers in grid(self.levels)[:4])
        shown = (feedback.states == 1)[:, None, None]  # [M, 1, 1]
        before = state.beliefs[feedback.arms]  # [M, J, 32]
        moved = before * (1 - p10) + (1 - before) * p01
        here = moved * jnp.where(shown, e1, 1 - e1)
        chance = here + (1 - moved) * jnp.where(shown, e0, 1 - e0)
        weights = state.weights[feedback.arms] * chance
        weights = weights / jnp.max(weights, axis=(1, 2))[:, None, None]
        return state._replace(
            weights=state.weights.at[feedback.arms].set(weights),
            beliefs=state.beliefs.at[feedback.arms].set(here / chance),
        )


class Grid(NamedTuple):
    """Hidden chains in groups of 32, [J, 32] each; the last group is filled up with chains of mean 0, weight 0."""

    p01: np.ndarray
    p10: np.ndarray
    e0: np.ndarray
    e1: np.ndarray
    mean: np.ndarray


@lru_cache(maxsize=8)
def grid(levels: int) -> Grid:
    """The chains of a grid, in the order of p01, p10, e0, e1.

    >>> grid(2).mean[0, :4].round(4).tolist()
    [0.5, 0.25, 0.75, 0.5]
    """
    values = np.sin(np.pi * (np.arange(levels) + 0.5) / (2 * levels)) ** 2
    p01, p10, e0, e1 = (each.ravel() for each in np.meshgrid(*[values] * 4, indexing="ij"))
    p01, p10, e0, e1 = (each[e0 < e1] for each in (p01, p10, e0, e1))
    mean = (p10 * e0 + p01 * e1) / (p01 + p10)
    fill = -len(mean) % GROUP
    grouped = [
        np.append(each, np.full(fill, 0.5 if n < 4 else 0.0)).reshape(-1, GROUP)
        for n, each in enumerate((p01, p10, e0, e1, mean))
    ]
    return Grid(*grouped)


def _drawn(weights: Array, uniform: Array, means: Array) -> Array:
    """The means [K] of chains drawn with weights [K, J, 32], by uniform numbers [K]: first a group, then one in it."""
    groups = total(weights)
    ends = _cumulative(groups)
    wanted = uniform * ends[:, -1]
    group = jnp.minimum(jnp.sum(ends <= wanted[:, None], axis=1), groups.shape[1] - 1)
    chosen = group[:, None] == jnp.arange(groups.shape[1])[None]
    start = jnp.sum(jnp.where(chosen, ends - groups, 0), axis=1)  # one term, so exact
    within = jnp.sum(jnp.where(chosen[..., None], weights, 0), axis=1)
    ends = _cumulative(within)
    place = jnp.minimum(jnp.sum(ends <= (wanted - start)[:, None], axis=1), GROUP - 1)
    return jnp.sum(jnp.where(place[:, None] == jnp.arange(GROUP)[None], means[group], 0), axis=1)


def _cumulative(values: Array) -> Array:
    """Sums [K, N] of the first values [K, N], added in their order."""
    ends = [values[:, 0]]
    for n in range(1, values.shape[1]):
        ends.append(ends[-1] + values[:, n])
    return jnp.stack(ends, axis=1)
