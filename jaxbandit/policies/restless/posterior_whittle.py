"""Posterior sampling with Whittle indices, for restless arms with observed states."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.arguments import excerpt, finite
from jaxbandit.base import Feedback, Paid, Pays, Task, per_arm, pytree, static
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.forgetting import Discounted, Window
from jaxbandit.policies.parts.memory import positive
from jaxbandit.policies.parts.posteriors import dirichlet, of_rows
from jaxbandit.policies.restless.observed_arms import (
    ObservedMoves,
    Seen,
    check_task,
    costs_of,
    episode,
    moves_of,
    nothing_seen,
    paying,
    planned,
    played,
    shown_by_all,
)

REWARDS = 1  # folded into the key from which the rewards are drawn


class PaidRewards(NamedTuple):
    """What plays paid in each state of each arm.

    Fields:
      number: [K, S] int32, plays for which the state paid.
      mean: [K, S], of their rewards.
    """

    number: Array
    mean: Array

    def after(self, feedback: Feedback, states_that_pay: Array) -> PaidRewards:
        """The rewards after a round in which these states [K] paid, of the arms played; S for one that is not known."""
        arms, states = self.mean.shape
        rewards = jnp.zeros(arms, self.mean.dtype).at[feedback.arms].set(feedback.rewards)
        here = states_that_pay[:, None] == jnp.arange(states, dtype=jnp.int32)[None]
        new = here & played(feedback, self.mean)[:, None]
        number = self.number + new
        return PaidRewards(number, self.mean + jnp.where(new, (rewards[:, None] - self.mean) / positive(number), 0))


class Sampled(NamedTuple):
    """State of `PosteriorWhittle`.

    Fields:
      seen: the moves of all arms that are remembered.
      indices: [K, S], of the arms drawn for the episode.
      paid: what plays paid; None if that is known.
    """

    seen: Seen
    indices: Array
    paid: PaidRewards | None


@pytree
class PosteriorWhittle:
    """Posterior sampling with Whittle indices (RMAB Thompson sampling): the Whittle index policy for arms drawn from
    the posterior, anew in every episode.

    An arm moves by one matrix in rounds in which it is played, and by another in all others. With N(s, s') its
    moves from s to s' by one of them, row s of that matrix is a draw from the Dirichlet law with parameters
    prior + N(s, .); every move of every arm is counted. The Whittle indices of the drawn arms are kept for an
    episode, and the M arms with the largest indices of their present states are played, as by `Whittle`. The n-th
    episode lasts n rounds, so that T rounds have about sqrt(2 T) of them. For a drawn arm that
    is not indexable, the result of `planning.whittle` is used as its indices. In the first round, before any state was
    seen, the score of an arm is the mean of its indices.

    With a memory, only the moves that it keeps are counted, and no episode is longer than a tenth of its rounds: so the
    policy follows arms whose laws change. With `unknown_rewards` the policy learns what states pay, too: in every
    episode the reward of a state is a draw from the uniform law between these two numbers until it paid in a play of
    the arm, and from then on the mean of what such plays paid, which is exact where a state pays a fixed reward.

    Args:
      cost: of a play, a number or [K], in the environment's order of arms, and as there if all arms pay; it is
        subtracted from the arm's index.
      paid: "all" if every arm pays for its state in every round, or "played" if only an arm that is played does.
      prior: each parameter of a row's Dirichlet prior, one number or one of each arm, [K]; at least 1e-30. Below 1/2 a
        drawn arm often leaves a state less than once in a million rounds, and its indices are then inaccurate
        (`planning.whittle`).
      discount: from 0 to below 1; None for the long-run average.
      memory: None, or `Discounted` or `Window`.
      unknown_rewards: None, if the rewards of states are known; or the least and the largest possible reward.
      pays: the state that pays, "after" for the one moved to or "before" for the one left.
      passive_reward: [K, S], what states pay if all arms pay and theirs is not played; None for the same as if it is.

    Raises:
      ValueError: from `simulate` and `check_policy`, for a field out of range or not as in the environment, arms that
        are not observed, and more than 8 states.

    Source: Akbarzadeh and Mahajan 2022; for episodes of one length Jung and Tewari 2019. Episodes that
    grow by one round each are our own.

    >>> policy = PosteriorWhittle(cost=0.2)
    >>> state = policy.init(jnp.array([[0.0, 1.0], [0.0, 1.0]]))
    >>> jax.jit(policy.scores)(jax.random.key(0), state, 1)[0].shape
    (2,)
    """

    cost: ArrayLike = per_arm(0.0)
    paid: Paid = static("all")
    prior: ArrayLike = per_arm(1.0)
    discount: ArrayLike | None = None
    memory: Discounted | Window | None = None
    unknown_rewards: tuple[float, float] | None = static(None)
    pays: Pays = static("after")
    passive_reward: ArrayLike | None = per_arm(None)

    @classmethod
    def of(cls, arms: Any, **fields: Any) -> PosteriorWhittle:
        """The policy for arms with known costs and payment, and unknown chains.

        Args:
          arms: an environment of restless arms.
          fields: the policy's other fields, by name; what is known of costs and payment is taken from the arms.

        Raises:
          ValueError: the argument and what is wrong with it.
        """
        policy = cls(**costs_of(cls, arms, fields), **fields)
        policy.check_numbers()
        return policy

    def validate(self, task: Task) -> None:
        checks.each_arm(self, "prior", task, 1e-30)
        self.check_numbers()
        check_task(self, task)

    def check_numbers(self) -> None:
        """Raise ValueError for a field that is out of range."""
        if self.discount is not None:
            checks.number(self, "discount", 0, 1, below=True)
        if self.unknown_rewards is not None:
            numbers = finite("unknown_rewards", self.unknown_rewards)
            if numbers.shape != (2,) or not numbers[0] < numbers[1]:
                least = "the least and the largest possible reward, such as (0, 1), or None"
                raise ValueError(f"unknown_rewards: {excerpt(self.unknown_rewards)}; give {least}")

    def init(self, reward: Array) -> Sampled:
        reward, paid = jnp.asarray(reward, float), None
        if self.unknown_rewards is not None:
            reward = jnp.zeros_like(reward)
            paid = PaidRewards(jnp.zeros(reward.shape, jnp.int32), reward)
        return Sampled(nothing_seen(reward, self.memory), jnp.zeros_like(reward), paid)

    def scores(self, key: Array, state: Sampled, t: Array) -> tuple[Array, Sampled]:
        """The scores, and the indices of newly drawn arms if the round begins an episode."""
        moves = moves_of(state.seen)
        known = (moves, jax.random.key_data(key), state.paid)
        begins = episode(t, self.memory)[1]
        indices = planned(begins, lambda _, *known: self.plan(*known), known, state.indices)
        return moves.scores(indices), state._replace(indices=indices)

    def update(self, state: Sampled, feedback: Feedback) -> Sampled:
        paid = state.paid
        if paid is not None:
            paying_now = shown_by_all(feedback) if self.pays == "after" else moves_of(state.seen).here
            paid = paid.after(feedback, paying_now)
        return state._replace(seen=state.seen.counted(feedback), paid=paid)

    def plan(self, seen: ObservedMoves, words: Array, paid: PaidRewards | None = None) -> Array:
        """The indices [K, S] of arms drawn from the posterior, by the data [2] uint32 of a random key."""
        if self.unknown_rewards is not None and paid is not None:
            seen = seen._replace(reward=self.rewards(paid, words))
        amounts = paying(seen.reward, self.paid, self.passive_reward)
        return seen.indices(self.draw(seen, words), self.cost, amounts, self.pays, self.discount)

    def rewards(self, paid: PaidRewards, words: Array) -> Array:
        """What states pay, [K, S]: the mean of what was paid, or a draw where no play has shown it."""
        low, high = (0.0, 1.0) if self.unknown_rewards is None else self.unknown_rewards
        key = jax.random.fold_in(jax.random.wrap_key_data(words, impl="threefry2x32"), REWARDS)
        drawn = jax.random.uniform(key, paid.mean.shape, paid.mean.dtype, low, high)
        return jnp.where(paid.number > 0, paid.mean, drawn)

    def draw(self, seen: ObservedMoves, words: Array) -> Array:
        """Rows [K, 2, S, S] drawn from the posterior."""
        parameters = of_rows(jnp.asarray(self.prior, float), 3) + seen.counts.astype(float)
        return dirichlet(jax.random.wrap_key_data(words, impl="threefry2x32"), parameters)
