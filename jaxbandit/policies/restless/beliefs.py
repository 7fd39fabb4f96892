"""Myopic policies for known chains with beliefs about unobserved states (POMDP baselines)."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from jaxbandit.arguments import as_floats
from jaxbandit.base import Feedback, Paid, Pays, Task, per_arm, pytree, static, total
from jaxbandit.feedback import check_feedback
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.knowledge import check_made_for, laws_of, made_for


class Beliefs(NamedTuple):
    """Beliefs about the states of all arms."""

    beliefs: Array  # [K, S], distribution of each arm's present state, given the observations
    reward: Array  # [K, S] or [K, G], reward of each state or symbol


@pytree
class Myopic:
    """Myopic policy for restless arms: the arm with the largest expected reward in the next round, b P r for a belief
    b.

    b [S] is the distribution of the arm's state after the last round, P its `transition`, r the rewards of states.
    After a round the belief of a played arm is the state it showed; the beliefs of other arms move by `passive`, if
    given, or else by `transition`. If all arms are observed, each belief is the state shown. If all arms pay, played or
    not, the score is the gain of a play, b P r - b P0 r0 - cost, P0 the `passive` law and r0 the `passive_reward`; if
    the state left pays, it is b r - b r0 - cost. For identical arms with two states, the second of which pays more, and
    p11 >= p01, the policy maximises the expected reward of any number of rounds.

    Args:
      transition: [K, S, S], the arms' laws when played.
      initial: [K, S], law of each arm's state before the first round.
      passive: [K, S, S], their laws when not played; None for the same.
      paid: "played" (default), or "all" if arms that are not played pay, too.
      cost: the cost of a play with paid="all", a number or [K].
      passive_reward: [K, S], rewards of states with paid="all" for arms that are not played; None for the same.
      pays: the state that pays with paid="all": "after" (default), the one moved to, or "before", the one left.

    Raises:
      ValueError: from `simulate` and `check_policy`, for fields that are not laws of this number of arms; from
        `simulate`, for arms that are not restless, a `paid` that is not the environment's, and arms other than those
        that it was made from.

    Source: Zhao, Krishnamachari and Liu 2008; Ahmad, Liu, Javidi, Zhao and Krishnamachari 2009.

    >>> policy = Myopic([[[0.8, 0.2], [0.2, 0.8]]] * 2, [[0.5, 0.5], [0.0, 1.0]])
    >>> policy.scores(None, policy.init(jnp.array([[0.0, 1.0]] * 2)), 1)[0].tolist()
    [0.5, 0.8]
    """

    transition: ArrayLike = per_arm()
    initial: ArrayLike = per_arm()
    passive: ArrayLike | None = per_arm(None)
    paid: Paid = static("played")
    cost: ArrayLike = per_arm(0.0)
    passive_reward: ArrayLike | None = per_arm(None)
    pays: Pays = static("after")

    @classmethod
    def of(cls, environment: Any) -> Myopic:
        """The policy that knows this environment, one of `environments.restless`."""
        arms = laws_of("environment", environment, "one of environments.restless", checks.RESTLESS)
        passive = None if arms.uncontrolled else arms.passive
        policy = cls(arms.transition, arms.initial, passive, arms.paid, arms.cost, arms.passive_reward, arms.pays)
        return made_for(policy, arms, "reward")

    def validate(self, task: Task) -> None:
        checks.suits(self, task, checks.RESTLESS, left_may_pay=True)
        checks.paid_to(self, task, self.paid, self.pays)
        arms, states = task.reward.shape
        checks.of_arms(self, "cost", arms)
        checks.laws(self, "transition", (arms, states, states))
        checks.laws(self, "initial", (arms, states))
        if self.passive is not None:
            checks.laws(self, "passive", (arms, states, states))
        if self.passive_reward is None:
            checks.paid_alike(self, task)
        elif (shape := as_floats("passive_reward", self.passive_reward).shape) != (arms, states):
            raise ValueError(f"passive_reward: shape {shape} is not [K, S] = ({arms}, {states})")
        check_made_for(self, task)

    def init(self, reward: Array) -> Beliefs:
        return Beliefs(jnp.asarray(self.initial, float), jnp.asarray(reward, float))

    def scores(self, key: Array, state: Beliefs, t: Array) -> tuple[Array, Beliefs]:
        left_pays = self.pays == "before"
        scores = total((state.beliefs if left_pays else predicted(state.beliefs, self.transition)) * state.reward)
        if self.paid == "all":
            keeps = state.reward if self.passive_reward is None else jnp.asarray(self.passive_reward, float)
            kept = total((state.beliefs if left_pays else predicted(state.beliefs, self._passive)) * keeps)
            scores = scores - kept - jnp.asarray(self.cost, float)
        return scores, state

    def update(self, state: Beliefs, feedback: Feedback) -> Beliefs:
        return after_round(state, feedback, self._passive)

    @property
    def _passive(self) -> ArrayLike:
        """The transition law of an arm that is not played."""
        return self.transition if self.passive is None else self.passive


@pytree
class HiddenMyopic:
    """Myopic policy for hidden Markov arms: the arm with the largest expected reward of the next play, b P e r.

    b [S] is the distribution of the arm's hidden state given its symbols (the forward filter), P its `transition`, e
    its `emission`, r the rewards of symbols. After a play that showed o the belief is proportional to (b P)_s e_so; the
    belief of an arm that is not played is unchanged.

    Args:
      transition: [K, S, S], the arms' laws.
      emission: [K, S, G], probability of each symbol in each state.
      initial: [K, S], law of each arm's state before its first play.

    Raises:
      ValueError: from `simulate` and `check_policy`, for fields that are not laws of this number of arms; from
        `simulate`, for arms that are not hidden, and arms other than those that it was made from.

    Source: the forward recursion of hidden Markov models, as in Rabiner 1989.

    >>> policy = HiddenMyopic([[[0.9, 0.1], [0.2, 0.8]]] * 2, [[[0.8, 0.2], [0.3, 0.7]]] * 2, [[2 / 3, 1 / 3], [1, 0]])
    >>> jax.jit(policy.scores)(None, policy.init(jnp.array([[0.0, 1.0]] * 2)), 1)[0].round(4).tolist()
    [0.3667, 0.25]
    """

    transition: ArrayLike = per_arm()
    emission: ArrayLike = per_arm()
    initial: ArrayLike = per_arm()

    @classmethod
    def of(cls, environment: Any) -> HiddenMyopic:
        """The policy that knows this environment, one of `environments.hidden`."""
        arms = laws_of("environment", environment, "one of environments.hidden", ("hidden",))
        return made_for(cls(arms.transition, np.asarray(arms.emission), arms.initial), arms, "reward")

    def validate(self, task: Task) -> None:
        checks.suits(self, task, ("hidden",))
        arms, symbols = task.reward.shape
        rows = as_floats("transition", self.transition)
        states = rows.shape[-1] if rows.ndim else 0
        checks.laws(self, "transition", (arms, states, states))
        checks.laws(self, "emission", (arms, states, symbols))
        checks.laws(self, "initial", (arms, states))
        check_made_for(self, task)

    def init(self, reward: Array) -> Beliefs:
        return Beliefs(jnp.asarray(self.initial, float), jnp.asarray(reward, float))

    def scores(self, key: Array, state: Beliefs, t: Array) -> tuple[Array, Beliefs]:
        pays = total(jnp.asarray(self.emission, float) * state.reward[:, None])  # [K, S]
        return total(predicted(state.beliefs, self.transition) * pays), state

    def update(self, state: Beliefs, feedback: Feedback) -> Beliefs:
        check_feedback(feedback, *state.reward.shape)
        arms = feedback.arms
        following = predicted(state.beliefs, self.transition)[arms]
        weights = following * jnp.asarray(self.emission, float)[arms, :, feedback.states]
        possible = (total(weights) > 0)[:, None]  # false if the symbol shown has probability 0
        return state._replace(beliefs=state.beliefs.at[arms].set(_normalised(jnp.where(possible, weights, following))))


def predicted(beliefs: Array, transition: ArrayLike) -> Array:
    """b P for each arm: the law [K, S] of its state after a move by `transition` [K, S, S] from `beliefs` [K, S].

    >>> predicted(jnp.array([[0.5, 0.5]]), jnp.array([[[0.75, 0.25], [0.25, 0.75]]])).tolist()
    [[0.5, 0.5]]
    """
    return total(beliefs[:, None] * jnp.swapaxes(jnp.asarray(transition, float), 1, 2))


def _normalised(weights: Array) -> Array:
    """Weights [.., S] divided by their sums."""
    return weights / total(weights)[..., None]


def after_round(state: Beliefs, feedback: Feedback, transition: ArrayLike) -> Beliefs:
    """The beliefs after all arms moved by `transition` [K, S, S] and those played, or all, showed their states."""
    check_feedback(feedback, *state.reward.shape)
    if feedback.shown is not None:
        return state._replace(beliefs=jax.nn.one_hot(feedback.shown, state.beliefs.shape[1], dtype=state.beliefs.dtype))
    certain = jax.nn.one_hot(feedback.states, state.beliefs.shape[1], dtype=state.beliefs.dtype)
    return state._replace(beliefs=_normalised(predicted(state.beliefs, transition)).at[feedback.arms].set(certain))
