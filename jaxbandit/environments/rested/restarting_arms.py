"""Arms that all restart after a random time: discounted reward as a long-run average."""

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
    """The states of the arms of one run in the current episode."""

    states: Array  # [K] int32
    draws: Array  # [K] uint32, draws used by each arm; before its first play in an episode, the last round before it


@pytree
class RestartingArms:
    """Rested arms that all restart after every round with probability 1 - discount.

    An episode, the rounds from one restart to the next, continues after each round with probability `discount`. So the
    expected sum of its rewards is that of discount^(t-1) reward_t over the rounds t of arms that never restart, and a
    policy can learn over many episodes. The player sees that the arms restart (`Feedback.restarted`), not their new
    states: these are drawn from the law `initial` of the arms, and an arm shows its state when it is played.

    The outcome of the n-th play of an arm in an episode depends only on the run, the arm, n and the round in which the
    episode began, and a restart only on the run and the round: policies are compared on common random numbers. Until
    the first restart the arms behave as without restarts.

    Build it with `restarting`, which checks its arguments.

    Fields: `arms`, the `discount` in float64 on the host, and the threshold of 32 bits for the draw of a restart.
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
        """[K, S, S], the transition law of a played arm."""
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
        """The laws and rewards that a planner needs, of the arms within an episode."""
        return self.arms.known()

    def comparator(self, plays: int) -> float:
        """The long-run reward a round of the Gittins index policy, which is the best for known arms.

        Raises:
          ValueError: plays is not 1; with more, the best policy needs value iteration over joint states.

        >>> from jaxbandit import two_state
        >>> round(restarting(two_state([0.5, 0.4], [0.4, 0.55]), 0.9).comparator(1), 4)
        0.5495
        """
        if plays != 1:
            raise ValueError(f"plays: {plays}; what the best policy collects is known for one play a round")
        value = indices.gittins_value(self.transition, self.reward, float(self.discount), self.initial)
        return (1 - float(self.discount)) * value

    def init(self, key: Array) -> RestartingState:
        """The state before the first round of the run with this environment key."""
        initial_state = self.arms.init(key)
        return RestartingState(initial_state.states, initial_state.plays)

    def step(self, key: Array, state: RestartingState, arms: Array, t: Array) -> tuple[RestartingState, Feedback]:
        """Play `arms` [M] int32, distinct, in round `t`; return the new state and what the player sees."""
        before, number = state.states[arms], state.draws[arms] + 1
        bits = draws.play_bits(key, arms, number)
        states = draws.choose(bits, jnp.asarray(self.arms.transition_thresholds), arms, before)
        rewards = jnp.asarray(self.reward, float)[arms, states]
        next_states, used = state.states.at[arms].set(states), state.draws.at[arms].set(number)
        # arm numbers end at K - 1: K is for the restart, K + 1 for its number, the others for the first states
        count = next_states.shape[0]
        chance = draws.play_bits(key, jnp.arange(count, 2 * count + 2), jnp.full(count + 2, t))
        ended = chance[0] < self.threshold
        fresh = draws.choose(chance[2:], jnp.asarray(self.arms.initial_thresholds))
        following = RestartingState(jnp.where(ended, fresh, next_states), jnp.where(ended, t.astype(jnp.uint32), used))
        restarted = jnp.where(ended, chance[1] | 1, 0).astype(jnp.uint32)
        return following, Feedback(arms, before, states, rewards, t, restarted=restarted)


def restarting(arms: MarkovArms, discount: float) -> RestartingArms:
    """Rested arms in episodes of random length: after every round all restart with probability 1 - discount.

    Args:
      arms: from `two_state`, `bernoulli`, `markov` or `random_arms`; every episode begins in their `initial_state`.
      discount: from 0 (every round is an episode) to 1 - 2^-31.

    Raises:
      ValueError: the argument and what is wrong with it.

    Source: the equivalence is the usual one of discounted and random horizons (Puterman 1994, section 5.3); learning in
    such episodes is that of Gast, Gaujal and Khun 2022.

    >>> import jax
    >>> from jaxbandit import two_state
    >>> arms = restarting(two_state([0.5, 0.4], [0.4, 0.55]), 0.0)
    >>> state, feedback = jax.jit(arms.step)(jax.random.key(0), arms.init(jax.random.key(0)), jnp.array([1]), 1)
    >>> state.states.tolist(), bool(feedback.restarted > 0)
    ([0, 0], True)
    """
    if not isinstance(arms, MarkovArms):
        raise ValueError(f"arms: {type(arms).__name__} are not rested arms, such as `markov` makes")
    kept = np.float64(number("discount", discount, 0, 1 - chains.RAREST))
    ends = np.minimum(np.rint((1 - kept) * 2.0**32), 2.0**32 - 1).astype(np.uint32)
    return RestartingArms(arms=arms, discount=kept, threshold=ends)
