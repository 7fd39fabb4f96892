"""Posterior sampling for restless arms whose states are all seen."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.base import Feedback, Paid, Task, per_arm, pytree, static
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.posteriors import dirichlet
from jaxbandit.policies.restless.observed_arms import (
    ObservedMoves,
    check_task,
    costs_of,
    episode,
    nothing_seen,
    planned,
)


class Sampled(NamedTuple):
    """State of `PosteriorWhittle`.

    Fields:
      seen: the moves of all arms.
      indices: [K, S], of the arms drawn for the episode.
    """

    seen: ObservedMoves
    indices: Array


@pytree
class PosteriorWhittle:
    """The Whittle index rule for restless arms drawn from what is known of them, anew in every episode.

    An arm moves by one matrix in rounds in which it is played, and by another in all others. With N(s, s') its
    moves from s to s' by one of them, row s of that matrix is a draw from the Dirichlet law with parameters
    prior + N(s, .); every move of every arm is seen and counted. The Whittle indices of the drawn arms are kept for an
    episode, and the M arms with the largest indices of their present states are played, as by `Whittle`. The n-th
    episode lasts n rounds, so that T rounds have about sqrt(2 T) of them. A drawn arm that is not indexable is played
    by the numbers that the search for its indices gives (`planning.whittle`). In the first round, in which no state has
    been seen, an arm has the mean of its indices.

    Args:
      cost: what a play costs, a number or [K], in the environment's order of the arms, and as there if all arms pay; it
        lowers the arm's index by as much.
      paid: "all" if every arm pays for its state in every round, or "played" if only an arm that is played does.
      prior: each parameter of a row's Dirichlet law before the first round; at least 1e-30. Below 1/2 a drawn arm often
        leaves a state less than once in a million rounds, and its indices are then rough (`planning.whittle`).
      discount: from 0 to below 1; None for the long-run average.

    Raises:
      ValueError: from `simulate` and `check_policy`, for a field out of range or not as in the environment, arms whose
        states are not all shown, and more than 8 states.

    Source: Akbarzadeh and Mahajan 2022; for episodes of one length Jung and Tewari 2019. That they grow by one round
    each, whatever is seen, is our own.

    >>> policy = PosteriorWhittle(cost=0.2)
    >>> state = policy.init(jnp.array([[0.0, 1.0], [0.0, 1.0]]))
    >>> policy.scores(jax.random.key(0), state, 1)[0].shape
    (2,)
    """

    cost: ArrayLike = per_arm(0.0)
    paid: Paid = static("all")
    prior: ArrayLike = 1.0
    discount: ArrayLike | None = None

    @classmethod
    def of(cls, arms: Any, **fields: Any) -> PosteriorWhittle:
        """The policy that is told what the arms cost and which of them pay, and nothing of their chains.

        Args:
          arms: an environment of restless arms.
          fields: the policy's other fields, by name; `cost` and `paid` are those of the arms.

        Raises:
          ValueError: the argument and what is wrong with it.
        """
        policy = cls(**costs_of(cls, arms, fields), **fields)
        policy.check_numbers()
        return policy

    def validate(self, task: Task) -> None:
        self.check_numbers()
        check_task(self, task)

    def check_numbers(self) -> None:
        """Raise ValueError for a field that is out of range."""
        checks.number(self, "prior", 1e-30)
        if self.discount is not None:
            checks.number(self, "discount", 0, 1, below=True)

    def init(self, reward: Array) -> Sampled:
        reward = jnp.asarray(reward, float)
        return Sampled(nothing_seen(reward), jnp.zeros_like(reward))

    def scores(self, key: Array, state: Sampled, t: Array) -> tuple[Array, Sampled]:
        """The scores, and the indices of newly drawn arms if the round begins an episode."""
        known = (state.seen, jax.random.key_data(key))
        indices = planned(episode(t)[1], lambda _, *known: self.plan(*known), known, state.indices)
        return state.seen.scores(indices), Sampled(state.seen, indices)

    def update(self, state: Sampled, feedback: Feedback) -> Sampled:
        return state._replace(seen=state.seen.counted(feedback))

    def plan(self, seen: ObservedMoves, words: Array) -> Array:
        """The indices [K, S] of arms drawn from what is known, by the data [2] uint32 of a random key."""
        return seen.indices(self.draw(seen, words), self.cost, self.paid, self.discount)

    def draw(self, seen: ObservedMoves, words: Array) -> Array:
        """Rows [K, 2, S, S] drawn from what is known."""
        parameters = jnp.asarray(self.prior, float) + seen.counts.astype(float)
        return dirichlet(jax.random.wrap_key_data(words, impl="threefry2x32"), parameters)
