"""Arms that all begin again after a random time: discounted reward without a discount."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit import chains, draws, indices
from jaxbandit.arguments import number
from jaxbandit.base import Declares, Feedback, pytree
from jaxbandit.environments.rested.markov_arms import MarkovArms
from jaxbandit.known_arms import KnownArms


class RestartingState(NamedTuple):
    """Where the arms of one run stand in the episode under way."""

    states: Array  # [K] int32
    draws: Array  # [K] uint32, how many draws each arm has used; the round before the episode, until the arm is played


@pytree
class RestartingArms:
    """Rested arms that, after every round, with probability 1 - discount all return to their first states.

    An episode, the rounds from one return to the next, has one round more with probability `discount`. So the expected
    sum of its rewards is that of discount^(t-1) reward_t over the rounds t of arms that never return, and a policy that
    learns can do so over many episodes. The player is told when the arms return (`Feedback.restarted`), not in which
    states they are then: these have the law `initial` of the arms, and show themselves when an arm is played.

    What the n-th play of an arm in an episode does depends on the run, the arm, n and the round in which the episode
    began, and the returns on the run and the round alone: policies are compared on the same luck. Until the first
    return the arms do what they would do without returns.

    Build it with `restarting`, which checks its arguments.

    Fields: `arms`, the `discount` in float64 on the host, and the threshold of 32 bits that draws a return.
    """

    declares: ClassVar = Declares(pairing="round", problem="restarting")

    arms: MarkovArms
    discount: np.float64 | Array
    threshold: np.uint32 | Array = field(repr=False)  # uint32

    @property
    def reward(self) -> np.ndarray | Array:
        """[K, S], what each state of each arm pays."""
        return self.arms.reward

    @property
    def transition(self) -> np.ndarray | Array:
        """[K, S, S], how an arm moves that is played."""
        return self.arms.transition

    @property
    def initial(self) -> np.ndarray | Array:
        """[K, S], law of each arm's state at the beginning of an episode."""
        return self.arms.initial

    def means(self) -> np.ndarray:
        """Long-run reward per round of playing one arm alone, (1 - discount) times its discounted value: [K] float64.

        >>> from jaxbandit import two_state
        >>> restarting(two_state([0.5, 0.4], [0.4, 0.55]), 0.9).means().round(4).tolist()
        [0.5495, 0.4188]
        """
        rows, discount = np.asarray(self.transition), float(self.discount)
        values = np.linalg.solve(np.eye(rows.shape[-1]) - discount * rows, rows @ np.asarray(self.reward)[..., None])
        return np.asarray((1 - discount) * np.sum(np.asarray(self.initial) * values[..., 0], axis=-1))

    def known(self) -> KnownArms:
        """What a planner computes with: the arms within an episode."""
        return self.arms.known()

    def comparator(self, plays: int) -> float:
        """What the best policy that knows the arms collects a round in the long run: that of the Gittins index.

        Raises:
          ValueError: plays is not 1; with more, only value iteration over all arms together finds the best.

        >>> from jaxbandit import two_state
        >>> round(restarting(two_state([0.5, 0.4], [0.4, 0.55]), 0.9).comparator(1), 4)
        0.5495
        """
        if plays != 1:
            raise ValueError(f"plays: {plays}; what the best policy collects is known for one play a round")
        value = indices.gittins_value(self.transition, self.reward, float(self.discount), self.initial)
        return (1 - float(self.discount)) * value

    def init(self, key: Array) -> RestartingState:
        """Where the arms of the run with this environment key stand before the first round."""
        initial_state = self.arms.init(key)
        return RestartingState(initial_state.states, initial_state.plays)

    def step(self, key: Array, state: RestartingState, arms: Array, t: Array) -> tuple[RestartingState, Feedback]:
        """Play `arms` [M] int32, distinct, in round `t`: where all arms stand afterwards, and what the player sees."""
        before, number = state.states[arms], state.draws[arms] + 1
        bits = draws.play_bits(key, arms, number)
        states = draws.choose(bits, jnp.asarray(self.arms.transition_thresholds), arms, before)
        rewards = jnp.asarray(self.reward, float)[arms, states]
        next_states, used = state.states.at[arms].set(states), state.draws.at[arms].set(number)
        # numbers beyond those of the arms: K for the return, K + 1 for its number, the others for the first states
        count = next_states.shape[0]
        chance = draws.play_bits(key, jnp.arange(count, 2 * count + 2), jnp.full(count + 2, t))
        ended = chance[0] < self.threshold
        fresh = draws.choose(chance[2:], jnp.asarray(self.arms.initial_thresholds))
        following = RestartingState(jnp.where(ended, fresh, next_states), jnp.where(ended, t.astype(jnp.uint32), used))
        restarted = jnp.where(ended, chance[1] | 1, 0).astype(jnp.uint32)
        return following, Feedback(arms, before, states, rewards, t, restarted=restarted)


def restarting(arms: MarkovArms, discount: float) -> RestartingArms:
    """Rested arms in episodes: after every round they all begin again with probability 1 - discount.

    Args:
      arms: from `two_state`, `bernoulli`, `markov` or `random_arms`; their `initial_state` is that of every episode.
      discount: from 0 (every round is an episode) to 1 - 2^-31.

    Raises:
      ValueError: the argument and what is wrong with it.

    Source: the equivalence is the usual one of discounted and random horizons (Puterman 1994, section 5.3); learning in
    such episodes is that of Gast, Gaujal and Khun 2022.

    >>> import jax
    >>> from jaxbandit import two_state
    >>> arms = restarting(two_state([0.5, 0.4], [0.4, 0.55]), 0.0)
    >>> state, feedback = arms.step(jax.random.key(0), arms.init(jax.random.key(0)), jnp.array([1]), jnp.int32(1))
    >>> state.states.tolist(), bool(feedback.restarted > 0)
    ([0, 0], True)
    """
    if not isinstance(arms, MarkovArms):
        raise ValueError(f"arms: {type(arms).__name__} are not rested arms, such as `markov` makes")
    kept = np.float64(number("discount", discount, 0, 1 - chains.RAREST))
    ends = np.minimum(np.rint((1 - kept) * 2.0**32), 2.0**32 - 1).astype(np.uint32)
    return RestartingArms(arms=arms, discount=kept, threshold=ends)
