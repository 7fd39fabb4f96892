"""IMED: indexed minimum empirical divergence."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from jaxbandit.base import Family, Feedback, Task, pytree
from jaxbandit.divergences import bernoulli_kl
from jaxbandit.members import Units
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.family_units import family_units
from jaxbandit.policies.parts.leaders import leaders, least_index, no_leaders
from jaxbandit.policies.parts.memory import Forgets, Memory, no_visits, positive


@pytree
class IMED:
    """IMED (indexed minimum empirical divergence) for one-parameter families: the arm with the least
    T d(mean, best mean) + log T is played, T its plays.

    Args:
      family: one of `jaxbandit.families`, whose divergence then replaces d and whose rewards are not mapped; None
        is Bernoulli, with rewards mapped to [0, 1].
      memory: None, or `Discounted` or `Window`: T and the means are then of the remembered plays.

    Raises:
      ValueError: from `simulate` and `check_policy`, for rewards that the family does not have, or a `memory`
        of another type.

    With M plays a round the M - 1 arms with the largest means are played, and the rule above chooses one of the others.

    Source: Honda and Takemura 2015, algorithm 1, with the family's divergence on the sample mean; several plays as
    in the second policy of Komiyama, Honda and Nakagawa 2015, with IMED in place of Thompson sampling.

    >>> IMED().scores(None, IMED().init(jnp.array([[0.0, 1.0], [0.0, 1.0]])), 1)[0].tolist()
    [inf, inf]
    """

    family: Family | None = None
    memory: Forgets | None = None

    def validate(self, task: Task) -> None:
        checks.family(self, task)
        checks.memory(self, task)

    @property
    def units(self) -> Units:
        """Rewards are mapped to [0, 1] without a family."""
        return family_units(self.family)

    def init(self, reward: Array) -> Compared:
        return Compared(no_visits(reward, self.family, self.memory), no_leaders(reward))

    def scores(self, key: Array, state: Compared, t: Array) -> tuple[Array, Compared]:
        mean, plays = state.seen.mean_and_plays()
        played = positive(plays)
        divergence = bernoulli_kl if self.family is None else self.family.divergence
        best = jnp.max(jnp.where(state.leads, -jnp.inf, mean))
        index = played * divergence(mean, best) + jnp.log(played)
        return least_index(index, plays, state.leads), state

    def update(self, state: Compared, feedback: Feedback) -> Compared:
        seen = state.seen.counted(feedback)
        if feedback.arms.shape[0] == 1:
            return Compared(seen, state.leads)
        return Compared(seen, leaders(*seen.mean_and_plays(), feedback))


class Compared(NamedTuple):
    """State of a policy that compares arms with the best mean."""

    seen: Memory
    leads: Array  # [K] bool, the arms played regardless of their indices, with several plays a round
