"""DMED: deterministic minimum empirical divergence."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from jaxbandit.base import Feedback, Task, pytree, static
from jaxbandit.divergences import bernoulli_kl
from jaxbandit.fast import add_one
from jaxbandit.feedback import check_feedback
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.memory import positive, sample_mean, unit_reward


class Lists(NamedTuple):
    """State of a policy that plays lists of arms."""

    now: Array  # [K] bool, arms of the current list that are still to be played
    following: Array  # [K] bool, arms that have joined the next list so far
    counts: Array  # [K, S] int32, plays of the arm that led to the state
    reward: Array  # [K, S], in [0, 1]


@pytree
class DMED:
    """DMED (deterministic minimum empirical divergence) for Bernoulli rewards: a list of arms is played, the lowest arm
    first, while the next list is made.

    The first two lists hold all arms. From the second list on, after every round n, an arm that is not on the current
    list, or has been played from it, joins the next list if

        T d(mean, best mean) <= log n - log T, T the arm's plays,

    and stays on it. The next list is never empty, because the best arm always joins. With M plays a round the M lowest
    arms of the list are played; where fewer are left, the arms with the largest means take the remaining plays. The
    M-th largest mean then replaces the best mean: an arm worse than the M-th joins as rarely as with one play a round,
    though the arm that it displaces may be better than the M-th.

    Args:
      plus: False leaves out log T, the variant that Garivier and Cappe 2011 compare with.

    Source: Honda and Takemura 2010, with the Bernoulli divergence on the sample mean. The right side is multiplied by
    1 + 1e-5, so that an arm for which both sides are equal, such as 2 log 2 and log 8 - log 2, joins in single and
    in double precision.

    >>> state = DMED().init(jnp.array([[0.0, 1.0], [0.0, 1.0]]))
    >>> DMED().scores(None, state, 1)[0].tolist()
    [inf, inf]
    """

    units = "mapped"

    plus: bool = static(True)

    def validate(self, task: Task) -> None:
        checks.suits(self, task)
        checks.truth(self, "plus")

    def init(self, reward: Array) -> Lists:
        arms = jnp.ones(reward.shape[0], bool)
        return Lists(arms, ~arms, jnp.zeros(reward.shape, jnp.int32), unit_reward(reward))

    def scores(self, key: Array, state: Lists, t: Array) -> tuple[Array, Lists]:
        return jnp.where(state.now, jnp.inf, sample_mean(state.counts, state.reward)[0]), state

    def update(self, state: Lists, feedback: Feedback) -> Lists:
        check_feedback(feedback, *state.counts.shape)
        wanted = feedback.arms.shape[0]
        first = (feedback.t - 1) * wanted < state.now.shape[0]  # the current list is the first one
        counts = add_one(state.counts, feedback.arms, feedback.states)
        now = state.now.at[feedback.arms].set(False)
        mean, plays = sample_mean(counts, state.reward)
        best = _largest(mean, wanted)
        played = positive(plays)
        most = jnp.log(feedback.t.astype(float)) - (jnp.log(played) if self.plus else 0)
        joins = played * bernoulli_kl(jnp.minimum(mean, best), best) <= most * (1 + 1e-5)
        following = state.following | (~now & (joins | first))
        over = ~jnp.any(now)
        return Lists(jnp.where(over, following, now), following & ~over, counts, state.reward)


def _largest(means: Array, number: int) -> Array:
    """The `number`-th largest of the means [K]."""
    if number == 1:
        return jnp.max(means)
    ahead = jnp.sum(means[:, None] > means[None], axis=0)  # a sort is slower and does not fuse
    return jnp.min(jnp.where(ahead < number, means, jnp.inf))
