"""Several players of the same restless arms, who collide when they play one arm at the same time."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.arguments import integer
from jaxbandit.base import Declares, Feedback, Task, pytree, static
from jaxbandit.environments.restless_bandits.restless_arms import RestlessArms, RestlessState


@pytree
class CollidingArms:
    """M players of K restless arms: arm m K + k of this environment is a play of arm k by player m.

    In every round each player should play one arm, so that M of the M K arms are played. An arm that one player plays
    shows its state and pays for it. If several do, they collide: each sees the last state, S, which stands for a
    collision alone and pays nothing. So does a player who is given two arms. The arms move as those of `restless`,
    where an arm with a collision counts as played. A policy chooses for all players at once; whether it lets one player
    know what another one saw is its own matter.

    Regret is measured against M players who play the M best arms and never collide.

    Build it with `colliding`, which checks its arguments.

    Fields: `arms`, `players` M, and `reward` [M K, S + 1].
    """

    declares: ClassVar = Declares(pairing="round", problem="colliding")

    arms: RestlessArms
    reward: np.ndarray | Array
    players: int = static(2)

    @property
    def player(self) -> np.ndarray:
        """[M K], the player of each arm of this environment."""
        return np.repeat(np.arange(self.players), self._number)

    @property
    def channel(self) -> np.ndarray:
        """[M K], which of the K arms it is."""
        return np.tile(np.arange(self._number), self.players)

    @property
    def _number(self) -> int:
        return int(self.arms.reward.shape[0])

    def means(self) -> np.ndarray:
        """Long-run reward per round of each arm for a player who is alone there, [M K] float64 on the host."""
        return np.tile(self.arms.means(), self.players)

    def comparator(self, plays: int) -> float:
        """The sum of the M largest means of the K arms."""
        return float(np.sort(self.arms.means())[-self.players :].sum())

    def comparator_name(self, plays: int) -> str:
        """The name of the comparator."""
        return "players without collisions"

    def validate(self, task: Task) -> None:
        """Raise ValueError unless every player plays one arm a round."""
        if task.plays != self.players:
            raise ValueError(f"plays: {task.plays}, and there are {self.players} players; give plays={self.players}")

    def init(self, key: Array) -> RestlessState:
        """The state before the first round of the run with this environment key."""
        return self.arms.init(key)

    def step(self, key: Array, state: RestlessState, arms: Array, t: Array) -> tuple[RestlessState, Feedback]:
        """Play `arms` [M] int32, distinct, in round `t`; return the new state and what the players see."""
        players, channels = arms // self._number, arms % self._number
        following, feedback = self.arms.step(key, state, channels, t)
        together = (channels[:, None] == channels[None]) | (players[:, None] == players[None])
        alone = jnp.sum(together, axis=0) == 1
        states = jnp.where(alone, feedback.states, self.reward.shape[1] - 1)
        return following, feedback._replace(
            arms=arms, states=states, rewards=jnp.asarray(self.reward, float)[arms, states]
        )


def colliding(arms: RestlessArms, players: int) -> CollidingArms:
    """M players of the same restless arms, who are not paid when they play one arm at the same time.

    Args:
      arms: from `restless`, where only arms that are played pay and show their states.
      players: M, from 2 to K.

    Raises:
      ValueError: the argument and what is wrong with it; from `simulate`, for other than M plays a round.

    Source: Liu, Liu and Zhao 2013, whose section on several players was not opened: this is the model of its abstract.

    >>> import jax
    >>> from jaxbandit.environments import restless
    >>> pair = colliding(restless([[[0.5, 0.5], [0.4, 0.6]]] * 3, (0, 1)), players=2)
    >>> key = jax.random.key(0)
    >>> _, feedback = jax.jit(pair.step)(key, pair.init(key), jnp.array([1, 4]), 1)  # both play arm 1
    >>> feedback.states.tolist(), feedback.rewards.tolist()
    ([2, 2], [0.0, 0.0])
    """
    if not isinstance(arms, RestlessArms) or arms.observed:
        raise ValueError("arms: arms of environments.restless are needed that only pay and show when they are played")
    number = integer("players", players, 2, len(arms.reward))
    return CollidingArms(
        arms=arms,
        reward=np.tile(np.pad(np.asarray(arms.reward, float), ((0, 0), (0, 1))), (number, 1)),
        players=number,
    )
